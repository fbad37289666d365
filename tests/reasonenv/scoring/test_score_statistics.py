import itertools
import math

import numpy as np
import pytest

from reasonenv.score_statistics import (
    majority,
    majority_at_k,
    over_problems,
    over_samples,
    paired_comparison,
    pass_at_k,
    sample_sizes,
)


@pytest.mark.parametrize(("correct", "total"), [(0, 5), (1, 5), (3, 6), (6, 6)])
def test_pass_at_k_is_the_share_of_subsets_with_a_right_sample(correct, total):
    verdicts = [True] * correct + [False] * (total - correct)
    for k in range(1, total + 1):
        subsets = list(itertools.combinations(verdicts, k))
        assert pass_at_k(correct, total, k) == pytest.approx(np.mean([any(s) for s in subsets]))


def test_pass_at_k_of_many_samples_neither_overflows_nor_leaves_the_unit_interval():
    assert pass_at_k(1, 10_000, 5_000) == pytest.approx(0.5)
    assert 0 < pass_at_k(1, 10**6, 1) < 1e-5


@pytest.mark.parametrize(("correct", "total", "k"), [(1, 4, 5), (1, 4, 0), (5, 4, 1), (-1, 4, 1)])
def test_pass_at_k_refuses_numbers_that_do_not_fit(correct, total, k):
    with pytest.raises(ValueError, match="1 <= k <= total"):
        pass_at_k(correct, total, k)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [("aab", 1), ("abb", 0), ("ab", 1 / 2), ("abc", 1 / 3), ("bbc", 0), ([None, "a"], 1), ([], 0)],
)
def test_the_majority_is_right_as_often_as_the_lot_falls_on_it(answers, expected):
    assert majority(list(answers), "a") == pytest.approx(expected)
    assert majority([None, None], "a") == 0


@pytest.mark.parametrize("answers", ["aabbc", "abbbb", "aaabc", ["a", "a", None, None, "b", "c"]])
def test_maj_at_k_is_the_mean_of_the_majority_over_subsets(answers):
    answers = list(answers)
    for k in range(1, len(answers) + 1):
        subsets = list(itertools.combinations(answers, k))
        expected = np.mean([majority(subset, "a") for subset in subsets])
        # Two thousand draws have a standard error of at most 0.011.
        assert majority_at_k(answers, "a", k) == pytest.approx(expected, abs=0.05)
    assert majority_at_k(answers, "z", 2) == 0


def test_sizes_are_the_powers_of_two_and_all_samples():
    assert [sample_sizes(n) for n in (1, 4, 6, 32)] == [
        [1],
        [1, 2, 4],
        [1, 2, 4, 6],
        [1, 2, 4, 8, 16, 32],
    ]


def test_an_interval_over_problems_is_that_of_resampling_them_one_by_one():
    values = np.random.default_rng(1).choice([0, 0.25, 0.5, 1], size=60)
    draws = np.random.default_rng(2).choice(values, size=(10_000, 60)).mean(axis=1)
    expected = np.quantile(draws, [0.025, 0.975])
    # The ends of two sets of draws differ by their own error, about a fiftieth of the width.
    width = expected[1] - expected[0]
    assert over_problems(values) == pytest.approx(expected, abs=0.1 * width)
    assert over_problems(values, seed=3) == over_problems(values, seed=3)
    assert over_problems([]) == []


def test_an_interval_over_problems_holds_the_truth_in_about_95_of_100_cases():
    random = np.random.default_rng(0)
    ends = [over_problems(random.random(200) < 0.3) for _ in range(200)]
    covered = np.mean([low <= 0.3 <= high for low, high in ends])
    assert 0.9 <= covered <= 0.99


def test_an_interval_over_samples_has_the_variance_of_sampling_alone():
    correct, total = np.array([0, 8, 32, 16]), np.array([32, 32, 32, 32])
    low, high = over_samples(correct, total)
    rates = correct / total
    deviation = math.sqrt((rates * (1 - rates) / total).sum()) / 4
    assert high - low == pytest.approx(2 * 1.96 * deviation, rel=0.1)
    # Many problems with the same counts are still many problems.
    low, high = over_samples(np.full(50, 8), np.full(50, 32))
    assert high - low == pytest.approx(2 * 1.96 * math.sqrt(0.25 * 0.75 / 32 / 50), rel=0.1)
    # Problems that are always or never solved add nothing to it.
    assert over_samples(np.array([0, 4]), np.array([4, 4])) == [0.5, 0.5]


def test_the_paired_test_of_verdicts_is_the_exact_one_of_mcnemar():
    first = [1] * 9 + [0] * 1 + [1] * 5 + [0] * 5
    second = [0] * 9 + [1] * 1 + [1] * 5 + [0] * 5
    result = paired_comparison(first, second)
    # Two-sided: at most one of ten coins on the rarer side, 2 (1 + 10) / 2^10.
    assert result["p_value"] == pytest.approx(22 / 1024)
    assert (result["wins"], result["losses"], result["ties"]) == (9, 1, 10)
    assert result["difference"] == pytest.approx(8 / 20)
    low, high = result["interval"]
    assert 0 < low < 8 / 20 < high


def test_the_paired_test_of_means_is_that_of_all_signs():
    differences = np.array([0.5, 0.25, 0.25, -0.125, -0.5, 0.0])
    second = np.full(6, 0.2)
    sums = [np.dot(signs, differences) for signs in itertools.product([-1, 1], repeat=6)]
    exact = np.mean(np.abs(sums) >= abs(differences.sum()) - 1e-12)
    # A hundred thousand flips: the standard error is below 0.0016.
    assert paired_comparison(second + differences, second)["p_value"] == pytest.approx(
        exact, abs=0.01
    )


def test_equal_responses_do_not_differ():
    result = paired_comparison([1, 0, 0.5], [1, 0, 0.5])
    assert (result["difference"], result["p_value"], result["ties"]) == (0, 1, 3)
    assert paired_comparison([], [])["difference"] is None
