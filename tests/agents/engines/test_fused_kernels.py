"""Liger's kernels, by a stand-in: that they run, and equal others, is tested on a GPU."""

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest
import torch
from helpers import vision_models

from agents.engines.load import apply_liger


@pytest.fixture
def liger(monkeypatch):
    """Installs a stand-in of Liger with the given contents of its modules."""

    def install(**contents):
        for name in ("", "transformers", *(f"transformers.{name}" for name in contents)):
            module = ModuleType(f"liger_kernel.{name}".rstrip("."))
            module.__spec__ = ModuleSpec(module.__name__, None)
            vars(module).update(contents.get(name.rpartition(".")[2], {}))
            monkeypatch.setitem(sys.modules, module.__name__, module)

    return install


@pytest.mark.parametrize("kind", ["Qwen2-VL", "Qwen2.5-VL"])
def test_the_rotation_of_qwens_vision_models_is_fused(kind, liger, monkeypatch):
    model, calls = vision_models.make(kind), []
    name = model.config.model_type
    modeling = importlib.import_module(type(model).__module__)
    plain = modeling.apply_rotary_pos_emb

    def fused(query, key, cos, sin):
        # Liger's reads the left half of each row, which all heads share.
        assert cos.shape == (query.shape[0], query.shape[2], query.shape[3])
        assert torch.equal(*cos.chunk(2, -1))
        assert torch.equal(*sin.chunk(2, -1))
        calls.append(name)
        return plain(query, key, cos, sin)

    def patch(model):
        modeling.apply_multimodal_rotary_pos_emb = None  # as Liger 0.8.5 does, to no effect

    liger(
        monkey_patch={"MODEL_TYPE_TO_APPLY_LIGER_FN": {name: patch}},
        rope={"liger_rotary_pos_emb": fused},
    )
    monkeypatch.setattr(modeling, "apply_rotary_pos_emb", plain)  # restored at the end
    monkeypatch.setattr(modeling, "apply_multimodal_rotary_pos_emb", None, raising=False)
    tokens = torch.tensor([[1, 2, 3]])
    positions = torch.tensor([[0, 1, 2], [0, 3, 4], [0, 5, 7]])[:, None]
    with monkeypatch.context() as on_gpu:
        on_gpu.setattr(type(model), "device", torch.device("cuda"))
        expected = model(tokens, position_ids=positions).logits
        assert apply_liger(model)
    assert torch.equal(model(tokens, position_ids=positions).logits, expected)
    assert len(calls) == model.config.text_config.num_hidden_layers
