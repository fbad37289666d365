"""Statistics of scores: pass@k and maj@k, a paired test. All draws are seeded."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from reasonenv.scoring.intervals import Clusters, cluster_sums, over_pairs

_NUM_ENUMERATED = 16
_NUM_FLIPS = 100_000
_FLIPS_AT_ONCE = 1_000
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


def paired_comparison(
    first: Sequence[float], second: Sequence[float], seed: int = 0, clusters: Clusters = None
) -> dict[str, Any]:
    """A paired comparison of two scores of the same problems.

    The p-value is that of the two-sided sign-flip test: the probability of a difference at least
    as large if the two scores of each problem were exchanged by the toss of a coin, which is one
    for all problems of a cluster (Canay, Romano and Shaikh, Randomization tests under an
    approximate symmetry assumption, Econometrica 85, 2017). It is exact where at most 16 differ,
    and where all differ by the same, as verdicts do (McNemar's test, Psychometrika 12, 1947); else
    it is drawn.

    Args:
        first: Of each problem, in [0, 1]: a verdict or the mean over samples.
        second: Of the same problems, in the same order.
        seed: Of the draws.
        clusters: Of problems that are right and wrong together, such as versions of one.

    Returns:
        `difference` (first minus second), its `interval` (`over_pairs`), `p_value`, and the numbers
        of problems in which the first has `wins`, `losses` and `ties`.
    """
    differences = (np.asarray(first, float) - np.asarray(second, float)).round(12)
    return {
        "num_problems": len(differences),
        "difference": float(differences.mean()) if len(differences) else None,
        "interval": over_pairs(first, second, clusters),
        "p_value": sign_flip_p_value(cluster_sums(differences, clusters)[0], seed),
        "wins": int((differences > 0).sum()),
        "losses": int((differences < 0).sum()),
        "ties": int((differences == 0).sum()),
    }


def paired_test(first: Sequence[float], second: Sequence[float], clusters: Clusters = None) -> str:
    """Name of the test behind the p-value of `paired_comparison`."""
    scores = np.asarray([first, second], float)
    differences, sizes = cluster_sums(scores[0] - scores[1], clusters)
    has_clusters = (sizes > 1).any()
    if np.isin(scores, (0, 1)).all() and not has_clusters:
        return "Exact McNemar test"
    units = f"{len(sizes):,} clusters of problems" if has_clusters else "problems"
    lengths = np.abs(differences).round(12)
    num = np.count_nonzero(lengths)
    if num <= _NUM_ENUMERATED or len(np.unique(lengths[lengths != 0])) == 1:
        return f"Exact sign-flip test over {units}"
    return f"Sign-flip test over {units}, {_NUM_FLIPS:,} draws"


def sign_flip_p_value(differences: Sequence[float] | np.ndarray, seed: int = 0) -> float:
    """Two-sided p-value of a mean difference under random signs; at least 2 / 2^n, as it must be.

    Fisher, The Design of Experiments (1935), section 21. A drawn one counts the observed signs as
    a draw: Phipson and Smyth, Permutation p-values should never be zero (Statistical Applications
    in Genetics and Molecular Biology 9, 2010).

    Args:
        differences: Of scores, one for each problem or cluster; those below 1e-12 have no sign.
        seed: Of the draws, where more than 16 differ.
    """
    signed = np.asarray(differences, float).round(12)
    sizes, counts = np.unique(np.abs(signed[signed != 0]), return_counts=True)
    num = int(counts.sum())
    if len(sizes) <= 1:
        return _of_coins(int((signed > 0).sum()), num)
    least = abs(signed.sum()) - 1e-9
    if num <= _NUM_ENUMERATED:
        sums = np.zeros(1)
        for size in np.repeat(sizes, counts):
            sums = np.concatenate([sums - size, sums + size])
        return float((np.abs(sums) >= least).mean())
    random, extreme = np.random.default_rng(seed), 0
    for _ in range(_NUM_FLIPS // _FLIPS_AT_ONCE):
        heads = random.binomial(counts, 0.5, size=(_FLIPS_AT_ONCE, len(counts)))
        extreme += int((np.abs((2 * heads - counts) @ sizes) >= least).sum())
    return max(2.0 ** (1 - num), (1 + extreme) / (1 + _NUM_FLIPS))


def _of_coins(heads: int, tosses: int) -> float:
    """Probability that fair coins fall as unevenly as this, or more; two-sided and exact."""
    tail, ways = 0, 1
    for k in range(min(heads, tosses - heads) + 1):
        tail += ways
        ways = ways * (tosses - k) // (k + 1)
    # Whole numbers divided at last: neither overflows.
    return min(1.0, 2 * tail / (1 << tosses))
