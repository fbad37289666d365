import math

import pytest

from agents.monitoring.watch import Watch

CALM = {"policy/ratio_max": 1.2, "policy/ratio_min": 0.8, "policy/kl_old": 1e-3}
CALM |= {"policy/entropy": 0.5, "reward/accuracy": 0.4, "train/skipped": 0.0}
WILD = CALM | {"policy/ratio_max": 1e6, "policy/kl_old": 50.0}


def watching(mode="warn", max_skipped=3, rows=()):
    return Watch(mode, max_skipped, list(rows))


def see(watch, metrics, steps):
    return [watch.see(len(watch.rows) + 1, metrics) for _ in range(steps)]


def test_a_calm_run_goes_on_without_a_word():
    for judgement in see(watching("stop"), CALM, 40):
        assert (judgement.action, judgement.found) == ("continue", [])


@pytest.mark.parametrize("mode", ["warn", "stop", "rollback"])
def test_a_collapse_is_told_once_and_does_what_was_asked_for(mode):
    watch = watching(mode)
    see(watch, CALM, 10)
    told = see(watch, WILD, 10)
    first = next(judgement for judgement in told if judgement.found)
    assert first.action == ("continue" if mode == "warn" else mode)
    assert "ratio" in first.reason
    kinds = [finding.kind for judgement in told for finding in judgement.found]
    assert len(kinds) == len(set(kinds))


def test_a_resumed_run_does_not_repeat_what_was_told():
    watch = watching()
    see(watch, CALM, 10)
    see(watch, WILD, 10)
    again = watching(rows=watch.rows)
    assert not any(judgement.found for judgement in see(again, WILD, 5))


def test_a_run_stops_after_so_many_steps_without_a_finite_gradient():
    watch = watching(max_skipped=3)
    see(watch, CALM, 2)
    bad = CALM | {"train/skipped": 1.0, "train/grad_norm": math.inf}
    first, second, third = see(watch, bad, 3)
    assert (first.action, second.action, third.action) == ("continue", "continue", "stop")
    assert "--learning-rate" in third.reason


def test_a_finite_gradient_in_between_counts_anew():
    watch = watching(max_skipped=2)
    bad = CALM | {"train/skipped": 1.0}
    for metrics in (bad, CALM, bad, CALM):
        assert watch.see(len(watch.rows) + 1, metrics).action == "continue"


def test_a_run_that_has_gone_back_and_collapses_again_is_told_so_again():
    watch = watching("rollback")
    see(watch, CALM, 10)
    for _ in range(2):
        told = next(judgement for judgement in see(watch, WILD, 10) if judgement.found)
        assert told.action == "rollback"
        watch.back_to(10)
        assert [row["step"] for row in watch.rows] == list(range(1, 11))


def test_an_update_counts_as_many_steps_as_it_skipped_where_it_made_none():
    lost = CALM | {"train/skipped": 2.0, "train/grad_norm": math.nan}
    half = lost | {"train/grad_norm": 0.3}
    watch = watching(max_skipped=4)
    for metrics in (lost, half, half, half, lost):
        assert watch.see(len(watch.rows) + 1, metrics).action == "continue"
    assert watch.see(len(watch.rows) + 1, lost).action == "stop"
