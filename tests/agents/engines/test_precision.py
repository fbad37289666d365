import copy
import json
from dataclasses import replace

import pytest
import torch
from helpers import tiny_engines
from helpers.recorded_logits import record_logits
from torch.utils._python_dispatch import TorchDispatchMode

from agents.cli.settings import Run
from agents.engines import process
from agents.engines.model import Policy, set_float32_head
from agents.engines.sampling import Sampling
from agents.engines.torch import TorchEngine
from agents.engines.transformers import TransformersSampler
from agents.training import parity
from agents.training.build import build

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
LARGE = process.LEAST_WEIGHTS


def policies(folder, packs):
    """The same model computed in float32 and in bfloat16, and its chat."""
    model, chat = tiny_engines.pristine(folder)
    dtypes = torch.float32, torch.bfloat16
    pair = [Policy(copy.deepcopy(model), dtype).ready() for dtype in dtypes]
    for policy in pair:
        policy.packs = packs
    return *pair, chat


def responses_of(folder):
    """Responses to problems with 0, 1 and 3 images, two each."""
    _, chat = tiny_engines.pristine(folder)
    prompts = chat.encode(tiny_engines.observations(group_size=2))
    return tiny_engines.respond(prompts, (9, 1, 4, 6, 2, 7), chat)


@pytest.mark.parametrize(
    ("choice", "device", "count", "fast", "expected"),
    [
        ("auto", CPU, LARGE, True, torch.bfloat16),
        ("auto", CPU, LARGE, False, torch.float32),
        ("auto", CPU, LARGE - 1, True, torch.float32),
        ("auto", CUDA, 1, False, torch.bfloat16),
        ("float32", CUDA, LARGE, True, torch.float32),
        ("bfloat16", CPU, 1, False, torch.bfloat16),
    ],
)
def test_bfloat16_is_the_default_where_it_is_fast(
    monkeypatch, choice, device, count, fast, expected
):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": fast}, raising=False)
    assert process.computation_dtype(choice, device, count) == expected


@pytest.mark.parametrize(
    ("choice", "device", "expected"),
    [("auto", "cuda", True), ("auto", "cpu", False), ("float32", "cuda", False)]
    + [("bfloat16", device, True) for device in ("cpu", "cuda")],
)
def test_deepspeed_trains_in_bfloat16_by_default_on_gpus_alone(choice, device, expected):
    assert process.has_half_weights(choice, device) == expected


@pytest.mark.parametrize("packs", [True, False])
def test_log_probabilities_in_bfloat16_are_those_of_float32_rounded(folder, packs):
    exact, half, _ = policies(folder, packs)
    responses = responses_of(folder)
    one, other = (p(responses, Sampling())[0] for p in (exact, half))
    assert other.dtype == torch.float32
    difference = (one - other)[responses.mask].abs()
    assert 0 < difference.mean() < parity.tolerance(torch.bfloat16)


def test_weights_gradients_and_moments_stay_in_float32(folder):
    _, half, chat = policies(folder, True)
    engine = TorchEngine(half, chat, Sampling(), tiny_engines.ADAMW)
    log_prob, _ = engine.forward(responses_of(folder))
    engine.backward(log_prob.sum())
    assert all(w.grad is None or w.grad.dtype == torch.float32 for w in half.parameters())
    engine.step()
    moments = [part for state in engine.optimizer.state.values() for part in state.values()]
    assert {part.dtype for part in (*moments, *half.parameters())} == {torch.float32}


@pytest.mark.parametrize("packs", [True, False])
def test_sampler_and_trainer_agree_in_bfloat16(folder, packs):
    _, half, chat = policies(folder, packs)
    prompts = responses_of(folder).prompts
    sampler = TransformersSampler(half, chat, Sampling(1.0, chat.banned), 12)
    responses = sampler.generate(prompts, (0,))
    log_prob = half(responses, sampler.sampling)[0]
    difference = (log_prob - responses.sampler_log_prob)[responses.mask].abs()
    assert difference.mean() < parity.tolerance(torch.bfloat16)


