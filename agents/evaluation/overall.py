"""The papers' Overall: how a model compares with Qwen2.5-VL-7B over six benchmarks."""

from collections.abc import Mapping

BASELINE: Mapping[str, float] = {
    "MathVista": 68.2,
    "MathVerse": 47.9,
    "MathVision": 25.4,
    "OlympiadBench": 20.2,
    "WeMath": 62.1,
    "MMK12": 53.6,
}
"""Accuracy of Qwen2.5-VL-7B-Instruct in per cent: CPGD (arXiv:2505.12504), Table 1."""


def overall(accuracies: Mapping[str, float], baseline: Mapping[str, float] = BASELINE) -> float:
    """Mean over benchmarks of accuracy / the baseline's accuracy; 1 for the baseline itself.

    CPGD (arXiv:2505.12504), section 5: (1/N) sum_j X_j / X_j^baseline with N = 6.

    Args:
        accuracies: By the names of `baseline`, in its unit (per cent); one for each.
        baseline: Of the model that counts as 1.

    Raises:
        ValueError: When a benchmark is missing or unknown.
    """
    if accuracies.keys() != baseline.keys():
        wrong = sorted(accuracies.keys() ^ baseline.keys())
        raise ValueError(
            f"Overall is of {', '.join(baseline)}: {', '.join(wrong)} missing or unknown"
        )
    return sum(accuracies[name] / baseline[name] for name in baseline) / len(baseline)
