"""The warm start of tiny-tools, which calls tools: python -m benchmarks.tiny.tools --help.

From the tiny model on, worked episodes of Sum-v0 and Zoom-v0: first right ones, then a few steps on
episodes of which some have a wrong digit, in a call or in the answer, so that reinforcement
learning has something to unlearn.
"""

import random
import re
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

import reasonenv
from agents.cli.exit import errors_in_one_line, standard_streams
from agents.cli.flags import parse
from agents.engines.load import load_model, local_device
from agents.engines.pretrained import TINY
from agents.engines.process import keep_freed_memory, set_threads
from agents.monitoring.progress_bar import ProgressBar
from agents.sft import DISPLAYED, example, save, train_step
from agents.storage.lock import locked
from agents.training.dynamic_sampling import concatenate
from benchmarks.tiny.recipe import write_half
from benchmarks.tiny.stage import engine_of

ZOOM: Any = ("Zoom-v0", {"level": 2})
TASKS: Any = (("Sum-v0", {}), ZOOM, ZOOM, ZOOM)
"""Environments and their arguments, in turn: sums are learnt in a quarter of the episodes."""


SLIP = 0.7
"""Probability of a wrong digit in an episode of the second stage."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Supervised fine-tuning with Muon on worked episodes."""

    num_steps: int
    """Optimizer steps."""
    learning_rate: float
    """Peak learning rate of AdamW, half of Muon's, after 50 steps of warm-up; cosine decay."""
    slip: float
    """Probability of a wrong digit in an episode."""
    batch_size: int = 32
    """Episodes per step."""
    seed: int = 0
    """Seed of the choice of problems and of the wrong digits."""


RECIPE = (
    Stage(num_steps=500, learning_rate=1e-3, slip=0.0),
    Stage(num_steps=120, learning_rate=3e-4, slip=SLIP, seed=1),
)


@dataclass(frozen=True, kw_only=True)
class WarmStart:
    """Warm start of tiny-tools, from the tiny model on."""

    output_dir: Path = Path("warm-tools")
    """Folder for the stages and the model, in Hugging Face format."""


def with_slip(solution: str, rng: random.Random) -> str:
    """A solution with another digit in place of one of its digits."""
    place = rng.choice(list(re.finditer("[0-9]", solution)))
    other = rng.choice("123456789".replace(place[0], ""))
    return solution[: place.start()] + other + solution[place.end() :]


def train(stage: Stage, start: Path, folder: Path) -> Path:
    """Trains a stage from a model on, unless it is complete in its folder."""
    if (folder / "config.json").is_file():
        return folder
    rng = random.Random(stage.seed)

    def change(solution: str) -> str:
        return with_slip(solution, rng) if rng.random() < stage.slip else solution

    model, chat = load_model(str(start), local_device(), torch.float32)
    engine = engine_of(model, chat, stage.learning_rate, stage.num_steps)
    with ExitStack() as stack:
        made = (reasonenv.make(name, num_envs=1, **options) for name, options in TASKS)
        tasks = [stack.enter_context(closing(envs)) for envs in made]
        bar = ProgressBar(stage.num_steps, of="warm start", displayed=DISPLAYED)
        stack.enter_context(closing(bar))
        for step in range(1, stage.num_steps + 1):
            envs = [tasks[number % len(tasks)] for number in range(stage.batch_size)]
            batch = [example(each, chat, rng.randrange(10**6), change) for each in envs]
            loss, probabilities = train_step(engine, concatenate(batch))
            bar.show(step, {"loss": loss, "solved": sum(probabilities) / len(probabilities)})
    save(folder, model, chat)
    return folder


def make(stages: Sequence[Stage], folder: Path) -> Path:
    """Trains the stages, and writes the model in float16, with its recipe, to `folder/model`."""
    model = TINY
    for number, stage in enumerate(stages, 1):
        model = train(stage, model, folder / f"stage-{number}")
    rows = [asdict(stage) | {"optimizer": "muon", "tasks": TASKS} for stage in stages]
    return write_half(model, rows, folder / "model")


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; `arguments` are those of this process unless given."""
    settings = parse(WarmStart, "benchmarks.tiny.tools", arguments)
    keep_freed_memory()
    set_threads()
    with errors_in_one_line(), locked(settings.output_dir):
        print(f"wrote {make(RECIPE, settings.output_dir)}", file=sys.stderr)


if __name__ == "__main__":
    main()
