"""Calls that vLLM gets: sleep, waking, caches and options, recorded by a fake."""

from contextlib import nullcontext
from importlib import import_module
from types import SimpleNamespace

import pytest
import torch

from agents.engines.sampling import Sampling
from agents.engines.vllm import compatibility
from agents.engines.vllm import sampler as sampler_module
from agents.engines.vllm.client import VLLMClient
from agents.engines.vllm.remote_sampler import RemoteSampler
from agents.engines.vllm.sampler import VLLMSampler
from agents.engines.vllm.weight_transfer import NCCLGroup
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
    # Collecting what all tests before have left takes long, and frees nothing of the fake.
    monkeypatch.setattr(sampler_module, "gc", SimpleNamespace(collect=lambda: None))
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


@pytest.mark.parametrize("ranks", [None, "1", "2"])
def test_only_ranks_of_torchrun_and_banned_tokens_change_the_options(sampler, monkeypatch, ranks):
    sampler.chat = SimpleNamespace(image_processor=None, stop=())
    sampler.sampling = Sampling()
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    if ranks:
        monkeypatch.setenv("WORLD_SIZE", ranks)
    options = sampler._defaults()
    executor = options.get("distributed_executor_backend")
    assert executor == ("external_launcher" if ranks == "2" else None)
    assert "logits_processors" not in options


class FakeServer(VLLMClient):
    """Records the posts that a server gets."""

    def __init__(self, fails=""):
        super().__init__("http://there:1", 1)
        self.calls, self.fails = [], fails

    def post(self, path, body=None):
        self.calls.append(path)
        if path == self.fails:
            raise SamplerError(f"{path} fails")


PHASES = ["/start_weight_update", "/update_weights", "/finish_weight_update"]


@pytest.mark.parametrize("fails", ["", *PHASES])
def test_a_server_pauses_for_a_handover_and_resumes_after_one_that_fails(fails):
    sampler = RemoteSampler.__new__(RemoteSampler)
    sampler.client, sampler._group = FakeServer(fails), NCCLGroup(None)
    with pytest.raises(SamplerError, match=f"^{fails} fails$") if fails else nullcontext():
        sampler._send(iter([]))
    calls = sampler.client.calls
    assert (calls[0], calls[-1]) == ("/pause?mode=wait", "/resume")
    assert set(calls[1:-1]) >= {PHASES[0], PHASES[2]}
    assert (sampler._group is None) == bool(fails)


@pytest.mark.parametrize("has", [False, True])
def test_pixels_are_normalized_on_the_host_where_vllm_would_on_the_device(monkeypatch, has):
    fields = {"model": None} | ({"mm_device_do_normalize": None} if has else {})
    module = SimpleNamespace(EngineArgs=SimpleNamespace(__dataclass_fields__=fields))
    monkeypatch.setattr(compatibility.importlib, "import_module", lambda name: module)
    expected = {"mm_device_do_normalize": False} if has else {}
    assert compatibility.vision_options() == {"limit_mm_per_prompt": {"video": 0}} | expected


@pytest.mark.vllm
def test_banned_tokens_are_those_of_the_newest_request_that_names_some():
    kind = import_module("agents.engines.vllm.banned_tokens").BannedTokens
    config = SimpleNamespace(model_config=SimpleNamespace(get_vocab_size=lambda: 5))
    processor = kind(config, torch.device("cpu"), False)

    def banned(*requests):
        params = [SimpleNamespace(extra_args=extra) for extra in requests]
        added = [(index, one, None, []) for index, one in enumerate(params)]
        processor.update_state(SimpleNamespace(added=added) if requests else None)
        return processor.apply(torch.zeros(2, 5)).isinf()[1].nonzero()[:, 0].tolist()

    assert banned() == []
    assert banned({"banned": [1, 3]}, None) == [1, 3]
    assert banned(None, {"other": 1}) == [1, 3]
    assert banned({"banned": [4, 7, -1]}) == [4]
    for odd in (5, ["a"], [True], {"a": 1}):
        with pytest.raises(ValueError, match="takes a list of token ids"):
            kind.validate_params(SimpleNamespace(extra_args={"banned": odd}))
