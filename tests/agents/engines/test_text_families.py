"""Families of words, trained and sampled, against the forward pass of their own."""

import pytest
import torch
from helpers import text_models, tiny_engines
from helpers.text_models import CPU, observations, plain_log_probs
from torch import nn
from transformers import AutoModelForCausalLM

from agents.engines.attention import image_attention, packed_attention
from agents.engines.load import load_model
from agents.engines.packing import pack
from agents.errors import ModelError

WINDOW = {"sliding_window": 8}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
SINKS = WINDOW | EXPERTS | {"head_dim": 32}
CAPS = {"attn_logit_softcapping": 0.5, "final_logit_softcapping": 2.0}
PACKED = {
    "Llama": {},
    "Qwen2": WINDOW | {"use_sliding_window": True, "max_window_layers": 2},
    "Qwen3": {"head_dim": 32},
    "Mistral": WINDOW,
    "Gemma3": WINDOW,
    "Granite": {"logits_scaling": 8.0, "embedding_multiplier": 12.0},
    "Cohere": {"logit_scale": 0.25},
    "Mixtral": EXPERTS,
    "OPT": {"ffn_dim": 128, "word_embed_proj_dim": 64},
}
PADDED = {
    "Gemma2": WINDOW | CAPS,
    "VaultGemma": WINDOW | CAPS,
    "GptOss": SINKS,
    "GraniteSWA": WINDOW,
    "MiMoV2Flash": SINKS,
    "Mamba": {"state_size": 8},
}
"""What their layers ask of attention, or their states, are not packed."""


@pytest.mark.parametrize("kind", PACKED | PADDED)
def test_trainer_and_sampler_have_the_log_probabilities_of_the_model(tmp_path, kind):
    options = {"num_hidden_layers": 4} | (PACKED | PADDED)[kind]
    folder = text_models.write(tmp_path, kind, **options)
    engine = text_models.engine(folder)
    assert engine.policy.packs == (kind in PACKED)
    plain = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
    prompts = engine.chat.encode(observations(group_size=2))
    if has_state := engine.policy.model._is_stateful:  # which responses of a group cannot share
        responses = tiny_engines.respond(prompts, (12, 3, 7, 12), engine.chat)
    else:
        responses = text_models.sampler(engine, 12).generate(prompts, (0,))
    with torch.no_grad():
        expected = plain_log_probs(plain, engine.chat, responses)
        log_prob, _ = engine.forward(responses)
    torch.testing.assert_close(log_prob, expected, atol=1e-5, rtol=0)
    if not has_state:
        torch.testing.assert_close(responses.sampler_log_prob, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("Nemotron", "NemotronAttention is not told which row it computes"),
        ("Roberta", "a roberta, computes log-probabilities after text in a way that is not known"),
    ],
    ids=["drops arguments of layers", "reads the whole text"],
)
def test_a_family_with_another_forward_pass_is_refused_by_name(tmp_path, kind, message):
    with pytest.raises(ModelError, match=message):
        load_model(str(text_models.write(tmp_path, kind)), CPU, torch.float32)


def test_layers_that_are_computed_several_times_a_token_are_not_sampled(tmp_path):
    engine = text_models.engine(text_models.write(tmp_path, "HrmText", head_dim=32))
    with pytest.raises(ModelError, match="HrmTextAttention several times a token"):
        text_models.sampler(engine).generate(engine.chat.encode(observations()), (0,))


class Layer(nn.Module):
    pass


def ask(attention, **options):
    """Calls attention over a row of two images, or of a prompt and its response."""
    query, lengths = torch.randn(1, 2, 5, 8), torch.tensor([0, 2, 5])
    row = {"packing": pack([3], [0], [3], CPU)}
    row = row if attention is packed_attention else {"cu_seq_lens_q": lengths}
    return attention(Layer(), query, query, query, None, **row, **options)[0]


@pytest.mark.parametrize("attention", [packed_attention, image_attention])
def test_what_a_layer_asks_of_attention_is_never_left_out_in_silence(attention):
    usual = attention is packed_attention
    neutral = {"is_causal": usual, "use_cache": False, "softcap": None, "position_ids": 1}
    assert ask(attention, **neutral).isfinite().all()
    odd = {"s_aux": torch.zeros(2), "indices": torch.zeros(1), "is_causal": not usual}
    for name, value in odd.items():
        with pytest.raises(ModelError, match=f"Layer gives its attention {name}, which"):
            ask(attention, **neutral | {name: value})
