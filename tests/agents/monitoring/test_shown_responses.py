from types import SimpleNamespace

import numpy as np
import pytest

from agents.monitoring.logs import RunLog, cut, response_lines

INFOS = {
    "problem_id": np.array(["a", "a", "b", "b"], dtype=object),
    "answer": np.array(["7", None, None, None], dtype=object),
    "reference": np.array(["7", "7", "8", "8"], dtype=object),
    "status": np.array(["ok", "no_answer", "no_answer", "no_answer"], dtype=object),
    "grade": {},
}
OBSERVATIONS = {
    "system": ("",) * 4,
    "question": ("What is 3 + 4?",) * 2 + ("And 4 + 4?",) * 2,
    "images": ((0,), (0,), (), ()),
}
RESPONSES = ("It is 7.", "So 7.", "\x1b[2J\x1b]0;title\x07\u202e no\r\nyes", "")


def rollout(texts=RESPONSES, question=OBSERVATIONS["question"]):
    return SimpleNamespace(
        observations=OBSERVATIONS | {"question": question},
        responses=SimpleNamespace(texts=texts),
        rewards=[1.0, 0.0, 0.0, 0.0],
        infos=INFOS,
    )


@pytest.fixture
def show(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "60")

    def lines(count, steps=(1,), wait=0):
        now, lines = [1e6], []
        monkeypatch.setattr("time.monotonic", lambda: now[0])
        with RunLog(tmp_path, 9, num_shown=count) as log:
            monkeypatch.setattr(log, "say", lines.append)
            for step in steps:
                log.show_responses(step, rollout(), 2)
                now[0] += wait
        return lines

    return lines


def test_a_problem_is_shown_with_its_response_and_grade(show):
    assert show(1) == [
        "step 1, problem a",
        "  question: What is 3 + 4? [1 image]",
        "  response: It is 7.",
        "  reward 1, answer 7, reference 7 (ok)",
    ]


def test_hostile_text_cannot_move_the_cursor(show):
    assert not show(0)
    lines = show(9)
    assert len(lines) == 8
    assert lines[6] == r"  response: \x1b[2J\x1b]0;title\x07\u202e no yes"
    assert all(line.isprintable() for line in lines)


def test_they_are_shown_at_most_once_a_minute(show):
    lines = [line for line in show(1, steps=(1, 2, 3, 4), wait=40) if line.startswith("step")]
    assert lines == ["step 1, problem a", "step 3, problem a"]


@pytest.mark.parametrize("text", ["x" * 500, "求函数的值域。" * 50, "\t\x00" * 99])
@pytest.mark.parametrize("width", [2, 3, 10, 79])
def test_a_long_text_is_cut_to_a_width_and_keeps_its_end(text, width):
    assert len(cut(text, width)) == width
    short = cut(f"start {text} the answer is 7", 60)
    assert short.startswith("start ")
    assert short.endswith("the answer is 7")


def test_the_lines_of_a_long_response_fit_two_lines_of_the_terminal():
    long = rollout(("7" * 999,), ("q " * 999,))
    sizes = [len(line) for line in response_lines(1, long, [0], 40)]
    assert all(size <= limit for size, limit in zip(sizes, (40, 80, 80, 40), strict=True))
