"""Rates of a set of responses with their intervals, and a benchmark's official score."""

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from agents.evaluation.exam import Exam, Row, by_problem

RESAMPLES = 2000


def rates(rows: Sequence[Row]) -> dict[str, Any]:
    """`interval` of the accuracy, and `pass@k` where problems have several samples."""
    correct = list(by_problem(rows).values())
    num_samples = len(correct[0])
    powers = [2**n for n in range(num_samples.bit_length()) if 2**n < num_samples]
    return {
        "interval": interval(correct),
        "pass@k": {
            str(k): float(np.mean([pass_at(k, c) for c in correct])) for k in [*powers, num_samples]
        },
    }


def official(exam: Exam, rows: Sequence[Row]) -> dict[str, Any] | None:
    """The benchmark's own score; None where it has none, and why is said."""
    answers = [{"id": row["id"], "response": row["response"]} for row in rows]
    try:
        from reasonenv.scoring import score

        return score(exam.env, answers, data=exam.data)
    except (ImportError, ValueError, OSError) as error:
        print(f"no official score of {exam.env}: {error}", file=sys.stderr)
        return None


def pass_at(k: int, correct: Sequence[bool]) -> float:
    """Probability that of k of the samples, drawn without replacement, one is right."""
    n, c = len(correct), sum(correct)
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def interval(correct: Sequence[Sequence[bool]]) -> list[float]:
    """Where 95 of 100 accuracies lie, problems and then their samples being drawn anew."""
    rng = np.random.default_rng(0)
    n, k = len(correct), len(correct[0])
    means = np.array([np.mean(row) for row in correct])
    drawn = [rng.binomial(k, means[rng.integers(n, size=n)]).mean() / k for _ in range(RESAMPLES)]
    return [float(end) for end in np.quantile(drawn, (0.025, 0.975))]
