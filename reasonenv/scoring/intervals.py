"""95 % intervals of means of few or many values; no resampling.

All have Wilson's form, which stays within [0, 1] and is as lopsided as scores near an end are, with
the variance of the values and Student's t. For n = 3, 5, 10 a percentile bootstrap holds the mean
of normal values in 75, 84 and 89 of 100 cases, and that of scores near 0 or 1 less often.
"""

import math
from collections.abc import Hashable, Sequence
from functools import cache
from statistics import NormalDist

import numpy as np

LEVEL = 0.95
_ROUNDING = 1e-12


def wilson(count: int, total: int) -> list[float]:
    """Ends of the 95 % interval of a rate of `count` in `total`; empty for none.

    Source: Wilson, Probable inference, the law of succession, and statistical inference (Journal of
    the American Statistical Association 22, 1927).
    """
    if not total:
        return []
    return _wilson_form(count / total, NormalDist().inv_cdf((1 + LEVEL) / 2) ** 2 / total)


Values = Sequence[float] | np.ndarray
Clusters = Sequence[Hashable] | None
"""Label of the cluster of each problem; None where each is a cluster of its own."""


def over_problems(values: Values, clusters: Clusters = None) -> list[float]:
    """Interval of the mean score, over the choice of problems or seeds.

    Of verdicts Wilson's; of other scores the same form, with their variance and Student's t:
    Dean and Pagano, Evaluating confidence interval methods for binomial proportions in clustered
    surveys (Journal of Survey Statistics and Methodology 3, 2015).

    Args:
        values: One for each problem, within [0, 1], such as the mean over its samples.
        clusters: Of problems that are right and wrong together, such as versions of one.

    Returns:
        Ends of the 95 % interval, as of `over_clusters`.

    Raises:
        ValueError: A value lies outside [0, 1].
    """
    return over_clusters(*cluster_sums(values, clusters))


def standard_error(values: Values, clusters: Clusters = None) -> float:
    """Of the mean score, over the choice of clusters; NaN where there is one.

    Miller, Adding Error Bars to Evals (arXiv:2411.00640), section 2.2.
    """
    totals, sizes = cluster_sums(values, clusters)
    return math.sqrt(_variance(totals, sizes)) if len(sizes) > 1 else math.nan


def cluster_sums(values: Values, clusters: Clusters = None) -> tuple[np.ndarray, np.ndarray]:
    """Sum and number of the scores of each cluster."""
    scores = np.asarray(values, float)
    if clusters is None:
        return scores, np.ones(len(scores))
    numbers = {label: number for number, label in enumerate(dict.fromkeys(clusters))}
    members = np.array([numbers[label] for label in clusters], int)
    sizes = np.bincount(members, minlength=len(numbers))
    return np.bincount(members, scores, minlength=len(numbers)), sizes


def over_clusters(totals: Values, sizes: Values) -> list[float]:
    """Interval of the mean score of problems in clusters, over the choice of clusters.

    Problems of one cluster, such as parts of one figure, are right and wrong together. That of
    `over_problems`, which are clusters of size 1, with the variance of a ratio: Cochran, Sampling
    Techniques (1977), chapter 6.

    Args:
        totals: Sum of the scores of each cluster.
        sizes: Number of scores of each cluster, at least 1.

    Returns:
        Ends of the 95 % interval. Of scores that are all 0 or all 1, Wilson's of one verdict a
        cluster; empty for other scores without spread, which say nothing about it.

    Raises:
        ValueError: A mean score lies outside [0, 1].
    """
    totals, sizes = np.asarray(totals, float), np.asarray(sizes, float)
    scores, count = totals / sizes, len(sizes)
    if not count:
        return []
    if not (scores.min() >= -_ROUNDING and scores.max() <= 1 + _ROUNDING):
        raise ValueError(f"scores from {scores.min()} to {scores.max()}: give values in [0, 1]")
    if np.isin(totals, (0, 1)).all() and (sizes == 1).all():
        return wilson(int(totals.sum()), count)
    mean = float(totals.sum() / sizes.sum())
    if np.ptp(scores) <= _ROUNDING:
        is_end = min(mean, 1 - mean) <= _ROUNDING
        return wilson(round(mean) * count, count) if is_end else []
    return _wilson_form(mean, _weight(mean, _variance(totals, sizes), count - 1))