@pytest.mark.parametrize(("dtype", "enabled"), [("auto", True), ("bfloat16", False)])
def test_a_policy_computes_in_the_dtype_to_which_deepspeed_converts_it(
    folder, tmp_path, dtype, enabled
):
    path = tmp_path / "deepspeed.json"
    path.write_text(json.dumps({"bf16": {"enabled": enabled}}))
    run = Run(model=str(folder), engine="deepspeed", deepspeed=path, dtype=dtype)
    policy = build(run, str(folder), None).policy
    assert policy.dtype == policy.model.dtype == torch.bfloat16
    with policy.autocast():
        assert not torch.is_autocast_enabled("cpu")
    assert policy(responses_of(folder), Sampling())[0].isfinite().all()


@pytest.mark.parametrize("packs", [True, False])
def test_a_training_pass_keeps_no_converted_weight_but_the_heads(folder, packs):
    _, policy, _ = policies(folder, packs)
    kept = {}
    for name in ("model.language_model.layers.0.mlp", "lm_head"):
        module = policy.model.get_submodule(name)
        module.register_forward_hook(
            lambda *_, name=name: kept.update({name: torch.is_autocast_cache_enabled()})
        )
    policy(responses_of(folder), Sampling())
    assert list(kept.values()) == [False, True]


class Storages(TorchDispatchMode):
    """Storages of the matrices that operations return."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        output = func(*args, **(kwargs or {}))
        if isinstance(output, torch.Tensor) and output.dim() == 2:
            self.found.setdefault(output.untyped_storage().data_ptr(), output)
        return output


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_logits_are_copied_once_and_never_changed(dtype):
    logits, mode = torch.randn(3, 50).to(dtype), Storages()
    before, mode.found = logits.clone(), {}
    with mode:
        policy = Sampling(banned=(2, 7)).logits(logits)
    assert list(mode.found) == [policy.untyped_storage().data_ptr()]
    assert torch.equal(logits, before)
    assert (policy.isinf().sum(), policy.dtype) == (6, torch.float32)


@pytest.mark.parametrize(
    "stage", [None, pytest.param(3, marks=pytest.mark.slow(reason="two engines of stage 3"))]
)
def test_a_float32_head_rounds_no_logit_in_trainer_and_sampler(folder, tmp_path, stage):
    path = tmp_path / "deepspeed.json"
    path.write_text(json.dumps({"zero_optimization": tiny_engines.STAGES["deepspeed-3"]}))
    engine = {"engine": "deepspeed", "deepspeed": path} if stage else {"engine": "torch"}
    run = Run(model=str(folder), dtype="bfloat16", max_response_length=4, **engine)
    seen = []

    for exact in (False, True):
        engines = build(replace(run, float32_head=exact), str(folder), None)
        # A replica without DeepSpeed's hooks samples: it is a copy of the engine's policy.
        with engines.train.unsharded() as policy:
            for model in {engines.policy.model, policy.model}:
                record_logits(
                    model.get_output_embeddings(), lambda logits: seen.append(logits.dtype)
                )
        responses = engines.sampler.generate(responses_of(folder).prompts, (0,))
        log_prob, _ = engines.train.forward(responses)
        engines.train.backward(log_prob.sum() / 100)
        assert engines.train.step()["train/grad_norm"] > 0
        assert set(seen) == {torch.float32 if exact else torch.bfloat16}
        seen.clear()


def test_a_float32_head_is_nearer_to_float32(folder):
    exact, half, _ = policies(folder, True)
    responses = responses_of(folder)
    expected = exact(responses, Sampling())[0]
    rounded = (half(responses, Sampling())[0] - expected).abs().sum()
    set_float32_head(half.model)
    assert (half(responses, Sampling())[0] - expected).abs().sum() < 0.9 * rounded


def test_a_head_of_another_kind_is_refused(folder):
    _, half, _ = policies(folder, True)
    set_float32_head(half.model)
    with pytest.raises(ValueError, match="head of this model is a Float32Linear"):
        set_float32_head(half.model)
