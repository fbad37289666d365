"""Whether one set of responses is better than another to the same problems."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from reasonenv.scoring.intervals import over_problems

_NUM_FLIPS = 100_000


def compared(first: Sequence[float], second: Sequence[float], seed: int = 0) -> dict[str, Any]:
    """A paired comparison of two scores of the same problems.

    The p-value is that of the sign-flip test: of how often a difference as large would come about
    if it were a toss of a coin, problem by problem, which one is called the first. With one sample
    of each problem it is exact, and is McNemar's test (Psychometrika 12, 1947); else it is drawn.

    Args:
        first: Of each problem, in [0, 1]: a verdict or the mean over samples.
        second: Of the same problems, in the same order.
        seed: Of the draws.

    Returns:
        `difference` (first minus second), its `interval` (bootstrap over problems), `p_value`,
        and in how many problems the first has `wins`, `losses` and `ties`.
    """
    differences = np.asarray(first, float) - np.asarray(second, float)
    return {
        "num_problems": len(differences),
        "difference": float(differences.mean()) if len(differences) else None,
        "interval": over_problems(differences, seed),
        "p_value": _p_value(differences, seed),
        "wins": int((differences > 0).sum()),
        "losses": int((differences < 0).sum()),
        "ties": int((differences == 0).sum()),
    }


def _p_value(differences: np.ndarray, seed: int) -> float:
    sizes, counts = np.unique(np.abs(differences[differences != 0]).round(12), return_counts=True)
    if len(sizes) == 0:
        return 1.0
    if len(sizes) == 1:
        return _of_coins(int((differences > 0).sum()), int(counts[0]))
    random = np.random.default_rng(seed)
    heads = random.binomial(counts, 0.5, size=(_NUM_FLIPS, len(counts)))
    sums = np.abs((2 * heads - counts) @ sizes)
    # The observed one counts as a draw, so that no p-value is zero.
    extreme = int((sums >= abs(differences.sum()) - 1e-9).sum())
    return (1 + extreme) / (1 + _NUM_FLIPS)


def _of_coins(heads: int, tosses: int) -> float:
    """Probability that fair coins fall as unevenly as this, or more; two-sided and exact."""
    fewer = min(heads, tosses - heads)
    tail = sum(math.comb(tosses, k) for k in range(fewer + 1))
    # Whole numbers divided at last: neither overflows.
    return min(1.0, 2 * tail / (1 << tosses))
