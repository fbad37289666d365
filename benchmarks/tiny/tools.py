"""The warm start of the model for tools: python -m benchmarks.tiny.tools --help.

It begins with the tiny model, which reads digits, under a tokenizer of the words of Sum-v0 and
Zoom-v0, and has two stages on their worked episodes, equally many in a batch: right calls, then a
few steps on episodes with mistakes, so that reinforcement learning has something to unlearn.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

import reasonenv
from agents.cli.exit import errors_in_one_line, standard_streams
from agents.cli.flags import parse
from agents.engines.chat import Chat
from agents.engines.load import load_model, local_device
from agents.engines.pretrained import TINY
from agents.engines.process import keep_freed_memory, set_threads
from agents.monitoring.progress_bar import ProgressBar
from agents.sft import DISPLAYED, example, save, train_step
from agents.storage.lock import locked
from agents.training.dynamic_sampling import concatenate
from benchmarks.tiny.mistakes import Mistaken
from benchmarks.tiny.model import save_untrained
from benchmarks.tiny.recipe import pack
from benchmarks.tiny.stage import engine_of

ENVS = (("Sum-v0", {}), ("Zoom-v0", {"level": 1}), ("Zoom-v0", {"level": 2}))
"""Environments, with the arguments of what the model is for."""
ROLES = ["system\n", "user\n", "assistant\n"] * 40
"""Words of the chat template, for the corpus of the tokenizer."""
TIED = ("embed_tokens.weight", "lm_head.weight")
"""Names of the embeddings, which the head shares."""


@dataclass(frozen=True, kw_only=True)
class EpisodeStage:
    """Supervised fine-tuning with Muon on worked episodes; see `Mistaken` for their mistakes."""

    envs: Sequence[tuple[str, Mapping[str, Any]]] = ENVS
    """Environments with their arguments."""
    model: str = "tiny"
    """'tiny', which gets another tokenizer, or the folder of a model."""
    num_steps: int = 550
    """Optimizer steps."""
    batch_size: int = 48
    """Episodes per step, equally many of each environment."""
    learning_rate: float = 1e-3
    """Peak learning rate of AdamW, half of Muon's, after 50 steps of warm-up; cosine decay."""
    slip: float = 0.0
    guess: float = 0.1
    waste: float = 0.1
    problem_seed: int = 0
    """Chooses another sequence of problems."""


def recipe(seed: int = 0) -> tuple[EpisodeStage, EpisodeStage]:
    """The stages of the model of the package, for a seed of their problems."""
    clean = EpisodeStage(problem_seed=2 * seed)
    brief = {"num_steps": 120, "learning_rate": 3e-4, "problem_seed": 2 * seed + 1}
    return clean, replace(clean, slip=0.5, guess=0.25, waste=0.4, **brief)


def train(stage: EpisodeStage, folder: Path) -> Path:
    """Trains a stage into a folder, unless it is complete there."""
    if (folder / "config.json").is_file():
        return folder
    with ExitStack() as stack:
        parts = [stack.enter_context(closing(envs)) for envs in environments(stage)]
        model, chat = _base(parts) if stage.model == "tiny" else _load(stage.model)
        steps = stage.num_steps
        engine = engine_of(model, chat, stage.learning_rate, steps)
        count = max(1, stage.batch_size // len(parts))
        bar = ProgressBar(steps, of="warm start", displayed=DISPLAYED)
        stack.enter_context(closing(bar))
        for step in range(1, steps + 1):
            indices = range((step - 1) * count, step * count)
            batch = [example(envs, chat, index) for envs in parts for index in indices]
            loss, probabilities = train_step(engine, concatenate(batch))
            bar.show(step, {"loss": loss, "solved": sum(probabilities) / len(probabilities)})
    save(folder, model, chat)
    return folder


def environments(stage: EpisodeStage) -> list[Any]:
    """The environments of a stage, with its mistakes in their solutions."""
    parts = []
    for name, options in stage.envs:
        envs = reasonenv.make(name, num_envs=1, problem_seed=stage.problem_seed, **options)
        envs.problems = Mistaken(envs.problems, stage.slip, stage.guess, stage.waste)
        parts.append(envs)
    return parts


def _load(folder: str) -> tuple[Any, Chat]:
    return load_model(folder, local_device(), torch.float32)


def _base(parts: Sequence[Any]) -> tuple[Any, Chat]:
    """The tiny model with a tokenizer of the environments' words.

    Tokens that are in both vocabularies keep their embeddings; those of others are random.
    """
    corpus = [*ROLES]
    for envs in parts:
        problems = (envs.problems[index] for index in range(1000))
        corpus += ["".join((*envs.instruction.ask(p), "\n", str(p.solution))) for p in problems]
    with tempfile.TemporaryDirectory() as untrained:
        save_untrained(Path(untrained), corpus, seed=0)
        model, chat = _load(untrained)
    tiny, old = _load(str(TINY))
    vocabulary, before = chat.tokenizer.get_vocab(), old.tokenizer.get_vocab()
    common = sorted(vocabulary.keys() & before.keys())
    new, former = ([tokens[token] for token in common] for tokens in (vocabulary, before))
    state = tiny.state_dict()
    rows = tiny.get_input_embeddings().weight.detach()[former]
    model.load_state_dict({k: v for k, v in state.items() if not k.endswith(TIED)}, strict=False)
    model.get_input_embeddings().weight.detach()[new] = rows
    return model, chat


@dataclass(frozen=True, kw_only=True)
class Command:
    """Warm start of the model for tools, as that of `agents/tiny-tools`.

    Runs begin with it by --model DIR/model.
    """

    seed: int = 0
    """Chooses another sequence of problems."""
    num_steps: int | None = None
    """Steps of each stage, for a trial; by default those of the recipe."""
    batch_size: int | None = None
    """Episodes per step, for a trial; by default those of the recipe."""
    output_dir: Path = Path("warm")
    """Folder for the stages and the model, in Hugging Face format."""

    def stages(self) -> list[EpisodeStage]:
        """The stages of the recipe."""
        trial = {"num_steps": self.num_steps, "batch_size": self.batch_size}
        given = {name: value for name, value in trial.items() if value is not None}
        return [replace(stage, **given) for stage in recipe(self.seed)]


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; `arguments` are those of this process unless given."""
    settings = parse(Command, "benchmarks.tiny.tools", arguments)
    keep_freed_memory()
    if message := set_threads():
        print(message, file=sys.stderr)
    with errors_in_one_line(), locked(settings.output_dir):
        print(f"wrote {pack(settings.stages(), settings.output_dir, train)}")


if __name__ == "__main__":
    main()
