"""Pairs that were written before the grader had seen them, by authors who had not seen its rules.

The rows of each file have id, kind, lang, reference, response, options and expected. Set "a" was
graded once and then read; set "b" was written after that. Rates of the first runs stand in
benchmarks/agreement/README.md.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from reasonenv.workers import Grader

FOLDER = Path(__file__).parent / "blind"
KNOWN: dict[str, set[str]] = {
    "attacks": set(),
    "outputs": {
        "a-output-instruct_tag-04",
    },
    "pairs": {
        "a-pair-correction-05",
        "a-pair-interval-07",
        "a-pair-sentence-16",
        "b-pair-matrix-03",
        "b-pair-name-01",
        "b-pair-name-03",
        "b-pair-name-16",
        "b-pair-percent-17",
        "b-pair-vector-02",
        "b-pair-whole-19",
        "b-pair-whole-30",
    },
}
"""Rows that are graded wrongly: refusals alone, no wrong answer is paid."""


def rows(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("name", KNOWN)
def test_pairs_written_blind_are_graded_as_their_authors_said(name):
    cases = rows(name)
    with Grader() as grader:
        grades = grader.grade(
            [case["response"] for case in cases],
            [case["reference"] for case in cases],
            [case.get("options", ()) for case in cases],
        )
    wrong = {
        case["id"]
        for case, grade in zip(cases, grades, strict=True)
        if grade.correct != (case["expected"] == "right")
    }
    assert wrong == KNOWN[name]
    assert {case["expected"] for case in cases if case["id"] in wrong} <= {"right"}
