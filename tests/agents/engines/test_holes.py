"""Tokens in the row without a loss, among those with one: holes in the mask."""

from dataclasses import replace

import pytest
import torch
from helpers import tiny_engines
from helpers.tiny_engines import LENGTHS, plain, respond
from transformers import Qwen2Config, Qwen2ForCausalLM

from agents.cpgd import CPGD
from agents.engines.model import Policy
from agents.engines.sampling import Sampling
from agents.training.dynamic_sampling import concatenate
from agents.training.microbatches import Load
from agents.training.update import Passes, update


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_engines.write(tmp_path_factory.mktemp("tiny"))


def responses_of(chat, num_images=(0, 1, 3, 2)):
    """Two responses to each prompt; of some only the middle has a loss, of one no token."""
    prompts = chat.encode(tiny_engines.observations(num_images, group_size=2))
    responses = respond(prompts, LENGTHS[: len(prompts)], chat)
    generator = torch.Generator().manual_seed(3)
    holes = torch.rand(responses.mask.shape, generator=generator) < 0.4
    holes[3] = True
    return responses, replace(responses, mask=responses.mask & ~holes)


def policies(folder):
    model, chat = tiny_engines.pristine(folder)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    torch.manual_seed(0)
    text = Qwen2ForCausalLM(Qwen2Config(vocab_size=len(chat.tokenizer), **sizes, **heads))
    return {"images": Policy(model), "text": Policy(text.eval())}, chat


@pytest.mark.parametrize("packs", [True, False])
@pytest.mark.parametrize("kind", ["images", "text"])
def test_log_probabilities_are_those_of_a_plain_forward_pass_of_the_row(kind, packs, folder):
    every, chat = policies(folder)
    policy = every[kind]
    assert policy.packs
    policy.packs = packs
    responses, holed = responses_of(chat, (0, 1, 3, 2) if kind == "images" else (0, 0))
    sampling = Sampling(0.7, chat.banned)
    with torch.no_grad():
        expected = [x.where(holed.mask, 0.0) for x in plain(policy, responses, sampling)]
        actual = policy(holed, sampling)
    policy.packs = True
    torch.testing.assert_close(actual, tuple(expected), atol=2e-5, rtol=1e-5)


def test_the_gradient_is_that_of_the_tokens_with_a_loss(folder):
    steps = []
    for name in ("holed", "whole"):
        engine = tiny_engines.descent("torch", folder)
        whole, holed = responses_of(engine.chat)
        before = tiny_engines.vector(engine)
        log_prob, _ = engine.forward(holed if name == "holed" else whole)
        engine.backward(log_prob.where(holed.mask, 0.0).sum())
        engine.step()
        steps.append(tiny_engines.vector(engine) - before)
    assert tiny_engines.difference(*steps) < 1e-5


def test_rows_and_microbatches_count_all_tokens(folder):
    responses, holed = responses_of(tiny_engines.pristine(folder)[1])
    assert Load.of(holed) == Load.of(responses)
    assert holed.lengths.tolist() != responses.lengths.tolist()
    parts = [holed.rows(0, 3), holed.rows(3, 8)]
    assert [part.tokens.shape[1] for part in parts] == [9, 8]
    again = concatenate(parts)
    assert torch.equal(again.present, responses.mask)
    assert torch.equal(again.mask, holed.mask)


@pytest.mark.parametrize("passes", [(8, 8, None), (4, 3, None), (8, 8, 60)])
def test_an_update_with_holes_is_the_same_in_other_microbatches(passes, folder):
    ends = []
    for size in (passes, (passes[0], 8, None)):
        engine = tiny_engines.descent("torch", folder, 0.1)
        _, holed = responses_of(engine.chat)
        reward = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.5], [0.0, 2.0]])
        metrics = update(CPGD(), engine, holed, reward, Passes(
            minibatch_size=size[0], microbatch_size=size[1], tokens_per_microbatch=size[2]
        ))  # fmt: skip
        ends.append((metrics, tiny_engines.vector(engine)))
    (one, weights), (two, others) = ends
    assert one["response/length_mean"] == two["response/length_mean"] == sum(LENGTHS) / 8
    assert one == pytest.approx(two, rel=1e-3, abs=1e-4)
    torch.testing.assert_close(weights, others, rtol=1e-4, atol=1e-5)
