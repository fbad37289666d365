import pytest

from agents.monitoring.traces import contrast
from agents.report.rollouts import highlights


def entry(step, right=(1, 0), advantage=(0.5, -0.5), run=0):
    return {"run": run, "step": step, "right": list(right), "advantage": list(advantage)}


def test_groups_with_mixed_outcomes_and_the_largest_advantages_have_the_most_contrast():
    equal = contrast([1, 1], [9, 9])
    small = contrast([1, 0], [0.1, -0.1])
    large = contrast([1, 0, 0, 0], [0.05, -2, None, 0.05])
    assert equal < contrast([1, 0], [None, None]) < small < large


@pytest.mark.parametrize("last", [1, 2, 3, 10, 30, 150, 2000])
def test_ten_groups_come_from_the_thirds_of_a_run_and_none_twice(last):
    groups = [entry(step) for step in range(1, last + 1) for _ in range(12)]
    thirds = highlights(groups, [last])
    places = [place for third in thirds for place in third]
    assert len(set(places)) == len(places)
    assert [len(third) for third in thirds] == {1: [4, 0, 0], 2: [4, 3, 0]}.get(last, [4, 3, 3])
    for k, third in enumerate(thirds):
        steps = [groups[place]["step"] for place in third]
        assert steps == sorted(steps)
        assert all(k * last / 3 < step <= (k + 1) * last / 3 + 1 for step in steps)


def test_the_largest_advantages_of_a_third_are_taken_in_the_order_of_steps():
    groups = [
        entry(step, advantage=(a, 0)) for step, a in ((1, 0.1), (2, 3), (3, 1), (4, 2), (5, 4))
    ]
    groups.append(entry(6, right=(1, 1), advantage=(9, 9)))
    assert highlights(groups, [30]) == [[1, 2, 3, 4], [], []]


def test_each_run_has_its_own_thirds():
    groups = [entry(10, run=0), entry(10, run=1)]
    assert highlights(groups, [10, 100]) == [[1], [], [0]]


def test_groups_without_verdicts_or_advantages_are_no_error():
    groups = [
        entry(0, (None, None), (None, None)),
        entry(0, (1, None), (None, None)),
        entry(99, (), ()),
    ]
    assert highlights(groups, [0]) == [[1], [], []]
