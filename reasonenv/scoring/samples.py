"""Scores of several samples of one problem: mean@k, pass@k, maj@k."""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

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
        answers: What each sample says; None says nothing.
        right: What the right ones among them are.
    """
    votes = Counter(answer for answer in answers if answer is not None)
    most = max(votes.values(), default=0)
    return (votes[right] == most) / list(votes.values()).count(most) if most else 0.0


def majority_at_k(
    answers: Sequence[Hashable | None], right: Hashable, k: int, seed: int = 0
) -> float:
    """maj@k: `majority` of k samples that are drawn without replacement, on average.

    Exact for k = 1 and for all samples; else the mean of 2,000 seeded draws.
    Wang et al., Self-Consistency Improves Chain of Thought Reasoning (arXiv:2203.11171).

    Args:
        answers: What each sample says; None says nothing.
        right: What the right ones among them are.
        k: Samples that vote, from 1 to all.
        seed: Of the draws.
    """
    if k == 1:
        return sum(answer == right for answer in answers) / len(answers)
    if k == len(answers):
        return majority(answers, right)
    said = list(dict.fromkeys(answer for answer in answers if answer is not None))
    if right not in said:
        return 0.0
    counts = [answers.count(answer) for answer in said]
    silent = len(answers) - sum(counts)
    random = np.random.default_rng(seed)
    votes = random.multivariate_hypergeometric([*counts, silent], k, size=_NUM_DRAWS)[:, :-1]
    most = votes.max(axis=1)
    leaders = votes == most[:, None]
    wins = leaders[:, said.index(right)] & (most > 0)
    return float(np.mean(wins / leaders.sum(axis=1)))


def sizes(total: int) -> list[int]:
    """The k to report of n samples: powers of two, and n itself."""
    powers = [1 << power for power in range(total.bit_length())]
    return sorted({*(power for power in powers if power <= total), total})
