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
from helpers import letters
from helpers.tiny_runs import flags
from transformers import AutoModelForImageTextToText

import reasonenv
from agents import sft
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.sampling import Sampling
from agents.engines.torch import TorchEngine
from agents.errors import ModelError
from agents.sft import (
    SupervisedDataset,
    WarmStart,
    cached_tiny_model,
    finetune,
    recipe,
    tokenizer_corpus,
    warm_start,
)
from agents.storage.digests import write_digests
from agents.storage.lock import locked

FEW = WarmStart(num_steps=2, batch_size=4, num_problems=4)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REASONENV_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def model_and_dataset(tiny_folder):
    model, chat = load_model(str(tiny_folder), torch.device("cpu"), torch.float32)
    envs = reasonenv.make("Figures-v1", num_envs=1)
    yield model, SupervisedDataset(envs, chat)
    envs.close()


def weights(folder):
    return AutoModelForImageTextToText.from_pretrained(folder).state_dict()


def test_an_example_is_a_problem_with_its_solution_as_the_response(model_and_dataset):
    _, dataset = model_and_dataset
    responses = dataset.batch([3, 5])
    for row, index in enumerate((3, 5)):
        problem = dataset.envs.problems[index]
        tokens = responses.tokens[row][responses.mask[row]].tolist()
        assert tokens[-1] == dataset.chat.tokenizer.eos_token_id
        assert dataset.chat.decode(tokens[:-1]) == problem.solution
        prompt = responses.prompts[row]
        assert problem.question in dataset.chat.decode(prompt.token_ids)
        assert problem.solution not in dataset.chat.decode(prompt.token_ids)
        assert prompt.pixel_values is not None


def test_the_loss_is_that_of_solutions_by_transformers_and_falls(model_and_dataset):
    model, dataset = model_and_dataset
    settings = WarmStart(num_steps=12, batch_size=4, num_problems=4)
    engine = TorchEngine(
        Policy(model), dataset.chat, Sampling(), Optimization(1e-3, settings.num_steps)
    )
    expected = mean_loss(model, dataset.batch([0, 1, 2, 3]))
    losses = list(finetune(engine, dataset, settings))
    assert len(losses) == 12
    assert losses[0] == pytest.approx(expected, rel=1e-4)
    assert losses[-1] < losses[0] - 0.3


@torch.no_grad()
def mean_loss(model, responses):
    """Mean over the tokens of all solutions of their cross-entropy, one sequence at a time."""
    total = torch.zeros(())
    for prompt, tokens, mask in zip(
        responses.prompts, responses.tokens, responses.mask, strict=True
    ):
        answer = tokens[mask]
        whole = torch.cat([torch.tensor(prompt.token_ids), answer])[None]
        logits = model(
            whole,
            pixel_values=prompt.pixel_values,
            image_grid_thw=prompt.image_grid_thw,
            mm_token_type_ids=(whole == model.config.image_token_id).int(),
        ).logits[0, len(prompt.token_ids) - 1 : -1]
        total += torch.nn.functional.cross_entropy(logits, answer, reduction="sum")
    return (total / responses.mask.sum()).item()


def test_the_same_seed_gives_the_same_warm_start(tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        warm_start(replace(FEW, output_dir=tmp_path / name, seed=seed))
    a, b, c = (weights(tmp_path / name) for name in "abc")
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert not all(torch.equal(a[name], c[name]) for name in a)


def test_a_model_that_is_given_learns_further(tiny_folder, tmp_path, capsys):
    words = flags(model=tiny_folder, num_steps=2, batch_size=2, output_dir=tmp_path / "more")
    sft.main(words)
    assert f"wrote {tmp_path / 'more'}" in capsys.readouterr().out
    before, after = weights(tiny_folder), weights(tmp_path / "more")
    assert any(not torch.equal(before[name], after[name]) for name in before)


def test_the_tiny_model_is_made_once_for_each_recipe_and_seed(cache):
    first = cached_tiny_model(FEW)
    made = (first / "model.safetensors").stat().st_mtime_ns
    assert cached_tiny_model(FEW) == first
    assert (first / "model.safetensors").stat().st_mtime_ns == made
    assert cached_tiny_model(replace(FEW, seed=1)) != first
    assert cached_tiny_model(replace(FEW, num_steps=1)) != first
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
        lambda folder: [(folder / "SHA256SUMS").unlink(), cut(folder / "config.json")],
        "cannot load the model",
    ),
    "empty": (lambda folder: [path.unlink() for path in folder.iterdir()], "cannot load"),
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

    monkeypatch.setattr(sft, "warm_start", copy)
    return cached_tiny_model(FEW), made


