"""Calls that vLLM gets: sleep, waking, caches and options, recorded by a fake."""

import asyncio
from importlib import import_module
from types import SimpleNamespace

import pytest
import torch

from agents.engines.sampling import Sampling
from agents.engines.vllm import compatibility, routes
from agents.engines.vllm.sampler import VLLMSampler
from agents.errors import SamplerError


class FakeLLM:
    """Records the calls that it gets, as vLLM's `LLM` and its `LLMEngine`."""

    def __init__(self, calls):
        self.calls = calls
        self.llm_engine = self.engine_core = self

    def wake_up(self, tags):
        self.calls += [f"wake {tag}" for tag in tags]

    def collective_rpc(self, method, kwargs):
        self.calls.append(method)

    def reset_prefix_cache(self):
        self.calls.append("reset_prefix_cache")
        return True

    def __getattr__(self, name):
        return lambda *_, **__: self.calls.append(name)


@pytest.fixture
def calls(monkeypatch):
    """Calls of vLLM and of PyTorch's allocator, in their order."""
    calls = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: calls.append("empty_cache"))
    return calls


@pytest.fixture
def sampler(calls):
    sampler = VLLMSampler.__new__(VLLMSampler)
    sampler.llm, sampler._owns_group = FakeLLM(calls), True
    sampler._sleeps, sampler._asleep, sampler._has_weights = True, set(), False
    return sampler


LOAD = ["reload_weights", "reset_prefix_cache", "reset_encoder_cache"]


def test_the_trainers_cache_is_emptied_right_before_vllm_wakes(sampler, calls):
    sampler.load_weights([])
    assert calls == LOAD
    for _ in range(2):
        calls.clear()
        sampler.release()
        sampler.release()
        sampler.load_weights([])
        sampler._wake("kv_cache")
        sampler._wake("kv_cache")
        woken = ["empty_cache", "wake weights", *LOAD, "empty_cache", "wake kv_cache"]
        assert calls == ["sleep", *woken]


@pytest.mark.parametrize(
    ("wakes", "expected"),
    [
        ((), ["wake kv_cache", "wake weights"]),
        (("weights",), ["wake kv_cache"]),
        (("weights", "kv_cache"), []),
    ],
)
def test_vllm_is_awake_when_it_is_shut_down(sampler, calls, wakes, expected):
    sampler.release()
    for part in wakes:
        sampler._wake(part)
    calls.clear()
    sampler.close()
    assert sorted(call for call in calls if call.startswith("wake")) == expected
    assert calls[-1] == "shutdown"
    sampler.close()
    assert calls.count("shutdown") == 1


def test_vllm_is_shut_down_where_there_is_no_memory_to_wake_it(sampler, calls, monkeypatch):
    def fail(tags):
        raise RuntimeError("CUDA Error: out of memory at cumem_allocator.cpp:62")

    sampler.release()
    monkeypatch.setattr(sampler.llm, "wake_up", fail)
    sampler.close()
    assert calls[-1] == "shutdown"


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), torch.OutOfMemoryError("x")])
def test_no_memory_to_wake_before_a_handover_is_one_line(sampler, monkeypatch, error):
    def fail(tags):
        raise error

    sampler.release()
    monkeypatch.setattr(sampler.llm, "wake_up", fail)
    with pytest.raises(SamplerError, match=r"^vLLM cannot load the weights: [^\n]*out of memory"):
        sampler.load_weights([])


def test_a_model_without_banned_tokens_has_no_logits_processor(sampler):
    sampler.chat = SimpleNamespace(image_processor=None, stop=())
    sampler.sampling = Sampling()
    assert "logits_processors" not in sampler._defaults({})


class FakeServer:
    """Records the calls that the engine of a server gets."""

    def __init__(self, fails=""):
        self.calls, self.fails = [], fails

    def __getattr__(self, name):
        async def call(*words, **_):
            self.calls.append(words[0] if name == "collective_rpc" else name)
            if self.calls[-1] == self.fails:
                raise RuntimeError(f"{self.fails} fails")
            return True

        return call


LOAD_ON_SERVER = ["receive_weights", "reset_prefix_cache", "reset_encoder_cache"]


def test_a_server_resets_its_caches_after_a_handover_and_resumes():
    engine = FakeServer()
    asyncio.run(routes._load(engine, {}, print))
    assert engine.calls == ["pause_generation", *LOAD_ON_SERVER, "resume_generation"]


@pytest.mark.parametrize("fails", LOAD_ON_SERVER)
def test_a_server_resumes_after_a_handover_that_fails(fails):
    engine = FakeServer(fails)
    with pytest.raises(RuntimeError, match=f"^{fails} fails$"):
        asyncio.run(routes._load(engine, {}, print))
    assert engine.calls[-2:] == [fails, "resume_generation"]


@pytest.mark.parametrize("has", [False, True])
def test_pixels_are_normalized_on_the_host_where_vllm_would_on_the_device(monkeypatch, has):
    fields = {"model": None} | ({"mm_device_do_normalize": None} if has else {})
    module = SimpleNamespace(EngineArgs=SimpleNamespace(__dataclass_fields__=fields))
    monkeypatch.setattr(compatibility.importlib, "import_module", lambda name: module)
    expected = {"mm_device_do_normalize": False} if has else {}
    assert compatibility.vision_options() == {"limit_mm_per_prompt": {"video": 0}} | expected


@pytest.mark.vllm
def test_a_server_without_banned_tokens_refuses_a_trainer_with_some():
    receiver = import_module("agents.engines.vllm.receiver").WeightReceiver
    config = SimpleNamespace(model_config=SimpleNamespace(logits_processors=None))
    worker = SimpleNamespace(vllm_config=config)
    with pytest.raises(ValueError, match="has 2 tokens that are never sampled, 3 first, and the s"):
        receiver.join_trainer(worker, "127.0.0.1", 1, "cpu", [3, 4], 1.0)
