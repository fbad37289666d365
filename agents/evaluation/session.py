"""An evaluation from its first batch to its results, whatever stops it in between."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from functools import cache
from pathlib import Path

import numpy as np

from agents.engines import RolloutEngine
from agents.evaluation.exam import Sitting
from agents.evaluation.published import overall
from agents.evaluation.responses import RECORD, ResponseFile, alone, check_settings
from agents.evaluation.scores import official, rates
from agents.evaluation.settings import Evaluate, check
from agents.evaluation.summary import LEFT_OUT, Row, posed, summarise
from agents.evaluation.tables import Result, rate
from agents.monitoring.logs import plain
from agents.monitoring.progress import Progress
from agents.storage.files import read_object, write_atomically
from agents.storage.provenance import write_run
from agents.training.interrupt import Interrupt

RESULTS = "results.json"


class Stopped(Exception):  # noqa: N818 - no error: what was asked for is on the disk
    """A signal ended the evaluation between two batches; its argument is the signal's name."""


def run(
    settings: Evaluate, make_sampler: Callable[[], AbstractContextManager[RolloutEngine]]
) -> dict[str, Result]:
    """Evaluates, or goes on, and gives the results by environment, also written to a file.

    Args:
        settings: What is asked, of which model, and the folder.
        make_sampler: Loads the model, until it has sampled; called only when a response is missing.

    Raises:
        ValueError: In one line, when a setting does not fit or differs from what is in the folder.
        Stopped: After SIGINT or SIGTERM, when the responses of the last batch are written.
    """
    check(settings)
    folder, deciding = settings.folder(), settings.deciding()
    with ExitStack() as stack:
        exams = settings.exams()
        sittings = [stack.enter_context(closing(Sitting(exam))) for exam in exams]
        stack.enter_context(alone(folder))
        check_settings(folder, deciding)
        paths = [folder / f"{exam.env}.jsonl" for exam in exams]
        sizes = [sitting.sizes() for sitting in sittings]
        files = [ResponseFile(*both) for both in zip(paths, sizes, strict=True)]
        with ExitStack() as samplers:  # ended before official scores are computed
            loaded = cache(lambda: samplers.enter_context(make_sampler()))
            if not all(file.is_complete for file in files):
                loaded()  # a model that cannot be had is told before anything is written
                write_run(folder, deciding, sum(len(file.rows) for file in files))
            with Interrupt(what="batch") as interrupt:
                speeds = [
                    _answer(*both, loaded, interrupt) for both in zip(sittings, files, strict=True)
                ]
        results = {
            sitting.exam.env: _result(sitting, file.rows, speed)
            for sitting, file, speed in zip(sittings, files, speeds, strict=True)
        }
        return _write(folder, results)


def _answer(
    sitting: Sitting,
    file: ResponseFile,
    make_sampler: Callable[[], RolloutEngine],
    interrupt: Interrupt,
) -> float | None:
    """Adds what is missing in the file; gives responses per second, None when nothing was."""
    if file.is_complete:
        return None
    before, began = len(file.rows), time.monotonic()
    batches = sitting.ask(make_sampler(), file.num_batches)
    progress = Progress(sitting.num_responses, before, unit="response", of=sitting.exam.env)
    with closing(progress):
        for rows in batches:
            file.append(rows)
            progress.show(len(file.rows), _so_far(file.rows))
            if interrupt:
                raise Stopped(interrupt.name)
    return (len(file.rows) - before) / (time.monotonic() - began)


def _so_far(rows: Sequence[Row]) -> dict[str, float]:
    return {
        "reward/accuracy": float(np.mean([row["correct"] for row in rows])),
        "response/length_mean": float(np.mean([row["length"] for row in rows])),
    }


def _result(sitting: Sitting, rows: Sequence[Row], speed: float | None) -> Result:
    """Everything that is known about one environment's responses."""
    for fault in dict.fromkeys(row["fault"] for row in rows if row["status"] == LEFT_OUT):
        print(f"left out: {fault}", file=sys.stderr)
    answered = posed(rows)
    found = summarise(sitting.exam.env, sitting.split, rows, sitting.num_left_out)
    return {
        **found.summary(),
        **rates(answered),
        "official": official(sitting, answered),
        "throughput/responses_per_s": speed,
    }


def _write(folder: Path, results: dict[str, Result]) -> dict[str, Result]:
    """Adds results to those of other environments that were evaluated into the folder.

    How fast responses came is only known to the run that sampled them.
    """
    path, speed = folder / RESULTS, "throughput/responses_per_s"
    before = read_object(path)["results"] if path.exists() else {}
    for env, result in results.items():
        if result[speed] is None and env in before:
            results[env] = {**result, speed: before[env][speed]}
    together = before | results
    over_all = overall({env: rate(result) for env, result in together.items()})
    origin = read_object(folder / RECORD)
    content = plain({**origin, "results": together, "overall": over_all})
    write_atomically(path, json.dumps(content, indent=2, allow_nan=False).encode() + b"\n")
    return {env: content["results"][env] for env in results}
