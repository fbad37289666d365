"""Verdicts on the stored responses of a pretrained model, and the reader of its claims."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import grading_pretrained
from number_claims import claimed_number


def test_the_recorded_tables_are_those_of_the_grader():
    rows = grading_pretrained.judgements()
    record = json.loads((grading_pretrained.HERE / "pretrained.json").read_text())
    assert grading_pretrained.table(rows) == record["table"]
    assert grading_pretrained.errors(rows, "wrong", "now") == {}
    assert grading_pretrained.unread(rows) == []
    page = (grading_pretrained.HERE / "pretrained.md").read_text()
    assert grading_pretrained.markdown(record["table"]) in page


@pytest.mark.parametrize(
    ("response", "number"),
    [
        ("8 + 3 = 11. I hope this helps!", 11),
        ("The sum of 8 and 3 is 11.", 11),
        ("Tom has 8 and gets 3.", None),
        ("#### 12\n", 12),
        ("8 + 3 = 11\n11 * 2 = 22", None),
        ("8 + 3 = 11. So he has 11 * 2 = 22 apples.", 22),
        ("We get 8 + 3", None),
        ("It equals twenty-two.", 22),
        ("11", 11),
    ],
)
def test_the_reader_takes_the_number_that_is_claimed(response, number):
    assert claimed_number("What is 8 + 3?", response) == number
