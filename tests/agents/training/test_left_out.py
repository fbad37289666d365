"""Runs with problems that cannot be posed, and runs that an error ends: nothing is lost."""

import json
import math
import shutil

import pytest
import torch
from helpers import faulty, letters, torchrun
from helpers.tiny_runs import SMALL, flags, numbers, same

from agents import run
from agents.cpgd import CPGD
from agents.engines import error_on_all_ranks
from agents.engines.bandit import BanditEngine, ThreadRanks
from agents.errors import LostRankError
from agents.grpo import GRPO
from agents.learner import Learner
from agents.reinforce import Reinforce
from agents.storage import checkpoints
from agents.storage.json_files import read_json_lines
from reasonenv.errors import RewardError

PER_STEP = 16
FAULTS = {"unreadable": [1, 4], "long": [7]}
BASE = SMALL | {"env": "Faulty-v0", "num_steps": 4, "show_responses": 0}


def train(model, folder, learner: type[Learner] = CPGD, **settings):
    run.main(learner, flags(**BASE | {"model": model, "output_dir": folder} | settings))
    return numbers(folder)


def last_words(model, folder, learner: type[Learner] = CPGD, **settings) -> str:
    with pytest.raises(SystemExit) as end:
        train(model, folder, learner, **settings)
    return str(end.value.code)


def test_problems_that_cannot_be_posed_are_left_out_counted_and_named(
    tiny_folder, tmp_path, caplog
):
    rows = train(tiny_folder, tmp_path / "run", env_options=json.dumps(FAULTS), num_steps=3)
    assert sum(row["rollout/left_out"] for row in rows) == 3  # the steps are a pass
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == len(set(lines)) == 3
    assert any(
        line == "left out: faulty, row 4 (id 'train/4'): the image cannot be read" for line in lines
    )
    assert any(line.startswith("left out: problem 'train/7': a prompt of ") for line in lines)


@pytest.mark.slow(reason="a run of four steps, and its second half again")
def test_a_resumed_run_leaves_out_what_one_that_was_not_stopped_does(tiny_folder, tmp_path):
    rows = train(tiny_folder, tmp_path / "run", env_options=json.dumps(FAULTS), save_every=2)
    assert sum(row["rollout/left_out"] for row in rows) >= 3
    shutil.copytree(tmp_path / "run", tmp_path / "again")
    checkpoints.remove_after(tmp_path / "again", 2)
    train(tiny_folder, tmp_path / "again", env_options=json.dumps(FAULTS), resume=True)
    assert numbers(tmp_path / "again") == rows
    assert same(tmp_path / "again", tmp_path / "run")


def test_a_run_of_which_no_prompt_fits_says_so(tiny_folder, tmp_path):
    options = json.dumps({"long": list(range(12))})
    line = last_words(tiny_folder, tmp_path, env_options=options)
    assert line.startswith("error: no problem can be posed; one of them: problem 'train/")
    assert "do not fit in this model's context" in line


def test_too_long_prompts_are_found_before_training_where_a_limit_is_given(
    tiny_folder, tmp_path, capsys
):
    options = json.dumps({"long": [3, 7]})
    rows = train(tiny_folder, tmp_path, env_options=options, max_prompt_length=200, num_steps=1)
    said = capsys.readouterr().err.splitlines()
    (title,) = [number for number, line in enumerate(said) if line.startswith("left out: ")]
    assert said[title] == "left out: 2 of 12 problems"
    assert said[title + 1].startswith("problem 'train/3': a prompt of 40")
    assert said[title + 1].endswith(" tokens exceeds --max-prompt-length 200")
    assert title < said.index(next(line for line in said if line.startswith("step 1:")))
    assert rows[0]["rollout/left_out"] == 0
    line = last_words(tiny_folder, tmp_path / "none", max_prompt_length=3)
    assert line.startswith("error: no problem is left; one of them: problem 'train/0': ")


def nan_at(number):
    """The reward of letters, but for one response."""
    count = 0

    def reward(response, problem, grade):
        nonlocal count
        count += 1
        return math.nan if count == number else letters.letters(response, problem, grade)

    return 1.0, reward


def test_a_reward_that_is_no_number_ends_a_run_after_it_has_saved(
    tiny_folder, tmp_path, monkeypatch
):
    monkeypatch.setitem(faulty.REWARDS, "letters", nan_at(PER_STEP + 5))
    line = last_words(tiny_folder, tmp_path)
    assert line.startswith("error: reward 'letters' of problem 'train/")
    assert "is nan: give a finite number, or None where it does not apply" in line
    assert line.endswith("--resume continues from step-1")
    assert checkpoints.steps(tmp_path) == [1]


def fail():
    raise RuntimeError("out of luck")


LOSSES = {"count": 0, "last": 0}


class Failing(CPGD):
    """Fails in one of its minibatches, of which a step has two."""

    def loss(self, log_prob, batch):
        LOSSES["count"] += 1
        return fail() if LOSSES["count"] == LOSSES["last"] else super().loss(log_prob, batch)


