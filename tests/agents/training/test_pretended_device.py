"""Training on a pretended GPU: every learner with images, the number of waits, fine-tuning."""

import copy
from dataclasses import replace

import pytest
import torch
from helpers import tiny_engines
from helpers.pretended_device import DEVICE, PretendedDevice, to_device, varlen_kernel

from agents import sft
from agents.algorithms import ALGORITHMS, find_learner
from agents.cpgd import CPGD
from agents.engines import sampling
from agents.engines.model import Policy
from agents.engines.sampling import Sampling
from agents.engines.torch import TorchEngine
from agents.sft import FineTuning
from agents.testing.examples import parts_of
from agents.training.update import Passes, update
from benchmarks.tiny.muon import use_muon

REWARD = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.5, 1.0], [0.0, 2.0]])
PASSES = Passes(minibatch_size=8, microbatch_size=4)
WAITS = 83
"""For the GPU, in an update of two microbatches; 20 of them are of images, in transformers. What
lowers the number lowers this bound."""
others = pytest.mark.slow(reason="a second for each learner; CPGD goes the same way")


@pytest.fixture(autouse=True)
def sizes_of_a_gpu(monkeypatch):
    # After ZeRO 3 in the same process it is DeepSpeed's, which knows no autocast of this device.
    monkeypatch.setattr(torch.nn.functional, "linear", torch._C._nn.linear)
    for sizes in (sampling.LOGITS_PER_CHUNK, sampling.LOGITS_PER_BLOCK):
        monkeypatch.setitem(sizes, DEVICE.type, sizes["cuda"])


def engine_on(device, folder, half=False):
    """An engine with the recomputation of activations, in bfloat16 by autocast or in float32."""

    def prepare(policy):
        policy.checkpoint_activations()
        policy._dtype = torch.bfloat16 if half else None
        if device == DEVICE:
            to_device(policy.model)

    return tiny_engines.build("torch", folder, prepare=prepare)


def reference_of(engine):
    """Log-probabilities under a copy of the policy, which is no `ReferencePolicy`."""
    policy = Policy(copy.deepcopy(engine.policy.model))
    return torch.no_grad()(lambda responses: policy(responses, engine.sampling)[0])


def test_devices_do_not_mix_and_waits_are_counted():
    with PretendedDevice() as device:
        there = torch.ones(2).to(DEVICE)
        with pytest.raises(RuntimeError, match=r"^add mixes devices"):
            there + torch.ones(2)
        assert (there + torch.tensor(1.0)).device == DEVICE  # a scalar of the CPU is no mix
        assert device.waits.total() == 1
        assert (there.sum().item(), there[there > 0].tolist()) == (2.0, [1.0, 1.0])
        assert device.waits.total() == 4


@pytest.mark.parametrize(
    "name", ["cpgd", *(pytest.param(k, marks=others) for k in ALGORITHMS if k != "cpgd")]
)
def test_a_learner_mixes_no_devices_and_has_the_numbers_of_the_cpu(name, folder, responses):
    learner = find_learner(name)()
    parts = parts_of(REWARD.flatten(), ("accuracy", "format"))
    responses = replace(responses, reward_parts=parts)
    engines = {kind: engine_on(torch.device(kind), folder) for kind in ("cpu", DEVICE)}
    one, other = engines.values()
    expected = update(learner, one, responses, REWARD, PASSES, reference_of(one))
    with PretendedDevice():
        reference = reference_of(other)
        metrics = update(learner, other, responses, REWARD, PASSES, reference)
    assert metrics == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_a_training_step_waits_for_a_gpu_no_more_often(folder, responses, monkeypatch):
    engine = engine_on(DEVICE, folder, half=True)
    four_tokens = 4 * len(engine.chat.tokenizer)  # in chunks, for which nothing is to wait
    monkeypatch.setitem(sampling.LOGITS_PER_CHUNK, DEVICE.type, four_tokens)
    with PretendedDevice() as device, varlen_kernel():
        update(CPGD(), engine, responses, REWARD, PASSES)
    assert device.waits.total() <= WAITS, device.waits.most_common()


def test_a_fine_tuning_on_a_gpu_computes_in_bfloat16_and_with_its_kernel(folder, responses):
    model, chat = tiny_engines.pristine(folder)
    with PretendedDevice(), varlen_kernel() as calls:
        policy = sft._policy(FineTuning(model=str(folder)), to_device(copy.deepcopy(model)))
        engine = TorchEngine(policy, chat, Sampling(1.0, chat.banned), tiny_engines.ADAMW)
        use_muon(engine)
        engine.backward(-engine.forward(responses)[0].sum())
        assert 0 < engine.step()["train/grad_norm"] < 1e6
    layers = model.config.text_config.num_hidden_layers + model.config.vision_config.depth
    assert calls == [torch.bfloat16] * layers
