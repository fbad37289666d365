"""A whole run on two ranks with dynamic sampling and a moving reference, stopped and resumed."""

import json

import pytest
import torch
from helpers import torchrun
from helpers.tiny_runs import numbers, same

from agents.engines.frozen_models import STATE
from agents.storage.json_files import read_json_lines

pytestmark = pytest.mark.slow(reason="a whole run on two ranks, and its second half again")


@pytest.fixture(scope="module")
def runs(tmp_path_factory, tiny_folder):
    """The run, a copy that went on from its second step, and one whose last step was damaged."""
    folder = tmp_path_factory.mktemp("ranks_run")
    torchrun.run("ranks_run.py", tiny_folder, folder)
    return tuple(folder / name for name in ("whole", "again", "damaged"))


def test_ranks_ask_for_more_until_all_together_have_enough(runs):
    rows = read_json_lines(runs[0] / "metrics.jsonl")
    assert len(rows) == 4
    counts = [row["rollout/generations"] for row in rows]
    assert max(counts) > 1
    for row in rows:
        enough = row["rollout/mixed"] * row["rollout/generations"] >= 1
        assert enough or row["rollout/generations"] == 4
    state = (runs[0] / "checkpoints" / "step-4" / "trainer_state.json").read_text()
    assert json.loads(state)["position"] == sum(counts) * 6


def test_a_resumed_run_of_two_ranks_is_that_which_was_not_stopped(runs):
    whole, again, _ = runs
    assert numbers(again) == numbers(whole)
    assert same(again, whole)
    states = [
        torch.load(run / "checkpoints" / "step-4" / STATE, weights_only=True)
        for run in (whole, again)
    ]
    assert states[0]["token_kl"] == states[1]["token_kl"]
    for name, weight in states[0]["model"].items():
        assert torch.equal(weight, states[1]["model"][name])


def test_two_ranks_leave_a_damaged_checkpoint_for_the_same_one_before_it(runs):
    whole, _, damaged = runs
    names = {path.name for path in (damaged / "checkpoints").iterdir()}
    assert names == {"step-2", "damaged-step-4", "step-4"}
    assert numbers(damaged) == numbers(whole)
    assert same(damaged, whole)
