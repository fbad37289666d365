"""The transformers sampler against transformers' own `generate`."""

import pytest
import torch
from helpers import tiny_engines

from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.sampling import Sampling
from agents.engines.transformers import TransformersSampler, choose_tokens

LENGTH = 20


@pytest.fixture
def parts(tiny_folder):
    """A model whose answers change along the way; the untrained one repeats a token."""
    model, chat = load_model(str(tiny_folder), torch.device("cpu"), torch.float32)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn(weight.shape, generator=generator))
    return model, chat


def generate(model, chat, prompt):
    """Greedy tokens of one prompt, by transformers."""
    tokens = torch.tensor([prompt.token_ids])
    images = {}
    if prompt.pixel_values is not None:
        is_image = (tokens == model.config.image_token_id).int()
        images = {"pixel_values": prompt.pixel_values, "image_grid_thw": prompt.image_grid_thw}
        images["mm_token_type_ids"] = is_image
    output = model.generate(
        tokens,
        attention_mask=torch.ones_like(tokens),
        do_sample=False,
        max_new_tokens=LENGTH,
        suppress_tokens=list(chat.banned),
        **images,
    )
    return output[0, tokens.shape[1] :].tolist()


def test_greedy_responses_are_those_of_transformers(parts):
    model, chat = parts
    sampler = TransformersSampler(Policy(model), chat, Sampling(0.0, chat.banned), LENGTH)
    prompts = sampler.encode(tiny_engines.observations(num_images=(0, 1, 3, 1), group_size=2))
    responses = sampler.generate(prompts, (0,))
    token_lists = [
        row[: int(length)].tolist()
        for row, length in zip(responses.tokens, responses.lengths, strict=True)
    ]
    assert token_lists == [generate(model, chat, prompt) for prompt in prompts]
    assert all(len(set(tokens)) > 2 for tokens in token_lists)


def test_draws_follow_the_probabilities_and_never_take_what_has_none():
    probability = torch.tensor([[0.0, 0.2, 0.0, 0.5, 0.3, 0.0]]).expand(100_000, -1)
    generator = torch.Generator().manual_seed(0)
    uniform = torch.rand(len(probability), dtype=torch.float64, generator=generator)
    drawn = choose_tokens(probability, uniform)
    share = torch.bincount(drawn, minlength=6) / len(drawn)
    assert share[[0, 2, 5]].eq(0).all()
    # Four standard errors of a share of a half.
    torch.testing.assert_close(share, probability[0], rtol=0, atol=4 * 0.5 / len(drawn) ** 0.5)
