"""All measurements on a machine with a GPU as one command, in pieces of at most nine minutes.

    python tests/gpu/day.py --list
    python tests/gpu/day.py --output DIR [--minutes 30] [--only PIECE ...]
    python tests/gpu/day.py --output DIR --rehearse       tiny sizes, on a CPU

Each piece is a process of its own. One that ends well leaves DIR/PIECE.json, and a later call skips
it; what it printed is in DIR/PIECE.log. One that fails or takes too long is told, does not stop the
others, and has its next turn after those that had none. Where a machine is lent for half an hour at
a time, --minutes starts no piece that would not end in time; to go on at another machine, bring
DIR/*.json and DIR/throughput/*.json, but not the models beside them. DIR/day.json has all results.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
ROOT = HERE.parents[2]
FOLDERS = (ROOT, ROOT / "tests", ROOT / "tests" / "gpu", ROOT / "benchmarks")
sys.path[:0] = map(str, FOLDERS)

from day_pieces import PIECES, Piece  # noqa: E402

LIMIT = 540.0
"""Seconds after which a piece is ended."""
GRACE = 20.0
"""Seconds in which a piece that is ended may end what it started."""
MARGIN = 1.3
"""By which a piece may exceed the seconds that are expected, and still end in time."""


def due(output: Path, names: list[str], *, rehearse: bool) -> list[str]:
    """Pieces without a result, those that have not had a turn first."""
    left = [name for name in names if not (output / f"{name}.json").exists()]
    if rehearse:
        left = [name for name in left if not PIECES[name].not_rehearsed()]
    return sorted(left, key=lambda name: (output / f"{name}.log").exists())


def attempt(name: str, output: Path, *, rehearse: bool) -> str:
    """A turn of a piece: "ok", or why it has no result."""
    command = [sys.executable, str(HERE), "--output", str(output), "--in-this-process", name]
    path = os.pathsep.join([*map(str, FOLDERS), os.environ.get("PYTHONPATH", "")])
    settings = os.environ | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
    with (output / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            command + ["--rehearse"] * rehearse,
            stdout=log,
            stderr=log,
            env=settings,
            start_new_session=True,
        )
        try:
            status = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            return f"took more than {LIMIT:g} s"
        finally:
            end(process)
    return "ok" if status == 0 else f"failed with status {status}"


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a piece and what it started; torchrun ends its ranks, which have groups of their own."""
    for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, number)
            process.wait(patience)


def measure(name: str, output: Path, *, rehearse: bool) -> None:
    """Measures a piece in this process, and writes its result."""
    from agents.storage.atomic_files import write_atomically
    from provenance import machine

    scratch = output / "scratch" / name
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    began = time.perf_counter()
    figures = PIECES[name].measure(scratch, rehearse)
    result = {
        "piece": name,
        "rehearsed": rehearse,
        "seconds": round(time.perf_counter() - began, 1),
    }
    result |= {"date": time.strftime("%Y-%m-%d %H:%M"), "machine": machine(), "figures": figures}
    write_atomically(output / f"{name}.json", json.dumps(result, indent=1).encode() + b"\n")
    shutil.rmtree(scratch)


def run(output: Path, names: list[str], minutes: float, *, rehearse: bool) -> dict[str, str]:
    """Gives each piece that is due a turn, while there is time; what became of them."""
    output.mkdir(parents=True, exist_ok=True)
    end, outcomes = time.monotonic() + 60 * minutes, {}
    left = due(output, names, rehearse=rehearse)
    for number, name in enumerate(left, 1):
        expected = 0 if rehearse else MARGIN * PIECES[name].seconds
        if time.monotonic() + expected > end:
            outcomes[name] = "no time left"
            continue
        began = time.monotonic()
        outcomes[name] = attempt(name, output, rehearse=rehearse)
        say(f"[{number}/{len(left)}] {name}: {outcomes[name]}, {time.monotonic() - began:.0f} s")
    return outcomes


def summary(output: Path, names: list[str], outcomes: dict[str, str], *, rehearse: bool) -> bool:
    """Prints what became of all pieces, and joins their results; True if all have one."""
    results: dict[str, Any] = {}
    for name in names:
        path = output / f"{name}.json"
        reason = PIECES[name].not_rehearsed() if rehearse else ""
        if path.exists():
            results[name] = json.loads(path.read_text())
            say(f"{name:22} ok, {results[name]['seconds']:.0f} s")
        elif reason:
            say(f"{name:22} not rehearsed: {reason}")
        else:
            text = outcomes.get(name, "not run")
            say(f"{name:22} {text}" + f": see {name}.log" * (output / f"{name}.log").exists())
    (output / "day.json").write_text(json.dumps(results, indent=1) + "\n")
    left = due(output, names, rehearse=rehearse)
    say(f"{len(results)} of {len(names)} pieces have a result, in {output / 'day.json'}")
    return not left


def listed(piece: Piece) -> str:
    reason = piece.not_rehearsed()
    return f"{piece.seconds:4} s  {piece.purpose}" + f" (not rehearsed here: {reason})" * bool(
        reason
    )


def say(text: str) -> None:
    print(text, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status, 1 where a piece is left."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--output", type=Path, help="folder of results and logs")
    add("--only", nargs="+", choices=PIECES, default=list(PIECES), metavar="PIECE")
    add("--minutes", type=float, default=24 * 60.0, help="until the machine goes back")
    add("--rehearse", action="store_true", help="with tiny sizes, on a CPU")
    add("--list", action="store_true", help="pieces, and the seconds that each is expected to take")
    add("--in-this-process", choices=PIECES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.list:
        for name in options.only:
            say(f"{name:22} {listed(PIECES[name])}")
        return 0
    if options.output is None:
        parser.error("--output is missing: give a folder for results and logs")
    output, rehearse = options.output.resolve(), options.rehearse
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends its piece too
    if options.in_this_process:
        measure(options.in_this_process, output, rehearse=rehearse)
        return 0
    outcomes = run(output, options.only, options.minutes, rehearse=rehearse)
    return int(not summary(output, options.only, outcomes, rehearse=rehearse))


if __name__ == "__main__":
    sys.exit(main())
