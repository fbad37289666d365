"""Rollouts within a run: overlong shaping, dynamic sampling, and how a run goes on after them."""

import json
import shutil

import pytest
import torch
from helpers import tiny_engines, vowels
from helpers.tiny_runs import numbers, same, train

import reasonenv
from agents.cli.flags import parse_run
from agents.cli.settings import Run
from agents.cpgd import CPGD
from agents.dapo import DAPO
from agents.engines.sampling import Sampling
from agents.engines.transformers import TransformersSampler
from agents.monitoring.timing import Clock
from agents.storage.checkpoints import remove_after
from agents.training.rollouts import sample_rollout
from agents.training.setup import length_penalty

DYNAMIC = {"env": "Vowels-v0", "num_prompts": 4, "max_generations": 5, "overlong_buffer": 6}


@pytest.fixture(scope="module")
def rollouts(tiny_folder):
    """The same responses of many lengths, without a buffer and with one of six of twelve tokens."""
    engine = tiny_engines.build("torch", tiny_folder)
    flat = Sampling(100.0, engine.chat.banned)
    sampler = TransformersSampler(engine.policy, engine.chat, flat, 12)
    rollouts = []
    for buffer in (0, 6):
        envs = reasonenv.make("Vowels-v0", num_envs=160, group_size=4)
        observations, _ = envs.reset(seed=0)
        penalty = length_penalty(Run(max_response_length=12, overlong_buffer=buffer))
        rollouts.append(
            sample_rollout(envs, sampler, observations, (1,), Clock(), length_penalty=penalty)
        )
        envs.close()
    return rollouts


def test_the_reward_falls_over_the_buffer_by_the_tokens_of_a_response(rollouts):
    plain, shaped = rollouts
    lengths = shaped.responses.lengths
    assert torch.equal(lengths, plain.responses.lengths)
    assert lengths.min() <= 6
    assert len(set(lengths.tolist())) > 4
    expected = -(torch.clamp(lengths - 6, min=0) / 6).double()
    torch.testing.assert_close(torch.as_tensor(shaped.overlong_penalties), expected)
    torch.testing.assert_close(torch.as_tensor(shaped.rewards - plain.rewards), expected)
    assert not plain.overlong_penalties.any()


def test_shaping_leaves_what_is_right_alone(rollouts):
    plain, shaped = rollouts
    (_, reward, accuracy), (_, _, unshaped) = shaped.groups(4), plain.groups(4)
    assert torch.equal(accuracy, unshaped)
    assert set(accuracy.flatten().tolist()) == {0.0, 1.0}
    assert reward.shape == (40, 4)


@pytest.fixture(scope="module")
def done(tmp_path_factory, tiny_folder):
    """A run that samples dynamically, shapes, cuts its sampler off and refreshes its reference."""
    folder = tmp_path_factory.mktemp("dynamic") / "whole"
    return folder, train(tiny_folder, folder, **SETTINGS)


SETTINGS = {
    **DYNAMIC,
    "num_steps": 6,
    "save_every": 2,
    "keep_checkpoints": 9,
    "top_p": 0.95,
    "sampler_correction": 2.0,
    "beta": 0.1,
    "reference": "every(3)",
}


def position_of(folder, step) -> int:
    state = json.loads((folder / "checkpoints" / f"step-{step}" / "trainer_state.json").read_text())
    return state["position"]


def test_rollouts_are_added_until_a_step_has_its_prompts(done):
    _, rows = done
    counts = [row["rollout/generations"] for row in rows]
    assert min(counts) < max(counts) <= 5
    for row in rows:
        assert 0 < row["rollout/mixed"] <= 1
        enough = row["rollout/mixed"] * row["rollout/generations"] >= 1
        assert enough or row["rollout/generations"] == 5
        assert row["train/grad_norm"] > 0
        assert -1 <= row["response/overlong"] < 0
        shaped = row["reward/accuracy"] + 0.25 * row["reward/letters"] + row["response/overlong"]
        assert row["reward/mean"] == pytest.approx(shaped)


def test_a_checkpoint_knows_how_far_the_walk_through_the_problems_is(done):
    folder, rows = done
    for step in (2, 4, 6):
        asked = sum(row["rollout/generations"] for row in rows[:step])
        assert position_of(folder, step) == asked * DYNAMIC["num_prompts"]
    assert position_of(folder, 6) > 6 * DYNAMIC["num_prompts"]


def test_a_resumed_run_goes_on_with_the_numbers_of_one_that_was_not_stopped(
    done, tiny_folder, tmp_path
):
    whole, _ = done
    again = tmp_path / "again"
    shutil.copytree(whole, again)
    remove_after(again, 2)  # amid the three steps of its reference
    train(tiny_folder, again, **SETTINGS, resume=True)
    assert numbers(again) == numbers(whole)
    assert same(again, whole)


def test_one_rollout_a_step_trains_on_every_prompt(tiny_folder, tmp_path):
    rows = train(tiny_folder, tmp_path, env="Vowels-v0")
    assert [row["rollout/generations"] for row in rows] == [1, 1, 1]
    assert position_of(tmp_path, 3) == 3 * 4


def test_prompts_that_are_always_right_fill_up_a_step_that_finds_no_others(
    tiny_folder, tmp_path, monkeypatch
):
    monkeypatch.setitem(vowels.REWARDS, "accuracy", (1.0, lambda response, problem, grade: 1.0))
    settings = {**DYNAMIC, "overlong_buffer": 0}
    rows = train(tiny_folder, tmp_path, **settings, num_steps=2)
    assert [row["rollout/generations"] for row in rows] == [5, 5]
    assert [row["rollout/mixed"] for row in rows] == [0, 0]
    assert rows[0]["train/grad_norm"] > 0  # the other part of the reward still differs


def test_dapo_samples_dynamically_and_shapes_unless_told_otherwise():
    run, learner = parse_run(DAPO, [])
    assert isinstance(learner, DAPO)
    assert (run.max_generations, run.overlong_buffer) == (10, Run().max_response_length // 5)
    run, _ = parse_run(DAPO, ["--max-generations", "1", "--overlong-buffer", "0"])
    assert run == Run()
    run, _ = parse_run(DAPO, ["--env", "MMK12-v0"])
    assert (run.max_response_length, run.overlong_buffer) == (4096, 819)
    assert parse_run(CPGD, [])[0] == Run()