@pytest.mark.parametrize(("minibatch", "saved"), [(3, [1]), (4, [])])
def test_weights_of_half_a_step_are_never_saved(
    minibatch, saved, tiny_folder, tmp_path, monkeypatch
):
    monkeypatch.setitem(LOSSES, "count", 0)
    monkeypatch.setitem(LOSSES, "last", minibatch)
    with pytest.raises(RuntimeError, match="out of luck"):
        train(tiny_folder, tmp_path, Failing)
    assert checkpoints.steps(tmp_path) == saved


@pytest.mark.slow(reason="two runs with evaluations, one of them resumed")
def test_an_evaluation_that_failed_is_made_up_for(tiny_folder, tmp_path, monkeypatch):
    settings = {"num_steps": 2, "evaluate_every": 1, "num_test_problems": 4}
    train(tiny_folder, tmp_path / "whole", **settings)
    with monkeypatch.context() as patch:
        # Evaluations are of four responses, the first of them before the first step.
        patch.setitem(faulty.REWARDS, "letters", nan_at(4 + PER_STEP + 2))
        line = last_words(tiny_folder, tmp_path / "failed", **settings)
    assert line.endswith("--resume continues from step-1")
    train(tiny_folder, tmp_path / "failed", **settings, resume=True)
    whole, failed = (
        read_json_lines(tmp_path / name / "evaluations.jsonl") for name in ("whole", "failed")
    )
    assert failed == whole
    assert [row["step"] for row in whole] == [0, 1, 2]
    assert numbers(tmp_path / "failed") == numbers(tmp_path / "whole")


def sometimes(response, problem, grade):
    """A reward that applies to every other problem."""
    return 1.0 if problem.metadata["enough"] % 2 else None


def test_a_reward_is_averaged_over_the_responses_to_which_it_applies(
    tiny_folder, tmp_path, monkeypatch
):
    monkeypatch.setitem(faulty.REWARDS, "sometimes", (0.5, sometimes))
    monkeypatch.setitem(faulty.REWARDS, "never", (0.5, lambda *_: None))
    (row,) = train(tiny_folder, tmp_path, num_steps=1)
    assert row["reward/sometimes"] == 1
    assert row["reward/never"] is None
    assert math.isfinite(row["train/grad_norm"])


class OfSequences(GRPO):
    def loss(self, log_prob, batch):
        return super().loss(log_prob, batch).mean(-1)


def test_a_loss_of_sequences_ends_a_run_in_one_line(tiny_folder, tmp_path):
    line = last_words(tiny_folder, tmp_path, OfSequences, num_steps=1)
    assert line.startswith(
        "error: OfSequences: loss has shape [8]; it needs a value for each token, [b t], here [8, "
    )


class OfSamples(GRPO):
    def advantage(self, reward):
        return (reward - reward.mean(-1, keepdim=True)) / (reward.std(-1, keepdim=True) + 1e-6)


@pytest.mark.parametrize("learner", [CPGD, GRPO, OfSamples])
def test_groups_of_one_response_are_refused_where_they_have_no_advantage(learner, tmp_path):
    settings = {"group_size": 1, "num_prompts": 8}
    line = last_words(tmp_path / "no_model", tmp_path / "run", learner, **settings)
    assert line.startswith(f"error: --group-size 1: {learner.__name__} compares the responses")
    assert not (tmp_path / "run").exists()


def test_groups_of_one_response_are_not_mixed(tiny_folder, tmp_path):
    settings = {"group_size": 1, "num_prompts": 8, "num_steps": 1, "max_generations": 3}
    (row,) = train(tiny_folder, tmp_path, Reinforce, **settings)
    assert row["rollout/mixed"] is None
    assert row["rollout/generations"] == 1


def test_an_error_on_one_rank_is_one_on_all():
    ranks = ThreadRanks(2)

    def fail_on_rank_1(engine):
        with error_on_all_ranks(engine, "a rollout"):
            if engine.rank == 1:
                raise RewardError("nan")

    def work(rank):
        engine = BanditEngine(torch.zeros(1, 1, 2), rank=rank, ranks=ranks)
        with pytest.raises((RewardError, LostRankError)) as error:
            fail_on_rank_1(engine)
        return type(error.value), str(error.value)

    one, two = ranks.run(work)
    assert one == (LostRankError, "a rollout failed on rank 1: see its message")
    assert two == (RewardError, "nan")


@pytest.fixture(scope="module")
def on_ranks(tmp_path_factory, tiny_folder):
    folder = tmp_path_factory.mktemp("ranks_left_out")
    torchrun.run("ranks_left_out.py", tiny_folder, folder)
    return folder


@pytest.mark.slow(reason="three runs on two ranks")
def test_two_ranks_leave_the_same_problems_out_and_save_together(on_ranks):
    rows = numbers(on_ranks / "whole")
    assert sum(row["rollout/left_out"] for row in rows) >= 3
    assert (
        (on_ranks / "0.txt")
        .read_text()
        .startswith(
            "error: a rollout failed on rank 1: see its message; --resume continues from step-2"
        )
    )
    assert (on_ranks / "1.txt").read_text().startswith("error: reward 'letters' of problem 'train/")
    assert numbers(on_ranks / "failed") == rows
    assert same(on_ranks / "failed", on_ranks / "whole")
