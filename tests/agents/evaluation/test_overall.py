"""The papers' Overall, against the values that CPGD prints."""

import pytest

from agents.evaluation.published import BASELINE
from agents.evaluation.published import over_baseline as overall

# CPGD (arXiv:2505.12504), Tables 1 and 2: six accuracies in per cent and Overall as printed.
PUBLISHED = {
    "GPT-4o": (63.8, 50.2, 30.4, 35.0, 68.8, 49.9, 1.16),
    "OpenAI-o1": (73.9, 57.0, 60.3, 68.0, 98.7, 73.9, 1.83),
    "InternVL2.5-8B": (64.4, 39.5, 19.7, 12.3, 53.5, 45.6, 0.81),
    "QwenVL2.5-7B": (68.2, 47.9, 25.4, 20.2, 62.1, 53.6, 1.00),
    "InternVL2.5-MPO-8B": (68.9, 35.5, 21.5, 7.8, 53.5, 34.5, 0.75),
    "R1-Onevision": (64.1, 47.1, 23.5, 17.3, 61.8, 39.8, 0.91),
    "OpenVLThinker": (70.2, 47.9, 25.3, 20.1, 64.3, 60.6, 1.03),
    "MM-Eureka-7B": (73.0, 50.3, 26.9, 20.1, 66.1, 64.5, 1.07),
    "RLOO": (68.6, 48.3, 23.0, 19.5, 65.8, 61.3, 1.01),
    "REINFORCE++": (63.9, 45.5, 18.2, 17.8, 66.7, 64.3, 0.96),
    "GRPO": (70.3, 51.4, 25.9, 18.5, 67.4, 65.1, 1.06),
    "CPGD (clip-filter-like weight)": (73.4, 51.4, 25.9, 21.5, 70.2, 67.3, 1.10),
    "CPGD (STD weight)": (74.0, 50.6, 28.3, 21.4, 68.3, 65.3, 1.11),
    "PG": (67.8, 42.0, 22.5, 8.0, 58.6, 65.9, 0.89),
    "PGD": (64.2, 41.1, 20.8, 7.5, 58.3, 67.3, 0.86),
    "CPG": (72.7, 52.3, 27.6, 20.8, 70.7, 66.2, 1.11),
    "unprocessed rewards": (69.1, 40.2, 21.8, 3.5, 59.7, 67.2, 0.85),
    "equal weight": (73.1, 51.1, 27.2, 20.8, 67.9, 65.8, 1.09),
    "with reference KL": (71.8, 50.0, 21.0, 21.2, 69.8, 65.8, 1.05),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_overall_is_the_one_that_the_paper_prints(name):
    *accuracies, printed = PUBLISHED[name]
    value = overall(dict(zip(BASELINE, accuracies, strict=True)))
    assert abs(value - printed) <= 0.005 + 1e-9


def test_overall_needs_every_benchmark():
    with pytest.raises(ValueError, match="MMK12 missing or unknown"):
        overall({name: 50.0 for name in BASELINE if name != "MMK12"})
