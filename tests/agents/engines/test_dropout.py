import pytest
import torch
from helpers import text_models

DROPOUTS = {
    "OPT": {
        **{"ffn_dim": 128, "word_embed_proj_dim": 64, "do_layer_norm_before": True},
        **{"dropout": 0.5, "attention_dropout": 0.5, "layerdrop": 0.5},
    },
    "GPTNeoX": {"hidden_dropout": 0.5, "attention_dropout": 0.5},
    "Llama": {"attention_dropout": 0.5},
}


@pytest.mark.parametrize("kind", DROPOUTS)
def test_a_policy_with_gradient_checkpointing_drops_nothing(kind, tmp_path):
    engine = text_models.engine(text_models.write(tmp_path, kind, **DROPOUTS[kind]))
    prompts = engine.chat.encode(text_models.observations())
    responses = text_models.sampler(engine, 8).generate(prompts, (0,))
    assert not engine.policy.training
    expected = engine.forward(responses)[0]
    engine.policy.checkpoint_activations()
    assert engine.policy.ready().training
    torch.testing.assert_close(engine.forward(responses)[0], expected)
