import os
import re
import sys
import termios
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from agents.monitoring.logs import RunLog
from agents.monitoring.progress_bar import BLOCKS, ProgressBar, sparkline

METRICS = {
    "reward/mean": 0.25,
    "reward/accuracy": 0.5,
    "response/length_mean": 31.04,
    "policy/entropy": 0.12,
}


def test_without_a_terminal_a_line_tells_step_and_metrics(capsys):
    ProgressBar(10).show(1, METRICS)
    shown = capsys.readouterr().err
    assert shown.startswith(
        "step 1/10  reward 0.250  accuracy 0.500  length 31  entropy 0.120  ETA 00:0"
    )
    assert shown.count("\n") == 1


def test_lines_come_now_and_then_and_at_the_end(capsys):
    progress = ProgressBar(50)
    for step in range(1, 51):
        progress.show(step, METRICS | {"reward/mean": None})
    progress.say("warning: \x1b[2J\u202e of a folder")
    first, last, said = capsys.readouterr().err.splitlines()
    assert first.startswith("step 1/50  accuracy 0.500  length")
    assert last.startswith("step 50/50")
    assert said == "warning: \\x1b[2J\\u202e of a folder"


def test_the_eta_counts_only_steps_done_since_the_start(capsys):
    progress = ProgressBar(102, start=100)
    progress._start_time -= 60
    progress.show(101, METRICS)
    assert capsys.readouterr().err.rstrip().endswith("ETA 01:00")


