import json
import math
from pathlib import Path

import pytest

from agents.monitoring.collapse import (
    RULES,
    CollapseMonitor,
    CollapseWarning,
    all_warnings,
    checkpoint_before,
    current_warnings,
)

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
CALM = {
    "reward/accuracy": 0.4,
    "reward/format": 0.9,
    "reward/mean": 0.85,
    "response/length_mean": 24.0,
    "response/truncated": 0.01,
    "policy/ratio_max": 1.6,
    "policy/ratio_min": 0.6,
    "policy/kl_old": 0.001,
    "policy/entropy": 0.07,
    "rollout/mixed": 0.8,
    "sampler/log_prob_diff_mean": 1e-6,
    "train/grad_norm": 0.3,
    "train/skipped": 0.0,
    "train/no_signal": 0.0,
}


def run(num_steps=30, change_at=15, **changed):
    """A calm run whose metrics take other values from a step on; __ stands for a slash."""
    late = {name.replace("__", "/"): value for name, value in changed.items()}
    return [
        {"step": step, **CALM, **(late if step >= change_at else {})}
        for step in range(1, num_steps + 1)
    ]


def recorded():
    for path in sorted(BENCHMARKS.glob("*/*.json")):
        for index, result in enumerate(json.loads(path.read_text())):
            if isinstance(result, dict) and "reward/accuracy" in result.get("curves", {}):
                curves = result["curves"]
                steps = range(len(curves["reward/accuracy"]))
                rows = [{"step": i + 1, **{n: c[i] for n, c in curves.items()}} for i in steps]
                yield pytest.param(rows, id=f"{path.parent.name}/{path.stem} {index}")


CASES = {
    "ratio": [{"policy__ratio_max": 30.0}, {"policy__ratio_min": 1e-3}],
    "kl": [{"policy__kl_old": 0.3}, {"policy__kl_ref": 2.0}],
    "entropy_rise": [{"policy__entropy": 1.0}],
    "entropy_fall": [{"policy__entropy": 0.002}],
    "accuracy": [{"reward__accuracy": 0.1, "reward__format": 0.2}],
    "hacking": [{"reward__format": 1.0, "reward__accuracy": 0.25}],
    "shrinking": [{"response__length_mean": 3.0}],
    "truncated": [{"response__truncated": 0.7}],
    "no_signal": [{"train__no_signal": 1.0}],
    "sampler": [{"sampler__log_prob_diff_mean": 0.2}],
    "skipped": [{"train__skipped": 1.0}],
}


@pytest.mark.parametrize("rows", list(recorded()))
def test_recorded_successful_runs_have_no_warnings(rows):
    assert [str(warning) for warning in all_warnings(rows)] == []


@pytest.mark.parametrize(
    ("kind", "changed"), [(kind, changed) for kind, cases in CASES.items() for changed in cases]
)
def test_a_rule_warns_once_with_its_steps_cause_and_remedy(kind, changed):
    rows = run(**changed)
    if kind == "hacking":
        for row in rows[:14]:
            row["reward/format"] = 0.6
    (warning,) = all_warnings(rows)
    assert warning.kind == kind
    assert 15 <= warning.step <= 20
    assert warning.onset <= 15 < warning.step + 1
    assert "\n" not in str(warning)
    assert warning.advice.count(":") >= 1
    metric = next(iter(changed)).replace("__", "/")
    assert metric in warning.evidence


@pytest.mark.parametrize(
    ("first", "late", "kinds"),
    [
        ({"response__truncated": 0.5}, {"response__length_mean": 3.0}, []),
        ({"response__truncated": 0.2}, {"response__length_mean": 3.0}, ["shrinking"]),
        ({"policy__entropy": 2.0}, {"policy__entropy": 0.06}, []),
        ({"policy__entropy": 2.0}, {"policy__entropy": 0.04}, ["entropy_fall"]),
        ({"response__truncated": 0.7}, {"response__truncated": 0.1}, []),
        ({"response__truncated": 0.7}, {"response__truncated": 0.6}, ["truncated"]),
    ],
)
def test_a_change_from_the_first_steps_warns_if_it_is_more_than_learning(first, late, kinds):
    rows = run(num_steps=5, change_at=1, **first) + run(num_steps=25, change_at=1, **late)
    rows = [row | {"step": i + 1} for i, row in enumerate(rows)]
    assert [warning.kind for warning in all_warnings(rows)] == kinds


@pytest.mark.parametrize(
    "changed", [case for kind, cases in CASES.items() if kind != "no_signal" for case in cases]
)
def test_a_single_odd_step_is_ignored(changed):
    rows = run(**changed)
    odd = [rows[i] if i == 20 else run()[i] for i in range(30)]
    assert list(all_warnings(odd)) == []


@pytest.mark.parametrize(
    ("mixed", "groups"), [(0.0, "both right and wrong responses"), (0.5, "different rewards")]
)
def test_a_step_without_a_signal_is_told_at_once_and_once(mixed, groups):
    rows = run(num_steps=4, change_at=1, train__no_signal=1.0, rollout__mixed=mixed)
    for end in (1, 4):
        (warning,) = all_warnings(rows[:end])
        assert str(warning).startswith(f"no_signal, step 1: no group with {groups}: nothing to")
        assert not warning.collapse


