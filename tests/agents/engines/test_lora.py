"""LoRA: what moves, what a sampler and a checkpoint get of it, and what it costs."""

import copy
import sys
from contextlib import closing
from types import SimpleNamespace

import pytest
import torch
from helpers import episodes, tiny_engines
from helpers.tiny_engines import ascend, responses_of
from transformers import AutoModelForImageTextToText

import reasonenv
from agents.engines import lora
from agents.engines.frozen_models import ReferencePolicy
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.pretrained import EMBEDDED
from agents.engines.transformers import TransformersSampler
from agents.references import fixed

ALL = {"r": 4, "target_modules": "all-linear"}
pytest.importorskip("peft", reason="needs peft")
KINDS_OF_LORA = {
    "plain": {},
    "DoRA": {"use_dora": True},
    "PiSSA": {"init_lora_weights": "pissa"},
    "Gaussian": {"init_lora_weights": "gaussian"},
    "with trained biases": {"bias": "lora_only"},
    "with a bias": {"lora_bias": True, "target_modules": ["q_proj", "k_proj"]},
    "with a whole module": {"modules_to_save": ["norm"]},
    "with eyes": {"exclude_modules": None},
}


SLOW = pytest.mark.slow(reason="each pass gathers each weight; other stages do not")


@pytest.fixture(params=["torch", "deepspeed-2", pytest.param("deepspeed-3", marks=SLOW)])
def engine(request, folder):
    return build(request.param, folder)


def build(kind, folder, options=ALL, **more):
    attach = {"prepare": lambda policy: lora.attach(policy.model, options)}
    return tiny_engines.build(kind, folder, **attach, **more)


def train(engine, responses):
    return [ascend(engine, responses) for _ in range(3)][-1]


def log_prob(engine, model, responses):
    with torch.no_grad():
        return Policy(model.eval())(responses, engine.sampling)[0]


def test_merged_weights_are_named_and_shaped_as_those_of_the_base_model(engine, folder):
    expected = tiny_engines.pristine(folder)[0].state_dict()
    weights = dict(engine.weights())
    assert list(weights) == list(expected)
    assert all(torch.equal(weights[name], weight) for name, weight in expected.items())


def test_a_base_model_with_the_merged_weights_is_the_policy(engine, folder, tmp_path):
    responses = responses_of(engine)
    before = engine.forward(responses)[0].detach()
    train(engine, responses)
    model, _ = load_model(str(folder), torch.device("cpu"), torch.float32)
    model.load_state_dict(dict(engine.weights()))
    with torch.no_grad():
        after = engine.forward(responses)[0]
    assert (after - before).abs().max() > 0.1
    torch.testing.assert_close(log_prob(engine, model, responses), after, atol=1e-4, rtol=0)


def test_only_adapters_move_and_eyes_have_none(engine, folder):
    base = tiny_engines.pristine(folder)[0].state_dict()
    train(engine, responses_of(engine))
    with engine.unsharded() as policy:
        weights = {n: w.clone() for n, w in policy.model.state_dict().items()}
    moved = {name for name, weight in engine.weights() if not torch.equal(weight, base[name])}
    assert moved
    assert all(name.endswith("proj.weight") and "visual" not in name for name in moved)
    for name, weight in weights.items():
        if "lora_" not in name:
            assert torch.equal(weight, base[name.replace("base_layer.", "")]), name
    assert any("lora_" in name for name in weights)


def test_merging_leaves_the_policy_as_it_was(folder):
    merging, other = (build("torch", folder) for _ in range(2))
    responses = responses_of(merging)
    for _ in range(2):
        dict(merging.weights())
        assert train(merging, responses) == train(other, responses)


def test_training_goes_on_after_loading_as_if_never_interrupted(engine, folder, tmp_path, request):
    responses = responses_of(engine)
    train(engine, responses)
    engine.save(tmp_path)
    resumed = build(request.node.callspec.params["engine"], folder)
    resumed.load(tmp_path)
    assert train(resumed, responses) == train(engine, responses)
    for (name, weight), (_, other) in zip(engine.weights(), resumed.weights(), strict=True):
        assert torch.equal(weight, other), name


def test_a_checkpoint_is_a_merged_model_and_an_adapter_of_peft(engine, folder, tmp_path):
    from peft import PeftModel

    responses = responses_of(engine)
    train(engine, responses)
    engine.save(tmp_path)
    with torch.no_grad():
        expected = engine.forward(responses)[0]
    merged = AutoModelForImageTextToText.from_pretrained(tmp_path, dtype=torch.float32)
    assert not lora.is_adapted(merged)
    torch.testing.assert_close(log_prob(engine, merged, responses), expected, atol=1e-4, rtol=0)
    base, _ = load_model(str(folder), torch.device("cpu"), torch.float32)
    wrapped = PeftModel.from_pretrained(base, tmp_path / lora.ADAPTER).get_base_model()
    torch.testing.assert_close(log_prob(engine, wrapped, responses), expected, atol=1e-5, rtol=0)


def test_a_checkpoint_does_not_hold_the_frozen_weights_again(folder, tmp_path):
    engine = build("deepspeed-1", folder)
    engine.save(tmp_path)
    model = (tmp_path / "model.safetensors").stat().st_size
    states = sum(path.stat().st_size for path in (tmp_path / "deepspeed").rglob("*.pt"))
    assert states < model / 2


def test_the_reference_is_the_policy_without_its_adapters_and_training_goes_on(engine, folder):
    other = build(engine_kind(engine), folder)
    responses = responses_of(engine)
    before = engine.forward(responses)[0].detach()
    train(engine, responses), train(other, responses)
    says = reference_of(engine)
    torch.testing.assert_close(says(responses), before)
    assert train(engine, responses) == train(other, responses)


