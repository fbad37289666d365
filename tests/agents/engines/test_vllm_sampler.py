"""vLLM in the trainer's process, on a CPU, beyond the contract of samplers."""

import importlib.util
import json
import multiprocessing
import os
import random
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import numpy as np
import psutil
import pytest
import torch
from helpers import tiny_engines, torchrun, vllm_model
from helpers.hub_rows import lines
from helpers.vllm_model import BOUND, LENGTH, differences, learn, observations

import reasonenv
from agents.engines.load import load_model
from agents.engines.vllm.compatibility import check_installed, sampler_errors
from agents.engines.vllm.sampler import VLLMSampler
from agents.errors import SamplerError
from agents.monitoring.timing import Clock
from agents.training import parity
from agents.training.rollouts import sample_rollout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return vllm_model.write(tmp_path_factory.mktemp("words"))


@pytest.fixture(scope="module")
def trainer(folder):
    return vllm_model.trainer(folder)


def state() -> list:
    """What others in this process may rely on."""
    inherited = [os.environ.get(name) for name in ("LD_PRELOAD", "LOCAL_WORLD_SIZE")]
    generators = (
        torch.get_rng_state().tolist(),
        random.getstate(),
        np.random.get_state()[1].tolist(),
    )
    return [inherited, generators, torch.set_num_threads, os.sched_getaffinity(0)]


@pytest.fixture(scope="module")
def started(folder, trainer):
    """One vLLM for all tests, since it takes long to start; and what starting it left behind."""
    before = state()
    sampler = vllm_model.sampler(folder, trainer)
    yield sampler, before == state()
    sampler.close()
    sampler.close()
    assert not torch.distributed.is_initialized()


@pytest.fixture
def sampler(started, trainer):
    """Holds the trainer's weights and samples as the trainer means it."""
    sampler, _ = started
    sampler.load_weights(trainer.checkpoint_weights())
    yield sampler
    sampler.sampling, sampler.log_probs = trainer.sampling, True
    sampler.max_response_length = LENGTH


@pytest.mark.vllm
def test_it_does_not_sample_before_it_has_weights(started):
    sampler, _ = started
    prompts = sampler.encode(observations())
    with pytest.raises(ValueError, match=r"^vLLM has no weights [^\n]* call load_weights first$"):
        sampler.generate(prompts, (0,))


@pytest.mark.vllm
def test_starting_leaves_the_process_as_it_was(started):
    _, same = started
    assert same
    assert not multiprocessing.active_children()
    assert not [p for p in psutil.Process().children() if "vllm" in " ".join(p.cmdline()).lower()]


@pytest.mark.vllm
def test_the_comparison_before_the_first_step_finds_the_right_weights_and_the_wrong(
    sampler, trainer, folder
):
    within = parity.tolerance(torch.float32, sampler.dtype)
    sampler.log_probs, sampler.sampling = False, replace(trainer.sampling, top_p=0.5)
    rows = observations(group_size=3)
    comparison = parity.compare(trainer, sampler, trainer.chat, rows)
    assert comparison.num_prompts == 4
    assert comparison.max < BOUND
    comparison.check(within)
    assert (sampler.log_probs, sampler.sampling.top_p) == (False, 0.5)
    other = vllm_model.trainer(folder)
    with torch.no_grad():
        for weight in other.policy.parameters():
            weight.mul_(1.02)
    with pytest.raises(ValueError, match="check the weights of the sampler"):
        parity.compare(other, sampler, other.chat, rows).check(within)


@pytest.mark.vllm
def test_a_prompt_that_vllm_reads_otherwise_is_told_in_one_line(sampler, monkeypatch):
    prompts = sampler.encode(observations())
    monkeypatch.setattr(sampler, "_convert", lambda prompt: {"prompt_token_ids": [5, 6, 7]})
    with pytest.raises(ValueError, match=r"^vLLM reads a prompt as 3 tokens that are not the \d+ "):
        sampler.generate(prompts, (0,))
    assert sampler.llm.llm_engine.get_num_unfinished_requests() == 0