def over_samples(correct: np.ndarray, total: np.ndarray) -> list[float]:
    """Interval of the mean score over the sampling of responses to these problems.

    The variance of a problem's rate r from k samples is r (1 - r) / (k - 1), without bias; degrees
    of freedom: Satterthwaite, An approximate distribution of estimates of variance components
    (Biometrics Bulletin 2, 1946).

    Args:
        correct: Number of right samples of each problem.
        total: Number of samples of each, at least 1.

    Returns:
        Ends of the 95 % interval; empty where no problem has both right and wrong samples.
    """
    if len(total) == 0:
        return []
    rate, freedom = correct / total, np.maximum(total - 1, 1)
    variances = rate * (1 - rate) / freedom / len(total) ** 2
    variance = float(variances.sum())
    if not variance:
        return []
    degrees = int(variance**2 / float((variances**2 / freedom).sum()) + _ROUNDING)
    mean = float(rate.mean())
    return _wilson_form(mean, _weight(mean, variance, max(1, degrees)))


def over_pairs(
    first: Sequence[float], second: Sequence[float], clusters: Clusters = None
) -> list[float]:
    """Interval of the mean difference of two scores of the same problems or seeds.

    Of verdicts, that of Bonett and Price, Adjusted Wald confidence interval for a difference of
    binomial proportions based on paired data (Journal of Educational and Behavioral Statistics 37,
    2012), with Student's t of its n + 2 pairs: with the normal quantile it holds the truth in 88 of
    100 cases of few seeds, with t in 93 at least. Of other scores, and of verdicts in clusters,
    `over_problems` of differences.

    Args:
        first: Of each problem, within [0, 1].
        second: Of the same problems, in the same order.
        clusters: Of the problems; where no verdicts in them differ, each counts as one tie.
    """
    scores = np.asarray([first, second], float)
    differences, sizes = cluster_sums(scores[0] - scores[1], clusters)
    is_of_verdicts = bool(np.isin(scores, (0, 1)).all())
    if is_of_verdicts and not differences.any():
        scores = np.zeros((2, len(sizes)))
    elif not is_of_verdicts or (sizes > 1).any():
        return [2 * end - 1 for end in over_clusters((differences + sizes) / 2, sizes)]
    if not (count := scores.shape[1]):
        return []
    wins, losses = (int((side > other).sum()) + 1 for side, other in (scores, scores[::-1]))
    win_rate, loss_rate = wins / (count + 2), losses / (count + 2)
    difference = win_rate - loss_rate
    half = student_t(count + 1) * math.sqrt((win_rate + loss_rate - difference**2) / (count + 2))
    return [max(-1.0, difference - half), min(1.0, difference + half)]


def over_ratios(ratios: Sequence[float]) -> list[float]:
    """Interval of the geometric mean of ratios, such as of two times taken in turn; Student's t."""
    if len(ratios) < 2:
        return []
    logs = np.log(ratios)
    half = student_t(len(logs) - 1) * float(logs.std(ddof=1)) / math.sqrt(len(logs))
    return [math.exp(logs.mean() - half), math.exp(logs.mean() + half)]


@cache
def student_t(degrees: int) -> float:
    """Quantile of Student's t that bounds the middle 95 %.

    Bisection of the finite series of the distribution function: Abramowitz and Stegun, Handbook of
    Mathematical Functions, 26.7.3 and 26.7.4.

    Args:
        degrees: Of freedom, at least 1.
    """
    low, high = 0.0, math.pi / 2
    while (angle := (low + high) / 2) not in (low, high):
        low, high = (angle, high) if _t_mass(angle, degrees) < LEVEL else (low, angle)
    return math.sqrt(degrees) * math.tan(angle)


def _t_mass(angle: float, degrees: int) -> float:
    """Probability of |t| < sqrt(degrees) tan(angle)."""
    odd = degrees % 2
    orders = np.arange(1 + odd, degrees - 1, 2)
    factors = orders / (orders + 1) * math.cos(angle) ** 2
    terms = math.sin(angle) * (1 + np.cumprod(factors).sum())
    if not odd:
        return float(terms)
    return 2 / math.pi * float(angle + (terms * math.cos(angle) if degrees > 1 else 0))


def _variance(totals: np.ndarray, sizes: np.ndarray) -> float:
    """Of the ratio of the sums, over the choice of clusters, of which there are two at least."""
    deviations = (totals - totals.sum() / sizes.sum() * sizes) / sizes.mean()
    return float((deviations**2).sum() / (len(sizes) - 1)) / len(sizes)


def _weight(mean: float, variance: float, degrees: int) -> float:
    """Squared quantile over the effective number of verdicts, mean (1 - mean) / variance."""
    return student_t(degrees) ** 2 * variance / (mean * (1 - mean))


def _wilson_form(mean: float, weight: float) -> list[float]:
    """The means m with (mean - m)^2 <= weight m (1 - m)."""
    middle = (mean + weight / 2) / (1 + weight)
    half = math.sqrt(weight * (mean * (1 - mean) + weight / 4)) / (1 + weight)
    return [max(0.0, middle - half), min(1.0, middle + half)]
