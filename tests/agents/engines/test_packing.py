"""Packed rows against padded batches and against the model itself, one sequence at a time."""

import copy
from dataclasses import replace

import pytest
import torch
from helpers import tiny_engines
from helpers.recorded_logits import record_logits
from helpers.tiny_engines import plain, respond
from torch import nn
from transformers import (
    Lfm2Config,
    Lfm2ForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from agents.engines import bandit
from agents.engines.attention import packed_attention
from agents.engines.model import Policy
from agents.engines.packing import pack
from agents.engines.sampling import LOGITS_PER_BLOCK, LOGITS_PER_CHUNK, Sampling
from agents.rollout import Prompt

SIZES = {
    "vocab_size": 61,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
WINDOW = {"use_sliding_window": True, "sliding_window": 7, "max_window_layers": 1}
TEXT = {
    "qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**SIZES)),
    "qwen2 with windows": lambda: Qwen2ForCausalLM(Qwen2Config(**SIZES, **WINDOW)),
    "qwen3": lambda: Qwen3ForCausalLM(Qwen3Config(**SIZES, head_dim=8, tie_word_embeddings=True)),
}
GROUPS = ((9, (5, 3, 8)), (4, (1, 6)), (13, (7,)), (2, (0, 1, 12, 2)), (6, (0,)), (5, (1,)))
"""Tokens of prompts, and of the responses to each."""
COLD = Sampling(temperature=0.7, banned=(3, 60))


class ExactNorm(nn.RMSNorm):
    """Qwen's RMSNorm in the dtype of the weights; Qwen's own computes in float32."""


def text_policy(kind):
    """In float64, from one seed."""
    torch.manual_seed(0)
    model = TEXT[kind]().double().eval()
    for module in list(model.modules()):
        for name, norm in module.named_children():
            if type(norm).__name__.endswith("RMSNorm"):
                exact = ExactNorm(norm.weight.shape, norm.variance_epsilon, dtype=torch.float64)
                nn.init.uniform_(exact.weight, 0.5, 1.5)
                setattr(module, name, exact)
    return Policy(model)


def answers(groups=GROUPS, vocabulary=61, banned=COLD.banned):
    """Random prompts and responses."""
    generator = torch.Generator().manual_seed(1)
    allowed = torch.tensor(sorted(set(range(vocabulary)) - set(banned)))

    def draw(count):
        return allowed[torch.randint(len(allowed), (count,), generator=generator)]

    prompts = [(Prompt(tuple(draw(size).tolist())), counts) for size, counts in groups]
    lengths = [count for _, counts in groups for count in counts]
    tokens = draw(len(lengths) * max(lengths)).view(len(lengths), -1)
    made = bandit.respond(range(len(lengths)), tokens, lengths)
    own = tuple(prompt for prompt, counts in prompts for _ in counts)
    return replace(made, prompts=own, tokens=tokens * made.mask)


def judged(policy, responses, sampling, by=None):
    """Values, and the gradient of every weight of a weighted sum of log-probabilities."""
    policy.zero_grad()
    log_prob, entropy = (by or Policy.forward)(policy, responses, sampling)
    weight = torch.linspace(-1, 2, log_prob.numel()).reshape(log_prob.shape).to(log_prob)
    (log_prob * weight).sum().backward()
    slopes = {n: p.grad.clone() for n, p in policy.named_parameters() if p.grad is not None}
    return {"log_prob": log_prob.detach(), "entropy": entropy.detach()} | slopes


def of_entropies(forward, share):
    """The forward pass whose log-probabilities are mixed with entropies."""

    def mixed(policy, responses, sampling):
        extra = {"entropy_gradient": True} if forward is Policy.forward else {}
        log_prob, entropy = forward(policy, responses, sampling, **extra)
        return (1 - share) * log_prob + share * entropy, entropy

    return mixed


def padded(policy):
    """The same weights on the path that every model can take."""
    other = copy.deepcopy(policy)
    other.packs = False
    return other


def assert_same(actual, expected, **tolerance):
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(
            actual[name], value, msg=lambda m, n=name: f"{n}: {m}", **tolerance
        )


@pytest.mark.parametrize(
    ("kind", "sampling", "groups"),
    [
        *((kind, sampling, GROUPS) for kind in TEXT for sampling in (Sampling(), COLD)),
        ("qwen2", COLD, ((300, (5, 90)), (250, (70, 65, 2)), (7, (9,)))),
    ],
)
def test_packed_and_padded_are_the_plain_model(kind, sampling, groups):
    policy, responses = text_policy(kind), answers(groups)
    assert policy.packs
    expected = judged(policy, responses, sampling, by=plain)
    assert len(expected) > 20
    for one in (policy, padded(policy)):
        assert_same(judged(one, responses, sampling), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("logits", [61, 200])
def test_a_chunk_at_a_time_is_all_at_once(monkeypatch, logits):
    policy, responses = text_policy("qwen3"), answers()
    whole = judged(policy, responses, COLD)
    sizes = []
    record_logits(policy.model.lm_head, lambda logits: sizes.append(logits.numel()))
    monkeypatch.setitem(LOGITS_PER_CHUNK, "cpu", logits)
    assert_same(judged(policy, responses, COLD), whole, rtol=1e-9, atol=1e-12)
    assert max(sizes) <= logits
    tokens = int(responses.mask.sum())
    # Each token twice but those of the last chunk, whose logits are kept.
    assert sum(sizes) == 61 * (2 * tokens - sizes[0] // 61 + (sizes[0] - min(sizes)) // 61)


@pytest.mark.parametrize(
    ("sampling", "logits", "share"),
    [(COLD, 2**26, 0.3), (COLD, 200, 1), (Sampling(1.5, (0,), top_p=0.5, top_k=3), 200, 0.3)],
)
def test_the_gradient_of_the_entropy_is_that_of_the_plain_model(
    monkeypatch, sampling, logits, share
):
    policy, responses = text_policy("qwen3"), answers(banned=(0, 3, 60))
    expected = judged(policy, responses, sampling, by=of_entropies(plain, share))
    monkeypatch.setitem(LOGITS_PER_CHUNK, "cpu", logits)
    monkeypatch.setitem(LOGITS_PER_BLOCK, "cpu", 400)
    for one in (policy, padded(policy)):
        actual = judged(one, responses, sampling, by=of_entropies(Policy.forward, share))
        assert_same(actual, expected, rtol=1e-9, atol=1e-9)


def test_no_layer_sees_padding_or_a_prompt_twice():
    policy, responses = text_policy("qwen2"), answers()
    shapes = []
    policy.model.model.layers[1].mlp.register_forward_hook(
        lambda *call: shapes.append(call[-1].shape)
    )
    policy(responses, COLD)
    prompts = sum(size for size, _ in GROUPS)
    inputs = sum(max(0, count - 1) for _, counts in GROUPS for count in counts)
    assert shapes == [(1, prompts + inputs, 32)]


def test_recomputed_activations_change_nothing():
    policy, responses = text_policy("qwen2"), answers()
    expected = judged(policy, responses, COLD)
    policy.checkpoint_activations()
    calls = []
    first = policy.ready().model.model.layers[0].self_attn.q_proj
    first.register_forward_hook(lambda *_: calls.append(1))
    assert_same(judged(policy, responses, COLD), expected, rtol=1e-9, atol=1e-12)
    assert len(calls) == 2


def test_a_banned_token_moves_no_weight_by_itself(monkeypatch):
    policy, responses = text_policy("qwen2"), answers()
    responses.tokens[0, 2] = COLD.banned[0]
    monkeypatch.setitem(LOGITS_PER_CHUNK, "cpu", 300)
    log_prob, _ = policy(responses, COLD)
    assert log_prob[0, 2] == -torch.inf
    log_prob.where(log_prob.isfinite(), 0.0).sum().backward()
    assert all(weight.grad.isfinite().all() for weight in policy.parameters())
    actual = policy.model.lm_head.weight.grad
    assert actual.abs().sum() > 0
    assert (actual[list(COLD.banned)] == 0).all()


@pytest.mark.parametrize("checkpointing", [False, True])
def test_images_are_packed_as_words_are(tiny_folder, checkpointing):
    model, chat = tiny_engines.pristine(tiny_folder)
    policy = Policy(copy.deepcopy(model))
    if checkpointing:
        policy.checkpoint_activations()
    policy.ready()
    rows = tiny_engines.observations(num_images=(0, 1, 3, 1, 0), group_size=3)
    prompts = chat.encode(rows)[:13]  # groups of three, and a single one
    lengths = (9, 1, 4, 6, 0, 7, 2, 2, 40, 1, 1, 1, 5)
    responses = respond(prompts, lengths, chat)
    responses.tokens[3, 4] = model.config.image_token_id  # a placeholder without an image
    sampling = Sampling(0.8)
    expected = judged(policy, responses.rows(4, 13), sampling, by=plain)
    tolerance = {"rtol": 1e-4, "atol": 2e-4}  # float32
    for one in (policy, padded(policy)):
        assert one.packs == (one is policy)
        assert_same(judged(one, responses.rows(4, 13), sampling), expected, **tolerance)
    actual, other = (judged(one, responses, sampling) for one in (policy, padded(policy)))
    assert_same(actual, other, **tolerance)
    assert any(name.startswith("model.model.visual") for name in actual)


def unpackable():
    layers = ["conv", "full_attention", "conv"]
    config = Lfm2Config(**SIZES, layer_types=layers, block_multiple_of=8)
    eager = TEXT["qwen2"]()
    eager.set_attn_implementation("eager")
    return {"a layer with a state": Lfm2ForCausalLM(config), "another attention": eager}


@pytest.mark.parametrize("kind", ["a layer with a state", "another attention"])
def test_what_cannot_be_packed_is_padded(kind):
    torch.manual_seed(0)
    policy, responses = Policy(unpackable()[kind].eval()), answers()
    assert not policy.packs
    expected = judged(policy, responses, COLD, by=plain)
    assert_same(judged(policy, responses, COLD), expected, rtol=1e-4, atol=1e-5)


def test_a_packing_model_is_saved_as_any_other(tmp_path):
    policy = text_policy("qwen2")
    policy.model.save_pretrained(tmp_path)
    loaded = Qwen2ForCausalLM.from_pretrained(tmp_path)
    assert loaded.config._attn_implementation == "sdpa"


def by_segment(query, key, value, packing, window):
    """What a kernel for variable lengths computes: each segment by itself, aligned at the end."""
    places, query_ends, key_ends, *longest = packing.varlen
    key, value = key[places].repeat_interleave(2, 1), value[places].repeat_interleave(2, 1)
    read, most = [], [0, 0]
    for i in range(len(query_ends) - 1):
        own, keys = (slice(*ends[i : i + 2].tolist()) for ends in (query_ends, key_ends))
        scores = torch.einsum("qhc,khc->hqk", query[own], key[keys]) * 0.3
        late = scores.shape[2] - scores.shape[1] + torch.arange(scores.shape[1])[:, None]
        column = torch.arange(scores.shape[2])
        hidden = (column > late) | (column <= late - (window or 10**9))
        weight = scores.masked_fill(hidden, -torch.inf).softmax(-1)
        read.append(torch.einsum("hqk,khc->qhc", weight, value[keys]))
        most = [max(most[0], scores.shape[1]), max(most[1], scores.shape[2])]
    assert most == longest
    return torch.cat(read)


@pytest.mark.parametrize("window", [None, 1, 4])
@pytest.mark.parametrize("groups", [GROUPS, ((40, (5, 60, 3)), (300, (20, 30)), (3, (2, 9)))])
def test_padded_segments_read_what_segments_of_any_length_do(groups, window):
    counts = [count for _, counts in groups for count in counts]
    rows = [row for row, (_, counts) in enumerate(groups) for _ in counts]
    packing = pack([size for size, _ in groups], rows, counts, torch.device("cpu"))
    torch.manual_seed(0)
    shapes = ((packing.size, heads, 8) for heads in (4, 2, 2))
    parts = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    expected = by_segment(*parts, packing, window)
    inputs = [part.transpose(0, 1)[None] for part in parts]
    options = {"packing": packing, "scaling": 0.3, "sliding_window": window}
    actual, _ = packed_attention(nn.Identity(), *inputs, None, **options)
    torch.testing.assert_close(actual[0], expected, rtol=1e-9, atol=1e-9)
    toward = torch.randn_like(expected)
    for slope, right in zip(
        torch.autograd.grad(actual[0], parts, toward),
        torch.autograd.grad(expected, parts, toward),
        strict=True,
    ):
        torch.testing.assert_close(slope, right, rtol=1e-9, atol=1e-9)
