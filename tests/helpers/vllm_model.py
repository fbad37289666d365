"""A tiny model of words that vLLM reads too, generated, and engines that hold it."""

from pathlib import Path

import torch

from agents.cpgd import CPGD
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.sampling import Sampling
from agents.engines.torch import TorchEngine
from agents.engines.vllm.sampler import VLLMSampler
from agents.training.update import Passes, update
from helpers import text_models

LENGTH = 24
BOUND = 1e-4
"""Between log-probabilities of two implementations in float32."""
QUESTIONS = ("What is the sum?", "How many letters?", "Are there numbers?", "What letters are in?")
OPTIONS = {"load_format": "dummy", "max_model_len": 256}


def write(folder: Path) -> Path:
    """Two layers, and a vocabulary with rows for which there is no token."""
    words = "What is the sum of the numbers? How many letters are there?"
    return text_models.write(folder, "Qwen2", words=words, num_key_value_heads=2)


def trainer(folder: Path) -> TorchEngine:
    model, chat = load_model(str(folder), torch.device("cpu"), torch.float32)
    sampling = Sampling(1.0, chat.banned)
    return TorchEngine(Policy(model), chat, sampling, Optimization(3e-3, 10))


def sampler(folder: Path, engine: TorchEngine, **options) -> VLLMSampler:
    """With random weights until the trainer's are loaded."""
    return VLLMSampler(folder, engine.chat, engine.sampling, LENGTH, options=OPTIONS | options)


def observations(questions=QUESTIONS, group_size=1) -> dict[str, tuple]:
    return text_models.observations(questions, group_size=group_size)


def greedy(engine: TorchEngine, prompt) -> list[int]:
    """The likeliest response, by transformers' own `generate`."""
    tokens = torch.tensor([prompt.token_ids])
    with torch.no_grad():
        output = engine.policy.model.generate(
            tokens,
            attention_mask=torch.ones_like(tokens),
            do_sample=False,
            max_new_tokens=LENGTH,
            suppress_tokens=list(engine.chat.banned),
        )
    return output[0, tokens.shape[1] :].tolist()


def token_lists(responses) -> list[list[int]]:
    """The tokens of each response."""
    rows = zip(responses.tokens.tolist(), responses.lengths.tolist(), strict=True)
    return [row[:length] for row, length in rows]


def learn(engine: TorchEngine, responses) -> None:
    """A step after which the likeliest responses are others."""
    reward = torch.arange(len(responses)).remainder(2).float().view(-1, 2)
    passes = Passes(minibatch_size=len(responses), microbatch_size=len(responses))
    assert update(CPGD(), engine, responses, reward, passes)["train/grad_norm"] > 0


def differences(engine: TorchEngine, responses) -> torch.Tensor:
    """How far trainer and sampler are apart, token by token."""
    with torch.no_grad():
        log_prob, _ = engine.forward(responses)
    return (log_prob - responses.sampler_log_prob)[responses.mask].abs()


def assert_drawn_from(sampling: Sampling, engine: TorchEngine, responses) -> None:
    """That log-probabilities are those of the distribution that the sampler drew from."""
    for row, (prompt, tokens) in enumerate(
        zip(responses.prompts, token_lists(responses), strict=True)
    ):
        with torch.no_grad():
            logits = engine.policy.model(torch.tensor([[*prompt.token_ids, *tokens]])).logits[0]
        expected = sampling.behaviour(logits[len(prompt.token_ids) - 1 : -1])
        expected = expected.gather(-1, torch.tensor(tokens)[:, None])[:, 0]
        sampled = responses.sampler_log_prob[row, : len(tokens)]
        torch.testing.assert_close(sampled, expected, atol=BOUND, rtol=0)


def assert_ends(chat, responses, limit: int) -> None:
    """That each response ends by its last token or at the limit, some so and some so."""
    last = responses.tokens[torch.arange(len(responses)), responses.lengths - 1]
    ends = torch.isin(last, torch.tensor(chat.eos))
    assert torch.equal(responses.finished, ends)
    assert 0 < ends.sum() < len(ends)
    assert (responses.lengths[~ends] == limit).all()
    assert responses.texts == tuple(map(chat.decode, token_lists(responses)))


def two_likeliest_are_banned(engine: TorchEngine) -> None:
    """Whatever the state, one of two banned tokens is by far the likeliest."""
    rows = engine.chat.banned[-2:]
    assert rows[0] >= len(engine.chat.tokenizer)
    with torch.no_grad():
        embedding = engine.policy.model.get_input_embeddings().weight
        embedding[rows[0]] = 50.0
        embedding[rows[1]] = -50.0


def move(engine: TorchEngine, by: float) -> None:
    """Adds a number to every weight."""
    with torch.no_grad():
        for weight in engine.policy.parameters():
            weight.add_(by)