@pytest.mark.vllm
def test_a_rollout_of_one_seed_is_repeated_whatever_was_sampled_before(
    sampler, trainer, monkeypatch
):
    monkeypatch.setattr(sampler, "_one_seed", True)
    # vLLM prefills them in several steps, or in one if it finds them in its cache.
    questions = tuple(f"{number} " + "letters " * 120 for number in range(60))
    prompts = sampler.encode(observations(questions, group_size=2))
    state = torch.get_rng_state()
    first, other, again = (sampler.generate(prompts, (seed,)) for seed in (1, 2, 1))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(again.tokens, first.tokens)
    torch.testing.assert_close(again.sampler_log_prob, first.sampler_log_prob, atol=BOUND, rtol=0)
    assert other.texts != first.texts
    assert sum(first.texts[i] != first.texts[i + 1] for i in range(0, 120, 2)) > 50
    assert differences(trainer, first).max() < BOUND


@pytest.mark.vllm
def test_responses_of_a_group_differ_and_share_a_request(sampler, monkeypatch):
    asked = []
    add = sampler.llm.llm_engine.add_request
    monkeypatch.setattr(
        sampler.llm.llm_engine, "add_request", lambda *words: asked.append(words[0]) or add(*words)
    )
    responses = sampler.generate(sampler.encode(observations(group_size=8)), (8,))
    assert len(asked) == 4
    for start in range(0, 32, 8):
        assert len(set(responses.texts[start : start + 8])) > 4


@pytest.mark.vllm
def test_a_prompt_that_is_too_long_is_refused_in_one_line(sampler):
    observation = observations(("how " * 300,))
    message = r"^a prompt of \d+ tokens [^\n]*raise max_model_len[^\n]*$"
    with pytest.raises(ValueError, match=message):
        sampler.encode(observation)
    with pytest.raises(ValueError, match=message):
        sampler.generate(sampler.chat.encode(observation), (0,))


@pytest.mark.vllm
def test_responses_are_announced_while_others_are_sampled(sampler):
    waiting = []

    def finished(index, text):
        waiting.append(sampler.llm.llm_engine.get_num_unfinished_requests())

    responses = sampler.generate(sampler.encode(observations(group_size=16)), (9,), finished)
    assert waiting[0] > len(responses) // 2


@pytest.mark.vllm
def test_it_samples_again_after_it_was_told_to_rest(sampler):
    prompts = sampler.encode(observations())
    expected = sampler.generate(prompts, (12,))
    sampler.release()
    assert torch.equal(sampler.generate(prompts, (12,)).tokens, expected.tokens)


@pytest.mark.vllm
def test_a_temperature_that_vllm_does_not_have_is_told_before_it_starts(trainer, folder):
    hot = replace(trainer.sampling, temperature=3.0)
    with pytest.raises(ValueError, match=r"^vLLM cannot start [^\n]*temperature[^\n]*3.0[^\n]*$"):
        VLLMSampler(folder, trainer.chat, hot, LENGTH)


@pytest.mark.vllm
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_lenght": 3}, "max_lenght"),
        ({"dtype": "float3"}, "float3"),
        ({"max_model_len": 10**7}, "max_model_len"),
    ],
)
def test_an_option_that_vllm_refuses_is_told_in_one_line(trainer, folder, options, words):
    with pytest.raises(ValueError, match=rf"^vLLM cannot start with [^\n]*{words}[^\n]*$"):
        VLLMSampler(folder, trainer.chat, trainer.sampling, LENGTH, options=options)


@pytest.mark.vllm
def test_it_learns_in_an_environment_of_words(sampler, folder, tmp_path):
    engine = vllm_model.trainer(folder)
    rows = [{"question": f"What is {n} + 1?", "answer": f"It is.\n#### {n + 1}"} for n in range(8)]
    data = lines(tmp_path, "train.jsonl", rows)
    texts = []
    envs = reasonenv.make("GSM8K-v0", num_envs=8, group_size=2, data=data, num_workers=1)
    with closing(envs):
        batch, _ = envs.reset(seed=0)
        for step in range(2):
            sampler.load_weights(engine.checkpoint_weights())
            sampler.max_response_length = 12
            rollout = sample_rollout(envs, sampler, batch, (0, step), Clock())
            responses, reward, _ = rollout.groups(2)
            assert differences(engine, responses).max() < BOUND
            assert rollout.infos["status"].shape == (8,)
            learn(engine, responses)
            texts.append(responses.texts)
            batch = rollout.next_observations
    assert reward.shape == (4, 2)


