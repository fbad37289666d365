"""Configurations of DeepSpeed; that it trains is for the contract of engines."""

import gc
import sys
import weakref
from functools import partial
from pathlib import Path

import pytest
import torch
from helpers import tiny_engines
from helpers.tiny_engines import ADAMW, ascend, responses_of, vector
from torch.utils import cpp_extension

from agents.engines.deepspeed import complete
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.errors import UsageError

third = pytest.mark.slow(reason="each pass gathers each weight; stage 2 is the default")


def test_deepspeed_is_asked_for_in_one_line(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "deepspeed", None)
    with pytest.raises(ValueError, match=r"^DeepSpeed cannot[^\n]*pip install deepspeed[^\n]*$"):
        tiny_engines.build("deepspeed-0", folder)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"zero_optimization": 3}, "--deepspeed: zero_optimization is 3: give an object"),
        ({"optimizer": "Adam"}, "--deepspeed: optimizer is 'Adam': give an object"),
        ({"bf16": True}, "--deepspeed: bf16 is True: give an object"),
        ({"zero_optimization": {"stage": "x"}}, "--deepspeed: stage is 'x': give 0 to 3"),
        (
            {"zero_optimization": {"offload_optimizer": "cpu"}},
            "--deepspeed: offload_optimizer is 'cpu': give an object",
        ),
    ],
)
def test_a_file_that_configures_nothing_of_deepspeed_is_refused_in_one_line(
    folder, config, message
):
    with pytest.raises(UsageError, match=f"^{message}$"):
        tiny_engines.build("deepspeed-0", folder, config=config)


def test_a_bad_configuration_of_deepspeed_is_refused_in_one_line(folder):
    with pytest.raises(ValueError, match=r"^DeepSpeed rejects its configuration[^\n]*$"):
        tiny_engines.build(
            "deepspeed-0", folder, config={"zero_optimization": {"reduce_bucket_size": -1}}
        )


def test_a_silent_configuration_means_bf16_and_stage_2_on_gpus_alone():
    settings = complete({}, Optimization(1e-6, 100), cuda=True)
    assert settings["bf16"]["enabled"]
    assert settings["zero_optimization"]["stage"] == 2
    assert settings["data_types"]["grad_accum_dtype"] == "fp32"
    assert settings["gradient_clipping"] == 1.0
    assert settings["optimizer"]["params"]["lr"] == 1e-6
    settings = complete({}, ADAMW, cuda=False)
    assert not settings["bf16"]["enabled"]
    assert settings["zero_optimization"]["stage"] == 0


@pytest.mark.parametrize(
    ("kind", "half"),
    [("deepspeed-0", False), ("deepspeed-2", True), pytest.param("deepspeed-3", True, marks=third)],
)
def test_what_no_engine_trains_any_more_is_freed(kind, half, folder):
    def trained():
        engine = tiny_engines.build(kind, folder, config={"bf16": {"enabled": half}})
        ascend(engine, responses_of(engine))
        return weakref.ref(engine.policy)

    policy = trained()
    gc.collect()
    assert policy() is None


def test_no_buffer_is_larger_than_what_is_trained(folder):
    zero = complete({}, ADAMW, cuda=True, num_weights=10)["zero_optimization"]
    assert zero == {"stage": 2, "reduce_bucket_size": 10}
    engine = tiny_engines.build("deepspeed-2", folder, prepare=Policy.freeze_vision)
    weights = engine.policy.parameters()
    num_trained = sum(weight.numel() for weight in weights if weight.requires_grad)
    assert engine.engine.zero_reduce_bucket_size() == num_trained


def test_what_the_user_configures_stays_and_auto_is_filled_in():
    config = {
        "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto", "overlap_comm": False},
        "optimizer": {"type": "SGD", "params": {"lr": 2.0}},
        "gradient_clipping": "auto",
        "bf16": {"enabled": "auto"},
        "train_batch_size": 64,
        "wall_clock_breakdown": True,
    }
    settings = complete(config, ADAMW, cuda=True)
    zero = {"stage": 3, "reduce_bucket_size": 500_000_000, "overlap_comm": False}
    assert settings["zero_optimization"] == zero
    assert settings["optimizer"] == config["optimizer"]
    assert settings["gradient_clipping"] == ADAMW.max_grad_norm
    assert settings["bf16"] == {"enabled": True}
    assert "train_batch_size" not in settings
    assert settings["wall_clock_breakdown"]


@pytest.mark.parametrize(
    ("params", "cuda", "expected"),
    [
        ({}, True, True),
        ({}, False, None),  # of CPUs
        ({"fused": False}, True, False),
        ({"foreach": True}, True, None),  # PyTorch has one of the two
        ({"torch_adam": False}, True, None),  # DeepSpeed's own
    ],
)
def test_adamw_is_fused_on_gpus_unless_the_configuration_says_otherwise(params, cuda, expected):
    config = {"optimizer": {"type": "AdamW", "params": params}}
    assert complete(config, ADAMW, cuda=cuda)["optimizer"]["params"].get("fused") is expected


def test_a_fused_adamw_makes_the_same_steps_and_goes_on_from_checkpoints_of_the_other(
    folder, tmp_path
):
    plain, fused = (
        tiny_engines.build(
            "deepspeed-2",
            folder,
            config={"optimizer": {"params": {"fused": is_fused}}, "bf16": {"enabled": True}},
        )
        for is_fused in (False, True)
    )
    responses = responses_of(plain)
    assert fused.engine.optimizer.param_groups[0]["fused"]
    for is_loaded in (False, True):
        if is_loaded:
            plain.save(tmp_path)
            fused.load(tmp_path)
        for _ in range(2):
            ascend(fused, responses), ascend(plain, responses)
        torch.testing.assert_close(vector(fused), vector(plain), rtol=2**-8, atol=1e-7)


