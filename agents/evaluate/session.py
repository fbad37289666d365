"""An evaluation in a folder: responses written batch by batch, results, and resumption."""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from agents.cli.interrupt import Interrupt
from agents.cli.model_choice import check_suits
from agents.cli.settings import environment_options
from agents.engines import RolloutEngine
from agents.errors import AgentsError, RecordError
from agents.evaluate.arguments import EvaluationArguments, check_arguments
from agents.evaluate.evaluator import EvaluationTask, Evaluator
from agents.evaluate.statistics import Result, Row, fault_lines, sample_scores, scored_rows
from agents.monitoring.progress_bar import ProgressBar
from agents.storage.atomic_files import append, write_atomically
from agents.storage.json_files import json_line, json_value, read_json, read_json_lines
from agents.storage.lock import locked
from agents.storage.provenance import grader_change, read_run, write_run
from reasonenv.console import print_line
from reasonenv.environment import HELD_OUT
from reasonenv.errors import ReasonEnvError
from reasonenv.grading import VERSION
from reasonenv.registration import find
from reasonenv.scoring import score

RECORD, RESULTS = "run.json", "results.json"


class Stopped(Exception):  # noqa: N818 - no error: the responses are on the disk
    """A signal ended the evaluation between two batches; its argument is the signal's name."""


def read_batches(path: Path, sizes: Sequence[int]) -> tuple[list[Row], int]:
    """The responses in a file, a line each, of whole batches, and the number of these.

    Those of an incomplete batch are removed from the file.

    Args:
        path: A `.jsonl`, which need not exist.
        sizes: Responses of each batch.

    Raises:
        RecordError: The file is damaged, or holds too many responses.
    """
    rows = read_json_lines(path)
    if len(rows) > sum(sizes):
        raise RecordError(
            f"{path} holds {len(rows)} responses, more than the {sum(sizes)} of this "
            "evaluation: its problems differ; give another --output-dir"
        )
    num_batches = int(np.searchsorted(np.cumsum(sizes), len(rows), side="right"))
    del rows[sum(sizes[:num_batches]) :]
    content = b"".join(map(json_line, rows))
    if path.exists() and path.stat().st_size != len(content):
        write_atomically(path, content)
    return rows, num_batches


def run_evaluation(
    arguments: EvaluationArguments,
    make_sampler: Callable[[], AbstractContextManager[RolloutEngine]],
) -> dict[str, Result]:
    """Evaluates or resumes; writes the results and returns them by environment.

    Args:
        arguments: Model, environments, sampling and folder.
        make_sampler: Loads the model; called only when a response is missing.

    Raises:
        UsageError: A setting does not fit.
        RecordError: The folder holds responses to other settings.
        Stopped: After a signal, when the responses of the last batch are written.
    """
    arguments = check_arguments(arguments)
    folder, settings = arguments.folder(), arguments.response_settings()
    with ExitStack() as stack:
        evaluators = [stack.enter_context(closing(Evaluator(t))) for t in arguments.tasks()]
        for each in evaluators:
            if line := trained_line(arguments.model, each.task, each.split):
                print_line(line, sys.stderr)
        stack.enter_context(locked(folder))
        check_settings(folder, settings)
        if message := grader_change(folder, VERSION):
            print_line(message, sys.stderr)
        batches = [read_batches(_file_of(e, folder), e.batch_sizes) for e in evaluators]
        counts = [len(rows) for rows, _ in batches]
        with ExitStack() as samplers:  # closed before official scores are computed
            load_sampler = cache(lambda: samplers.enter_context(make_sampler()))
            if counts != [sum(each.batch_sizes) for each in evaluators]:
                for each in evaluators:
                    if line := check_suits(arguments, each.task.env, each.problems):
                        print_line(line, sys.stderr)
                load_sampler()  # a model that cannot be loaded fails before anything is written
                write_run(folder, settings, sum(counts), VERSION)
            with Interrupt(what="batch") as interrupt:
                speeds = [
                    _sample(evaluator, _file_of(evaluator, folder), each, load_sampler, interrupt)
                    for evaluator, each in zip(evaluators, batches, strict=True)
                ]
        results = {
            evaluator.task.env: _result(evaluator, rows, speed, arguments.temperature)
            for evaluator, (rows, _), speed in zip(evaluators, batches, speeds, strict=True)
        }
        return _write(folder, results)


def _file_of(evaluator: Evaluator, folder: Path) -> Path:
    """Of the responses to an environment, which may have a library before a slash."""
    return folder / f"{evaluator.task.env.replace('/', '-')}.jsonl"


