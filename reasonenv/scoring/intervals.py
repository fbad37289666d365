"""Confidence intervals of mean scores, by the bootstrap: percentiles of resampled means.

Resampling n values that take m different ones is a multinomial draw, so a resample costs m and not
n. All draws are seeded. Where all values are equal, an interval is a point: the bootstrap knows no
spread that it has not seen.
"""

from collections.abc import Sequence

import numpy as np

NUM_RESAMPLES = 10_000
LEVEL = 0.95


def over_problems(values: Sequence[float] | np.ndarray, seed: int = 0) -> list[float]:
    """Interval of the mean over problems, as if other problems had been drawn.

    Efron, Bootstrap methods: another look at the jackknife (Annals of Statistics 7, 1979).

    Args:
        values: One for each problem, such as the mean over its samples.
        seed: Of the draws.

    Returns:
        Ends of the 95 % interval; empty without values.
    """
    if len(values) == 0:
        return []
    distinct, counts = np.unique(np.asarray(values, float), return_counts=True)
    draws = np.random.default_rng(seed).multinomial(
        len(values), counts / len(values), size=NUM_RESAMPLES
    )
    return percentiles(draws @ distinct / len(values))


def over_samples(correct: np.ndarray, total: np.ndarray, seed: int = 0) -> list[float]:
    """Interval of the mean over problems, as if the same problems had been answered anew.

    Each problem's samples are resampled: binomial draws around its own rate.

    Args:
        correct: How many samples of each problem are right.
        total: How many samples it has, at least 1.
        seed: Of the draws.
    """
    if len(total) == 0:
        return []
    random = np.random.default_rng(seed)
    pairs, repeats = np.unique(np.stack([correct, total]), axis=1, return_counts=True)
    # Problems with the same counts add up to one binomial.
    hits, tries = pairs
    draws = random.binomial(tries * repeats, hits / tries, size=(NUM_RESAMPLES, len(tries)))
    return percentiles((draws / tries).sum(axis=1) / len(total))


def percentiles(means: np.ndarray) -> list[float]:
    """Ends of the middle 95 % of resampled values."""
    tail = (1 - LEVEL) / 2
    return [float(end) for end in np.quantile(means, [tail, 1 - tail])]
