"""Coverage of intervals: how many of a hundred hold the truth, by enumeration or simulation."""

import itertools
import math

import numpy as np
import pytest

from reasonenv.scoring.statistics import (
    over_clusters,
    over_pairs,
    over_problems,
    over_ratios,
    over_samples,
    paired_comparison,
    standard_error,
    student_t,
    wilson,
)


def coverage(intervals, truths):
    low, high = np.transpose(intervals)
    return np.mean((low <= truths) & (truths <= high))


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    # Fisher and Yates, Statistical Tables (1938), table III, column .05.
    {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 8: 2.306, 9: 2.262}.items()
    | {10: 2.228, 19: 2.093, 30: 2.042, 60: 2.000, 120: 1.980}.items(),
)
def test_quantiles_of_students_t_are_those_of_the_published_table(degrees, quantile):
    assert student_t(degrees) == pytest.approx(quantile, abs=5.1e-4)


def test_students_t_becomes_the_normal_distribution():
    # The first terms of its expansion in 1 / degrees: Abramowitz and Stegun, 26.7.5.
    z = 1.959963984540054
    for degrees in (1_000, 9_999):
        assert student_t(degrees) == pytest.approx(z + (z**3 + z) / 4 / degrees, abs=1e-5)


def test_wilsons_interval_is_that_of_its_formula():
    low, high = wilson(7, 10)
    z = 1.959963984540054
    for p in (low, high):  # where the rate is z standard errors of p away
        assert abs(0.7 - p) == pytest.approx(z * math.sqrt(p * (1 - p) / 10))
    assert wilson(0, 10) == pytest.approx([0.0, z * z / (10 + z * z)])
    assert wilson(0, 0) == []


ACCURACIES = {
    # Of normal values the interval is Student's, whose coverage is exact.
    "normal": (lambda random, size: random.normal(0.6, 0.03, size), 0.6, (0.93, 0.97)),
    "symmetric": (lambda random, size: random.beta(14, 6, size), 0.7, (0.93, 0.97)),
    "flat": (lambda random, size: random.random(size), 0.5, (0.92, 0.97)),
    "near 1": (lambda random, size: random.beta(19, 1, size), 0.95, (0.9, 0.97)),
    "skewed": (lambda random, size: random.beta(0.5, 1.5, size), 0.25, (0.89, 0.97)),
}


@pytest.mark.parametrize("num_seeds", [3, 5, 10])
@pytest.mark.parametrize("kind", ACCURACIES)
def test_intervals_of_few_seeds_hold_the_mean_accuracy_in_about_95_of_100_cases(kind, num_seeds):
    draw, mean, (least, most) = ACCURACIES[kind]
    random = np.random.default_rng(num_seeds)
    intervals = [over_problems(scores) for scores in draw(random, (1500, num_seeds))]
    # 1,500 draws have a standard error below 0.008.
    assert least <= coverage(intervals, mean) <= most


@pytest.mark.parametrize(("num_seeds", "share"), [(3, 0.76), (5, 0.83), (10, 0.95)])
def test_of_seeds_of_two_kinds_three_may_not_show_both(num_seeds, share):
    random, size = np.random.default_rng(num_seeds), (8000, num_seeds)
    collapsed = random.random(size) < 0.3
    scores = np.where(collapsed, random.beta(2, 18, size), random.beta(35, 15, size))
    # The shares that benchmarks/README.md quotes; 8,000 draws have a standard error below 0.005.
    assert coverage([over_problems(row) for row in scores], 0.52) == pytest.approx(share, abs=0.015)


# Newcombe, Two-sided confidence intervals for the single proportion (Statistics in Medicine 17,
# 1998), table I, method 3.
@pytest.mark.parametrize(
    ("right", "total", "ends"),
    [
        *[(81, 263, (0.2553, 0.3662)), (15, 148, (0.0624, 0.1605))],
        *[(0, 20, (0.0, 0.1611)), (1, 29, (0.0061, 0.1718))],
    ],
)
def test_wilsons_intervals_are_the_published_ones(right, total, ends):
    assert wilson(right, total) == pytest.approx(ends, abs=5.1e-5)
    assert over_problems([1] * right + [0] * (total - right)) == wilson(right, total)


