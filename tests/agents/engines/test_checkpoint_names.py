"""Weights by the names of the checkpoint that was loaded, of every family."""

import pytest
import torch
from helpers import text_models, tiny_engines, vision_models
from safetensors.torch import load_file, save_file

from agents.engines import lora
from agents.engines.load import load_model
from agents.engines.pretrained import check_names, checkpoint_weights, load_config, load_pretrained

EXPERTS = {"moe_intermediate_size": 16, "num_experts_per_tok": 2}
TEXT = {
    "Llama": {},
    "Qwen3": {"head_dim": 32, "tie_word_embeddings": False},
    "Gemma2": {},
    "Mixtral": {"num_local_experts": 4},
    "Qwen2Moe": EXPERTS | {"num_experts": 4, "shared_expert_intermediate_size": 16},
    "Qwen3Moe": EXPERTS | {"num_experts": 4, "head_dim": 32, "tie_word_embeddings": False},
    "Olmoe": {"num_experts": 4, "num_experts_per_tok": 2},
}
FILE = "model.safetensors"


def written(folder, family):
    """A folder with a model of the family, in the format of its checkpoints."""
    if family in TEXT:
        return text_models.write(folder, family, **TEXT[family])
    family, _, form = family.partition(" as ")
    model = vision_models.make(family).float()
    model.save_pretrained(folder, save_original_format=not form)
    return folder


@pytest.mark.parametrize(
    "family", [*TEXT, *vision_models.KINDS, "Qwen2.5-VL as transformers names it"]
)
def test_weights_have_the_names_shapes_and_values_of_the_checkpoint(family, tmp_path):
    folder = str(written(tmp_path, family))
    model = load_pretrained(folder, load_config(folder), torch.float32)
    check_names(folder, model)
    sent = list(checkpoint_weights(model, model.state_dict().items()))
    saved = load_file(tmp_path / FILE)
    for name, tied in model.all_tied_weights_keys.items():
        saved[name] = saved[tied]
    assert sorted(name for name, _ in sent) == sorted(saved)
    assert all(torch.equal(weight, saved[name]) for name, weight in sent)


@pytest.fixture(scope="module")
def moe(tmp_path_factory):
    return written(tmp_path_factory.mktemp("moe"), "Qwen3Moe")


def test_one_layer_is_held_at_a_time(moe):
    model = load_model(str(moe), text_models.CPU, torch.float32)[0]
    names = []

    def weights():
        for name, weight in model.state_dict().items():
            names.append(name)
            yield name, weight

    stream = checkpoint_weights(model, weights())
    while not next(stream)[0].startswith("model.layers.0.mlp.experts"):
        pass
    assert not any(name.startswith("model.layers.1.mlp") for name in names)


@pytest.mark.parametrize("kind", ["torch", "deepspeed-2", "deepspeed-3"])
@pytest.mark.parametrize("adapters", [None, {"r": 2, "target_modules": ["q_proj"]}], ids=str)
def test_an_engine_gives_what_it_saves(moe, tmp_path, kind, adapters):
    if adapters:
        pytest.importorskip("peft", reason="needs peft")
    attach = {"prepare": lambda policy: lora.attach(policy.model, adapters)} if adapters else {}
    engine = tiny_engines.build(kind, moe, **attach)
    prompts = engine.chat.encode(text_models.observations())
    tiny_engines.ascend(engine, tiny_engines.respond(prompts, (9, 4), engine.chat))
    sent = {name: weight.clone() for name, weight in engine.checkpoint_weights()}
    engine.save(tmp_path)
    saved, before = load_file(tmp_path / FILE), load_file(moe / FILE)
    assert saved.keys() == before.keys() == sent.keys()
    assert all(torch.equal(weight, saved[name]) for name, weight in sent.items())
    changed = {name for name, weight in saved.items() if not torch.equal(weight, before[name])}
    assert all("q_proj" in name for name in changed) == bool(adapters)


CHANGES = {
    "other names": lambda name, weight: (name.removeprefix("model."), weight),
    "another shape": lambda name, weight: (
        name,
        weight[:, :1] if name.endswith("3.up_proj.weight") else weight,
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_names_and_shapes_that_are_not_the_checkpoints_are_refused(moe, tmp_path, change):
    model = load_model(str(moe), text_models.CPU, torch.float32)[0]
    (tmp_path / "config.json").write_text((moe / "config.json").read_text())
    weights = [change(*item) for item in load_file(moe / FILE).items()]
    save_file({name: weight.contiguous() for name, weight in weights}, tmp_path / FILE)
    words = r"^transformers does not give the 45 weights of [^\n]*: use --sampler transformers$"
    with pytest.raises(ValueError, match=words):
        check_names(str(tmp_path), model)
