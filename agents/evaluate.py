"""Accuracy of a model on a split of an environment: python -m agents.evaluate --help."""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

import reasonenv
from agents.command_line import env_and_model, errors_in_one_line, parse
from agents.engines import RolloutEngine
from agents.engines.load import check_size, load, place
from agents.engines.model import Policy, Sampling
from agents.engines.transformers import TransformersSampler
from agents.logs import line
from agents.settings import Run, defaults, environment_options
from agents.sft import recipe, tiny_model

BATCH = 256
"""Responses that are sampled and graded at a time."""


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """How many problems of a split a model solves."""

    env: str = "Figures-v0"
    """Environment, such as Figures-v0 or MMK12-v0."""
    split: str = "test"
    """Part of its data."""
    env_options: str = "{}"
    """Further arguments of the environment as JSON, such as '{"level": 2}'."""
    data: str | None = None
    """Folder with local files of the data set; by default REASONENV_DATA, then the hub."""
    model: str = "tiny"
    """Hub name, folder in Hugging Face format such as a checkpoint, or 'tiny'."""
    num_problems: int = 500
    """The first ones of the split."""
    num_samples: int = 1
    """Responses to each problem; at most 256 or a multiple of it."""
    temperature: float = 1.0
    """0 takes the most likely token."""
    top_p: float = 1.0
    """Draw from the likeliest tokens, as few as have this probability."""
    top_k: int = 0
    """Draw from this many tokens, the likeliest; 0 for all."""
    max_response_length: int = Run.max_response_length
    """Tokens after which a response is cut."""
    max_pixels: int = Run.max_pixels
    """Larger images are shrunk to this area."""
    sampler_batch_size: int = Run.sampler_batch_size
    """Responses sampled at a time, as many as the memory holds."""
    seed: int = 0
    """Of the responses."""
    output: Path = Path("responses.jsonl")
    """Where the responses and their verdicts go, as JSON lines; must not exist."""


@dataclass(frozen=True)
class Evaluation:
    """How many of a split's problems a model solves."""

    split: str
    accuracy: float
    """Mean over problems of the mean over samples, in [0, 1]."""
    standard_error: float
    """Of `accuracy`, over problems."""
    num_problems: int
    num_samples: int
    """Responses to each problem."""
    length_mean: float
    """Tokens per response."""
    truncated: float
    """Part of the responses that the length limit cut."""
    by: dict[str, float]
    """Accuracy by family, subject or whatever the environment tells its problems apart by."""
    rows: tuple[dict[str, Any], ...]
    """One for each response: problem, response, answer, reference, correct, status."""

    def summary(self) -> dict[str, Any]:
        """Everything but the responses."""
        return {name: value for name, value in asdict(self).items() if name != "rows"}

    def __str__(self) -> str:
        return f"{self.split} accuracy {self.accuracy:.3f} ± {self.standard_error:.3f}"


