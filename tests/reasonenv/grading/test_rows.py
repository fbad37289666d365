"""Verdicts on rows of data: an answer in a box, or a whole response, and whether it is right.

A row of `rows/*.jsonl` has its reason, `answer` or `response`, `reference`, `options` where there
is a choice, and `right`.
"""

import json
from pathlib import Path

import pytest
from helpers.verdicts import boxed

from reasonenv.grading import grade

FILES = sorted((Path(__file__).parent / "rows").glob("*.jsonl"))
ROWS = [json.loads(line) for file in FILES for line in file.read_text("utf-8").splitlines()]


def name(row) -> str:
    text = row.get("answer", row.get("response", ""))
    return ascii(f"{row['reason']}: {text[-60:]} for {row['reference'][:40]}")


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_a_row_has_the_verdict_that_its_reason_gives_it(row):
    response = boxed(row["answer"]) if "answer" in row else row["response"]
    outcome = grade(response, row["reference"], row.get("options", ()))
    assert outcome.correct == row["right"], str(outcome)
