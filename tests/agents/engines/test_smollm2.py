"""A model that others have trained, with its tokenizer, template and habits; `make pretrained`."""

import pytest
import torch
from helpers import text_models
from helpers.text_models import observations, plain_log_probs

from agents.engines.sampling import Sampling

pytestmark = pytest.mark.slow(reason="loads 135 million weights, and writes them")
FRANCE = "What is the capital of France?"
OWN = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
"""System message that the chat template adds where there is none."""


@pytest.fixture(scope="module")
def engine(smollm2):
    return text_models.engine(smollm2)


def greedy(engine, questions=(FRANCE,), length=12, **options):
    sampler = text_models.sampler(engine, length)
    sampler.sampling = Sampling(0.0, engine.chat.banned)
    return sampler.generate(engine.chat.encode(observations(questions, **options)), (0,))


@pytest.mark.parametrize("question", [FRANCE, " 2 + 2 =\n", "\n\\frac{1}{2}?\n\n", "数学 é 🙂"])
@pytest.mark.parametrize("system", ["", "Be brief.", " Be\n"])
def test_a_prompt_has_the_tokens_that_transformers_gives(engine, question, system):
    """With the template's own system message exactly where the environment has none."""
    (prompt,) = engine.chat.encode(observations((question,), system))
    messages = [{"role": "system", "content": system}] if system else []
    messages.append({"role": "user", "content": question})
    tokenizer = engine.chat.tokenizer
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert list(prompt.token_ids) == tokenizer.encode(text, add_special_tokens=False)
    assert (OWN in tokenizer.decode(prompt.token_ids)) == (not system)


def test_its_end_token_pads_too_and_is_not_banned(engine):
    tokenizer = engine.chat.tokenizer
    assert tokenizer.eos_token == tokenizer.pad_token == "<|im_end|>"
    assert engine.chat.eos == (tokenizer.eos_token_id,)
    assert engine.chat.banned == ()


def test_it_answers_and_ends(engine):
    responses = greedy(engine)
    assert responses.texts == ("The capital of France is Paris.",)
    assert responses.finished.all()


def test_sampler_trainer_and_transformers_have_the_same_log_probabilities(engine):
    prompts = engine.chat.encode(observations((FRANCE, "What is 7 + 8?"), group_size=4))
    responses = text_models.sampler(engine, 16).generate(prompts, (0,))
    with torch.no_grad():
        log_prob, _ = engine.forward(responses)
    expected = plain_log_probs(engine.policy.model, engine.chat, responses)
    torch.testing.assert_close(responses.sampler_log_prob, expected, atol=1e-4, rtol=0)
    torch.testing.assert_close(log_prob, expected, atol=1e-4, rtol=0)
    assert (~responses.finished).any()