@pytest.mark.parametrize("kind", ["ratio", "kl", "skipped"])
def test_a_collapse_in_the_first_steps_is_detected(kind):
    assert set(CASES) == {rule.kind for rule in RULES}
    warnings = all_warnings(run(num_steps=6, change_at=2, **CASES[kind][0]))
    assert [(warning.kind, warning.step, warning.onset) for warning in warnings] == [(kind, 5, 1)]


def test_format_that_was_perfect_and_stays_so_while_accuracy_goes_is_hacking():
    warnings = all_warnings(run(reward__accuracy=0.1, reward__format=1.0))
    assert {warning.kind for warning in warnings} == {"accuracy", "hacking"}


@pytest.mark.parametrize(
    "rows",
    [
        [],
        run(),
        run(reward__accuracy=0.98, policy__entropy=0.001),  # all is solved
        run(reward__accuracy=0.6, response__length_mean=5.0),  # a gain by short responses
        run(train__no_signal=0.5),
        [{"step": step, "policy/ratio_max": None} for step in range(1, 30)],
    ],
)
def test_a_run_that_goes_well_has_no_warnings(rows):
    assert all_warnings(rows) == []


def test_warnings_step_by_step_are_those_of_the_whole_run():
    rows = run(policy__ratio_max=30.0, response__truncated=0.7)
    warnings: dict[str, CollapseWarning] = {}
    for end in range(1, len(rows) + 1):
        for warning in current_warnings(rows[:end]):
            warnings.setdefault(warning.kind, warning)
    assert list(warnings.values()) == all_warnings(rows)
    assert set(warnings) == {"ratio", "truncated"}


def test_only_a_collapse_stops_a_run():
    decisions = decide(monitored("stop"), CALM | {"response/truncated": 0.7}, 19)
    assert {decision.action for decision in decisions} == {"continue"}
    assert [w.kind for decision in decisions for w in decision.warnings] == ["truncated"]


def test_a_rollback_goes_to_the_last_checkpoint_before_the_first_collapse():
    def warning(onset, collapse):
        return CollapseWarning("ratio", onset + 4, onset, collapse, "", "")

    warnings = [warning(31, True), warning(27, True), warning(3, False)]
    assert checkpoint_before(warnings, {10, 20, 27, 30}) == 20
    assert checkpoint_before(warnings, {30}) is None
    assert checkpoint_before([warning(2, False)], ()) is None


def test_the_metrics_of_a_long_run_are_read_once():
    class CountedRow(dict):
        def get(self, *key):
            reads.append(key)
            return super().get(*key)

    reads = []
    rows = [CountedRow(row) for row in run(num_steps=500)]
    assert list(all_warnings(rows)) == []
    assert len(rows) <= len(reads) < 2 * len(rows) * len(rows[0])


WILD = CALM | {"policy/ratio_max": 1e6, "policy/kl_old": 50.0}


def monitored(mode="warn", max_skipped=3, rows=()):
    return CollapseMonitor(mode, max_skipped, list(rows))


def decide(monitor, metrics, steps):
    return [monitor.update(len(monitor.rows) + 1, metrics) for _ in range(steps)]


@pytest.mark.parametrize("mode", ["warn", "stop", "rollback"])
def test_a_collapse_is_reported_once_with_the_action_of_the_mode(mode):
    monitor = monitored(mode)
    decide(monitor, CALM, 10)
    decisions = decide(monitor, WILD, 10)
    first = next(decision for decision in decisions if decision.warnings)
    assert first.action == ("continue" if mode == "warn" else mode)
    assert "ratio" in first.reason
    kinds = [warning.kind for decision in decisions for warning in decision.warnings]
    assert len(kinds) == len(set(kinds))
    resumed = monitored(mode, rows=monitor.rows)
    assert not any(decision.warnings for decision in decide(resumed, WILD, 5))


def test_a_run_stops_after_so_many_steps_without_a_finite_gradient():
    monitor = monitored(max_skipped=3)
    decide(monitor, CALM, 2)
    bad = CALM | {"train/skipped": 1.0, "train/grad_norm": math.inf}
    first, second, third = decide(monitor, bad, 3)
    assert (first.action, second.action, third.action) == ("continue", "continue", "stop")
    assert "--learning-rate" in third.reason


def test_a_second_collapse_after_a_rollback_is_reported_again():
    monitor = monitored("rollback")
    decide(monitor, CALM, 10)
    for _ in range(2):
        decision = next(decision for decision in decide(monitor, WILD, 10) if decision.warnings)
        assert decision.action == "rollback"
        monitor.rewind(10)
        assert [row["step"] for row in monitor.rows] == list(range(1, 11))


def test_an_update_counts_as_many_steps_as_it_skipped_where_it_made_none():
    lost = CALM | {"train/skipped": 2.0, "train/grad_norm": math.nan}
    half = lost | {"train/grad_norm": 0.3}
    monitor = monitored(max_skipped=4)
    for metrics in (lost, half, half, half, lost):
        assert monitor.update(len(monitor.rows) + 1, metrics).action == "continue"
    assert monitor.update(len(monitor.rows) + 1, lost).action == "stop"
