"""A run made ready: its environment and engines, how far it is, and what it finds and leaves."""

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import reasonenv
from agents import agreement, card, checkpoints
from agents.engines.build import Engines, build, ranks
from agents.evaluation.exam import Exam, evaluate
from agents.learner import Learner
from agents.logs import RunLog, plain
from agents.plan import brief
from agents.references import fixed
from agents.settings import Run, check, environment_options
from agents.sft import recipe, tiny_model
from agents.update import Passes
from reasonenv.entry import HELD_OUT, split_of
from reasonenv.registration import find


@dataclass
class Job:
    """What a run holds on to from step to step."""

    run: Run
    learner: Learner
    folder: Path
    envs: Any
    engines: Engines
    splits: tuple[str, ...]
    """Those to evaluate on."""
    step: int = 0
    """Steps that are done."""
    position: int = 0
    """In the walk through the problems, of the first one of the next step, over all ranks."""

    def identity(self) -> dict[str, Any]:
        """What a checkpoint and a run must share to fit."""
        return {
            "learner": type(self.learner).__name__,
            "model": checkpoints.fingerprint(self.engines.policy.model.state_dict().items()),
            "num_ranks": self.engines.train.num_ranks,
        }

    def save(self) -> None:
        """Writes the checkpoint of this step; every rank calls it."""
        engine, reference = self.engines.train, self.engines.reference

        def write(folder: Path) -> None:
            engine.save(folder)
            if reference and engine.rank == 0:
                reference.save(folder)
            if engine.rank == 0:
                card.write(folder, self.folder, self.step)

        checkpoints.save(
            self.folder,
            self.step,
            write,
            self.identity() | {"position": self.position},
            keep=self.run.keep_checkpoints,
            rank=engine.rank,
            barrier=self.barrier,
        )

    def restore(self, checkpoint: Path) -> None:
        """Goes back, or on, to what `save` wrote; every rank calls it.

        Raises:
            ValueError: In one line, when it is of another model, learner or number of ranks.
        """
        state = checkpoints.read_state(checkpoint, self.identity())
        # Without dynamic sampling, and so in the checkpoints of 0.1.0, a step is a stride.
        self.step = state["step"]
        self.position = state.get("position", self.step * self.run.num_prompts)
        self.engines.train.load(checkpoint)
        if self.engines.reference:
            self.engines.reference.load(checkpoint)
        self.engines.sampler.load_weights(self.engines.train.weights())

    def evaluate(self, log: RunLog) -> None:
        """Accuracy on each evaluation split, by rank 0 while the others wait."""
        for split in self.splits:
            if self.engines.train.rank == 0:
                result = evaluate(self.engines.sampler, exam(self.run, split))
                log.write_evaluation(self.step, result.summary())
                log.say(f"step {self.step}: {result}")
            self.barrier()

    def passes(self) -> Passes:
        """How an update goes through its responses."""
        return Passes(
            minibatch_size=self.run.minibatch_size,
            microbatch_size=self.run.microbatch_size,
            tokens_per_microbatch=self.run.tokens_per_microbatch,
            epochs=self.run.epochs,
        )

    def first(self, value: int) -> int:
        """What rank 0 gives; every rank calls this."""
        return int(self.engines.train.gather(torch.tensor([value]))[0])

    def any(self, condition: bool) -> bool:
        """Whether it holds on any rank; every rank calls this."""
        return bool(self.engines.train.gather(torch.tensor([condition])).any())

    def barrier(self) -> None:
        """Returns when every rank is here."""
        self.any(False)


def prepare(run: Run, learner: Learner) -> Job:
    """The job that the settings ask for, begun or restored.

    Raises:
        ValueError: In one line, when something does not fit; nothing has been written then.
    """
    check(run)
    folder = run.folder(type(learner).__name__)
    found = checkpoints.start(folder, plain(settings(run, learner)), run.resume)
    envs, splits = make_envs(run)
    warm = recipe(run.env, run.env_options, run.seed)
    refresh = getattr(learner, "reference", fixed) if learner.uses_reference else None
    if run.model == "tiny":
        model = str(tiny_model(warm))
    else:
        model = run.model
        say(brief(run, learner, ranks()[1]))
    engines = build(run, model, refresh)
    job = Job(run, learner, folder, envs, engines, splits)
    if found:
        job.restore(found)
    else:
        engines.sampler.load_weights(engines.train.weights())
    say(agree(job))
    return job


def agree(job: Job) -> str:
    """Compares sampler and trainer on a few problems; what was found, in one line.

    Raises:
        ValueError: In one line, when they are too far apart, or cannot read these problems.
    """
    engines, run = job.engines, job.run
    count = min(agreement.NUM_PROBLEMS, len(job.envs.problems))
    posed, _ = job.envs.reset(options={"indices": list(range(count))})
    found = agreement.measure(engines.train, engines.sampler, engines.chat, posed)
    dtypes = engines.policy.model.dtype, getattr(engines.sampler, "dtype", torch.float32)
    found.check(agreement.bound(*dtypes) if run.agreement is None else run.agreement)
    return str(found)


def say(line: str) -> None:
    """Shows a line on standard error, once for all ranks."""
    if ranks()[0] == 0:
        print(line, file=sys.stderr)


def settings(run: Run, learner: Learner) -> dict[str, Any]:
    """Everything that decides a run's numbers, by name."""
    return {"run": run, "algorithm": type(learner).__name__, "learner": learner}


def make_envs(run: Run) -> tuple[Any, tuple[str, ...]]:
    """The training environment of this rank, and the names of the splits to evaluate on."""
    rank, num_ranks = ranks()
    if run.num_prompts % num_ranks:
        raise ValueError(f"--num-prompts {run.num_prompts} does not divide among {num_ranks} ranks")
    if run.minibatch_size % (num_ranks * run.group_size):
        raise ValueError(
            f"--minibatch-size {run.minibatch_size} must hold whole groups of {run.group_size} on "
            f"each of {num_ranks} ranks"
        )
    options = environment_options(run.env_options, run.data)
    envs = reasonenv.make(
        run.env,
        num_envs=run.num_prompts // num_ranks * run.group_size,
        group_size=run.group_size,
        rank=rank,
        num_ranks=num_ranks,
        **options,
    )
    return envs, tuple(_evaluation_splits(run, options)) if run.num_test_problems else ()


def _evaluation_splits(run: Run, options: dict[str, Any]) -> Iterator[str]:
    """Splits that are not trained on; one that local data lack is named and left out."""
    module = importlib.import_module(find(run.env).module)
    holdout = options.get("holdout")
    trained = split_of(module, options.get("split"), holdout)
    splits = getattr(module, "SPLITS", ())
    # A benchmark without a training split has others that are parts of what is trained on.
    others = splits if "train" in splits else ()
    own = (HELD_OUT,) if holdout is not None else ()
    if splits and not others and not own:
        say(
            f"no evaluation: {run.env} has no training split; a part is held out by --env-options "
            "'{\"holdout\": 0.1}'"
        )
    for split in dict.fromkeys((*others, *own)):
        if split == trained:
            continue
        try:
            reasonenv.make(run.env, num_envs=1, **{**options, "split": split}).close()
            yield split
        except (ValueError, OSError) as error:
            say(f"no evaluation on {split}: {error}")


def exam(run: Run, split: str) -> Exam:
    """How a run looks at a split: with the responses that it would train on."""
    return Exam(
        env=run.env,
        split=split,
        env_options=run.env_options,
        data=run.data,
        num_problems=run.num_test_problems,
        seed=run.seed,
    )
