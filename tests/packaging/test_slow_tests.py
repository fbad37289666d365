"""Tests that are marked slow: few, each with a reason."""

MOST_SLOW = 0.03
"""Of all tests, the share that may be marked slow."""


def test_each_slow_test_has_a_reason(slow):
    assert [test for test, reason in slow.items() if not reason] == []


def test_few_tests_are_slow(slow, num_tests):
    assert len(slow) <= MOST_SLOW * num_tests, f"{len(slow)} of {num_tests} tests are slow"