RATES = np.linspace(0.005, 0.995, 199)


def coverages(num_problems):
    """Share of all outcomes whose interval holds each rate, by enumeration of the binomial."""
    right = np.arange(num_problems + 1)
    ways = np.array([float(math.comb(num_problems, k)) for k in right])
    chances = ways * RATES[:, None] ** right * (1 - RATES[:, None]) ** (num_problems - right)
    ends = [over_problems([1] * k + [0] * (num_problems - k)) for k in right]
    low, high = np.transpose(ends)
    return (chances * ((low <= RATES[:, None]) & (RATES[:, None] <= high))).sum(1)


# Brown, Cai and DasGupta, Interval estimation for a binomial proportion (Statistical Science 16,
# 2001): 95 % on average over rates, and less at some rates near 0 and 1.
@pytest.mark.parametrize(
    ("num_problems", "least"),
    [(1, 0.79), (3, 0.82), (5, 0.83), (10, 0.83), (37, 0.83), (200, 0.85), (1000, 0.9)],
)
def test_intervals_of_verdicts_hold_95_of_100_rates_on_average(num_problems, least):
    held = coverages(num_problems)
    assert 0.94 <= held.mean() <= 0.97
    assert held.min() >= least
    middle = abs(RATES - 0.5) < 0.3
    assert held[middle].min() >= (0.9 if num_problems >= 10 else least)


def test_no_verdicts_make_an_interval_without_a_width():
    for total in (1, 2, 37, 1000):
        for right in {0, 1, total - 1, total}:
            low, high = over_problems([1] * right + [0] * (total - right))
            assert 0 <= low <= right / total <= high <= 1
            assert high - low > 1 / (total + 4)


def test_problems_of_one_cluster_count_as_one():
    totals, sizes = np.array([3, 0, 2, 3, 0, 3]), np.array([3, 3, 2, 3, 2, 3])
    low, high = over_clusters(totals, sizes)
    alone = over_problems([1] * 11 + [0] * 5)
    assert low < alone[0] < totals.sum() / sizes.sum() < alone[1] < high
    # Of clusters of one size it is that of their means.
    assert over_clusters([3, 1, 0, 2], [4] * 4) == pytest.approx(
        over_problems([0.75, 0.25, 0, 0.5])
    )
    assert over_clusters([4, 2, 3], [4, 2, 3]) == wilson(3, 3)
    assert over_clusters([2, 1], [4, 2]) == over_clusters([], []) == []


@pytest.mark.parametrize("num_clusters", [10, 40])
def test_intervals_over_clusters_hold_the_rate(num_clusters):
    random = np.random.default_rng(0)
    intervals = []
    for _ in range(1000):
        sizes = random.integers(1, 6, num_clusters)
        # All problems of a cluster are right with one chance of its own.
        totals = random.binomial(sizes, random.beta(1.2, 0.8, num_clusters))
        intervals.append(over_clusters(totals, sizes))
    assert 0.92 <= coverage(intervals, 0.6) <= 0.98


def test_clusters_may_be_labels_of_the_problems_in_any_order():
    values, clusters = [1, 0, 1, 1, 0, 0], ["a", ("b",), "a", "c", ("b",), "c"]
    assert over_problems(values, clusters) == over_clusters([2, 0, 1], [2, 2, 2])
    assert over_problems(values, range(6)) == over_problems(values)
    # The ratio's variance by hand: deviations 1, -1, 0 of totals from 1, over clusters of 2.
    assert standard_error(values, clusters) == pytest.approx(math.sqrt(2 / 2 / 3) / 2)
    assert standard_error(values) == pytest.approx(np.std(values, ddof=1) / math.sqrt(6))
    # Of clusters of 3, 1 and 1: deviations .2, -.6 and .4 from 3 / 5, over 5 / 3.
    assert standard_error([1, 1, 0, 0, 1], "aaabc") == pytest.approx(math.sqrt(0.56 / 2 / 3) * 0.6)
    assert math.isnan(standard_error([1, 0], ["a", "a"]))


