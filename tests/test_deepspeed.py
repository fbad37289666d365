"""Configurations of DeepSpeed; that it trains is for the contract of engines."""

import sys

import pytest
import tiny_engines
import torch
from tiny_engines import ADAMW, respond, vector

from agents.engines.deepspeed import complete
from agents.engines.optimizer import Optimization

# DeepSpeed calls collectives of PyTorch by names that are older than what it supports.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.distributed:FutureWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_engines.write(tmp_path_factory.mktemp("tiny"))


def test_deepspeed_is_asked_for_in_one_line(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "deepspeed", None)
    with pytest.raises(ValueError, match=r"^DeepSpeed cannot[^\n]*pip install deepspeed[^\n]*$"):
        tiny_engines.build("deepspeed-0", folder)


def test_a_bad_configuration_of_deepspeed_is_refused_in_one_line(folder):
    with pytest.raises(ValueError, match=r"^DeepSpeed refuses its configuration[^\n]*$"):
        tiny_engines.build("deepspeed-0", folder, config={"zero_optimization": {"stage": 7}})


def test_a_silent_configuration_means_bf16_and_stage_1_on_gpus():
    settings = complete({}, Optimization(1e-6, 100), cuda=True)
    assert settings["bf16"]["enabled"]
    assert settings["zero_optimization"]["stage"] == 1
    assert settings["data_types"]["grad_accum_dtype"] == "fp32"
    assert settings["gradient_clipping"] == 1.0
    assert settings["optimizer"]["params"]["lr"] == 1e-6


def test_a_silent_configuration_means_fp32_without_zero_on_cpus():
    settings = complete({}, ADAMW, cuda=False)
    assert not settings["bf16"]["enabled"]
    assert settings["zero_optimization"]["stage"] == 0


def test_no_buffer_is_larger_than_the_policy():
    zero = complete({}, ADAMW, cuda=True, num_weights=10)["zero_optimization"]
    assert zero == {"stage": 1, "reduce_bucket_size": 10}


def test_what_the_user_configures_stays_and_auto_is_filled_in():
    given = {
        "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto", "overlap_comm": False},
        "optimizer": {"type": "SGD", "params": {"lr": 2.0}},
        "gradient_clipping": "auto",
        "bf16": {"enabled": "auto"},
        "train_batch_size": 64,
        "wall_clock_breakdown": True,
    }
    settings = complete(given, ADAMW, cuda=True)
    zero = {"stage": 3, "reduce_bucket_size": 500_000_000, "overlap_comm": False}
    assert settings["zero_optimization"] == zero
    assert settings["optimizer"] == given["optimizer"]
    assert settings["gradient_clipping"] == ADAMW.max_grad_norm
    assert settings["bf16"] == {"enabled": True}
    assert "train_batch_size" not in settings
    assert settings["wall_clock_breakdown"]


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_training_in_bf16_resumes_bit_by_bit(folder, tmp_path, stage):
    config = {"bf16": {"enabled": True}}
    kept, loaded = (
        tiny_engines.build(f"deepspeed-{stage}", folder, config=config) for _ in range(2)
    )
    prompts = kept.chat.encode(tiny_engines.observations(group_size=2))
    responses = respond(prompts, (9, 1, 4, 6, 2, 7), kept.chat)

    def train(engine):
        engine.backward(engine.forward(responses)[0].sum() / 10)
        return engine.step(), vector(engine).tolist()

    before = vector(kept)
    train(kept)
    assert next(kept.policy.parameters()).dtype == torch.bfloat16
    kept.save(tmp_path)
    loaded.load(tmp_path)
    assert train(loaded) == train(kept)
    assert (vector(kept) - before).norm() > 0
