"""The warm start of tiny-tools, which calls tools: python -m benchmarks.tiny.tools --help.

From the tiny model on, worked episodes of Sum-v0 and Zoom-v0 in equal parts: first right ones, then
a few steps on episodes of which some have a wrong digit, in a call or in the answer, so that
reinforcement learning has something to unlearn.
"""

import random
import re
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import torch

import reasonenv
from agents.cli.exit import errors_in_one_line, standard_streams
from agents.cli.flags import parse
from agents.engines.load import load_model, local_device
from agents.engines.pretrained import model_folder
from agents.engines.process import keep_freed_memory, set_threads
from agents.monitoring.progress_bar import ProgressBar
from agents.sft import DISPLAYED, example, save, train_step
from agents.storage.lock import locked
from agents.training.dynamic_sampling import concatenate
from benchmarks.tiny.stage import engine_of

TASKS = {"Sum-v0": {}, "Zoom-v0": {"level": 2}}
"""Environments and their arguments."""


@dataclass(frozen=True, kw_only=True)
class Episodes:
    """A stage of the warm start of tiny-tools."""

    model: str = "tiny"
    """Folder of the model to begin with, or 'tiny'."""
    num_steps: int = 1500
    """Optimizer steps."""
    batch_size: int = 48
    """Episodes per step."""
    slip: float = 0.0
    """Probability of a wrong digit in an episode."""
    learning_rate: float = 1e-3
    """Peak learning rate of AdamW, half of Muon's, after 50 steps of warm-up; cosine decay."""
    seed: int = 0
    """Seed of the choice of problems and of the wrong digits."""
    output_dir: Path = Path("tools")
    """Folder for the model, in Hugging Face format."""


def with_slip(solution: str, rng: random.Random) -> str:
    """A solution with another digit in place of one of its digits."""
    place = rng.choice(list(re.finditer("[0-9]", solution)))
    other = rng.choice("123456789".replace(place[0], ""))
    return solution[: place.start()] + other + solution[place.end() :]


def train(stage: Episodes) -> Path:
    """Trains a stage into its folder."""
    folder, rng = stage.output_dir, random.Random(stage.seed)

    def change(solution: str) -> str:
        return with_slip(solution, rng) if rng.random() < stage.slip else solution

    model, chat = load_model(model_folder(stage.model), local_device(), torch.float32)
    engine = engine_of(model, chat, stage.learning_rate, stage.num_steps)
    with ExitStack() as stack:
        made = (reasonenv.make(name, num_envs=1, **options) for name, options in TASKS.items())
        tasks = [stack.enter_context(closing(envs)) for envs in made]
        bar = stack.enter_context(
            closing(ProgressBar(stage.num_steps, of="warm start", displayed=DISPLAYED))
        )
        for step in range(1, stage.num_steps + 1):
            envs = [tasks[number % len(tasks)] for number in range(stage.batch_size)]
            batch = [example(each, chat, rng.randrange(10**6), change) for each in envs]
            loss, probabilities = train_step(engine, concatenate(batch))
            bar.show(step, {"loss": loss, "solved": sum(probabilities) / len(probabilities)})
    save(folder, model, chat)
    return folder


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; `arguments` are those of this process unless given."""
    stage = parse(Episodes, "benchmarks.tiny.tools", arguments)
    keep_freed_memory()
    set_threads()
    with errors_in_one_line(), locked(stage.output_dir):
        print(f"wrote {train(stage)}", file=sys.stderr)


if __name__ == "__main__":
    main()
