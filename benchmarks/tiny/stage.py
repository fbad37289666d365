"""One stage of supervised fine-tuning: python -m benchmarks.tiny.stage --help.

It differs from `agents.sft` by Muon, by a model of random weights to begin with, and by problems
that are drawn in favour of the families that are not learnt.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
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
from agents.engines.process import computation_dtype, keep_freed_memory, set_threads
from agents.engines.sampling import Sampling
from agents.engines.torch import TorchEngine
from agents.monitoring.progress_bar import ProgressBar
from agents.sft import DISPLAYED, example, save, train_step
from agents.storage.lock import locked
from agents.training.dynamic_sampling import concatenate
from benchmarks.tiny.choice import ProblemChoice
from benchmarks.tiny.model import GENERATED, save_untrained, tokenizer_corpus
from benchmarks.tiny.muon import use_muon


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Supervised fine-tuning with Muon on the worked solutions of an environment."""

    env: str = "Figures-v2"
    """Environment whose problems have worked solutions."""
    env_options: str = "{}"
    """Further arguments of the environment as JSON."""
    model: str = "tiny"
    """Untrained: 'tiny' or 'small'; or the folder of a model."""
    num_steps: int = 4000
    """Optimizer steps."""
    batch_size: int = 48
    """Solutions per step."""
    num_problems: int = 1_000_000
    """Number of problems to draw from."""
    balance: bool = True
    """Draw problems of a family more often where the model's probability of their solutions is
    lower."""
    learning_rate: float = 1e-3
    """Peak learning rate of AdamW, half of Muon's, after 50 steps of warm-up; cosine decay."""
    seed: int = 0
    """Seed of the untrained model's weights and of the order of the problems."""


def train(stage: Stage, folder: Path) -> Path:
    """Trains a stage into a folder, unless it is complete there."""
    if (folder / "config.json").is_file():
        return folder
    with closing(reasonenv.make(stage.env, num_envs=1, **json.loads(stage.env_options))) as envs:
        model, chat = _base(stage, envs)
        steps = stage.num_steps
        engine = engine_of(model, chat, stage.learning_rate, steps)
        sizes = stage.num_problems, stage.batch_size, stage.seed
        choice = ProblemChoice(envs.problems, *sizes, balance=stage.balance)
        with closing(ProgressBar(steps, of="warm start", displayed=DISPLAYED)) as bar:
            for step in range(1, steps + 1):
                indices = choice.draw()
                batch = concatenate([example(envs, chat, index) for index in indices])
                loss, probabilities = train_step(engine, batch)
                choice.update(indices, probabilities)
                bar.show(step, {"loss": loss, "solved": sum(probabilities) / len(probabilities)})
    save(folder, model, chat)
    return folder


def engine_of(model: Any, chat: Chat, learning_rate: float, num_steps: int) -> TorchEngine:
    """A trainer of all weights by Muon and AdamW, after 50 steps of warm-up."""
    policy = Policy(model, computation_dtype("auto", model.device, model.num_parameters()))
    optimization = Optimization(learning_rate, num_steps, warmup_steps=50, betas=(0.9, 0.98))
    engine = TorchEngine(policy, chat, Sampling(1.0, chat.banned), optimization)
    use_muon(engine)
    return engine


def _base(stage: Stage, envs: Any) -> tuple[Any, Chat]:
    if stage.model not in GENERATED:
        return load_model(stage.model, local_device(), torch.float32)
    with tempfile.TemporaryDirectory() as untrained:
        corpus, size = tokenizer_corpus(envs), GENERATED[stage.model]
        save_untrained(Path(untrained), corpus, stage.seed, size)
        return load_model(untrained, local_device(), torch.float32)


@dataclass(frozen=True, kw_only=True)
class Command(Stage):
    """A stage of the warm start of a generated model."""

    output_dir: Path = Path("stage")
    """Folder for the model, in Hugging Face format."""


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; `arguments` are those of this process unless given."""
    stage = parse(Command, "benchmarks.tiny.stage", arguments)
    keep_freed_memory()
    set_threads()
    with errors_in_one_line(), locked(stage.output_dir):
        print(f"wrote {train(stage, stage.output_dir)}", file=sys.stderr)


if __name__ == "__main__":
    main()
