"""The factory of the generated models: `python -m benchmarks.tiny`."""

import json
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers import letters
from helpers.tiny_runs import flags, train
from transformers import AutoModelForImageTextToText

import reasonenv
from agents.engines.load import load_model
from agents.engines.pretrained import TINY, model_folder
from agents.storage.digests import damage
from benchmarks.tiny import __main__ as command
from benchmarks.tiny import stage as stages
from benchmarks.tiny.choice import FamilyBalance
from benchmarks.tiny.model import tokenizer_corpus
from benchmarks.tiny.recipe import SLIP, make, recipe, recipe_rows
from benchmarks.tiny.stage import Stage

FEW = Stage(num_steps=2, batch_size=4, num_problems=4)


def weights(folder):
    return AutoModelForImageTextToText.from_pretrained(folder).state_dict()


def test_the_model_of_the_package_is_whole_small_and_made_by_its_recipe():
    assert damage(TINY) == ""
    assert model_folder("tiny") == str(TINY)
    assert sum(path.stat().st_size for path in TINY.iterdir()) < 1.7e6
    model, _ = load_model(str(TINY), torch.device("cpu"), torch.float32)
    assert model.dtype == torch.float32
    rows = json.loads((TINY / "recipe.json").read_text())
    assert rows == json.loads(json.dumps(recipe_rows(recipe())))


def test_the_command_writes_a_model_with_its_recipe_and_digests(tmp_path, capsys):
    words = flags(num_steps=1, batch_size=2, output_dir=tmp_path, env_options='{"level": 1}')
    command.main(words)
    assert f"wrote {tmp_path / 'model'}" in capsys.readouterr().out
    assert damage(tmp_path / "model") == ""
    assert load_model(str(tmp_path / "model"), torch.device("cpu"), torch.float16)
    clean, slips = json.loads((tmp_path / "model" / "recipe.json").read_text())
    assert (clean["model"], slips["model"]) == ("tiny", "that of the stage before")
    assert clean["num_steps"] == slips["num_steps"] == 1
    command.main(words)  # of complete stages
    assert "warm start" not in capsys.readouterr().err


def test_a_warm_start_is_on_figures_of_the_level_that_is_given():
    clean, slips = recipe('{"level": 3, "split": "test"}', seed=3)
    assert json.loads(clean.env_options) == {"level": 3}
    assert json.loads(slips.env_options) == {"level": 3, "slip": SLIP, "problem_seed": 1}
    assert clean.seed == slips.seed == 3


def test_the_same_seed_gives_the_same_model_and_a_stage_begins_with_the_one_before(
    tmp_path,
):
    a, b, c = (
        weights(stages.train(replace(FEW, seed=seed), tmp_path / name))
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert not all(torch.equal(a[name], c[name]) for name in a)
    begun = []
    last = make([FEW, FEW], tmp_path, lambda stage, folder: begun.append(stage.model) or folder)
    assert last == tmp_path / "stage-2"
    assert begun == ["tiny", str(tmp_path / "stage-1")]


def test_families_that_are_not_solved_are_drawn_more_often():
    envs = reasonenv.make("Figures-v2", num_envs=1, level=1)
    balance = FamilyBalance(envs.problems)
    rng = np.random.default_rng(0)
    families = lambda indices: [envs.problems[index].metadata["family"] for index in indices]  # noqa: E731
    first = balance.draw(10_000, 200, rng)
    assert min(families(first).count(name) for name in set(families(first))) > 20
    for _ in range(20):
        solved = [float(family != "clock") for family in families(first)]
        balance.update(first, solved)
    drawn = families(balance.draw(10_000, 400, rng))
    assert drawn.count("clock") / 400 == pytest.approx(1.15 / (1.15 + 4 * 0.15), abs=0.1)
    envs.close()


def test_a_corpus_is_no_longer_than_the_problems():
    with closing(reasonenv.make("Letters-v0", num_envs=1)) as envs:
        texts = tokenizer_corpus(envs)
    assert sum("How many letters" in text for text in texts) == len(letters.problems())


@pytest.mark.slow(reason="a model of 28 million parameters")
def test_the_model_for_a_gpu_takes_its_stages_and_a_training_step_on_a_cpu_too(tmp_path):
    level = '{"level": 3}'
    model = make(
        [replace(s, num_steps=1, batch_size=2) for s in recipe(level, model="small")], tmp_path
    )
    sizes = {"num_prompts": 2, "group_size": 2, "minibatch_size": 4, "max_response_length": 8}
    train(model, tmp_path / "run", env="Figures-v2", env_options=level, num_steps=1, **sizes)
    assert (tmp_path / "run" / "checkpoints" / "step-1").is_dir()
    parameters = load_model(str(model), torch.device("cpu"), torch.float32)[0].parameters()
    assert 25e6 < sum(weight.numel() for weight in parameters) < 31e6


@pytest.mark.slow(reason="a hundred steps of a warm start")
def test_a_warm_start_learns(tmp_path, capsys):
    stages.train(replace(FEW, num_steps=100, batch_size=16), tmp_path / "model")
    last = capsys.readouterr().err.splitlines()[-1]
    assert float(last.split("loss ")[1].split()[0]) < 2
