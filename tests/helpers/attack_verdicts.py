"""Verdicts of the grader on the corpus of attacks, as recorded in verdicts.json.

    PYTHONPATH=tests python tests/helpers/attack_verdicts.py

records those of now, after a change of the rules, which comes with another `grading.VERSION`.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from reasonenv.attacks import corpus
from reasonenv.attacks.report import grade, summary
from reasonenv.grading import VERSION

PATH = Path(__file__).parents[1] / "reasonenv" / "attacks" / "verdicts.json"


def verdicts() -> dict[str, Any]:
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


if __name__ == "__main__":
    PATH.write_text(json.dumps(verdicts(), indent=1) + "\n")
