"""Supervised learning on worked solutions: the warm start of a model before reinforcement learning.

    python -m agents.sft --env Figures-v0 --model tiny --output-dir warm

Any environment whose problems carry a `solution` will do. The tiny model's own warm start is made here too, once,
and kept in a cache.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from tqdm import tqdm

from agents import tiny
from agents.engines.chat import Chat
from agents.engines.load import load, save
from agents.engines.model import Policy, Sampling
from agents.engines.optimizer import Optimization
from agents.engines.torch import TorchEngine
from agents.reductions import token_mean
from agents.rollout import Prompt, Responses


@dataclass(frozen=True, kw_only=True)
class WarmStart:
    """Supervised learning on the worked solutions of an environment's training problems."""

    num_steps: int = 900
    """Optimizer steps."""
    batch_size: int = 48
    """Solutions per step."""
    num_problems: int = 8000
    """Different problems; each is seen num_steps * batch_size / num_problems times."""
    learning_rate: float = 1e-3
    """Highest learning rate of AdamW, after 50 steps of warm-up."""
    seed: int = 0
    """Of the weights, of the problems and of their order."""


class Lessons:
    """Prompts and solutions as token tensors, encoded when first needed."""

    def __init__(self, problems: Sequence, chat: Chat, prompt_words) -> None:
        self.problems, self.chat, self.prompt_words = problems, chat, prompt_words
        self.encoded: dict[int, tuple[Prompt, torch.Tensor]] = {}

    def __getitem__(self, index: int) -> tuple[Prompt, torch.Tensor]:
        """The prompt of a problem and the tokens of its solution, ended."""
        if index not in self.encoded:
            self.encoded[index] = self._encode(self.problems[index])
        return self.encoded[index]

    def _encode(self, problem) -> tuple[Prompt, torch.Tensor]:
        if problem.solution is None:
            raise ValueError(f"problem {problem.id} has no worked solution: choose an environment that gives them")
        observation = {"system": ("",), "question": (problem.question,), "images": (problem.images,)}
        tokens = self.chat.tokenizer.encode(problem.solution, add_special_tokens=False)
        return self.chat.encode(observation)[0], torch.tensor([*tokens, self.chat.tokenizer.eos_token_id])

    def batch(self, indices: Sequence[int]) -> Responses:
        """The solutions as responses."""
        prompts, solutions = zip(*(self[index] for index in indices), strict=True)
        tokens = pad_sequence(list(solutions), batch_first=True)
        lengths = torch.tensor([len(solution) for solution in solutions])
        return Responses(
            prompts,
            tokens,
            torch.arange(tokens.shape[1]) < lengths[:, None],
            ("",) * len(prompts),
            torch.zeros(tokens.shape),
            torch.ones(len(prompts), dtype=torch.bool),
        )


def learn(engine: TorchEngine, lessons: Lessons, settings: WarmStart, progress=None) -> None:
    """Maximises the likelihood of the solutions: one minibatch a step, mean over tokens."""
    rng = np.random.default_rng(settings.seed)
    for step in range(settings.num_steps):
        responses = lessons.batch(rng.choice(settings.num_problems, settings.batch_size, replace=False).tolist())
        log_prob, _ = engine.forward(responses)
        weight = token_mean(responses.lengths, 1).to(log_prob)
        loss = -(weight * log_prob.sum(-1)).sum()
        engine.backward(loss)
        metrics = engine.step()
        if progress:
            progress(step, loss.item(), metrics)
