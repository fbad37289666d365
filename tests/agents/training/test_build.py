import json
import os
from types import SimpleNamespace

import pytest
import torch
from helpers import tiny_engines

from agents.cli.settings import Run
from agents.engines.deepspeed import complete
from agents.engines.load import local_device
from agents.engines.optimizer import Optimization
from agents.engines.sampling import Sampling
from agents.engines.vllm import sampler
from agents.errors import UsageError
from agents.training import build

OPTIMIZATION = Optimization(1e-6, 10)


def test_more_local_ranks_than_devices_is_one_line(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(ValueError, match=r"local rank 2 has no device.*--nproc-per-node 2$"):
        local_device()


@pytest.mark.parametrize("variable", ["CUDA_VISIBLE_DEVICES", None])
def test_a_rank_that_was_given_one_gpu_takes_it(monkeypatch, variable):
    chosen = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("LOCAL_RANK", "3")
    if variable is None:  # then all ranks see this one GPU
        with pytest.raises(UsageError, match=r"local rank 3 has no device"):
            local_device()
        return
    monkeypatch.setenv(variable, "3")
    assert [local_device(), local_device()] == 2 * [torch.device("cuda", 0)]
    assert chosen == [0, 0]
    assert os.environ["LOCAL_RANK"] == "0"  # which DeepSpeed and vLLM read


def test_a_rank_of_several_gpus_takes_that_of_its_number(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setattr(torch.cuda, "set_device", lambda _: None)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3")
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert local_device() == torch.device("cuda", 3)
    assert os.environ["LOCAL_RANK"] == "3"


@pytest.mark.parametrize("trust", [False, True])
def test_vllm_in_this_process_trusts_a_models_code_where_the_run_does(monkeypatch, trust):
    def start(*_, options, **__):
        raise UsageError(f"trust is {options['trust_remote_code']}")

    monkeypatch.setattr(sampler, "VLLMSampler", start)
    run = Run(sampler="vllm", trust_remote_code=trust)
    with pytest.raises(UsageError, match=f"^trust is {trust}$"):
        build._sampler(run, "DIR", Sampling(), SimpleNamespace(chat=None))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"head_dtype": "float32"}),
        ({"rope_theta": 1e6}, {"head_dtype": "float32", "rope_theta": 1e6}),
        ({"head_dtype": "model"}, {"head_dtype": "model"}),
    ],
)
def test_vllm_gets_a_float32_head_too_unless_its_own_options_say_otherwise(
    monkeypatch, given, expected
):
    def start(*_, options, **__):
        raise UsageError(json.dumps(options["hf_overrides"], sort_keys=True))

    monkeypatch.setattr(sampler, "VLLMSampler", start)
    run = Run(sampler="vllm", float32_head=True, vllm={"hf_overrides": given})
    with pytest.raises(UsageError) as error:
        build._sampler(run, "DIR", Sampling(), SimpleNamespace(chat=None))
    assert json.loads(str(error.value)) == expected


def gradients(engine):
    sampler = tiny_engines.sampler(engine)
    responses = sampler.generate(sampler.encode(tiny_engines.observations()), seed=(0,))
    engine.backward(engine.forward(responses)[0].sum())
    return {name: p.grad for name, p in engine.policy.model.named_parameters()}


def test_a_frozen_vision_tower_gets_no_gradient_and_the_rest_the_same(engine):
    whole = gradients(engine)
    engine.optimizer.zero_grad()
    engine.policy.freeze_vision()
    part = gradients(engine)
    frozen = {name for name in part if ".visual." in name}
    assert frozen
    assert all(part[name] is None for name in frozen)
    for name in part.keys() - frozen:
        torch.testing.assert_close(part[name], whole[name])


def test_gradient_checkpointing_changes_no_gradient(engine):
    whole = gradients(engine)
    engine.optimizer.zero_grad()
    engine.policy.checkpoint_activations()
    assert engine.policy.ready().training
    for name, gradient in gradients(engine).items():
        torch.testing.assert_close(gradient, whole[name])


def test_what_a_deepspeed_file_leaves_to_auto_is_the_runs():
    adamw = {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": 1e-7}}
    half = {"bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto", "loss_scale": 0}}
    settings = complete({"optimizer": adamw, **half}, OPTIMIZATION, cuda=True)
    params = settings["optimizer"]["params"]
    assert (params["lr"], params["betas"], params["eps"]) == (1e-6, [0.9, 0.95], 1e-7)
    assert settings["bf16"]["enabled"]


def test_another_optimizer_is_the_users_own():
    lion = {"type": "Lion", "params": {"lr": 1e-4}}
    assert complete({"optimizer": lion}, OPTIMIZATION, cuda=False)["optimizer"] == lion
