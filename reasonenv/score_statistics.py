"""Statistics of scores: pass@k and maj@k, bootstrap intervals, a paired test. All draws are seeded.

Resampling n values, m of them distinct, is a multinomial draw, so a resample costs m and not n.
Where all values are equal, an interval is a point: the bootstrap has no spread beyond its sample's.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

NUM_RESAMPLES = 10_000
LEVEL = 0.95
_NUM_FLIPS = 100_000
_NUM_DRAWS = 2_000


def pass_at_k(correct: int, total: int, k: int) -> float:
    """Probability that one of k samples, drawn without replacement, is right; unbiased.

    1 - C(n - c, k) / C(n, k), computed as a product.
    Chen et al., Evaluating Large Language Models Trained on Code (arXiv:2107.03374), eq. 1.

    Args:
        correct: Right samples c.
        total: All samples n, at least k.
        k: Samples that are drawn, at least 1.

    Raises:
        ValueError: When the numbers do not fit.
    """
    if not (1 <= k <= total and 0 <= correct <= total):
        raise ValueError(f"pass@{k} of {correct} right among {total}: give 1 <= k <= total")
    wrong = total - correct
    if wrong < k:
        return 1.0
    return 1.0 - float(np.prod(1.0 - k / np.arange(wrong + 1, total + 1)))


def majority(answers: Sequence[Hashable | None], right: Hashable) -> float:
    """Probability that the most frequent answer is the right one, ties broken by lot.

    Args:
        answers: The answer of each sample; None casts no vote.
        right: The right answer.
    """
    votes = Counter(answer for answer in answers if answer is not None)
    most = max(votes.values(), default=0)
    return (votes[right] == most) / list(votes.values()).count(most) if most else 0.0


def majority_at_k(
    answers: Sequence[Hashable | None], right: Hashable, k: int, seed: int = 0
) -> float:
    """maj@k: mean `majority` of k samples that are drawn without replacement.

    Exact for k = 1 and for all samples; else the mean of 2,000 seeded draws.
    Wang et al., Self-Consistency Improves Chain of Thought Reasoning (arXiv:2203.11171).

    Args:
        answers: The answer of each sample; None casts no vote.
        right: The right answer.
        k: Samples that vote, from 1 to all.
        seed: Of the draws.
    """
    if k == 1:
        return sum(answer == right for answer in answers) / len(answers)
    if k == len(answers):
        return majority(answers, right)
    candidates = list(dict.fromkeys(answer for answer in answers if answer is not None))
    if right not in candidates:
        return 0.0
    counts = [answers.count(answer) for answer in candidates]
    abstentions = len(answers) - sum(counts)
    random = np.random.default_rng(seed)
    draws = random.multivariate_hypergeometric([*counts, abstentions], k, size=_NUM_DRAWS)
    votes = draws[:, :-1]
    most = votes.max(axis=1)
    leaders = votes == most[:, None]
    wins = leaders[:, candidates.index(right)] & (most > 0)
    return float(np.mean(wins / leaders.sum(axis=1)))


def sample_sizes(total: int) -> list[int]:
    """Values of k to report for n samples: powers of two, and n itself."""
    powers = [1 << power for power in range(total.bit_length())]
    return sorted({*(power for power in powers if power <= total), total})


def over_problems(values: Sequence[float] | np.ndarray, seed: int = 0) -> list[float]:
    """Interval of the mean score, problems resampled: the spread over other problems.

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
    """Interval of the mean score, samples of each problem resampled around its own rate.

    Args:
        correct: Number of right samples of each problem.
        total: Number of samples of each, at least 1.
        seed: Of the binomial draws.
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


def paired_comparison(
    first: Sequence[float], second: Sequence[float], seed: int = 0
) -> dict[str, Any]:
    """A paired comparison of two scores of the same problems.

    The p-value is that of the two-sided sign-flip test: the probability of a difference at least
    as large if the two scores of each problem were exchanged by the toss of a coin. With one
    sample of each problem it is exact, McNemar's test (Psychometrika 12, 1947); else it is drawn.

    Args:
        first: Of each problem, in [0, 1]: a verdict or the mean over samples.
        second: Of the same problems, in the same order.
        seed: Of the draws.

    Returns:
        `difference` (first minus second), its `interval` (bootstrap over problems), `p_value`,
        and the numbers of problems in which the first has `wins`, `losses` and `ties`.
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
