"""This project as one side: python -m throughput.ours CONFIG.

The loop, its clock and its log are those of `agents.run`; phases are the log's own `time/` metrics,
and what the engine computes without gradient is told apart from training.
"""

import time

_began = time.perf_counter()

import contextlib  # noqa: E402 - the clock runs while the rest is imported
import json  # noqa: E402
import sys  # noqa: E402
from collections.abc import Sequence  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from agents.cli.settings import Run  # noqa: E402
from agents.engines import transformers as sampling  # noqa: E402
from agents.grpo import GRPO  # noqa: E402
from agents.monitoring.logs import RunLog  # noqa: E402
from agents.reductions import token_mean  # noqa: E402
from agents.run import train  # noqa: E402
from agents.training.setup import prepare  # noqa: E402
from agents.training.state import RunState  # noqa: E402
from throughput import limited, proof  # noqa: E402
from throughput.problems import ENV  # noqa: E402
from throughput.regimes import Regime, force  # noqa: E402
from throughput.sizes import SIZES, Size  # noqa: E402
from throughput.worker import Line, Phases, Turns  # noqa: E402

_imported = time.perf_counter()
LEARNER = GRPO(beta=None, reduction=token_mean)
PARTS = {"sample": "time/rollout_s", "grade": "time/grade_s", "sync": "time/sync_s"}


class Graded:
    """The environment, handed the texts of the regime; rewards differ within each group.

    Random weights earn nothing, and a step without a signal would not be taken, as the peer's is.
    """

    def __init__(self, envs: Any, regime: Regime) -> None:
        self._envs, self._regime = envs, regime

    def __getattr__(self, name: str) -> Any:
        return getattr(self._envs, name)

    def submit(self, index: int, response: str) -> None:
        """Starts grading."""
        self._envs.submit(index, self._regime.text(index, response))

    def step(self, responses: Sequence[str]) -> Any:
        """Grades."""
        texts = [self._regime.text(i, text) for i, text in enumerate(responses)]
        observations, rewards, *rest = self._envs.step(texts)
        return observations, rewards + np.arange(len(rewards)) % 2, *rest


class Steps(RunLog):
    """The log of a run, which also tells steps apart and waits between turns."""

    turns: Turns
    phases: Phases

    def write(self, step: int, metrics: Any) -> None:
        """See `RunLog`."""
        super().write(step, metrics)
        row = {name: metrics[key] for name, key in PARTS.items()}
        row["log_prob"] = self.phases.taken().get("log_prob", 0.0)
        row["train"] = metrics["time/train_s"] - row["log_prob"]
        self.turns.stepped(row)


class After:
    """An interrupt that comes after so many steps, without a checkpoint."""

    def __init__(self, job: RunState, steps: int) -> None:
        self.job, self.steps = job, steps

    def __bool__(self) -> bool:
        return self.job.step >= self.steps


def settings(config: dict[str, Any], size: Size) -> Run:
    """A run as a user would ask for it."""
    given = {
        "env": ENV,
        "env_options": {"prompt": size.prompt},
        "data": config["data"],
        "model": config["model"],
        "output_dir": config["scratch"],
        "num_steps": 2 * 10**6,
        "save_every": 2 * 10**6,
        "save_minutes": 0,
        "num_test_problems": 0,
        "num_prompts": size.num_prompts,
        "group_size": size.group_size,
        "minibatch_size": size.responses,
        "microbatch_size": size.microbatch_size,
        "max_response_length": size.longest,
        "learning_rate": 1e-6,
    }
    return Run(**given | config.get("run", {}))


def limit(sampler: Any, regime: Regime) -> None:
    """Gives each response the length that the regime wants."""
    if not isinstance(sampler, sampling.TransformersSampler):
        limited.vllm(sampler.llm, regime)
        return
    eos, drawn, ends = sampler.chat.eos, sampling._Decoding._sample, []
    head = sampler.policy.model.get_output_embeddings()
    head.register_forward_hook(
        lambda _module, _inputs, logits: force(logits, ends[-1], eos) if ends else None
    )

    def sample(decoding: Any, hidden: Any, alive: Any) -> Any:
        decoding.number = getattr(decoding, "number", 0) + 1
        rows = [decoding.first + row for row in alive.tolist()]
        ends.append(regime.ends(rows, decoding.number))
        try:
            return drawn(decoding, hidden, alive)
        finally:
            ends.pop()

    sampling._Decoding._sample = sample  # pyright: ignore[reportAttributeAccessIssue]


def made(config: dict[str, Any], size: Size, regime: Regime, phases: Phases) -> RunState:
    """The job, whose sampler and environment obey the regime."""
    job = prepare(settings(config, size), LEARNER)
    job.position = config.get("position", 0)
    job.envs = Graded(job.envs, regime)
    limit(job.engines.sampler, regime)
    phases.wrap(job.engines.train, "forward", "log_prob", only_without_grad=True)
    return job


def main(config: dict[str, Any]) -> None:
    line, phases, size = Line(), Phases(), SIZES[config["size"]]
    regime = Regime(size.responses, size.length, size.longest, config["enemies"])
    job = made(config, size, regime, phases)

    def prove(command: dict[str, Any]) -> bool:
        line.tell(proof.compare(job.engines.train, Path(command["file"]), command["case"], size))
        phases.taken()
        return True

    log = Steps(job.folder, job.run.num_steps)
    log.turns, log.phases = Turns(line, regime, prove), phases
    with contextlib.closing(job.envs), log:
        ready = time.perf_counter()
        line.tell({"import_s": _imported - _began, "ready_s": ready - _began})
        log.turns.wait()
        train(job, log, After(job, 10**6))  # pyright: ignore[reportArgumentType]


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