def test_a_picture_has_one_place_in_what_vllm_is_given(tiny_folder):
    _, chat = load_model(str(tiny_folder), torch.device("cpu"), torch.float32)
    rows = tiny_engines.observations(num_images=(0, 1, 3))
    words, one, three = chat.encode(rows)
    assert chat.collapsed(words) == list(words.token_ids)
    image = chat.tokenizer.convert_tokens_to_ids(chat.image_token)
    for prompt, pictures in ((one, rows["images"][1]), (three, rows["images"][2])):
        short = chat.collapsed(prompt)
        assert short.count(image) == len(pictures) == len(prompt.images)
        assert all(own is image for own, image in zip(prompt.images, pictures, strict=True))
        counts = (prompt.image_grid_thw.prod(-1) // 4).tolist()
        widened = [[image] * counts.pop(0) if token == image else [token] for token in short]
        assert tuple(token for tokens in widened for token in tokens) == prompt.token_ids


def test_memory_that_runs_out_is_told_in_one_line_with_what_to_lower():
    line = r"^vLLM cannot x: [^\n]* lower max_num_seqs[^\n]*$"
    with pytest.raises(ValueError, match=line), sampler_errors("vLLM cannot x"):
        raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate")


def test_where_vllm_is_missing_the_line_says_what_to_do(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"^vLLM is not installed: pip install [^\n]*$"):
        check_installed(sees=False)


@pytest.mark.vllm
def test_images_without_torchvision_are_refused_in_one_line(tiny_folder, monkeypatch):
    _, chat = load_model(str(tiny_folder), torch.device("cpu"), torch.float32)
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "torchvision" else find(name)
    )
    with pytest.raises(ValueError, match=r"^vLLM reads images with torchvision[^\n]*matches torch"):
        VLLMSampler(tiny_folder, chat, vllm_model.Sampling(), LENGTH)


@pytest.mark.vllm
def test_two_ranks_sample_each_for_itself_and_both_as_one(folder, tmp_path):
    torchrun.run("vllm_ranks.py", folder, tmp_path)
    results = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1)]
    for one in results:
        for size in ("1", "2"):
            assert one[size]["likeliest"] == [True, True]
            assert max(one[size]["differences"]) < BOUND
            assert one[size]["repeats"]
        assert one["1"]["tokens"] == one["2"]["tokens"]
    assert len(results[0]["1"]["tokens"]) == 2
    assert len(results[1]["1"]["tokens"]) == 6


@pytest.mark.vllm
def test_a_trainer_of_one_process_cannot_split_vllm(folder, trainer):
    with pytest.raises(SamplerError, match=r"^tensor_parallel_size is 2, and one process trains"):
        vllm_model.sampler(folder, trainer, tensor_parallel_size=2)


@pytest.mark.vllm
def test_one_process_evaluates_with_weights_that_are_split(folder, tmp_path):
    """As a user does where a model takes several GPUs."""
    environment = torchrun.ENVIRONMENT | {"VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    texts = []
    for number, split in enumerate((1, 2)):
        output = tmp_path / str(number)
        options = vllm_model.OPTIONS | {"load_format": "auto", "tensor_parallel_size": split}
        words = ("--env", "WordProblems-v0", "--num-problems", "4", "--temperature", "0")
        words += ("--sampler", "vllm", "--dtype", "float32", "--max-response-length", "8")
        words += ("--vllm", json.dumps(options), "--output-dir", str(output))
        command = [sys.executable, "-m", "agents.evaluate", "--model", str(folder), *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        rows = (output / "WordProblems-v0.jsonl").read_text().splitlines()
        texts.append([json.loads(row)["response"] for row in rows])
    assert len(texts[0]) == 4
    assert texts[0] == texts[1]