def test_a_run_that_was_made_longer_follows_the_longer_schedule_at_once(folder, tmp_path):
    shorter, longer = (Optimization(1e-3, total_steps=steps) for steps in (4, 40))
    engine = tiny_engines.build("deepspeed-1", folder, shorter)
    responses = responses_of(engine)
    for _ in range(3):
        ascend(engine, responses)
    engine.save(tmp_path)
    resumed = tiny_engines.build("deepspeed-1", folder, longer)
    resumed.load(tmp_path)
    assert [ascend(resumed, responses)["train/lr"] for _ in range(2)] == [
        1e-3 * longer.ratio(step) for step in (3, 4)
    ]


OFFLOADED = {
    "the optimizer at stage 2": (2, {"offload_optimizer": {"device": "cpu"}}),
    "both at stage 3": (
        3,
        {name: {"device": "cpu"} for name in ("offload_optimizer", "offload_param")},
    ),
}
PYTORCHS_ADAM = {
    "optimizer": {"type": "AdamW", "params": {"torch_adam": True}},
    "zero_force_ds_cpu_optimizer": False,
}


def offload(stage, zero, folder, **more):
    zero = tiny_engines.STAGES[f"deepspeed-{stage}"] | zero
    config = {"zero_optimization": zero, "bf16": {"enabled": True}} | more
    return tiny_engines.build(f"deepspeed-{stage}", folder, config=config)


def trains_and_resumes(make, folder) -> bool:
    """Whether training after loading is training on, also past a gradient that is not finite."""
    original, loaded = make(), make()
    responses, before = responses_of(original), vector(original)
    ascend(original, responses)
    trained = vector(original)
    ascend(original, responses, factor=torch.inf)
    original.save(folder)
    loaded.load(folder)
    resumed = ascend(loaded, responses) == ascend(original, responses)
    resumed &= torch.equal(vector(loaded), vector(original))
    return resumed and not torch.equal(before, trained) and bool(vector(original).isfinite().all())


@pytest.mark.parametrize("stage", [0, 2, pytest.param(3, marks=third)])
def test_training_in_bf16_resumes_bit_by_bit(folder, tmp_path, stage):
    config = {"bf16": {"enabled": True}}
    make = partial(tiny_engines.build, f"deepspeed-{stage}", folder, config=config)
    assert trains_and_resumes(make, tmp_path)
    assert next(make().policy.parameters()).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("stage", "zero"),
    [
        pytest.param(*case, id=name, marks=third if case[0] == 3 else ())
        for name, case in OFFLOADED.items()
    ],
)
def test_what_is_offloaded_trains_samples_and_resumes(folder, tmp_path, stage, zero):
    assert trains_and_resumes(lambda: offload(stage, zero, folder, **PYTORCHS_ADAM), tmp_path)


def test_deepspeeds_own_adam_trains_what_is_offloaded_where_it_is_compiled(folder, tmp_path):
    built = Path(cpp_extension._get_build_directory("cpu_adam", False))
    # That of another environment would be compiled anew.
    of_this = (built / "cpu_adam.so").exists() and sys.prefix in (built / "build.ninja").read_text()
    if not of_this:
        pytest.skip("compiling DeepSpeed's Adam for CPUs takes minutes, and is not done here yet")
    zero = {"offload_optimizer": {"device": "cpu"}}
    assert trains_and_resumes(lambda: offload(2, zero, folder), tmp_path)


def test_what_cannot_be_compiled_is_one_line(folder, tmp_path, monkeypatch):
    from deepspeed.ops.op_builder.builder import OpBuilder

    monkeypatch.setattr(OpBuilder, "_loaded_ops", {})
    # A second each, to ask the processor what a compiler would have to know.
    for name in ("cpu_arch", "simd_width"):
        monkeypatch.setattr(OpBuilder, name, lambda _: "")
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    monkeypatch.setenv("CXX", str(tmp_path / "no-compiler"))
    with pytest.raises(ValueError, match=r"^DeepSpeed cannot compile [^\n]*torch_adam[^\n]*$"):
        offload(2, {"offload_optimizer": {"device": "cpu"}}, folder)


def test_ranks_that_share_a_gpu_are_one_line(folder, monkeypatch):
    def initialize(**_):
        raise torch.distributed.DistBackendError(
            "NCCL error in: ProcessGroupNCCL.cpp:1\nLast error:\n"
            "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000"
        )

    monkeypatch.setattr("deepspeed.initialize", initialize)
    with pytest.raises(ValueError, match=r"^several ranks see one GPU: [^\n]*$"):
        tiny_engines.build("deepspeed-2", folder)


def test_deepspeed_prints_nothing_on_standard_output(folder, capsys):
    tiny_engines.build("deepspeed-2", folder, config={"bf16": {"enabled": True}})
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("stage", [2, pytest.param(3, marks=third)])
def test_frozen_eyes_and_checkpointed_activations_train_and_resume(folder, tmp_path, stage):
    def make():
        return tiny_engines.build(f"deepspeed-{stage}", folder, prepare=prepare)

    def prepare(policy):
        policy.freeze_vision()
        policy.checkpoint_activations()

    assert trains_and_resumes(make, tmp_path)
    base = tiny_engines.pristine(folder)[0].state_dict()
    saved = load_model(str(tmp_path), torch.device("cpu"), torch.float32)[0].state_dict()
    same = {name: torch.equal(weight, base[name]) for name, weight in saved.items()}
    assert all(same[name] == ("visual" in name) for name in same)
