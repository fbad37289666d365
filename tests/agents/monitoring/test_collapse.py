import json
from pathlib import Path

import pytest
from helpers.tiny_runs import train

from agents.monitoring.collapse import (
    Finding,
    action,
    checkpoint_before,
    findings,
    history,
    unknown,
)
from agents.monitoring.collapse_rules import RULES

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
        for result in json.loads(path.read_text()) if path.is_file() else ():
            if isinstance(result, dict) and "reward/accuracy" in result.get("curves", {}):
                curves = result["curves"]
                steps = range(len(curves["reward/accuracy"]))
                rows = [{"step": i + 1, **{n: c[i] for n, c in curves.items()}} for i in steps]
                yield pytest.param(rows, id=f"{path.stem}: {result['command']}")


SIGNS = {
    "ratio": [{"policy__ratio_max": 30.0}, {"policy__ratio_min": 1e-3}],
    "kl": [{"policy__kl_old": 0.3}, {"policy__kl_ref": 2.0}],
    "entropy_rise": [{"policy__entropy": 1.0}],
    "entropy_fall": [{"policy__entropy": 0.002}],
    "accuracy": [{"reward__accuracy": 0.1, "reward__format": 0.2}],
    "hacking": [{"reward__format": 1.0, "reward__accuracy": 0.25}],
    "shrinking": [{"response__length_mean": 3.0}],
    "growing": [{"response__length_mean": 90.0}],
    "truncated": [{"response__truncated": 0.7}],
    "equal_groups": [{"rollout__mixed": 0.03}],
    "sampler": [{"sampler__log_prob_diff_mean": 0.2}],
    "skipped": [{"train__skipped": 1.0}, {"train__grad_norm": None}],
}


@pytest.mark.parametrize("rows", list(recorded()))
def test_recorded_runs_that_learned_show_nothing(rows):
    assert [str(finding) for finding in history(rows)] == []


def test_a_calm_run_shows_nothing():
    assert list(history(run())) == []
    assert list(history([])) == []


def test_every_sign_is_tried():
    assert set(SIGNS) == {rule.__name__ for rule in RULES}


@pytest.mark.parametrize(
    ("kind", "changed"), [(kind, changed) for kind, cases in SIGNS.items() for changed in cases]
)
def test_a_sign_is_told_once_with_its_steps_cause_and_remedy(kind, changed):
    rows = run(**changed)
    if kind == "hacking":
        for row in rows[:14]:
            row["reward/format"] = 0.6
    (finding,) = history(rows)
    assert finding.kind == kind
    assert 15 <= finding.step <= 20
    assert finding.onset <= 15 < finding.step + 1
    assert "\n" not in str(finding)
    assert finding.advice.count(":") >= 1
    metric = next(iter(changed)).replace("__", "/")
    assert metric in finding.evidence or kind == "skipped"


@pytest.mark.parametrize("changed", [case for cases in SIGNS.values() for case in cases])
def test_a_single_odd_step_is_passed_over(changed):
    rows = run(**changed)
    odd = [rows[i] if i == 20 else run()[i] for i in range(30)]
    assert list(history(odd)) == []


@pytest.mark.parametrize("kind", ["ratio", "kl", "skipped"])
def test_a_collapse_in_the_first_steps_is_found(kind):
    found = list(history(run(num_steps=6, change_at=2, **SIGNS[kind][0])))
    assert [finding.kind for finding in found] == [kind]


def test_format_that_was_perfect_and_stays_so_while_accuracy_goes_is_hacking():
    found = history(run(reward__accuracy=0.1, reward__format=1.0))
    assert {finding.kind for finding in found} == {"accuracy", "hacking"}


def test_entropy_may_vanish_and_groups_be_equal_where_all_is_solved():
    solved = {"reward__accuracy": 0.98, "policy__entropy": 0.001, "rollout__mixed": 0.02}
    assert list(history(run(**solved))) == []


def test_responses_may_change_their_length_where_they_gain_by_it():
    for length in (5.0, 200.0):
        assert list(history(run(reward__accuracy=0.6, response__length_mean=length))) == []


def test_missing_metrics_and_values_that_were_not_finite_say_nothing():
    rows = [{"step": step, "policy/ratio_max": None} for step in range(1, 30)]
    assert list(history(rows)) == []


def test_a_run_that_asks_after_each_step_is_told_what_its_history_tells():
    rows = run(policy__ratio_max=30.0, rollout__mixed=0.0)
    told: dict[str, Finding] = {}
    for end in range(len(rows) + 1):
        told |= {finding.kind: finding for finding in unknown(rows[:end], told)}
    assert list(told.values()) == list(history(rows))
    assert set(told) == {"ratio", "equal_groups"}


def test_only_a_collapse_stops_a_run_or_takes_it_back():
    collapse = findings(run(num_steps=20, policy__ratio_max=50.0))
    waste = findings(run(num_steps=20, rollout__mixed=0.0))
    assert collapse
    assert waste
    for mode in ("stop", "rollback"):
        assert action(collapse + waste, mode) == mode
        assert action(waste, mode) == "continue"
        assert action([], mode) == "continue"
    assert action(collapse, "warn") == "continue"


def test_a_run_goes_back_to_the_last_checkpoint_before_the_first_sign():
    def finding(onset, collapse):
        return Finding("ratio", onset + 4, onset, collapse, "", "")

    found = [finding(31, True), finding(27, True), finding(3, False)]
    assert checkpoint_before(found, {10, 20, 27, 30}) == 20
    assert checkpoint_before(found, {30}) is None
    assert checkpoint_before([finding(2, False)], ()) is None


def test_the_steps_of_a_long_run_are_read_once_and_not_for_each_of_them():
    class Read(dict):
        def get(self, *key):
            reads.append(key)
            return super().get(*key)

    reads = []
    rows = [Read(row) for row in run(num_steps=500)]
    assert list(history(rows)) == []
    assert len(rows) <= len(reads) < 2 * len(rows) * len(rows[0])


def test_a_real_run_at_a_hundred_times_its_learning_rate_is_told_to_collapse(tiny_folder, tmp_path):
    free = {"clip_low": "None", "clip_high": "None", "drift_coefficient": "None"}
    rows = train(tiny_folder, tmp_path / "hot", num_steps=6, learning_rate=0.03, **free)
    assert {"ratio", "kl"} & {finding.kind for finding in history(rows) if finding.collapse}
    rows = train(tiny_folder, tmp_path / "calm", num_steps=6, learning_rate=3e-4)
    assert not any(finding.collapse for finding in history(rows))
