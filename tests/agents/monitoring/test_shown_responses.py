import numpy as np
import pytest
from tqdm.utils import disp_len

from agents.monitoring.shown_responses import ResponseDisplay, cut, response_lines

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


@pytest.fixture
def shown(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")

    def show(display, step=1):
        display.show(step, OBSERVATIONS, RESPONSES, [1.0, 0.0, 0.0, 0.0], INFOS, 2)

    return show


def test_a_problem_is_shown_with_its_response_and_grade(shown):
    lines = []
    shown(ResponseDisplay(1, lines.append))
    assert lines == [
        "step 1, problem a",
        "  question: What is 3 + 4? [1 image]",
        "  response: It is 7.",
        "  reward 1, answer 7, reference 7 (ok)",
    ]


def test_hostile_text_cannot_move_the_cursor(shown):
    lines = []
    shown(ResponseDisplay(9, lines.append))
    assert len(lines) == 8
    assert lines[6] == r"  response: \x1b[2J\x1b]0;title\x07\u202e no yes"
    assert all(line.isprintable() for line in lines)


def test_none_are_shown_where_none_are_asked_for(shown):
    lines = []
    shown(ResponseDisplay(0, lines.append))
    assert not lines


def test_they_are_shown_at_most_once_a_minute(shown, monkeypatch):
    lines, now = [], [1e6]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    display = ResponseDisplay(1, lines.append)
    for step, seconds in ((1, 0), (2, 59), (3, 2), (4, 1)):
        now[0] += seconds
        shown(display, step)
    assert [line for line in lines if line.startswith("step")] == [
        "step 1, problem a",
        "step 3, problem a",
    ]


@pytest.mark.parametrize("text", ["x" * 500, "求函数的值域。" * 50, "\u0301e" * 300, "\t\x00" * 99])
@pytest.mark.parametrize("width", [0, 1, 2, 3, 10, 79])
def test_a_long_text_is_cut_to_the_columns_that_there_are(text, width):
    assert disp_len(cut(text, width)) <= max(1, width)


def test_a_cut_text_keeps_its_end():
    text = cut("start " + "x" * 500 + " the answer is 7", 60)
    assert text.startswith("start ")
    assert text.endswith("the answer is 7")


def test_the_lines_of_a_long_response_fit_two_lines_of_the_terminal():
    row = {"problem_id": "p" * 99, "question": "q " * 999, "response": "数" * 999, "num_images": 2}
    row |= {"reward": "1", "answer": "7" * 99, "reference": None, "status": "ok"}
    sizes = [disp_len(line) for line in response_lines(1, row, 40)]
    assert all(size <= limit for size, limit in zip(sizes, (40, 80, 80, 40), strict=True))
