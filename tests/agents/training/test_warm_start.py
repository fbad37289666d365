import json
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
from filelock import FileLock
from helpers.tiny_runs import flags

from agents import sft, warm_start
from agents.cpgd import CPGD
from agents.engines.load import load_model
from agents.errors import ModelError
from agents.run import main
from agents.sft import FineTuning
from agents.sft import fine_tune as sft_fine_tune
from agents.storage.digests import damage, write_digests
from agents.warm_start import SLIP, TINY, cached, folder, recipe, recipe_rows

FEW = FineTuning(num_steps=2, batch_size=4, num_problems=4)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REASONENV_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_tiny_model_is_made_once_for_each_recipe_and_seed(cache):
    first = cached([FEW])
    made = (first / "model.safetensors").stat().st_mtime_ns
    assert cached([FEW]) == first
    assert (first / "model.safetensors").stat().st_mtime_ns == made
    assert cached([replace(FEW, seed=1)]) != first
    assert cached([replace(FEW, num_steps=1)]) != first
    models = {path.name for path in cache.iterdir() if path.is_dir()}
    assert len(models) == 3
    load_model(str(first), torch.device("cpu"), torch.float32)


def cut(path):
    path.write_bytes(path.read_bytes()[:99])


DAMAGES = {
    "flipped": (lambda folder: flip(folder / "model.safetensors"), "model.safetensors differs"),
    "cut": (lambda folder: cut(folder / "config.json"), "config.json differs"),
    "missing": (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json is missing"),
    "additional": (lambda folder: (folder / "adapter_config.json").touch(), "is no file of it"),
    "without digests": (
        lambda folder: (folder / "SHA256SUMS").unlink(),
        "SHA256SUMS is missing",
    ),
    "empty": (lambda folder: [path.unlink() for path in folder.iterdir()], "S is missing"),
}


def flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 4
    path.write_bytes(content)


@pytest.fixture
def made(tiny_folder, cache, monkeypatch):
    """A cached model, whose warm start is the untrained model, and the number of warm starts."""
    made = []

    def copy(settings):
        made.append(shutil.copytree(tiny_folder, settings.output_dir))
        write_digests(settings.output_dir)
        return settings.output_dir

    monkeypatch.setattr(sft, "fine_tune", copy)
    return cached([FEW]), made


@pytest.mark.parametrize(("harm", "reason"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_model_in_the_cache_is_named_and_made_anew(made, capsys, harm, reason):
    folder, count = made
    harm(folder)
    capsys.readouterr()
    assert cached([FEW]) == folder
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{folder} is damaged (")
    assert reason in line
    assert line.endswith("): making it anew")
    assert len(count) == 2
    load_model(str(folder), torch.device("cpu"), torch.float32)
    assert {path.name[0] for path in folder.parent.iterdir()} == {"t"}


def test_a_damaged_model_with_digests_is_not_loaded(made):
    folder, _ = made
    (folder / "README.md").write_text("A card, which nothing is loaded from.")
    load_model(str(folder), torch.device("cpu"), torch.float32)
    flip(folder / "model.safetensors")
    with pytest.raises(ModelError, match=r"damaged \(model.safetensors differs .* SHA256SUMS if"):
        load_model(str(folder), torch.device("cpu"), torch.float32)


def test_who_waits_for_another_process_says_so(cache, capsys):
    folder = cached([FEW])
    capsys.readouterr()
    with ThreadPoolExecutor() as pool:
        with FileLock(folder.with_suffix(".lock")):
            waiting = pool.submit(cached, [FEW])
            said, deadline = "", time.monotonic() + 60
            while not said and time.monotonic() < deadline:
                time.sleep(0.01)
                said = capsys.readouterr().err
        assert waiting.result(timeout=60) == folder
    assert said == "another process trains the tiny model: waiting for it\n"


def test_a_run_on_figures_warms_up_on_figures_of_its_level():
    clean, slips = recipe(env_options={"level": 3, "split": "test"}, seed=3)
    assert clean.env_options == {"level": 3}
    assert slips.env_options == {"level": 3, "slip": SLIP, "problem_seed": 1}
    assert clean.seed == slips.seed == 3
    assert recipe("Letters-v0", {"size": 2}, seed=3) == recipe(seed=3)


def test_a_stage_begins_with_the_model_of_the_stage_before(cache, monkeypatch):
    models = []

    def spy(settings):
        models.append(settings.model)
        return sft_fine_tune(settings)

    monkeypatch.setattr(sft, "fine_tune", spy)
    stages = FEW, replace(FEW, num_steps=1)
    last = cached(stages)
    assert models[0] == "tiny"
    assert models[1] == str(cached(stages[:1])) != str(last)
    assert cached(stages) == last
    assert len(models) == 2


SHIPPED = [
    ("Figures-v2", {}),
    ("Figures-v2", {"level": 1}),
    ("Figures-v2", {"families": ["bar"]}),
    ("MMK12-v0", {}),
]
TRAINED = [("Figures-v2", {"level": 3}), ("Figures-v2", {"scale": 2})]


@pytest.mark.parametrize(("env", "options"), SHIPPED)
def test_the_model_of_this_package_is_taken_where_it_fits(env, options):
    assert folder(env, options, seed=7) == TINY


@pytest.mark.parametrize(
    ("env", "options", "is_fresh"),
    [*((*pair, False) for pair in TRAINED), *((*pair, True) for pair in SHIPPED)],
)
def test_another_model_is_trained_for_the_seed(monkeypatch, env, options, is_fresh):
    monkeypatch.setattr(warm_start, "cached", lambda stages: stages)
    assert folder(env, options, 7, is_fresh=is_fresh) == recipe(env, options, 7)


@pytest.mark.slow(reason="a model of 28 million parameters")
def test_the_model_for_a_gpu_takes_its_stages_and_a_training_step_on_a_cpu_too(cache, tmp_path):
    level = '{"level": 3}'
    stages = recipe(env_options=json.loads(level), model="small")
    assert {stage.model for stage in stages} == {"small"}
    model = cached([replace(stage, num_steps=1, batch_size=2) for stage in stages])
    sizes = flags(num_prompts=2, group_size=2, minibatch_size=4, max_response_length=8)
    words = flags(model=model, env_options=level, num_test_problems=0, num_steps=1)
    main(CPGD, [*words, *sizes, "--output-dir", str(tmp_path / "run")])
    assert (tmp_path / "run" / "checkpoints" / "step-1").is_dir()
    weights = load_model(str(model), torch.device("cpu"), torch.float32)[0].parameters()
    assert 25e6 < sum(weight.numel() for weight in weights) < 31e6


def test_the_model_of_this_package_is_whole_small_and_made_by_its_recipe():
    assert damage(TINY) == ""
    size = sum(path.stat().st_size for path in TINY.iterdir())
    assert size < 1.7e6
    model, _ = load_model(str(TINY), torch.device("cpu"), torch.float32)
    assert model.dtype == torch.float32
    stages = json.loads((TINY / "recipe.json").read_text())
    assert stages == json.loads(json.dumps(recipe_rows(recipe())))


KILLED_AS_IT_SAVES = """
import os, signal
from pathlib import *
from agents import sft
from agents.sft import FineTuning
from agents.warm_start import cached

def half(folder, model, chat):
    model.save_pretrained(folder)
    os.kill(os.getpid(), signal.SIGKILL)

sft.save_model = half
"""


@pytest.mark.slow(reason="two processes that train")
def test_a_kill_in_the_middle_leaves_no_half_model_in_the_cache(cache):
    code = f"{KILLED_AS_IT_SAVES}\ncached([{FEW}])"
    child = subprocess.run([sys.executable, "-c", code], check=False, stderr=subprocess.DEVNULL)
    assert child.returncode == -signal.SIGKILL
    assert list(cache.glob(".*.tmp/.saving/model.safetensors"))
    assert not list(cache.glob("tiny-*/"))
    load_model(str(cached([FEW])), torch.device("cpu"), torch.float32)
    assert not list(cache.glob(".*"))