def trained_line(model: str, task: EvaluationTask, split: str) -> str:
    """A line where an evaluation poses problems that the model was trained on, else "".

    A checkpoint of a run may begin with that of another; of other models nothing is known.
    """
    folder = Path(model).resolve().parent.parent
    if not Path(model).is_dir() or not (folder / RECORD).is_file():
        return ""
    try:
        run = read_run(folder)["settings"]["run"]
        own, env = environment_options(run["env_options"], run["data"]), find(run["env"]).id
        if task.env in own.get("envs", ()):  # of a mixture
            own, env = {**own, **(own.get("options") or {}).get(task.env, {})}, task.env
        environment = find(task.env)
        # Questions of another file may be in a split of the same name.
        if env == task.env and (environment.schema or run["data"] == task.data):
            fraction = environment_options(task.env_options, task.data).get("holdout", 0)
            has_others = split == HELD_OUT and fraction > (own.get("holdout") or 0)
            if has_others or split == (own.get("split") or environment.resolve_split(None, own)):
                return f"{task.env}: {folder} was trained on problems of the split {split!r}"
    except (AgentsError, ReasonEnvError, KeyError, TypeError) as error:
        return f"the problems that {folder} was trained on are not known: {error}"
    return trained_line(str(run["model"]), task, split)


def check_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Raises RecordError where settings differ from those of the responses in a folder, by name."""
    files = list(folder.glob("*.jsonl"))
    if not (folder / RECORD).exists():
        if files:
            raise RecordError(f"{folder} is no folder of an evaluation: give another --output-dir")
        return
    recorded = read_run(folder)["settings"]
    is_evaluation = not recorded.keys().isdisjoint(settings)
    has_results = (folder / RESULTS).exists() or any(file.stat().st_size for file in files)
    if is_evaluation and not has_results:
        return
    flags = {name: f"--{name.replace('_', '-')}" for name in settings}
    flags |= {"weights": "the content of --model", "data_sha256": "the content of --data"}
    changes = "; ".join(
        f"{flags[name]} was {recorded.get(name)!r} and is {value!r}"
        for name, value in settings.items()
        if recorded.get(name) != value
    )
    if changes:
        raise RecordError(
            f"{folder} cannot be resumed with other settings: {changes}; give the former values, "
            "or another --output-dir"
        )


def _sample(
    evaluator: Evaluator,
    path: Path,
    batches: tuple[list[Row], int],
    load_sampler: Callable[[], RolloutEngine],
    interrupt: Interrupt,
) -> float | None:
    """Adds the missing batches, each durably and whole; responses a second, None without any."""
    (rows, num_batches), total = batches, sum(evaluator.batch_sizes)
    if (start_count := len(rows)) == total:
        return None
    start_time = time.monotonic()
    progress = ProgressBar(total, start_count, unit="response", of=evaluator.task.env)
    with closing(progress):
        for batch in evaluator.rows(load_sampler(), num_batches):
            append(path, b"".join(map(json_line, batch)))
            rows += batch
            names = {"reward/accuracy": "correct", "response/length_mean": "length"}
            means = {n: float(np.mean([row[key] for row in rows])) for n, key in names.items()}
            progress.show(len(rows), means)
            if interrupt:
                raise Stopped(interrupt.name)
    return (len(rows) - start_count) / (time.monotonic() - start_time)


def _result(
    evaluator: Evaluator, rows: Sequence[Row], speed: float | None, temperature: float
) -> Result:
    """Statistics, official score and speed of one environment's responses."""
    for line in fault_lines(rows):
        print_line(line, sys.stderr)
    scored = scored_rows(rows)
    return {
        **evaluator.evaluation(rows).summary(),
        **sample_scores(scored),
        "temperature": temperature,
        "official": _official_score(evaluator, scored),
        "throughput/responses_per_s": speed,
    }


def _official_score(evaluator: Evaluator, rows: Sequence[Row]) -> dict[str, Any] | None:
    """The benchmark's own score; None for what is no benchmark, or with a line on a failure."""
    task = evaluator.task
    if find(task.env).schema is None:
        return None
    responses = [{"id": row["id"], "response": row["response"]} for row in rows]
    try:
        return score(task.env, responses, data=task.data, split=evaluator.split)
    except ReasonEnvError as error:
        print_line(f"no official score of {task.env}: {error}", sys.stderr)
        return None


def _write(folder: Path, results: dict[str, Result]) -> dict[str, Result]:
    """Adds results to those of other environments in the folder.

    A speed that was not measured now is taken from the run that sampled the responses.
    """
    path, speed = folder / RESULTS, "throughput/responses_per_s"
    before = read_json(path)["results"] if path.exists() else {}
    for env, result in results.items():
        if result[speed] is None and env in before:
            results[env] = {**result, speed: before[env][speed]}
    content = json_value({**read_json(folder / RECORD), "results": before | results})
    write_atomically(path, json.dumps(content, indent=2, allow_nan=False).encode() + b"\n")
    return {env: content["results"][env] for env in results}
