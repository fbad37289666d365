"""State of a run: environment, engines, position, checkpoints and evaluations."""

import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from agents.cli.settings import Run
from agents.engines.chat_template import check_template
from agents.engines.pretrained import checkpoint_errors, checkpoint_path
from agents.engines.sampler_process import Weights, trained_weights
from agents.evaluate.evaluator import EvaluationTask, evaluate
from agents.learner import Learner
from agents.monitoring.logs import RunLog, best_step
from agents.monitoring.timing import Interval
from agents.storage import checkpoints
from agents.storage.json_files import read_steps
from agents.storage.model_card import write_model_card
from agents.training.build import Engines
from agents.training.model_usage import usage_section
from agents.training.update import Passes
from reasonenv.console import print_line

VERSIONS = "versions.safetensors"
"""File of a checkpoint with the weights by which rollouts under way are sampled."""


@dataclass
class RunState:
    """Everything that a run keeps between steps."""

    run: Run
    learner: Learner
    folder: Path
    envs: Any
    engines: Engines
    splits: tuple[str, ...]
    """Evaluation splits."""
    step: int = 0
    """Completed steps."""
    position: int = 0
    """Index of the next step's first problem in the problem order, over all ranks."""
    is_updating: bool = False
    """True while the weights are those of an incomplete step, which cannot be saved."""
    num_rollbacks: int = 0
    """Rollbacks after a collapse."""
    versions: dict[int, Weights] = field(default_factory=dict)
    """With a staleness, on rank 0: copies of the weights after an update, by its step, with which
    the rollouts of later steps are sampled."""

    def __post_init__(self) -> None:
        """Starts the time between checkpoints."""
        self.save_interval = Interval(60 * self.run.save_minutes)

    def version(self, step: int) -> int:
        """The update after which the weights were that sample the rollout of a step."""
        return max(0, step - 1 - self.run.staleness)

    def keep_version(self) -> None:
        """Copies the weights of this step for rollouts to come, and drops those of past ones.

        They are all weights for a server, else those that are trained; every rank calls it.
        """
        if self.run.staleness:
            oldest, engine = self.version(self.step + 1), self.engines.train
            self.versions = {v: weights for v, weights in self.versions.items() if v >= oldest}
            weights: Any = trained_weights(self.engines.policy).items()
            if self.run.vllm_server is not None:
                weights = engine.checkpoint_weights()
            # Copies on the host, which later updates leave as they are.
            copies = {n: w.to("cpu", copy=True) for n, w in weights if engine.rank == 0}
            self.versions[self.step] = copies

    @property
    def reward_names(self) -> tuple[str, ...]:
        """Components of the reward in the infos of the environment."""
        return tuple(dict.fromkeys(("accuracy", "format", *self.envs.rewards)))

    def identity(self) -> dict[str, Any]:
        """Values that must be equal in a checkpoint and a run that resumes from it."""
        weights = self.engines.policy.model.state_dict(keep_vars=True).items()
        return {"learner": type(self.learner).__name__, "model": checkpoints.fingerprint(weights)}

    def save(self) -> None:
        """Writes the checkpoint of this step; every rank calls it."""
        run, engines, state = self.run, self.engines, {"num_ranks": self.engines.train.num_ranks}
        state |= {"position": self.position, "num_rollbacks": self.num_rollbacks}

        def write(folder: Path) -> None:
            engines.train.save(folder)
            if engines.train.rank == 0:
                if engines.reference:
                    engines.reference.save(folder)
                if run.staleness:
                    save_versions(folder, self.versions, self.step)
                parts = engines.chat, self.envs.instruction, run.max_response_length
                usage = usage_section(*parts, trust_remote_code=run.trust_remote_code)
                write_model_card(folder, self.folder, self.step, usage)

        with self.save_interval.action():
            checkpoints.save(
                self.folder,
                self.step,
                write,
                self.identity() | state,
                keep=run.keep_checkpoints,
                every=run.save_every,
                best=self.best_step(),
                rank=engines.train.rank,
                barrier=self.barrier,
            )

    def best_step(self) -> int | None:
        """Step of the best checkpoint so far by `--keep-best`; None without one."""
        # A run that is resumed with --keep-best has no checkpoints of many earlier evaluations.
        kept, metric = {*checkpoints.steps(self.folder), self.step}, self.run.keep_best
        return best_step(self.folder, metric, kept) if metric else None

    def resume(self, checkpoint: Path | None) -> None:
        """Loads the checkpoint that rank 0 gives; every rank calls it.

        Args:
            checkpoint: None to begin with the base model; ignored on other ranks.
        """
        step = self.broadcast(-1 if checkpoint is None else checkpoints.step_of(checkpoint))
        if step < 0:
            self.engines.sampler.load_weights(self.engines.train.checkpoint_weights())
            self.keep_version()
        else:
            self.restore(checkpoints.path_of(self.folder, step))

    def restore(self, checkpoint: Path) -> None:
        """Loads a checkpoint of `save`; every rank calls it.

        Problems after the checkpoint that were posed before a rollback are not posed again.

        Raises:
            CheckpointError: It has another model or learner, or the state of an optimizer that ZeRO
                has sharded over another number of ranks.
            RecordError: The record of the last rollback is damaged.
        """
        state, engine = checkpoints.read_state(checkpoint, self.identity()), self.engines.train
        before = state.get("num_ranks", engine.num_ranks)
        if before != engine.num_ranks and engine.rank == 0:
            line = f"ranks: {engine.num_ranks}, not {before} as before: responses have other seeds"
            print_line(line, sys.stderr)
        check_template(checkpoint, self.engines.chat.tokenizer)
        self.step, self.position = state["step"], state["position"]
        self.num_rollbacks = state["num_rollbacks"]
        last = checkpoints.last_rollback(self.folder)
        if last.count > self.num_rollbacks:
            self.position, self.num_rollbacks = last.position, last.count
        engine.load(checkpoint)
        if self.engines.reference:
            self.engines.reference.load(checkpoint)
        self.engines.sampler.load_weights(engine.checkpoint_weights())
        if self.run.staleness:
            self.versions = load_versions(checkpoint) if engine.rank == 0 else {}
            self.keep_version()

    def evaluate(self, log: RunLog) -> None:
        """Accuracy on each evaluation split that has none at this step; ranks share problems."""
        rows = read_steps(self.folder / "evaluations.jsonl")
        done = {row["split"] for row in rows if row["step"] == self.step}
        names = "env", "env_options", "data", "seed"
        options: dict[str, Any] = {name: getattr(self.run, name) for name in names}
        options["num_problems"] = self.run.num_test_problems
        for split in (split for split in self.splits if not self.broadcast(split in done)):
            task = EvaluationTask(split=split, **options)
            with log.pause(f"step {self.step}: evaluating {split}") as progress:
                result = evaluate(self.engines.sampler, task, self.engines.train, progress)
            log.write_evaluation(self.step, result.summary())
            log.say(f"step {self.step}: {result}")

    def is_evaluation_due(self) -> bool:
        """True at the intervals of the settings, and before the first and after the last step."""
        every = self.run.evaluate_every
        return self.step in (0, self.run.num_steps) or (every > 0 and self.step % every == 0)

    def passes(self) -> Passes:
        """Minibatches, microbatches and epochs of an update."""
        return Passes(**{field.name: getattr(self.run, field.name) for field in fields(Passes)})

    def broadcast(self, value: int) -> int:
        """The value of rank 0; every rank calls this."""
        return int(self.engines.train.all_gather(torch.tensor([value]))[0])

    def any(self, condition: bool) -> bool:
        """True if the condition holds on any rank; every rank calls this."""
        return bool(self.engines.train.all_gather(torch.tensor([condition])).any())

    def barrier(self) -> None:
        """Waits for all ranks."""
        self.any(False)


def save_versions(folder: Path, versions: Mapping[int, Weights], step: int) -> None:
    """Writes the weights of the updates before `step`, whose own are those of the checkpoint."""
    earlier = [(v, weights.items()) for v, weights in versions.items() if v < step]
    tensors = {f"{v}/{name}": weight for v, items in earlier for name, weight in items}
    save_file(tensors, folder / VERSIONS)


def load_versions(folder: Path) -> dict[int, Weights]:
    """The weights of `save_versions`, by update.

    Raises:
        CheckpointError: The file is missing or damaged.
    """
    path = checkpoint_path(folder, VERSIONS)
    versions: dict[int, dict[str, Tensor]] = defaultdict(dict)
    with checkpoint_errors(path):
        for key, weight in load_file(path).items():
            version, _, name = key.partition("/")
            versions[int(version)][name] = weight
    return dict(versions)
