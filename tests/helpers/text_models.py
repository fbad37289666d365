"""Small random models of words, in the configurations that models on the hub have."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import transformers
from transformers import GenerationConfig

from agents.engines.chat_template import cut
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.sampling import Sampling
from agents.engines.torch import TorchEngine
from agents.engines.transformers import TransformersSampler
from benchmarks.tiny import model as tiny_model
from helpers.tiny_engines import plain

CPU = torch.device("cpu")
WORDS = "What is the sum of the numbers? How many vowels are there? Question: Answer:"
SIZES = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 512,
    "tie_word_embeddings": True,
    "bos_token_id": None,
}
QUESTIONS = ("What is the sum?", "How many vowels?")


def write(
    folder: Path,
    kind: str = "Llama",
    change: Callable[[Any], object] = lambda tokenizer: None,
    generation: dict[str, Any] | None = None,
    dtype: torch.dtype = torch.float32,
    words: str = WORDS,
    **config: Any,
) -> Path:
    """A model with tied embeddings, and six rows of the vocabulary without a token.

    Args:
        folder: Created if missing.
        kind: Name of the architecture in transformers.
        change: Changes the tokenizer.
        generation: Content of generation_config.json, as it stands there.
        dtype: Of the weights.
        words: Text that the tokenizer learns from.
        config: Further entries of the configuration.
    """
    tokens = tiny_model.tokenizer([words])
    change(tokens)
    sizes = SIZES | {"vocab_size": len(tokens) + 6, "eos_token_id": tokens.eos_token_id}
    sizes |= {"head_dim": 32} if "emma" in kind else {}
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        model_class = getattr(transformers, f"{kind}ForCausalLM")
        model = model_class(model_class.config_class(pad_token_id=0, **sizes | config))
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn(weight.shape))
    model.generation_config = GenerationConfig(eos_token_id=tokens.eos_token_id)
    model.to(dtype).save_pretrained(folder)
    tokens.save_pretrained(folder)
    if generation is not None:
        (folder / "generation_config.json").write_text(json.dumps(generation))
    return folder


def base(folder: Path, **options: Any) -> Path:
    """The same without a chat template."""

    def change(tokenizer: Any) -> None:
        tokenizer.chat_template = None

    return write(folder, change=change, **options)


def engine(folder: Path, **options: Any) -> TorchEngine:
    model, chat = load_model(str(folder), CPU, torch.float32, **options)
    return TorchEngine(Policy(model), chat, Sampling(1.0, chat.banned), Optimization(1e-3, 10))


def sampler(engine: TorchEngine, length: int = 24) -> TransformersSampler:
    return TransformersSampler(engine.policy, engine.chat, engine.sampling, length)


def observations(questions=QUESTIONS, system: str = "", group_size: int = 1) -> dict[str, tuple]:
    texts = tuple(question for question in questions for _ in range(group_size))
    return {"system": (system,) * len(texts), "question": texts, "images": ((),) * len(texts)}


def tokens(responses: Any, row: int) -> list[int]:
    return responses.tokens[row, : int(responses.lengths[row])].tolist()


def plain_log_probs(model: Any, chat: Any, responses: Any) -> torch.Tensor:
    """Log-probabilities by the model itself, without its banned tokens, one sequence at a time."""
    return plain(SimpleNamespace(model=model), responses, Sampling(1.0, chat.banned))[0]


def assert_stopped(stopped: Any, whole: Any, chat: Any, stop: tuple[str, ...]) -> None:
    """That responses are the starts of others, each up to the token that completes a stop string.

    Args:
        stopped: Sampled with the stop strings.
        whole: With the same seed, without them.
        chat: Without stop strings.
        stop: Some are in some of the responses.
    """
    ended = 0
    for row in range(len(whole)):
        own, rest = tokens(stopped, row), tokens(whole, row)
        texts = [chat.decode(rest[:count]) for count in range(1, len(rest) + 1)]
        first = next((k for k, text in enumerate(texts) if any(s in text for s in stop)), None)
        assert own == (rest if first is None else rest[: first + 1])
        assert stopped.texts[row] == cut(texts[len(own) - 1], stop)
        assert stopped.finished[row] == (first is not None or whole.finished[row])
        ended += first is not None
    assert 0.2 * len(whole) < ended < len(whole)
