"""Verdicts on the corpus, as recorded in verdicts.json.

    python tests/reasonenv/attacks/test_verdicts.py

records those of now, after a change of the rules, which comes with another `grading.VERSION`.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from reasonenv.attacks import corpus
from reasonenv.attacks.report import grade, summary
from reasonenv.grading import VERSION

PATH = Path(__file__).with_name("verdicts.json")


def current_verdicts() -> dict[str, Any]:
    """Version, digest of all verdicts, and ids of the rows with a wrong one."""
    rows = list(corpus())
    outcomes = grade(rows, Path("/nowhere/canary"))
    lines = [f"{r.id} {outcome.is_paid}\n" for r, outcome in zip(rows, outcomes, strict=True)]
    report = summary(rows, outcomes)
    return {
        "version": VERSION,
        "digest": hashlib.sha256("".join(sorted(lines)).encode()).hexdigest(),
        "paid": sorted(report["paid"]),
        "refused": sorted(report["refused"]),
    }


@pytest.fixture(scope="module")
def verdicts():
    return current_verdicts()


# A digest changes with VERSION alone: after a change of a rule another one, and a new record.
@pytest.mark.parametrize("name", ["paid", "refused", "digest", "version"])
def test_verdicts_are_those_of_the_record(verdicts, name):
    assert verdicts[name] == json.loads(PATH.read_text())[name]


if __name__ == "__main__":
    PATH.write_text(json.dumps(current_verdicts(), indent=1) + "\n")
