"""The table of the studies of tools: accuracy and calls by kind of problem."""

import pytest

from benchmarks.grid import raw, study
from benchmarks.tools import calls


def evaluation(accuracy, num_calls, split="test"):
    by_calls = {} if num_calls is None else {"calls": {"2x1": num_calls}}
    return {"split": split, "by": {"2x1": accuracy}, **by_calls}


@pytest.fixture
def folder(tmp_path):
    """Records of two seeds of a study, whose calls rise with a tool, and are missing without."""
    of = study.find("tools/sums")
    for task in study.tasks(of, (0, 1)):
        own = (1.0 + task.seed, 3.0) if task.name == "tool" else (None, None)
        shares = (0.25, 0.75 + task.seed / 4)
        ends = [evaluation(*pair) for pair in zip(shares, own, strict=True)]
        others = [evaluation(0.0, 0.0, "heldout")]
        raw.write(tmp_path, task, {"evaluations": [*others, *ends, *others]})
    return tmp_path


def test_a_row_has_the_means_of_the_first_and_the_last_evaluation_over_seeds(folder):
    tool, none = (
        [cell.strip() for cell in row.split("|")] for row in calls.rows("tools/sums", folder)
    )
    assert tool[1:4] == ["tool", "2x1", "2"]
    assert [cell.split()[0] for cell in tool[4:8]] == ["0.25", "0.88", "1.50", "3.00"]
    assert none[1:4] == ["no tool", "2x1", "2"]
    assert [cell.split()[0] for cell in none[4:8]] == ["0.25", "0.88", "none", "none"]


def test_a_study_without_runs_has_no_row(tmp_path):
    assert list(calls.rows("tools/price", tmp_path)) == []


def test_an_interval_of_calls_is_that_of_their_share_of_the_most():
    text = calls.mean([0.6, 1.2, 0.9], calls.MOST)
    mean, low, high = (float(word.strip("[],")) for word in text.split())
    assert mean == 0.9
    assert 0 <= low < mean < high <= calls.MOST


def test_the_kept_table_is_that_of_the_records():
    assert (calls.RESULTS / "tools/calls.md").read_text() == calls.table(calls.RESULTS / "raw")