def evaluate(
    sampler: RolloutEngine,
    settings: Evaluate,
    record: Callable[[list[dict[str, Any]]], object] = lambda rows: None,
    progress: bool = False,
) -> Evaluation:
    """The accuracy of `sampler` on the first problems of a split, in the split's own order.

    Args:
        sampler: Gives the responses.
        settings: What to evaluate on, and how often.
        record: Called with the rows of each batch as soon as it is graded.
        progress: Whether to show a progress bar.

    Raises:
        ValueError: In one line, when the environment cannot be made or a number does not fit.
    """
    _check(settings)
    group = min(BATCH, settings.num_samples)
    places = min(BATCH // group, settings.num_problems)
    options: dict[str, Any] = environment_options(settings.env_options, settings.data)
    options["split"] = settings.split
    envs = reasonenv.make(
        settings.env,
        num_envs=places * group,
        group_size=group,
        **options,
    )
    rows: list[dict[str, Any]] = []
    try:
        count = min(settings.num_problems, len(envs.problems))
        total = count * settings.num_samples
        with tqdm(total=total, desc=settings.split, disable=not progress, leave=False) as bar:
            for part, repeat in _parts(count, settings.num_samples, places, group):
                new = _rollout(envs, sampler, part, (settings.seed, repeat, part[0]))
                record(new)
                bar.update(len(new))
                rows += new
    finally:
        envs.close()
    return _summarise(settings.split, rows, settings.num_samples)


def _check(settings: Evaluate) -> None:
    for name in ("num_problems", "num_samples", "max_response_length"):
        if getattr(settings, name) < 1:
            flag = name.replace("_", "-")
            raise ValueError(f"--{flag} is {getattr(settings, name)}: give at least 1")
    for name in ("temperature", "seed", "top_k"):
        value = getattr(settings, name)
        if not value >= 0:
            raise ValueError(f"--{name.replace('_', '-')} is {value}: give at least 0")
    if not 0 < settings.top_p <= 1:
        raise ValueError(f"--top-p is {settings.top_p}: give one in (0, 1]")


def _parts(
    problems: int, samples: int, prompts: int, group: int
) -> Iterator[tuple[list[int], int]]:
    """Indices of problems, a batch at a time, and which of the repetitions it is."""
    if samples % group:
        raise ValueError(f"num_samples {samples} must be at most {BATCH} or a multiple of it")
    for repeat in range(samples // group):
        for start in range(0, problems, prompts):
            yield list(range(start, min(start + prompts, problems))), repeat


def _rollout(
    envs: Any, sampler: RolloutEngine, part: list[int], seed: tuple[int, ...]
) -> list[dict[str, Any]]:
    """Poses the problems of a part, samples, grades; a part may be shorter than the environment."""
    places = envs.num_envs // envs.group_size
    padded = (part * math.ceil(places / len(part)))[:places]
    observations, _ = envs.reset(options={"indices": padded})
    count = len(part) * envs.group_size
    asked = {name: texts[:count] for name, texts in observations.items()}
    responses = sampler.generate(sampler.encode(asked), seed, envs.submit)
    _, _, _, _, infos = envs.step((*responses.texts, *[""] * (envs.num_envs - count)))
    return [
        {
            "id": str(infos["problem_id"][i]),
            "response": responses.texts[i],
            "answer": infos["answer"][i],
            "reference": infos["reference"][i],
            "correct": bool(infos["accuracy"][i]),
            "status": str(infos["status"][i]),
            "length": int(responses.lengths[i]),
            "finished": bool(responses.finished[i]),
            "kind": _kind(infos["metadata"][i]),
        }
        for i in range(count)
    ]


def _kind(metadata: Any) -> str:
    """What the environment tells its problems apart by: the first word of their metadata."""
    return next((value for value in metadata.values() if isinstance(value, str)), "all")


def _summarise(split: str, rows: list[dict[str, Any]], num_samples: int) -> Evaluation:
    by_problem: dict[str, list[bool]] = {}
    by_kind: dict[str, list[bool]] = {}
    for row in rows:
        by_problem.setdefault(row["id"], []).append(row["correct"])
        by_kind.setdefault(row["kind"], []).append(row["correct"])
    means = np.array([np.mean(correct) for correct in by_problem.values()])
    spread = float(means.std(ddof=1)) if len(means) > 1 else math.nan
    return Evaluation(
        split=split,
        accuracy=float(means.mean()),
        standard_error=spread / math.sqrt(len(means)),
        num_problems=len(means),
        num_samples=num_samples,
        length_mean=float(np.mean([row["length"] for row in rows])),
        truncated=float(np.mean([not row["finished"] for row in rows])),
        by={kind: float(np.mean(correct)) for kind, correct in sorted(by_kind.items())},
        rows=tuple(rows),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; `arguments` are those of this process unless given."""
    with errors_in_one_line():
        default = default_evaluation(*env_and_model(arguments))
    settings = parse(Evaluate, "agents.evaluate", arguments, default)
    with errors_in_one_line():
        if settings.output.exists():
            raise ValueError(f"{settings.output} is there already: give another --output")
        sampler = _sampler(settings)
        settings.output.parent.mkdir(parents=True, exist_ok=True)
        record = functools.partial(_append, settings.output)
        result = evaluate(sampler, settings, record, progress=True)
    print(f"{settings.env} {result} ({result.num_problems} problems)")
    for kind, accuracy in result.by.items():
        print(f"  {kind:20s} {accuracy:.3f}")
    print(f"responses: {settings.output}")


def default_evaluation(env: str | None = None, model: str | None = None) -> Evaluate:
    """The evaluation that looks at a model as its training run does."""
    run = defaults(env, model)
    return Evaluate(
        env=run.env,
        model=run.model,
        max_response_length=run.max_response_length,
        max_pixels=run.max_pixels,
        sampler_batch_size=run.sampler_batch_size,
    )


def _sampler(settings: Evaluate) -> RolloutEngine:
    folder = settings.model
    if folder == "tiny":
        folder = str(tiny_model(recipe(settings.env, settings.env_options, settings.seed)))
    device = place()
    check_size(folder, device, trains=False)
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    model, chat = load(folder, device, dtype, settings.max_pixels)
    sampling = Sampling(settings.temperature, chat.banned, settings.top_p, settings.top_k)
    return TransformersSampler(
        Policy(model), chat, sampling, settings.max_response_length, settings.sampler_batch_size
    )


def _append(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("ab") as file:
        file.write(b"".join(line(row) for row in rows))


if __name__ == "__main__":
    main()