def versions(random, num_problems, correlation=0.5, rate=0.6):
    """Verdicts on five versions of each problem, with this correlation within a problem."""
    size = 1 / correlation - 1
    chances = random.beta(rate * size, (1 - rate) * size, num_problems)
    return (random.random((num_problems, 5)) < chances[:, None]).astype(float).ravel()


def clustered(random, num_problems, repetitions):
    """Coverage of the interval, of that of the difference, and share of p-values below .05."""
    clusters = np.repeat(np.arange(num_problems), 5).tolist()
    intervals, paired, p_values = [], [], []
    for _ in range(repetitions):
        first, second = versions(random, num_problems), versions(random, num_problems)
        intervals.append(over_problems(first, clusters))
        result = paired_comparison(first, second, clusters=clusters)
        paired.append(result["interval"])
        p_values.append(result["p_value"])
    return coverage(intervals, 0.6), coverage(paired, 0.0), np.mean(np.array(p_values) < 0.05)


def test_versions_of_a_few_problems_have_intervals_and_tests_over_problems():
    # 13 problems: all signs are enumerated. 400 draws have a standard error below 0.02.
    held, paired, errors = clustered(np.random.default_rng(0), 13, 400)
    assert 0.92 <= held <= 0.99
    assert 0.92 <= paired <= 0.99
    assert 0.01 <= errors <= 0.08


@pytest.mark.slow(reason="1,000 pairs of 788 problems in five versions")
def test_intervals_and_tests_over_the_versions_of_mathverse_hold_what_they_promise():
    held, paired, errors = clustered(np.random.default_rng(0), 788, 1000)
    # Without clusters they are 0.74, 0.74 and 0.24; the standard error of 1,000 draws is 0.007.
    assert held == pytest.approx(0.95, abs=0.02)
    assert paired == pytest.approx(0.95, abs=0.02)
    assert errors == pytest.approx(0.05, abs=0.02)


def test_an_interval_is_that_of_students_t_where_the_ends_are_far():
    scores = [0.50, 0.52, 0.49, 0.51]
    half = 3.182446 * np.std(scores, ddof=1) / 2
    assert over_problems(scores) == pytest.approx([0.505 - half, 0.505 + half], abs=1e-4)


def test_an_interval_stays_within_the_scores_and_is_the_mirror_image_of_that_of_the_failures():
    scores = np.array([0.99, 1.0, 0.97])
    low, high = over_problems(scores)
    assert 0 < low < scores.mean() < high < 1
    assert over_problems(1 - scores) == pytest.approx([1 - high, 1 - low])


def test_values_without_spread_have_no_interval_but_verdicts_have_wilsons():
    assert over_problems([0.3, 0.1 + 0.2, 0.3]) == over_problems([0.5]) == over_problems([]) == []
    assert over_problems([1.0] * 10) == wilson(10, 10)
    assert over_problems([0.0]) == wilson(0, 1)


@pytest.mark.parametrize("scores", [[0.5, 1.2], [-1, 0], [0.5, math.nan]])
def test_an_interval_of_values_that_are_no_scores_is_refused(scores):
    with pytest.raises(ValueError, match=r"give values in \[0, 1\]"):
        over_problems(scores)


@pytest.mark.parametrize("num_samples", [2, 4, 8])
def test_intervals_over_samples_hold_the_rate_of_these_problems(num_samples):
    random = np.random.default_rng(0)
    chances = random.beta(0.6, 1.2, size=(1000, 30))
    correct = random.binomial(num_samples, chances)
    intervals = [over_samples(row, np.full(30, num_samples)) for row in correct]
    assert 0.93 <= coverage(intervals, chances.mean(axis=1)) <= 0.99


