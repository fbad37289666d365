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
from agents.engines import RolloutEngine
from agents.errors import RecordError
from agents.evaluation.arguments import EvaluationArguments, check_arguments
from agents.evaluation.evaluator import Evaluator
from agents.evaluation.published import overall_score
from agents.evaluation.statistics import (
    Result,
    Row,
    fault_lines,
    official_score,
    rate,
    sample_scores,
    scored_rows,
)
from agents.evaluation.trained_split import trained_line
from agents.monitoring.progress_bar import ProgressBar
from agents.storage.atomic_files import append, write_atomically
from agents.storage.json_files import json_line, json_value, read_json, read_json_lines
from agents.storage.lock import locked
from agents.storage.provenance import grader_change, read_run, write_run
from reasonenv.console import print_line
from reasonenv.grading import VERSION

RECORD, RESULTS = "run.json", "results.json"
COLUMNS = ("id", "sample", "response", "correct", "length", "finished", "kind")


class Stopped(Exception):  # noqa: N818 - no error: the responses are on the disk
    """A signal ended the evaluation between two batches; its argument is the signal's name."""


class ResponseFile:
    """The responses to one evaluation task in a file, a line each, in whole batches."""

    def __init__(self, path: Path, sizes: Sequence[int]) -> None:
        """Reads the responses of an earlier run, and removes those of an incomplete batch.

        Args:
            path: A `.jsonl`, which need not exist.
            sizes: Responses of each batch.

        Raises:
            RecordError: The file is damaged, or holds too many responses.
        """
        self.path = path
        self.rows: list[Row] = read_json_lines(path)
        for number, row in enumerate(self.rows, 1):
            missing = [name for name in COLUMNS if name not in row]
            if missing:
                raise RecordError(f"{path}, line {number} has no {missing[0]!r}: remove the file")
        if len(self.rows) > sum(sizes):
            raise RecordError(
                f"{path} holds {len(self.rows)} responses, more than the {sum(sizes)} of this "
                "evaluation: its problems differ; give another --output-dir"
            )
        self.num_batches = _num_complete(sizes, len(self.rows))
        """Batches that are complete."""
        self._sizes = sizes
        count = sum(sizes[: self.num_batches])
        content = b"".join(json_line(row) for row in self.rows[:count])
        if path.exists() and path.stat().st_size != len(content):
            write_atomically(path, content)
        del self.rows[count:]

    @property
    def is_complete(self) -> bool:
        """True if no batch is missing."""
        return self.num_batches == len(self._sizes)

    def append(self, rows: Sequence[Row]) -> None:
        """Adds a batch, durably on return, and either whole or not at all."""
        append(self.path, b"".join(json_line(row) for row in rows))
        self.rows += rows
        self.num_batches += 1


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
        files = [ResponseFile(_path(folder, e.task.env), e.batch_sizes()) for e in evaluators]
        with ExitStack() as samplers:  # closed before official scores are computed
            load_sampler = cache(lambda: samplers.enter_context(make_sampler()))
            if not all(file.is_complete for file in files):
                load_sampler()  # a model that cannot be loaded fails before anything is written
                write_run(folder, settings, sum(len(file.rows) for file in files), VERSION)
            with Interrupt(what="batch") as interrupt:
                speeds = [
                    _sample(*both, load_sampler, interrupt)
                    for both in zip(evaluators, files, strict=True)
                ]
        results = {
            evaluator.task.env: _result(evaluator, file.rows, speed, arguments.temperature)
            for evaluator, file, speed in zip(evaluators, files, speeds, strict=True)
        }
        return _write(folder, results)


def _path(folder: Path, env: str) -> Path:
    """File of the responses to an environment, whose name may have a library before a slash."""
    return folder / f"{env.replace('/', '-')}.jsonl"


def check_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Compares settings with those of the responses and results in a folder; without, any do.

    Args:
        folder: Of an evaluation, new or not.
        settings: Those that determine the responses, by the name of the flag.

    Raises:
        RecordError: In one line, with every setting that differs.
    """
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
    changes = [
        f"{_flag(name)} was {recorded.get(name)!r} and is {value!r}"
        for name, value in settings.items()
        if recorded.get(name) != value
    ]
    if changes:
        raise RecordError(
            f"{folder} cannot be resumed with other settings: {'; '.join(changes)}; give the "
            "former values, or another --output-dir"
        )


def _flag(name: str) -> str:
    contents = {"weights": "the content of --model", "data_sha256": "the content of --data"}
    return contents.get(name, f"--{name.replace('_', '-')}")


def _num_complete(sizes: Sequence[int], count: int) -> int:
    """Number of batches that the first `count` responses fill."""
    return int(np.searchsorted(np.cumsum(sizes), count, side="right"))


def _sample(
    evaluator: Evaluator,
    file: ResponseFile,
    load_sampler: Callable[[], RolloutEngine],
    interrupt: Interrupt,
) -> float | None:
    """Samples the missing batches; returns responses per second, None if none was missing."""
    if file.is_complete:
        return None
    start_count, start_time = len(file.rows), time.monotonic()
    batches = evaluator.rows(load_sampler(), file.num_batches)
    progress = ProgressBar(
        evaluator.num_responses, start_count, unit="response", of=evaluator.task.env
    )
    with closing(progress):
        for rows in batches:
            file.append(rows)
            progress.show(len(file.rows), _running_means(file.rows))
            if interrupt:
                raise Stopped(interrupt.name)
    return (len(file.rows) - start_count) / (time.monotonic() - start_time)


def _running_means(rows: Sequence[Row]) -> dict[str, float]:
    return {
        "reward/accuracy": float(np.mean([row["correct"] for row in rows])),
        "response/length_mean": float(np.mean([row["length"] for row in rows])),
    }


def _result(
    evaluator: Evaluator, rows: Sequence[Row], speed: float | None, temperature: float
) -> Result:
    """Statistics, official score and speed of one environment's responses."""
    for line in fault_lines(rows):
        print_line(line, sys.stderr)
    task, split, scored = evaluator.task, evaluator.split, scored_rows(rows)
    return {
        **evaluator.evaluation(rows).summary(),
        **sample_scores(scored),
        "temperature": temperature,
        "official": official_score(task.env, split, task.data, scored),
        "throughput/responses_per_s": speed,
    }


def _write(folder: Path, results: dict[str, Result]) -> dict[str, Result]:
    """Adds results to those of other environments in the folder.

    A speed that was not measured now is taken from the run that sampled the responses.
    """
    path, speed = folder / RESULTS, "throughput/responses_per_s"
    before = read_json(path)["results"] if path.exists() else {}
    for env, result in results.items():
        if result[speed] is None and env in before:
            results[env] = {**result, speed: before[env][speed]}
    merged = before | results
    overall = overall_score({env: rate(result) for env, result in merged.items()})
    record = read_json(folder / RECORD)
    content = json_value({**record, "results": merged, "overall": overall})
    write_atomically(path, json.dumps(content, indent=2, allow_nan=False).encode() + b"\n")
    return {env: content["results"][env] for env in results}
