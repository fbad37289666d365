"""Pairs that were written before the grader had seen them, by authors who had not seen its rules.

The rows of each file have id, kind, lang, reference, response, options and expected. Set "a" was
graded once and then read; set "b" was written after that. Sentences whose reading needs more than a
marker or a verb are left out. Rates of the first runs stand in benchmarks/agreement/README.md.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from reasonenv.workers import Grader

FOLDER = Path(__file__).parent / "blind"
FILES = ("attacks", "outputs", "pairs")


def rows(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("name", FILES)
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
    assert wrong == set()
