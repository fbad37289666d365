"""A run that repeats: settings that reach PyTorch and vLLM before they compute."""

import os

import pytest
import torch
from helpers import tiny_engines
from helpers.tiny_runs import train

from agents.engines import transformers
from agents.engines.process import (
    BESIDE_VLLM,
    OFF,
    TRAINER,
    WARN,
    limited_mode,
    use_deterministic_kernels,
)
from agents.engines.torch import TorchEngine
from agents.engines.vllm.compatibility import preserve_process_state
from agents.errors import UsageError
from agents.training import setup

ERROR = 2


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    """Environment and mode of this process, as they were."""
    for name in TRAINER | BESIDE_VLLM:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    yield
    torch.use_deterministic_algorithms(False)


def variables():
    return {name: os.environ[name] for name in TRAINER | BESIDE_VLLM if name in os.environ}


@pytest.fixture
def gpu(monkeypatch):
    """Sets the compute capability of a GPU that there is not."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    return lambda *number: monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: number)


@pytest.mark.parametrize(("vllm", "expected"), [(True, BESIDE_VLLM), (False, TRAINER)])
def test_variables_of_the_trainer_and_of_vllm_are_set_on_a_gpu(gpu, vllm, expected):
    gpu(9, 0)
    use_deterministic_kernels(vllm=vllm)
    assert variables() == expected
    assert torch.get_deterministic_debug_mode() == ERROR


def test_vllm_beside_the_trainer_is_refused_on_a_gpu_where_it_takes_the_gradient(gpu):
    gpu(8, 9)
    with pytest.raises(UsageError, match=r"compute capability 9\.0, and this one has 8\.9"):
        use_deterministic_kernels(vllm=True)
    use_deterministic_kernels(vllm=False)


def test_vllm_on_a_cpu_has_no_invariant_kernels_and_is_not_asked_for_them():
    use_deterministic_kernels(vllm=True)
    assert variables() == TRAINER


def test_vllm_does_not_compute_in_the_mode_of_the_trainer():
    use_deterministic_kernels(vllm=False)
    with preserve_process_state():
        assert torch.get_deterministic_debug_mode() == OFF
    assert torch.get_deterministic_debug_mode() == ERROR


def test_a_limit_turns_nothing_on():
    with limited_mode(WARN):
        assert torch.get_deterministic_debug_mode() == OFF


def test_sampling_may_sum_cumulatively_and_an_update_has_only_deterministic_kernels(
    monkeypatch, tmp_path
):
    """In the mode of warnings PyTorch's attention would keep its faster gradients."""
    modes = {"sample": set(), "update": set()}

    def watched(name, function):
        def call(*args, **options):
            modes[name].add(torch.get_deterministic_debug_mode())
            return function(*args, **options)

        return call

    monkeypatch.setattr(
        transformers, "choose_tokens", watched("sample", transformers.choose_tokens)
    )
    monkeypatch.setattr(TorchEngine, "backward", watched("update", TorchEngine.backward))
    threads = []
    monkeypatch.setattr(setup, "set_threads", lambda count: threads.append(count) or "")
    train(tiny_engines.write(tmp_path / "model"), tmp_path / "run", deterministic=True, num_steps=1)
    assert modes == {"sample": {WARN}, "update": {ERROR}}
    assert threads == [torch.get_num_threads()]  # free cores do not count


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"sampler": "transformers"}, TRAINER),
        ({"sampler": "vllm"}, BESIDE_VLLM),
        ({"sampler": "vllm", "vllm_server": "http://localhost:1"}, TRAINER),
    ],
)
def test_engines_are_built_in_the_environment_of_the_setting(
    gpu, monkeypatch, tmp_path, settings, expected
):
    gpu(9, 0)
    built = []

    def build(run, *_):
        built.append((variables(), torch.get_deterministic_debug_mode()))
        raise UsageError("far enough")

    monkeypatch.setattr(setup, "build", build)
    # They ask the GPU for its memory.
    monkeypatch.setattr(setup, "summary", lambda *_: "")
    monkeypatch.setattr(setup, "planned", lambda run, _: run)
    model = tiny_engines.write(tmp_path / "model")
    with pytest.raises(SystemExit):
        train(model, tmp_path / "run", deterministic=True, **settings)
    assert built == [(expected, ERROR)]
