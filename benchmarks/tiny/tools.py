"""The warm start of the model for episodes with tools: python -m benchmarks.tiny.tools --help.

It begins with the tiny model, which reads digits, under a tokenizer of the words of Sum-v0 and
Zoom-v0, and learns their worked episodes, half of each in a batch: right calls first, then a few
steps on episodes with mistakes, which reinforcement learning is to unlearn.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

import reasonenv
from agents.cli.exit import errors_in_one_line, standard_streams
from agents.cli.flags import parse
from agents.engines.chat import Chat
from agents.engines.load import load_model, local_device
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.pretrained import TINY
from agents.engines.process import keep_freed_memory, set_threads
from agents.engines.sampling import Sampling
from agents.engines.torch import TorchEngine
from agents.monitoring.progress_bar import ProgressBar
from agents.sft import DISPLAYED, collate, example, save, train_step
from agents.storage.lock import locked
from benchmarks.tiny.mistakes import Mistaken
from benchmarks.tiny.model import save_untrained
from benchmarks.tiny.muon import use_muon

ENVS = {"Sum-v0": {}, "Zoom-v0": {"level": 2}}
"""Environments with the arguments of the levels that the model is for."""


@dataclass(frozen=True, kw_only=True)
class EpisodeStage:
    """Supervised fine-tuning with Muon on the worked episodes of the environments."""

    model: str = "tiny"
    """'tiny', which gets a tokenizer of the environments' words; or the folder of a model."""
    num_steps: int = 800
    """Optimizer steps."""
    batch_size: int = 48
    """Episodes per step, equally many of each environment."""
    learning_rate: float = 1e-3
    """Peak learning rate of AdamW, half of Muon's, after 50 steps of warm-up; cosine decay."""
    slip: float = 0.0
    """Probability of a mistake in a call; see `Mistaken`, as for the next two."""
    guess: float = 0.2
    waste: float = 0.2
    problem_seed: int = 0
    """Chooses another sequence of problems."""


def train(stage: EpisodeStage, folder: Path) -> Path:
    """Trains a stage into a folder, unless it is complete there."""
    if (folder / "config.json").is_file():
        return folder
    with ExitStack() as stack:
        parts = [stack.enter_context(closing(each)) for each in environments(stage)]
        model, chat = _base(parts) if stage.model == "tiny" else _load(stage.model)
        engine = _engine(stage, model, chat)
        count = stage.batch_size // len(parts)
        bar = stack.enter_context(
            closing(ProgressBar(stage.num_steps, of="warm start", displayed=DISPLAYED))
        )
        for step in range(stage.num_steps):
            indices = range(step * count, (step + 1) * count)
            batch = [example(envs, chat, index) for envs in parts for index in indices]
            loss, probabilities = train_step(engine, collate(batch))
            bar.show(step + 1, {"loss": loss, "solved": sum(probabilities) / len(probabilities)})
    save(folder, model, chat)
    return folder


def environments(stage: EpisodeStage) -> list[Any]:
    """The environments, with the solutions of a stage."""
    parts = []
    for name, options in ENVS.items():
        envs = reasonenv.make(name, num_envs=1, problem_seed=stage.problem_seed, **options)
        envs.problems = Mistaken(envs.problems, stage.slip, stage.guess, stage.waste)
        parts.append(envs)
    return parts


def _engine(stage: EpisodeStage, model: Any, chat: Chat) -> TorchEngine:
    rate, steps = stage.learning_rate, stage.num_steps
    optimization = Optimization(rate, steps, warmup_steps=50, betas=(0.9, 0.98))
    engine = TorchEngine(Policy(model), chat, Sampling(1.0, chat.banned), optimization)
    use_muon(engine)
    return engine


def _load(folder: str) -> tuple[Any, Chat]:
    return load_model(folder, local_device(), torch.float32)


def _base(parts: Sequence[Any]) -> tuple[Any, Chat]:
    """The tiny model with a tokenizer of the environments' words; common tokens keep their rows."""
    texts = ["system\n", "user\n", "assistant\n"] * 40
    for envs in parts:
        problems = [envs.problems[index] for index in range(1000)]
        texts += ["".join(envs.instruction.ask(p)) + f"\n{p.solution}" for p in problems]
    tiny, old = _load(str(TINY))
    with tempfile.TemporaryDirectory() as untrained:
        save_untrained(Path(untrained), texts, seed=0)
        model, chat = _load(untrained)
    weights = dict(tiny.state_dict())
    size, tokens = len(old.tokenizer), chat.tokenizer.get_vocab()
    common = {new: old.tokenizer.get_vocab().get(token) for token, new in tokens.items()}
    for name, weight in model.state_dict().items():
        before = weights[name]
        if before.shape[0] == size:
            for new, index in common.items():
                if index is not None:
                    weight[new] = before[index]
        else:
            weight.copy_(before)
    return model, chat
