"""Images through vLLM on a CPU, in the trainer's process and on a server, against transformers."""

import importlib.util

import pytest
import torch
from helpers import vllm_images
from helpers.vllm_images import LENGTH, OPTIONS
from helpers.vllm_served import served

from agents.engines.vllm.remote_sampler import RemoteSampler
from agents.engines.vllm.sampler import VLLMSampler

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(
        importlib.util.find_spec("torchvision") is None, reason="vLLM reads images with torchvision"
    ),
]


@pytest.fixture(scope="module")
def started(tiny_folder):
    engine = vllm_images.trainer(tiny_folder)
    parts = engine.chat, engine.sampling, LENGTH
    sampler = VLLMSampler(tiny_folder, *parts, options=OPTIONS)
    yield sampler
    sampler.close()


def test_vllm_reads_images_as_transformers_does_after_every_handover(started, tiny_folder):
    engine = vllm_images.trainer(tiny_folder)
    for step in range(3):
        vllm_images.change(engine, step)
        started.load_weights(engine.checkpoint_weights())
        vllm_images.check(started, engine, step)


def test_vllm_reads_images_after_a_sleep_that_loses_all_weights(started, tiny_folder, monkeypatch):
    engine = vllm_images.trainer(tiny_folder)
    model = started.llm.llm_engine.model_executor.driver_worker.worker.model_runner.model

    def sleep(level):
        for weight in model.parameters():
            weight.data.fill_(torch.nan)

    monkeypatch.setattr(started, "_sleeps", True)
    monkeypatch.setattr(started.llm, "sleep", sleep)
    monkeypatch.setattr(started.llm, "wake_up", lambda tags: None)
    for step in range(2):
        started.load_weights(engine.checkpoint_weights())
        vllm_images.check(started, engine, step)
        started.release()
        assert all(weight.isnan().all() for weight in model.parameters())
        vllm_images.change(engine, step)
    started.load_weights(engine.checkpoint_weights())


def test_a_server_reads_images_as_transformers_does_after_every_handover(tiny_folder, tmp_path):
    engine = vllm_images.trainer(tiny_folder)
    with served(tiny_folder, tmp_path / "log") as (url, _):
        sampler = RemoteSampler(url, engine.chat, engine.sampling, LENGTH)
        for step in range(2):
            vllm_images.change(engine, step)
            sampler.load_weights(engine.checkpoint_weights())
            vllm_images.check(sampler, engine, step)
