"""Experiment trackers, each through its own library: `--track`.

Project, server and login are those of the library's own environment variables or configuration. A
resumed run continues the tracker's run, whose name stands in `trackers.json` of the run directory.
"""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple
from uuid import uuid4

from agents.errors import MissingPackageError, UsageError
from agents.storage.atomic_files import write_atomically
from agents.storage.json_files import read_json
from reasonenv.console import printable

Name = Literal["tensorboard", "wandb", "trackio", "mlflow"]
PROJECT = "reasonenv"
"""Project, or experiment, unless the library's environment variable names another."""
COLUMNS = ("problem_id", "question", "response", "answer", "reference", "reward", "accuracy")
"""Values of a response in a tracker's table."""


class Tracker(NamedTuple):
    """Functions of a run in one tracker."""

    log: Callable[[int, Mapping[str, float]], object]
    """Logs numbers by name, at a step."""
    log_table: Callable[[int, list[list[Any]]], object]
    """Logs rows of `COLUMNS`, at a step."""
    close: Callable[[bool], object]
    """Ends the run, as one that failed or as one that is finished."""


def start_tracker(name: Name, folder: Path, settings: Mapping[str, Any], step: int) -> Tracker:
    """Starts or continues a run in a tracker.

    Args:
        name: Of the tracker.
        folder: Run directory.
        settings: Of the run, as JSON.
        step: Completed steps.

    Raises:
        UsageError: The library refuses.
    """
    path = folder / "trackers.json"
    ids = {name: uuid4().hex[:8]} | (read_json(path) if path.exists() else {})
    write_atomically(path, json.dumps(ids).encode() + b"\n")
    try:
        return STARTS[name](folder, dict(settings), ids[name], step)
    except Exception as error:  # each library has types of its own
        raise UsageError(f"--track {name}: {' '.join(str(error).split())}") from error


def check_installed(names: Sequence[Name]) -> None:
    """Raises MissingPackageError for a tracker whose library is not installed."""
    for name in names:
        spec = find_spec(name)
        if spec is None or spec.origin is None:  # a mere folder of that name
            raise MissingPackageError(
                f"--track {name} needs its library: pip install {name}, or 'reasonenv[track]'"
            )


def _tensorboard(folder: Path, settings: dict[str, Any], identity: str, step: int) -> Tracker:
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)

    def log(step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, step)

    def log_table(step: int, rows: list[list[Any]]) -> None:
        cells = [cell for row in rows for cell in zip(COLUMNS, row, strict=True)]
        # An indented line is code in Markdown, in which nothing is markup.
        lines = [f"    {name}: {printable(str(value))}\n" for name, value in cells]
        writer.add_text("rollouts", "".join(lines), step)

    return Tracker(log, log_table, lambda failed: writer.close())


def _wandb(folder: Path, settings: dict[str, Any], identity: str, step: int) -> Tracker:
    import wandb  # pyright: ignore[reportMissingImports]

    names = {"name": folder.name, "id": identity, "dir": str(folder)}
    names["project"] = os.environ.get("WANDB_PROJECT", PROJECT)
    run = wandb.init(**names, config=settings, resume="allow")
    # Its own steps cannot go back, as those of a run that rolls back do.
    run.define_metric("*", step_metric="step")
    return Tracker(
        lambda step, values: run.log({"step": step, **values}),
        lambda step, rows: run.log({"step": step, "rollouts": wandb.Table([*COLUMNS], rows)}),
        lambda failed: run.finish(exit_code=int(failed)),
    )


def _trackio(folder: Path, settings: dict[str, Any], identity: str, step: int) -> Tracker:
    import trackio  # pyright: ignore[reportMissingImports]

    project = os.environ.get("TRACKIO_PROJECT", PROJECT)
    name = f"{folder.name}-{identity}"
    run = trackio.init(project, name, config=settings, resume="allow", embed=False)
    return Tracker(
        lambda step, values: run.log(dict(values), step=step),
        lambda step, rows: run.log({"rollouts": trackio.Table([*COLUMNS], rows)}, step=step),
        lambda failed: run.finish(),
    )


def _mlflow(folder: Path, settings: dict[str, Any], identity: str, step: int) -> Tracker:
    import mlflow  # pyright: ignore[reportMissingImports]

    if not {"MLFLOW_EXPERIMENT_NAME", "MLFLOW_EXPERIMENT_ID"} & set(os.environ):
        mlflow.set_experiment(PROJECT)
    query = f"tags.`reasonenv.run` = '{identity}'"
    if runs := mlflow.search_runs(filter_string=query, output_format="list"):
        run = mlflow.start_run(runs[0].info.run_id)
    else:
        run = mlflow.start_run(run_name=folder.name, tags={"reasonenv.run": identity})
        mlflow.log_dict(settings, "settings.json")

    def log(step: int, values: Mapping[str, float]) -> None:
        valid = {re.sub(r"[^\w\-. :/]", "_", name): value for name, value in values.items()}
        mlflow.log_metrics(valid, step, run_id=run.info.run_id)

    def log_table(step: int, rows: list[list[Any]]) -> None:
        columns = [[str(value) for value in column] for column in zip(*rows, strict=True)]
        table = {"step": [step] * len(rows), **dict(zip(COLUMNS, columns, strict=True))}
        mlflow.log_table(table, "rollouts.json", run_id=run.info.run_id)

    return Tracker(log, log_table, lambda f: mlflow.end_run("FAILED" if f else "FINISHED"))


STARTS = {"tensorboard": _tensorboard, "wandb": _wandb, "trackio": _trackio, "mlflow": _mlflow}