@pytest.mark.parametrize(("harm", "reason"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_model_in_the_cache_is_named_and_made_anew(made, capsys, harm, reason):
    folder, count = made
    harm(folder)
    capsys.readouterr()
    assert cached_tiny_model(FEW) == folder
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{folder} is damaged (")
    assert reason in line
    assert line.endswith("): making it anew")
    assert len(count) == 2
    load_model(str(folder), torch.device("cpu"), torch.float32)
    assert {path.name[0] for path in folder.parent.iterdir()} == {"t"}


def test_a_model_in_the_cache_of_an_earlier_version_gets_digests(made, capsys):
    folder, count = made
    (folder / "SHA256SUMS").unlink()
    for _ in range(2):
        assert cached_tiny_model(FEW) == folder
    assert len(count) == 1
    assert capsys.readouterr().err == ""
    assert (folder / "SHA256SUMS").exists()


def test_a_damaged_model_with_digests_is_not_loaded(made):
    folder, _ = made
    (folder / "README.md").write_text("A card, which nothing is loaded from.")
    load_model(str(folder), torch.device("cpu"), torch.float32)
    flip(folder / "model.safetensors")
    with pytest.raises(ModelError, match=r"damaged \(model.safetensors differs .* SHA256SUMS if"):
        load_model(str(folder), torch.device("cpu"), torch.float32)


def test_two_warm_starts_do_not_write_one_folder(tiny_folder, tmp_path, capsys):
    with locked(tmp_path / "warm"), pytest.raises(SystemExit, match="is in use by process"):
        sft.main(flags(model=tiny_folder, num_steps=1, output_dir=tmp_path / "warm"))


def test_who_waits_for_another_process_says_so(cache, capsys):
    folder = cached_tiny_model(FEW)
    capsys.readouterr()
    with ThreadPoolExecutor() as pool:
        with FileLock(folder.with_suffix(".lock")):
            waiting = pool.submit(cached_tiny_model, FEW)
            said, deadline = "", time.monotonic() + 60
            while not said and time.monotonic() < deadline:
                time.sleep(0.01)
                said = capsys.readouterr().err
        assert waiting.result(timeout=60) == folder
    assert said == "another process trains the tiny model: waiting for it\n"


def test_a_run_on_figures_warms_up_on_figures_of_its_level():
    options = json.loads(recipe("Figures-v1", '{"level": 2}', seed=3).env_options)
    assert options == json.loads(WarmStart().env_options) | {"level": 2}
    assert recipe("Letters-v0", '{"size": 2}', seed=3) == WarmStart(seed=3)


KILLED_AS_IT_SAVES = """
import os, signal
from pathlib import *
from agents import sft
from agents.sft import *

def half(folder, model, chat):
    model.save_pretrained(folder)
    os.kill(os.getpid(), signal.SIGKILL)

sft.save_model = half
"""


@pytest.mark.slow(reason="two processes that train")
def test_a_kill_in_the_middle_leaves_no_half_model_in_the_cache(cache):
    code = f"{KILLED_AS_IT_SAVES}\ncached_tiny_model({FEW})"
    child = subprocess.run([sys.executable, "-c", code], check=False, stderr=subprocess.DEVNULL)
    assert child.returncode == -signal.SIGKILL
    assert list(cache.glob(".*.tmp/model.safetensors"))
    assert not list(cache.glob("tiny-*/"))
    load_model(str(cached_tiny_model(FEW)), torch.device("cpu"), torch.float32)
    assert not list(cache.glob(".*.tmp"))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"env": "Letters-v0", "env_options": "{}"}, "train/0 has no worked solution: choose an"),
        ({"env": "Figure-v0"}, "did you mean Figures-v1?"),
        ({"env_options": "[]"}, "--env-options '[]' is not a JSON object"),
        ({"num_steps": 0}, "--num-steps is 0: give at least 1"),
        ({"seed": -1}, "--seed is -1"),
        ({"model": "/no/model"}, "there is no such folder"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(settings, words, tmp_path):
    with pytest.raises(SystemExit) as refused:
        sft.main(flags(output_dir=tmp_path / "warm", **settings))
    message = refused.value.code
    assert isinstance(message, str)
    assert message.startswith("error: ")
    assert words in message
    assert "\n" not in message
    assert not (tmp_path / "warm").exists()


def test_a_corpus_is_no_longer_than_the_problems():
    envs = reasonenv.make("Letters-v0", num_envs=1)
    texts = tokenizer_corpus(envs)
    envs.close()
    assert sum("How many letters" in text for text in texts) == len(letters.problems())


def test_ctrl_c_leaves_no_model_that_has_not_learned(tmp_path, monkeypatch, capsys):
    step = TorchEngine.step

    def ringing(engine):
        signal.raise_signal(signal.SIGINT)
        return step(engine)

    monkeypatch.setattr(TorchEngine, "step", ringing)
    with pytest.raises(SystemExit) as stopped:
        sft.main(flags(num_steps=2, batch_size=4, num_problems=4, output_dir=tmp_path / "warm"))
    assert stopped.value.code == 130
    assert not (tmp_path / "warm").exists()
    assert (
        capsys.readouterr().err.splitlines()[-1] == "stopped; files that were written are complete"
    )