@contextmanager
def terminal(monkeypatch, columns=80):
    """A function that gives what has been written to standard error, a terminal."""
    reader, writer = os.openpty()
    termios.tcsetwinsize(writer, (24, columns))
    content = bytearray()

    def read():
        with suppress(OSError):  # of a terminal whose other end is closed
            while part := os.read(reader, 100_000):
                content.extend(part)

    # A terminal that nobody reads blocks its writer.
    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    with os.fdopen(writer, "w", encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stderr", file)

        def written():
            file.flush()
            size = -1
            while size != len(content):
                size = len(content)
                time.sleep(0.05)
            return content.decode()

        yield written
    thread.join()
    os.close(reader)


def screen(written):
    """Lines that a terminal shows; a sequence that it does not know is an error."""
    lines, row, column = [""], 0, 0
    for piece in re.findall(r"\x1b\[A|[^\x1b]", written):
        if piece == "\n":
            row, column = row + 1, 0
            lines += [""] * (row == len(lines))
        elif piece in ("\r", "\x1b[A"):
            row, column = (row - 1, column) if piece == "\x1b[A" else (row, 0)
        else:
            lines[row] = lines[row].ljust(column)[:column] + piece + lines[row][column + 1 :]
            column += 1
    assert "\x1b" not in re.sub(r"\x1b\[A", "", written)
    return [line.rstrip() for line in lines]


def test_on_a_terminal_there_is_a_bar_that_starts_where_the_run_does(monkeypatch):
    with terminal(monkeypatch) as written:
        progress = ProgressBar(8, start=4)
        begun = written()
        progress.show(6, METRICS)
        progress.say("a checkpoint")
        progress.close()
        shown = screen(written())
    assert "4/8" in begun
    assert shown[0] == "a checkpoint"
    assert "6/8" in shown[1]
    assert "accuracy=0.500" in "".join(shown)
    assert shown[2:] == [""]


def run(progress, accuracies, start=0):
    for step, accuracy in enumerate(accuracies, start + 1):
        progress.show(step, METRICS | {"reward/accuracy": accuracy})


@pytest.mark.parametrize("columns", [20, 80])
def test_the_curve_lies_below_the_bar_and_fits_the_terminal(monkeypatch, columns):
    with terminal(monkeypatch, columns) as written:
        progress = ProgressBar(1000, curve={})
        run(progress, [step / 1000 for step in range(1000)])
        progress.say("a checkpoint")
        progress.close()
        shown = screen(written())
    assert shown[0] == "a checkpoint"
    assert "1000/1000" in shown[1] or columns == 20
    name, curve, latest = shown[2].split(" ")
    assert (name, latest) == ("accuracy", "0.999")
    assert max(map(len, shown)) <= columns
    assert len(shown[2]) > columns / 2
    assert list(curve) == sorted(curve)
    assert columns == 20 or set(curve) == set(BLOCKS)
    assert shown[3:] == [""]


@pytest.mark.parametrize(
    ("kind", "curve"),
    [
        ("xterm", ["accuracy ▁▂▆█ 1.000", ""]),
        ("dumb", [""]),  # which cannot move its cursor to a second line
    ],
)
def test_the_curve_has_a_character_for_each_step_while_they_fit(monkeypatch, kind, curve):
    monkeypatch.setenv("TERM", kind)
    with terminal(monkeypatch) as written:
        progress = ProgressBar(10, curve={})
        run(progress, [0.0, 0.2, None, 0.7, 1.0])
        progress.close()
        assert screen(written())[1:] == curve
        assert ("\x1b" in written()) == (kind != "dumb")


def test_a_terminal_that_shrinks_has_shorter_lines(monkeypatch):
    with terminal(monkeypatch, 120) as written:
        progress = ProgressBar(1000, curve={})
        run(progress, [0.5] * 200)
        assert len(screen(written())[1]) > 60
        termios.tcsetwinsize(sys.stderr.fileno(), (24, 50))
        run(progress, [0.5], start=200)
        progress.close()
        assert max(len(line) for line in screen(written())) <= 50


def test_a_resumed_run_has_its_earlier_steps_in_the_curve_and_a_rollback_removes_steps(
    monkeypatch, tmp_path
):
    with RunLog(tmp_path, 9) as log:
        for step in range(1, 5):
            log.write(step, {"reward/accuracy": 0.0 if step < 4 else 1.0})
    with terminal(monkeypatch) as written:
        with RunLog(tmp_path, 9, start=3) as log:
            assert screen(written())[1] == "accuracy ▁▁▁ 0.000"
            for step, accuracy in ((4, 0.5), (5, 1.0), (6, 0.3)):
                log.write(step, {"reward/accuracy": accuracy})
            log.remove_after(4)
            log.write(5, {"reward/accuracy": 0.7})
        assert screen(written())[1] == "accuracy ▁▁▁▅▆ 0.700"


def test_characters_of_a_curve_are_means_of_equally_many_values():
    assert sparkline([], 5) == ""
    assert sparkline([0.5], 0) == ""
    assert sparkline([0, 1, 0, 0, 1, 1, 1], 4) == "▅▁██"
    assert sparkline([0, 1, 0.99, 0.125], 4) == "▁██▂"
    assert [len(sparkline([0.5] * n, 10)) for n in (9, 10, 11, 20, 21)] == [9, 10, 6, 10, 7]


def test_an_activity_between_steps_shows_its_progress_and_leaves_the_eta_alone(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    progress = ProgressBar(10)
    with progress.pause("step 0: evaluating test") as show:
        for done in range(0, 501, 100):
            show(done, 500)
            now[0] += 6
    now[0] += 10
    progress.show(1, {})
    assert capsys.readouterr().err.splitlines() == [
        "step 0: evaluating test 0/500",
        "step 0: evaluating test 200/500",
        "step 0: evaluating test 400/500",
        "step 1/10    ETA 01:30",
    ]


def test_an_activity_within_a_step_has_a_line_after_a_minute_of_silence(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    progress = ProgressBar(10)
    progress.show(1, {})
    for done in range(1, 14):
        now[0] += 10
        progress.activity("sampling", done, 64)
    lines = capsys.readouterr().err.splitlines()[1:]
    assert lines == ["sampling 6/64", "sampling 12/64"]


@pytest.mark.parametrize("columns", [80, 0])
def test_a_terminal_shows_an_activity_in_the_bar(monkeypatch, columns):
    with terminal(monkeypatch, columns) as written:
        progress = ProgressBar(10)
        with progress.pause("evaluating test") as show:
            show(0, 500)
            time.sleep(0.3)
            assert "evaluating test 0/500" in written()
            show(500, 500)
            assert "evaluating test 500/500" in written()
        assert progress._bar.format_dict["elapsed"] < 0.3  # of which the ETA is made
        progress.activity("sampling", 0, 64)
        assert "sampling 0/64" in written()
        progress.show(1, METRICS)
        progress.close()
        assert "entropy=0.120" in screen(written())[0]
        assert "sampling" not in screen(written())[0]


def test_a_bar_with_all_its_numbers_fits_80_columns_with_an_activity_and_no_accuracy(monkeypatch):
    with terminal(monkeypatch) as written:
        progress = ProgressBar(610, start=100, curve={})
        progress._bar.start_t -= 5000
        progress.show(123, METRICS | {"response/length_mean": 1234.5})
        progress.activity("sampling", 512, 1024)
        shown = screen(written())
        progress.close()
    assert "reward=0.250, length=1234, entropy=0.120" in shown[0]
    assert "accuracy" not in shown[0]
    assert len(shown[0]) <= 80
    assert shown[1].startswith("accuracy ")
