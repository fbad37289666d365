"""Images through vLLM on a CPU, in the trainer's process and on a server, against transformers."""

import importlib.util
from contextlib import closing
from dataclasses import replace

import pytest
import torch
from helpers import tiny_engines
from helpers.episodes import Written, brief, play
from helpers.vllm_model import BOUND, OPTIONS, differences, token_lists
from helpers.vllm_served import served

import reasonenv
from agents.engines.vllm.remote_sampler import RemoteSampler
from agents.engines.vllm.sampler import VLLMSampler

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(
        importlib.util.find_spec("torchvision") is None, reason="vLLM reads images with torchvision"
    ),
]
LENGTH = 12
SHIFT = 0.05
"""Standard deviation of the noise that changes every weight between two handovers."""


def trainer(folder):
    """A trainer whose weights are those of no file."""
    engine = tiny_engines.build("torch", folder)
    change(engine, 0)
    return engine


def change(engine, seed: int, part: str = "") -> None:
    """Adds noise to the weights that have `part` in their name."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in engine.policy.named_parameters():
            if part in name:
                weight.add_(SHIFT * torch.randn(weight.shape, generator=generator))


def check(sampler, engine, seed=0) -> None:
    """That vLLM has the trainer's weights: greedy tokens and log-probabilities."""
    # 0 to 3 images each, of different sizes; two prompts share an image.
    rows = engine.chat.encode(tiny_engines.observations((0, 1, 2, 3), group_size=3))
    sampler.sampling = replace(engine.sampling, temperature=0.0)
    own = tiny_engines.sampler(engine, sampler.max_response_length)
    own.sampling = sampler.sampling
    assert token_lists(sampler.generate(rows, (seed,))) == token_lists(own.generate(rows, (seed,)))
    sampler.sampling = engine.sampling
    responses = sampler.generate(rows, (seed,))
    assert differences(engine, responses).max() < BOUND
    check_power(engine, responses)


def check_episodes(sampler, engine) -> None:
    """That log-probabilities are the trainer's in all turns, with images in the first and later."""
    sampler.sampling = engine.sampling = brief(engine.chat)
    sampler.max_response_length, turns = 160, (3, 1, 2, 3)
    prompts = engine.chat.encode(tiny_engines.observations((2, 0, 1, 1)))
    responses, _ = play(Written(turns, (1, 0, 0)), sampler, prompts)
    assert differences(engine, responses).max() < BOUND
    replies = [reply for row in responses.replies for reply in row]
    assert len(replies) > 2
    assert replies[0].images
    check_power(engine, responses)


def check_power(engine, responses) -> None:
    """That log-probabilities depend on the vision tower by far more than the bound."""
    before = engine.forward(responses)[0].detach()
    weights = {name: weight.clone() for name, weight in engine.policy.named_parameters()}
    change(engine, 99, "visual")
    after = engine.forward(responses)[0].detach()
    with torch.no_grad():
        for name, weight in engine.policy.named_parameters():
            weight.copy_(weights[name])
    pairs = zip(responses.prompts, responses.replies, strict=True)
    images = torch.tensor([any(part.images for part in (p, *replies)) for p, replies in pairs])
    moved = (after - before).abs().amax(-1)
    assert (moved[images] > 100 * BOUND).all()
    assert (moved[~images] == 0).all()


@pytest.fixture(scope="module")
def started(tiny_folder):
    engine = trainer(tiny_folder)
    parts = engine.chat, engine.sampling, LENGTH
    sampler = VLLMSampler(tiny_folder, *parts, options=OPTIONS | {"max_model_len": 1024})
    yield sampler
    sampler.close()


def test_vllm_reads_images_as_transformers_does_after_every_handover(started, tiny_folder):
    engine = trainer(tiny_folder)
    for step in range(3):
        change(engine, step)
        started.load_weights(engine.checkpoint_weights())
        check(started, engine, step)


def test_vllm_has_the_log_probabilities_of_an_episode_with_images(started, tiny_folder):
    engine = trainer(tiny_folder)
    started.load_weights(engine.checkpoint_weights())
    check_episodes(started, engine)
    started.max_response_length = LENGTH


def test_vllm_reads_images_after_a_sleep_that_loses_all_weights(started, tiny_folder, monkeypatch):
    engine = trainer(tiny_folder)
    model = started.llm.llm_engine.model_executor.driver_worker.worker.model_runner.model

    def sleep(level):
        for weight in model.parameters():
            weight.data.fill_(torch.nan)

    monkeypatch.setattr(started, "_sleeps", True)
    monkeypatch.setattr(started.llm, "sleep", sleep)
    monkeypatch.setattr(started.llm, "wake_up", lambda tags: None)
    for step in range(2):
        started.load_weights(engine.checkpoint_weights())
        check(started, engine, step)
        started.release()
        assert all(weight.isnan().all() for weight in model.parameters())
        change(engine, step)
    started.load_weights(engine.checkpoint_weights())


def test_vllm_reads_figures_of_diagrams_through_a_chat_template(started, tiny_folder):
    pytest.importorskip("matplotlib", reason="needs the extra diagrams")
    engine = trainer(tiny_folder)
    started.load_weights(engine.checkpoint_weights())
    started.sampling = engine.sampling
    with closing(reasonenv.make("Diagrams-v0", num_envs=4, group_size=2, num_workers=1)) as envs:
        observations, _ = envs.reset(seed=0)
        assert max(observations["images"][0][0].shape) == 448
        responses = started.generate(started.encode(observations), (0,))
        envs.step(responses.texts)
    assert differences(engine, responses).max() < BOUND
    check_power(engine, responses)


def test_a_server_reads_images_as_transformers_does_after_every_handover(tiny_folder, tmp_path):
    engine = trainer(tiny_folder)
    with served(tiny_folder, tmp_path / "log") as (url, _):
        sampler = RemoteSampler(url, engine.chat, engine.sampling, LENGTH)
        for step in range(2):
            change(engine, step)
            sampler.load_weights(engine.checkpoint_weights())
            check(sampler, engine, step)
        check_episodes(sampler, engine)
