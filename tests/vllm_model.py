"""A tiny model of words that vLLM reads too, made by program, and engines that hold it."""

import copy
from pathlib import Path

import torch
from transformers import GenerationConfig, Qwen2Config, Qwen2ForCausalLM

from agents import tiny
from agents.engines.load import load
from agents.engines.model import Policy, Sampling
from agents.engines.optimizer import Optimization
from agents.engines.torch import TorchEngine
from agents.engines.vllm import VLLMSampler

LENGTH = 24
QUESTIONS = ("What is the sum?", "How many letters?", "Are there numbers?", "What letters are in?")
OPTIONS = {"load_format": "dummy", "max_model_len": 256}


def write(folder: Path, tie: bool = True) -> Path:
    """Two layers, and a vocabulary with rows for which there is no token."""
    tokens = tiny.tokenizer(["What is the sum of the numbers? How many letters are there?"])
    end, pad = tokens.convert_tokens_to_ids([tokens.eos_token, tokens.pad_token])
    config = Qwen2Config(
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        vocab_size=len(tokens) + 6,
        max_position_embeddings=512,
        tie_word_embeddings=tie,
        bos_token_id=None,
        eos_token_id=end,
        pad_token_id=pad,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Qwen2ForCausalLM(config)
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(0.1 * torch.randn(weight.shape))
    model.generation_config = GenerationConfig(eos_token_id=end, pad_token_id=pad)
    model.save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder


def trainer(folder: Path, temperature: float = 1.0) -> TorchEngine:
    model, chat = load(str(folder), torch.device("cpu"), torch.float32)
    sampling = Sampling(temperature, chat.banned)
    return TorchEngine(Policy(copy.deepcopy(model)), chat, sampling, Optimization(3e-3, 10))


def sampler(folder: Path, engine: TorchEngine, **options) -> VLLMSampler:
    """With random weights until the trainer's are loaded."""
    return VLLMSampler(folder, engine.chat, engine.sampling, LENGTH, options=OPTIONS | options)


def observations(questions=QUESTIONS, group_size=1) -> dict[str, tuple]:
    texts = tuple(question for question in questions for _ in range(group_size))
    return {"system": ("",) * len(texts), "question": texts, "images": ((),) * len(texts)}


def greedy(engine: TorchEngine, prompt) -> list[int]:
    """The likeliest response, by transformers' own `generate`."""
    tokens = torch.tensor([prompt.token_ids])
    with torch.no_grad():
        made = engine.policy.model.generate(
            tokens,
            attention_mask=torch.ones_like(tokens),
            do_sample=False,
            max_new_tokens=LENGTH,
            suppress_tokens=list(engine.chat.banned),
        )
    return made[0, tokens.shape[1] :].tolist()


def made(responses) -> list[list[int]]:
    """The tokens of each response."""
    rows = zip(responses.tokens.tolist(), responses.lengths.tolist(), strict=True)
    return [row[:length] for row, length in rows]