def test_an_interval_over_samples_has_the_variance_of_sampling_alone():
    correct, total = np.array([0, 8, 32, 16]), np.array([32, 32, 32, 32])
    low, high = over_samples(correct, total)
    rates = correct / total
    deviation = math.sqrt((rates * (1 - rates) / total).sum()) / 4
    assert high - low == pytest.approx(2 * 1.96 * deviation, rel=0.1)
    # Many problems with the same counts are still many problems.
    low, high = over_samples(np.full(50, 8), np.full(50, 32))
    assert high - low == pytest.approx(2 * 1.96 * math.sqrt(0.25 * 0.75 / 32 / 50), rel=0.1)
    # One problem has the degrees of freedom of its samples.
    low, high = over_samples(np.array([200]), np.array([400]))
    half = student_t(399) * math.sqrt(0.25 / 399)
    assert [low, high] == pytest.approx([0.5 - half, 0.5 + half], abs=1e-3)


def test_problems_that_are_always_or_never_solved_say_nothing_of_sampling():
    assert over_samples(np.array([0, 4]), np.array([4, 4])) == []
    assert over_samples(np.array([]), np.array([])) == []


def paired_verdicts(num, wins, losses):
    ties = num - wins - losses
    return [1] * wins + [0] * losses + [1] * ties, [0] * wins + [1] * losses + [1] * ties


@pytest.mark.parametrize("num_seeds", [1, 2, 3, 4, 5, 10, 30])
@pytest.mark.parametrize(
    "rates",
    [(0, 0), (0.05, 0.02), (0.3, 0.1), (0.6, 0), (0.95, 0), (1, 0), (0.5, 0.5), (0.2, 0.2)],
)
def test_intervals_of_paired_verdicts_hold_the_difference(num_seeds, rates):
    won, lost = rates
    held = 0.0
    for wins, losses in itertools.product(range(num_seeds + 1), repeat=2):
        if (ties := num_seeds - wins - losses) < 0:
            continue
        ways = math.comb(num_seeds, wins) * math.comb(num_seeds - wins, losses)
        chance = ways * won**wins * lost**losses * max(0.0, 1 - won - lost) ** ties
        low, high = over_pairs(*paired_verdicts(num_seeds, wins, losses))
        assert -1 <= low <= (wins - losses) / num_seeds <= high <= 1
        held += chance * (low - 1e-9 <= won - lost <= high + 1e-9)
    assert held >= 0.93


def test_an_interval_of_paired_means_is_that_of_their_differences():
    first, second = np.array([0.7, 0.8, 0.75]), np.array([0.6, 0.72, 0.61])
    differences = first - second
    half = 4.302653 * differences.std(ddof=1) / math.sqrt(3)
    middle = differences.mean()
    assert over_pairs(first, second) == pytest.approx([middle - half, middle + half], abs=2e-3)
    assert over_pairs(second, first) == pytest.approx(
        [-end for end in over_pairs(first, second)][::-1]
    )
    assert (
        over_pairs([0.5, 0.25], [0.5, 0.25]) == over_pairs([0.5], [0]) == over_pairs([], []) == []
    )


def test_paired_verdicts_in_clusters_have_the_interval_of_the_differences_of_clusters():
    first, second = [1, 1, 0, 1, 1, 0], [0, 0, 0, 1, 0, 1]
    clusters = [0, 0, 1, 1, 2, 2]
    low, high = over_clusters((np.array([2, 0, 0]) + 2) / 2, [2, 2, 2])
    expected = pytest.approx([2 * low - 1, 2 * high - 1])
    assert over_pairs(first, second, clusters) == expected
    assert over_pairs(first, second, range(6)) == over_pairs(first, second)
    # Where nothing differs, each cluster is one tie.
    assert over_pairs(first, first, clusters) == over_pairs([1] * 3, [1] * 3)


def test_the_interval_of_ratios_is_students_of_their_logarithms():
    low, high = over_ratios([2.0, 8.0, 4.0])
    half = 4.302653 * math.log(2) / math.sqrt(3)
    assert [math.log(low), math.log(high)] == pytest.approx(
        [math.log(4) - half, math.log(4) + half]
    )
    assert over_ratios([2.0]) == []
