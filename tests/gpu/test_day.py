"""The runner of the GPU day, with pieces that take no time; and its rehearsal."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import day
import day_pieces
import pytest


@pytest.fixture
def pieces(monkeypatch):
    """Pieces whose processes do what a line of Python says."""

    def given(**lines):
        table = {name: day_pieces.Piece(name, 10, lambda *_: 0) for name in lines}
        monkeypatch.setattr(day, "PIECES", table)
        started = day.subprocess.Popen

        def popen(command, **options):
            name = command[command.index("--in-this-process") + 1]
            code = f"import os, sys, time\nname, output = sys.argv[1:]\n{lines[name]}"
            return started(
                [sys.executable, "-c", code, name, command[command.index("--output") + 1]],
                **options,
            )

        monkeypatch.setattr(day.subprocess, "Popen", popen)
        return list(table)

    return given


CHILD = "import subprocess; p = subprocess.Popen(['sleep', '600']); print(p.pid, flush=True)"
GOOD = """open(f"{output}/{name}.json", "w").write('{"seconds": 1}')"""


def has_ended(process):
    status = Path(f"/proc/{process.strip()}/status")
    return not status.exists() or "zombie" in status.read_text()


def turn(output, names, minutes=1.0):
    """One stretch: what became of each piece, and if all have a result."""
    found = day.run(output, names, minutes, rehearse=False)
    return found, day.summary(output, names, found, rehearse=False)


def test_a_piece_that_fails_stops_no_other_and_keeps_its_log(pieces, tmp_path, capsys):
    names = pieces(bad="print('the reason'); sys.exit(3)", good=GOOD, late=GOOD)
    assert turn(tmp_path, names[:2]) == ({"bad": "failed with status 3", "good": "ok"}, False)
    assert "the reason" in (tmp_path / "bad.log").read_text()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[1/2] bad: failed with status 3, ")
    assert "bad                    failed with status 3: see bad.log" in lines
    assert lines[-1].startswith("1 of 2 pieces have a result")
    # A result stays, and what failed has its next turn after those that had none.
    assert list(turn(tmp_path, names)[0]) == ["late", "bad"]
    assert json.loads((tmp_path / "day.json").read_text()).keys() == {"good", "late"}


RANK = CHILD.replace("'600']", "'600'], start_new_session=True")
ENDS_ITS_RANK = "import signal; signal.signal(15, lambda *_: (p.kill(), p.wait(), sys.exit()))"
DEAF = "import signal; signal.signal(15, signal.SIG_IGN); print(os.getpid(), flush=True)"


@pytest.mark.parametrize(
    "start", [CHILD, f"{RANK}; {ENDS_ITS_RANK}", DEAF], ids=["child", "rank", "deaf"]
)
def test_a_piece_that_takes_too_long_is_ended_with_all_that_it_started(
    pieces, tmp_path, monkeypatch, start
):
    names = pieces(long=f"{start}; time.sleep(600)", good=GOOD)
    monkeypatch.setattr(day, "LIMIT", 0.7)
    monkeypatch.setattr(day, "GRACE", 0.5)
    assert turn(tmp_path, names) == ({"long": "took more than 0.7 s", "good": "ok"}, False)
    assert has_ended((tmp_path / "long.log").read_text())


def test_no_piece_begins_that_would_not_end_in_time(pieces, tmp_path):
    names = pieces(one=GOOD)
    assert turn(tmp_path, names, minutes=0.2) == ({"one": "no time left"}, False)
    assert turn(tmp_path, names, minutes=0.25) == ({"one": "ok"}, True)


def test_a_result_is_written_with_machine_and_figures(tmp_path, monkeypatch):
    def measure(folder, rehearse):
        (folder / "large").touch()
        return {"rehearsed": rehearse}

    monkeypatch.setattr(day, "PIECES", {"one": day_pieces.Piece("one", 1, measure)})
    day.measure("one", tmp_path, rehearse=True)
    result = json.loads((tmp_path / "one.json").read_text())
    assert result["figures"] == {"rehearsed": True}
    assert result["machine"]["cores"] > 0
    assert not (tmp_path / "scratch" / "one").exists()


def test_every_piece_ends_within_nine_minutes_and_those_up_to_our_throughput_within_thirty():
    seconds = {name: piece.seconds for name, piece in day_pieces.PIECES.items()}
    assert max(seconds.values()) * day.MARGIN < day.LIMIT == 540
    names = list(seconds)
    first = names[: names.index("throughput-ours-tail") + 1]
    assert sum(seconds[name] for name in first) < 25 * 60


def test_what_is_not_rehearsed_has_a_reason(capsys):
    assert day.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(day_pieces.PIECES)
    assert all(day_pieces.PIECES[name].not_rehearsed() for name in ("kernels", "mmk12-3b"))
    assert "not rehearsed here: kernels for GPUs have no version for CPUs" in lines[1]


def test_a_signal_ends_the_piece_too(pieces, tmp_path):
    told = "print(os.getpid(), flush=True); os.kill(os.getppid(), 15)"
    names = pieces(long=f"{told}; time.sleep(600)")
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as end:
            day.main(["--output", str(tmp_path), "--only", *names])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert end.value.code == 143
    assert has_ended((tmp_path / "long.log").read_text())


REHEARSED = {
    "core": [name for name, piece in day_pieces.PIECES.items() if not piece.needs],
    # Images through vLLM, and its server, have tests on a CPU of their own.
    "vllm": ["throughput", "sampling"],
}


@pytest.mark.slow(reason="each piece is a process that loads its engines")
@pytest.mark.parametrize("kind", REHEARSED)
def test_the_day_rehearsed(tmp_path, kind):
    missing = [
        name for name in REHEARSED[kind] if "installed" in day_pieces.PIECES[name].not_rehearsed()
    ]
    if missing:
        pytest.skip(f"{missing}: a package is not installed")
    command = [sys.executable, day.__file__, "--output", str(tmp_path), "--rehearse"]
    settings = os.environ | {"REASONENV_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [*command, "--only", *REHEARSED[kind]],
        env=settings,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    logs = "".join(path.read_text()[-2000:] for path in tmp_path.glob("*.log"))
    assert done.returncode == 0, done.stdout + done.stderr + logs
