"""The model for episodes with tools, and its factory: `python -m benchmarks.tiny.tools`."""

import json
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.tiny_runs import flags
from transformers import AutoModelForImageTextToText

import reasonenv
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.pretrained import EMBEDDED, model_folder
from agents.engines.sampling import Sampling
from agents.engines.transformers import TransformersSampler
from agents.evaluate.evaluator import EvaluationTask, evaluate
from agents.storage.digests import damage
from benchmarks.tiny import tools
from benchmarks.tiny.mistakes import Mistaken
from benchmarks.tiny.recipe import recipe_rows
from reasonenv.registration import find

FOLDER = EMBEDDED["tiny-tools"]
TASKS = [("Sum-v0", {}), ("Zoom-v0", {"level": 1}), ("Zoom-v0", {"level": 2})]
FEW = tools.EpisodeStage(num_steps=2, batch_size=4)


def test_the_model_of_the_package_is_whole_small_and_made_by_its_recipe():
    assert damage(FOLDER) == ""
    assert model_folder("tiny-tools") == str(FOLDER)
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 2e6
    rows = json.loads((FOLDER / "recipe.json").read_text())
    assert rows == json.loads(json.dumps(recipe_rows(tools.recipe())))


@pytest.mark.parametrize(("env", "options"), TASKS)
def test_it_is_the_model_of_the_environments_that_it_was_made_for(env, options):
    assert find(env).default_model(options) == "tiny-tools"


@pytest.fixture(scope="module")
def sampler():
    model, chat = load_model(str(FOLDER), torch.device("cpu"), torch.float32)
    return TransformersSampler(Policy(model), chat, Sampling(1.0, chat.banned), 128, 64)


@pytest.mark.parametrize(("env", "options"), TASKS[:2])
def test_it_calls_the_tool_rightly_and_solves_some_problems_and_not_all(sampler, env, options):
    task = EvaluationTask(env=env, env_options=options, split="heldout", num_problems=64)
    result = evaluate(sampler, task)
    calls, bad_calls = (np.array([row[k] for row in result.rows]) for k in ("calls", "bad_calls"))
    assert (calls > 0).mean() > 0.5
    assert bad_calls.sum() < 0.05 * calls.sum()
    assert 0.15 < result.accuracy < 0.7


def test_an_evaluation_has_the_calls_of_each_kind_of_problem(sampler):
    result = evaluate(sampler, EvaluationTask(env="Sum-v0", num_problems=16))
    sizes = {row["kind"] for row in result.rows}
    assert sizes == result.calls.keys() == result.by.keys()
    assert len(sizes) > 1
    for size in sizes:
        own = [row["calls"] for row in result.rows if row["kind"] == size]
        assert result.summary()["calls"][size] == np.mean(own)
    alone = EvaluationTask(env="Sum-v0", env_options={"max_calls": 0}, num_problems=2)
    assert "calls" not in evaluate(sampler, alone).summary()


def rewards_of_solutions(env, options, **mistakes):
    """The reward of each of 60 solutions, and its number of calls."""
    with closing(reasonenv.make(env, num_envs=1, **options)) as envs:
        envs.problems = Mistaken(envs.problems, **mistakes)
        rewards, calls = [], []
        for index in range(60):
            envs.reset(options={"indices": [index]})
            responses = envs.tools.responses(envs.problems[index].solution)
            for response in responses:
                _, reward, terminations, _, infos = envs.step([response])
                assert infos["tool_status"][0] in ("ok", "")
            assert terminations[0]
            rewards.append(reward[0])
            calls.append(len(responses) - 1)
    return np.array(rewards), np.array(calls)


@pytest.mark.parametrize(("env", "options"), TASKS)
def test_solutions_without_a_slip_are_right_with_a_call_or_without(env, options):
    rewards, calls = rewards_of_solutions(env, options, slip=0.0, guess=0.3, waste=0.3)
    assert rewards.all()
    assert 0 < (calls == 0).mean() < 0.8


@pytest.mark.parametrize(("env", "options"), TASKS)
def test_solutions_with_a_slip_in_every_call_are_wrong(env, options):
    rewards, calls = rewards_of_solutions(env, options, slip=1.0, guess=0.0, waste=1.0)
    assert calls.all()
    assert rewards.mean() < 0.3  # slips may cancel out, the next room may have the same number


def test_a_trial_of_the_factory_writes_a_model_with_its_recipe_and_digests(tmp_path, capsys):
    tools.main(flags(num_steps=1, batch_size=2, output_dir=tmp_path))
    assert f"wrote {tmp_path / 'model'}" in capsys.readouterr().out
    assert damage(tmp_path / "model") == ""
    clean, slips = json.loads((tmp_path / "model" / "recipe.json").read_text())
    assert (clean["model"], slips["model"]) == ("tiny", "that of the stage before")
    assert clean["slip"] == 0 < slips["slip"]


def test_a_new_tokenizer_keeps_the_digits_of_the_tiny_model(tmp_path):
    stage = replace(FEW, num_steps=1, learning_rate=0.0)
    model, chat = load_model(
        str(tools.train(stage, tmp_path / "a")), torch.device("cpu"), torch.float32
    )
    tiny, old = load_model(str(EMBEDDED["tiny"]), torch.device("cpu"), torch.float32)
    rows = [
        m.get_input_embeddings().weight[c.tokenize("0123456789")]
        for m, c in ((model, chat), (tiny, old))
    ]
    torch.testing.assert_close(*rows)
    assert len(chat.tokenize("calc zoom")) < len(old.tokenize("calc zoom"))


@pytest.mark.slow(reason="three trainings")
def test_the_same_recipe_gives_the_same_model(tmp_path):
    a, b, c = (
        AutoModelForImageTextToText.from_pretrained(
            tools.train(stage, tmp_path / name)
        ).state_dict()
        for name, stage in (("a", FEW), ("b", FEW), ("c", replace(FEW, problem_seed=1)))
    )
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert not all(torch.equal(a[name], c[name]) for name in a)
