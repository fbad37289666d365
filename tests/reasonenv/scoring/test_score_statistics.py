import itertools
from statistics import NormalDist

import numpy as np
import pytest

from reasonenv.scoring.statistics import (
    majority_at_k,
    paired_comparison,
    pass_at_k,
    sample_sizes,
    sign_flip_p_value,
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
    assert majority_at_k(list(answers), "a", len(answers)) == pytest.approx(expected)


@pytest.mark.parametrize("answers", ["aabbc", "abbbb", "aaabc", ["a", "a", None, None, "b", "c"]])
def test_maj_at_k_is_the_mean_of_the_majority_over_subsets(answers):
    answers = list(answers)
    for k in range(1, len(answers) + 1):
        subsets = list(itertools.combinations(answers, k))
        expected = np.mean([majority_at_k(subset, "a", k) for subset in subsets])
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


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        ([1, 0, 1], [0, 0, 1], "Exact McNemar test"),
        ([0.5, 0.25], [0.25, 0.75], "Exact sign-flip test over problems"),
        ([0.5] * 20, [0.25] * 19 + [0.75], "Exact sign-flip test over problems"),
        ([0.5] * 20, [0.25] * 19 + [1], "Sign-flip test over problems, 100,000 draws"),
        ([0.5, 1], [0.5, 1], "Exact sign-flip test over problems"),
    ],
)
def test_the_paired_test_has_a_name(first, second, name):
    one, other = (paired_comparison(first, second, seed) for seed in (0, 1))
    assert one["test"] == name
    assert ("draws" in name) == (one["p_value"] != other["p_value"])


def of_all_signs(differences):
    signs = np.array(list(itertools.product([-1, 1], repeat=len(differences))))
    return np.mean(np.abs(signs @ differences) >= abs(np.sum(differences)) - 1e-9)


@pytest.mark.parametrize(
    ("differences", "p_value"),
    [
        ([0.404, 0.296, 0.523], 2 / 8),  # three seeds of one sign, and so on
        ([0.7, 0.6, 0.65, 0.68], 2 / 16),
        ([0.66, 0.59, 0.72, 0.71, 0.62], 2 / 32),
        ([0.01 * k for k in range(1, 11)], 2 / 1024),
        # 3 + 2 + 1 - 1 = 5 tenths; 7, 5 and 5 are no smaller, of 16 sums and as many below zero.
        ([0.3, 0.2, 0.1, -0.1], 6 / 16),
        ([0.3, 0.2, 0.1, 0.0], 2 / 8),
        ([0.3, -0.1, -0.2], 1.0),
        ([0.25], 1.0),
    ],
)
def test_p_values_of_few_pairs_are_those_counted_by_hand(differences, p_value):
    assert sign_flip_p_value(differences) == p_value


@pytest.mark.parametrize("num", range(2, 13))
def test_the_paired_test_of_up_to_sixteen_means_counts_all_signs(num):
    random = np.random.default_rng(num)
    for differences in (random.normal(0.2, 0.3, num), random.integers(-4, 9, num) / 8):
        p_value = paired_comparison(np.clip(differences, 0, 9), np.clip(-differences, 0, 9))
        assert p_value["p_value"] == of_all_signs(differences)


def test_sixteen_pairs_that_agree_have_the_smallest_p_value_that_can_occur():
    differences = np.random.default_rng(0).random(16)
    assert sign_flip_p_value(differences) == 2.0**-15
    assert sign_flip_p_value([*differences, 0.0, 0.0]) == 2.0**-15


def test_a_p_value_that_is_drawn_is_never_below_the_smallest_that_can_occur():
    differences = np.random.default_rng(0).random(17)
    # Of a hundred thousand draws 1.5 have equal signs in the mean, and none in two cases of nine.
    assert min(sign_flip_p_value(differences, seed) for seed in (5, 6)) == 2.0**-16
    assert sign_flip_p_value(np.tile(differences, 3)) == 1 / 100_001


def test_a_p_value_that_is_drawn_is_close_to_that_of_all_signs():
    differences = np.random.default_rng(1).normal(0.1, 0.3, 17)
    # A hundred thousand flips: the standard error is below 0.0016.
    assert sign_flip_p_value(differences) == pytest.approx(of_all_signs(differences), abs=0.006)


def test_the_p_value_of_many_verdicts_is_that_of_the_normal_distribution():
    wins, losses = 10_200, 9_800
    z = (wins - losses - 1) / np.sqrt(wins + losses)  # continuity counts half a win to each side
    p_value = sign_flip_p_value(np.repeat([1, -1], [wins, losses]))
    assert p_value == pytest.approx(2 * NormalDist().cdf(-z), rel=1e-3)


def test_rounding_errors_are_no_differences():
    first, second = [0.1 + 0.2] * 6, [0.3] * 6
    result = paired_comparison(first, second)
    assert (result["p_value"], result["wins"], result["ties"]) == (1.0, 0, 6)
    assert sign_flip_p_value(np.subtract(first, second)) == 1.0
    assert paired_comparison([*first, 0.5], [*second, 0.25])["p_value"] == 1.0


def test_equal_responses_do_not_differ():
    result = paired_comparison([1, 0, 0.5], [1, 0, 0.5])
    assert (result["difference"], result["p_value"], result["ties"]) == (0, 1, 3)
    assert paired_comparison([], [])["difference"] is None


def test_the_coin_of_a_cluster_is_one_for_all_of_its_problems():
    first, second = [1] * 10 + [0, 1], [0] * 10 + [1, 0]
    clusters = [0] * 5 + [1] * 5 + [2, 3]
    result = paired_comparison(first, second, clusters=clusters)
    # Sums 5, 5, -1, 1: of 16 signs those with 5 and 5 alike, and the sum at least 10 long.
    assert result["p_value"] == 6 / 16
    assert (result["wins"], result["losses"], result["num_problems"]) == (11, 1, 12)
    assert result["test"] == "Exact sign-flip test over 4 clusters of problems"
    alone = paired_comparison(first, second, clusters=range(12))
    assert alone == paired_comparison(first, second)
    assert alone["test"] == "Exact McNemar test"
