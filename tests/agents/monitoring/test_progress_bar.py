import os
import select
import sys

from agents.monitoring.progress_bar import ProgressBar

METRICS = {
    "reward/mean": 0.25,
    "reward/accuracy": 0.5,
    "response/length_mean": 31.04,
    "policy/clip_fraction": 0.01,
}


def test_without_a_terminal_a_line_tells_step_and_metrics(capsys):
    ProgressBar(10).show(1, METRICS)
    shown = capsys.readouterr().err
    assert shown.startswith(
        "step 1/10  reward 0.250  accuracy 0.500  length 31.0  clipped 0.0100  ETA 00:0"
    )
    assert shown.count("\n") == 1


def test_control_characters_of_a_line_are_escapes(capsys):
    ProgressBar(10).say("warning: \x1b[2J\u202e of a folder")
    assert capsys.readouterr().err == "warning: \\x1b[2J\\u202e of a folder\n"


def test_lines_come_now_and_then_and_at_the_end(capsys):
    progress = ProgressBar(50)
    for step in range(1, 51):
        progress.show(step, METRICS)
    words = [line.split()[1] for line in capsys.readouterr().err.splitlines()]
    assert words == ["1/50", "50/50"]


def test_a_metric_that_is_missing_or_not_finite_is_left_out(capsys):
    ProgressBar(10).show(1, {"reward/mean": None, "reward/accuracy": 1})
    assert capsys.readouterr().err.startswith("step 1/10  accuracy 1.000  ETA")


def test_the_eta_counts_only_steps_done_since_the_start(capsys):
    progress = ProgressBar(102, start=100)
    progress._start_time -= 60
    progress.show(101, METRICS)
    assert capsys.readouterr().err.rstrip().endswith("ETA 01:00")


def test_on_a_terminal_there_is_a_bar_that_starts_where_the_run_does(monkeypatch):
    reader, writer = os.openpty()
    with os.fdopen(writer, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        progress = ProgressBar(8, start=4)
        progress.show(6, METRICS)
        progress.say("a checkpoint")
        progress.close()
        # What is written to a terminal need not come in one piece.
        shown = b""
        while b"6/8" not in shown and select.select([reader], [], [], 5)[0]:
            shown += os.read(reader, 100_000)
        shown = shown.decode(errors="replace")
    os.close(reader)
    assert "4/8" in shown
    assert "6/8" in shown
    assert "accuracy=0.500" in shown
    assert "a checkpoint" in shown
