"""Rates of a set of responses with their intervals, and a benchmark's official score."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from agents.evaluation.exam import Sitting
from agents.evaluation.summary import Row, by_problem
from reasonenv.registration import find
from reasonenv.scoring import score
from reasonenv.scoring.intervals import over_problems, over_samples
from reasonenv.scoring.samples import pass_at_k, sizes


def rates(rows: Sequence[Row]) -> dict[str, Any]:
    """Where the accuracy may lie, and with several samples of a problem what their best gives.

    Returns:
        `interval` as if other problems had been posed; with several samples `interval_samples`,
        as if these had been answered anew, and `pass@k` by k.
    """
    samples = list(by_problem(rows).values())
    correct, total = (np.array([f(one) for one in samples]) for f in (sum, len))
    found: dict[str, Any] = {"interval": over_problems(correct / total)}
    if total.max() == 1:
        return found
    best = {
        str(k): float(np.mean([pass_at_k(*both, k) for both in zip(correct, total, strict=True)]))
        for k in sizes(int(total.min()))
    }
    return {**found, "interval_samples": over_samples(correct, total), "pass@k": best}


def official(sitting: Sitting, rows: Sequence[Row]) -> dict[str, Any] | None:
    """The benchmark's own score; None of problems that are no benchmark's, or where it fails.

    A failure is said, and is no reason to lose the rates that the environment's verdicts give.
    """
    exam = sitting.exam
    if not hasattr(import_module(find(exam.env).module), "SOURCE"):
        return None
    answers = [{"id": row["id"], "response": row["response"]} for row in rows]
    try:
        return score(exam.env, answers, data=exam.data, split=sitting.split)
    except (ValueError, OSError) as error:
        print(f"no official score of {exam.env}: {error}", file=sys.stderr)
        return None
