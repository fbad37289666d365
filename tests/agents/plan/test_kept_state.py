"""State of the training engines between steps, as planned and as their tensors hold it."""

import pytest
from helpers import tiny_engines
from helpers.kept_state import KEPT, kept_bytes, waiting_bytes
from helpers.tiny_engines import STAGES

from agents.engines import lora
from agents.engines.model import Policy
from agents.plan.formulas import Sharding, state_bytes


def adapt(policy):
    lora.attach(policy.model, {"r": 16, "target_modules": "all-linear"})


CASES = {
    **{f"{kind} in bf16": (kind, True, lambda policy: None) for kind in STAGES},
    **{f"{kind} in fp32": (kind, False, lambda policy: None) for kind in STAGES},
    **{f"{kind}, frozen tower": (kind, True, Policy.freeze_vision) for kind in STAGES},
    **{f"deepspeed-{stage}, adapters": (f"deepspeed-{stage}", True, adapt) for stage in (2, 3)},
}
"""Stage, whether in bf16, and change of the policy."""
PYTORCHS_ADAM = {
    "optimizer": {"type": "AdamW", "params": {"torch_adam": True}},
    "zero_force_ds_cpu_optimizer": False,
}
"""An optimizer that needs no compiler."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_engines.write(tmp_path_factory.mktemp("tiny"))


others = pytest.mark.slow(reason="a second for each; stage 2 in bf16 is the default on GPUs")


@pytest.mark.parametrize(
    ("kind", "half", "prepare"),
    [
        pytest.param(*case, marks=() if name == "deepspeed-2 in bf16" else others, id=name)
        for name, case in CASES.items()
    ],
)
def test_a_rank_keeps_between_steps_what_is_planned(kind, half, prepare, folder):
    held, *counts = kept_bytes(kind, folder, {"bf16": {"enabled": half}}, prepare)
    planned = state_bytes(*counts, Sharding(1, STAGES[kind]["stage"], half=half))
    assert held == pytest.approx(sum(planned[name] for name in KEPT), rel=0.03)


@pytest.mark.parametrize("stage", [2, pytest.param(3, marks=others)])
def test_gradients_of_an_offloaded_optimizer_wait_for_the_step_where_it_is_planned(stage, folder):
    zero = STAGES[f"deepspeed-{stage}"] | {"offload_optimizer": {"device": "cpu"}}
    config = {"zero_optimization": zero, "bf16": {"enabled": True}} | PYTORCHS_ADAM
    waiting, buffer, num_weights = waiting_bytes(f"deepspeed-{stage}", folder, config)
    largest = max(weight.numel() for weight in tiny_engines.pristine(folder)[0].parameters())
    sharding = Sharding(1, stage, half=True, offload_optimizer=True)
    one, none = (
        state_bytes(num_weights, num_weights, sharding, largest=size) for size in (largest, 0)
    )
    assert waiting == pytest.approx(one["gradients"], rel=0.03)
    assert one["step"] == one["gradients"]
    assert buffer == one["buckets"] - none["buckets"] == one["kept buckets"] - none["kept buckets"]