def engine_kind(engine):
    inner = getattr(engine, "engine", None)
    return "torch" if inner is None else f"deepspeed-{int(inner.zero_optimization_stage())}"


def reference_of(engine) -> ReferencePolicy:
    def log_prob(responses):
        with lora.adapters_disabled(engine.policy.model):
            return engine.forward(responses)[0]

    return ReferencePolicy(None, log_prob, fixed)


def test_such_a_reference_is_saved_and_loaded_without_weights(folder, tmp_path):
    engine = build("torch", folder)
    reference = reference_of(engine)
    assert not reference.stepped(engine, 0.5)
    reference.save(tmp_path)
    assert (tmp_path / "reference.pt").stat().st_size < 2000
    again = reference_of(build("torch", folder))
    again.load(tmp_path)
    assert again.token_kl == [0.5]


@pytest.mark.parametrize("options", KINDS_OF_LORA.values(), ids=KINDS_OF_LORA)
def test_every_kind_of_lora_is_merged_and_without_it_is_the_base_where_it_is_said_to_be(
    folder, options
):
    options = ALL | options
    engine = build("torch", folder, options)
    responses = responses_of(engine)
    train(engine, responses)
    model = copy.deepcopy(tiny_engines.pristine(folder)[0])
    base = log_prob(engine, model, responses)
    model.load_state_dict(dict(engine.weights()))
    with torch.no_grad():
        after = engine.forward(responses)[0]
        with lora.adapters_disabled(engine.policy.model):
            disabled = engine.forward(responses)[0]
    torch.testing.assert_close(log_prob(engine, model, responses), after, atol=2e-4, rtol=0)
    says = lora.keeps_base_model(options)
    assert torch.allclose(disabled, base, atol=1e-5) == says
    assert says == (options.get("init_lora_weights") != "pissa" and "bias" not in options)


def test_equal_seeds_give_equal_adapters(folder):
    def first(seed):
        model, _ = load_model(str(folder), torch.device("cpu"), torch.float32)
        lora.attach(model, ALL, seed)
        return [w for name, w in model.state_dict().items() if "lora_A" in name]

    def same(a, b):
        return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))

    assert same(first(1), first(1))
    assert not same(first(1), first(2))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"rank": 4}, "unexpected keyword argument 'rank'"),
        ({"r": 0, "target_modules": "all-linear"}, "positive"),
        ({"target_modules": ["nose"]}, "nose"),
        ({"target_modules": "all-linear", "lora_dropout": 0.1}, "lora_dropout"),
        ({"target_modules": ["embed_tokens"]}, "tied"),
    ],
)
@pytest.mark.filterwarnings("ignore:Model has .tie_word_embeddings=True.:UserWarning")
def test_options_that_do_not_fit_are_refused_in_one_line(folder, options, reason):
    model, _ = load_model(str(folder), torch.device("cpu"), torch.float32)
    with pytest.raises(ValueError, match=rf"^--lora [^\n]*{reason}[^\n]*$"):
        lora.attach(model, options)


def test_without_peft_there_is_one_line(tmp_path, monkeypatch):
    model, _ = load_model(str(tiny_engines.write(tmp_path)), torch.device("cpu"), torch.float32)
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(ValueError, match=r"^--lora needs peft [^\n]*pip install peft$"):
        lora.attach(model, ALL)


def test_a_checkpoint_of_other_adapters_is_refused_in_one_line(folder, tmp_path):
    build("torch", folder, ALL | {"r": 2}).save(tmp_path)
    with pytest.raises(
        ValueError, match=r"^the checkpoint [^\n]* does not fit these adapters[^\n]*$"
    ):
        build("torch", folder).load(tmp_path)


def test_replies_have_no_gradient_and_sampler_and_trainer_agree_on_an_episode():
    """Of the tiny model that calls tools: each call of a sum, its reply, and the answer."""
    engine = build("torch", EMBEDDED["tiny-tools"])
    with torch.no_grad():  # what a run would have learnt
        for name, weight in engine.policy.model.named_parameters():
            if "lora_B" in name:
                weight.normal_(0, 0.02, generator=torch.Generator().manual_seed(len(name)))
    model = copy.deepcopy(tiny_engines.pristine(EMBEDDED["tiny-tools"])[0])
    model.load_state_dict(dict(engine.weights()))
    merged = TransformersSampler(Policy(model), engine.chat, engine.sampling, 200)
    with closing(reasonenv.make("Sum-v0", num_envs=4, group_size=2)) as envs:
        prompts = engine.chat.encode(envs.reset(seed=0)[0])
        responses, _ = episodes.play(envs, merged, prompts)
    own, replies = responses.mask, responses.present & ~responses.mask
    assert replies.any(1).sum() > 1
    weight = torch.linspace(-1, 1, own.numel()).view(own.shape)
    gradients = []
    for factor in (weight, weight.where(own, 1e3)):
        log_prob, _ = engine.forward(responses)
        assert not log_prob[~own].any()
        difference = (log_prob - responses.sampler_log_prob)[own]
        assert difference.abs().max() < 1e-4
        engine.policy.zero_grad()
        (log_prob * factor).sum().backward()
        named = engine.policy.model.named_parameters()
        gradients.append({name: p.grad.clone() for name, p in named if p.grad is not None})
    assert gradients[0]
    for name, gradient in gradients[0].items():
        assert "lora_" in name
        assert torch.equal(gradient, gradients[1][name])
    # By the model itself, on whole rows.
    plain, _ = tiny_engines.plain(SimpleNamespace(model=model), responses, engine.sampling)
    torch.testing.assert_close(plain.where(own, 0), log_prob.detach(), atol=1e-4, rtol=0)
