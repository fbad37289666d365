"""Rollouts that a real vLLM server samples beside the updates."""

import threading

import pytest
import torch
from helpers import torchrun, vllm_model, vowels  # noqa: F401 - registers the environment
from helpers.tiny_runs import numbers, train
from helpers.vllm_served import served
from safetensors.torch import load_file

from agents.engines.vllm.remote_sampler import RemoteSampler

LONG = {"env": "Vowels-v0", "num_steps": 5, "save_every": 1, "keep_checkpoints": 9}
TOLERANCE = 1e-4
"""The rounding of the server depends on what it computes at the same time."""


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    return vllm_model.write(tmp_path_factory.mktemp("words") / "model")


@pytest.fixture(scope="module")
def url(words):
    with served(words, words.with_name("log")) as (address, _):
        yield address


def close(folder, other):
    pairs = zip(numbers(folder), numbers(other), strict=True)
    return all(row == pytest.approx(again, rel=TOLERANCE, abs=TOLERANCE) for row, again in pairs)


@pytest.mark.vllm
@pytest.mark.parametrize("staleness", [1, 2])
def test_a_server_samples_each_rollout_with_the_weights_of_so_many_updates_before(
    staleness, words, url, tmp_path, monkeypatch
):
    load, loaded = RemoteSampler.load_weights, []

    def noted(self, weights):
        weights = [(name, weight.clone()) for name, weight in weights]
        if threading.current_thread() is not threading.main_thread():
            loaded.append(dict(weights))
        load(self, weights)

    monkeypatch.setattr(RemoteSampler, "load_weights", noted)
    settings = LONG | {"num_test_problems": 2, "evaluate_every": 2, "staleness": staleness}
    settings |= {"env_options": '{"holdout": 0.25}', "vllm_server": url}
    train(words, tmp_path / "run", **settings)
    versions = [load_file(words / "model.safetensors")]
    for step in range(1, 5):
        versions.append(load_file(tmp_path / f"run/checkpoints/step-{step}/model.safetensors"))
    assert len(loaded) == 5
    for step, sampled in enumerate(loaded, 1):
        expected = versions[max(0, step - 1 - staleness)]
        assert all(torch.equal(sampled[name], expected[name]) for name in expected)
    rows = numbers(tmp_path / "run")
    assert [row["staleness/age"] for row in rows] == [min(staleness, step) for step in range(5)]
    assert rows[0]["sampler/log_prob_diff_mean"] < 1e-5 < rows[-1]["sampler/log_prob_diff_mean"]


@pytest.mark.vllm
def test_two_ranks_share_a_server_that_is_ahead_and_go_on_as_if_they_had_not_stopped(
    words, url, tmp_path
):
    torchrun.run("ranks_ahead.py", words, tmp_path, url)
    rows = numbers(tmp_path / "whole")
    assert [row["staleness/age"] for row in rows] == [0, 1, 2, 2, 2]
    assert close(tmp_path / "again", tmp_path / "whole")
