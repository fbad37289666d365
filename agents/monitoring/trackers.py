"""Experiment trackers, each through its own library: `--track`.

Project, server and login are those of the library's own environment variables or configuration. A
resumed run continues the tracker's run, whose name stands in `trackers.json` of the run directory.
Steps that are repeated after a rollback or a kill are logged once more, except in TensorBoard.
"""

import importlib
import json
import os
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Protocol
from uuid import uuid4

from agents.errors import MissingPackageError, UsageError
from agents.storage.atomic_files import write_atomically
from agents.storage.json_files import read_json
from reasonenv.console import printable

Name = Literal["tensorboard", "wandb", "trackio", "mlflow"]
PROJECT = "reasonenv"
"""Project, or experiment, unless the library's environment variable names another."""
COLUMNS: tuple[str, ...] = (
    *("problem_id", "question", "response"),
    *("answer", "reference", "reward", "accuracy"),
)
"""Values of a response in a tracker's table."""
RECORD = "trackers.json"


class Tracker(Protocol):
    """A run in one tracker."""

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """Errors of the library that are no faults of this program."""
        ...

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Logs numbers by name, such as metrics of a training step or of an evaluation."""
        ...

    def log_responses(self, step: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Logs responses as a table; `RunLog.write_rollout` describes the rows."""
        ...

    def close(self, failed: bool) -> None:
        """Ends the run, as one that failed or as one that is finished."""
        ...


class Trackers:
    """The trackers of a run; one that fails is left out from then on, and a line says so."""

    def __init__(
        self,
        names: Sequence[Name],
        folder: Path,
        settings: Mapping[str, Any],
        start: int,
        say: Callable[[str], None],
    ) -> None:
        """Starts or continues a run in each.

        Args:
            names: Trackers.
            folder: Run directory.
            settings: Of the run, as JSON.
            start: Completed steps.
            say: Prints a line.
        """
        self._folder, self._settings, self._say = folder, settings, say
        self._open: dict[Name, Tracker] = {
            name: self._start(name, start) for name in dict.fromkeys(names)
        }

    def log(self, step: int, values: Mapping[str, Any]) -> None:
        """Logs the numbers among some values; others, such as None, are left out."""
        numbers = {n: v for n, v in values.items() if isinstance(v, int | float)}
        self._each(lambda tracker: tracker.log(step, numbers))

    def log_responses(self, step: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Logs responses as a table."""
        valid = [{name: _unicode(value) for name, value in row.items()} for row in rows]
        self._each(lambda tracker: tracker.log_responses(step, valid))

    def rewind(self, step: int) -> None:
        """Continues after an earlier step, to which the run has rolled back."""
        names = list(self._open)
        self.close()
        for name in names:
            try:
                self._open[name] = self._start(name, step)
            except UsageError as error:
                self._say(f"warning: {error}: the run goes on without it")

    def close(self, failed: bool = False) -> None:
        """Ends all runs, as failed or finished ones; may be called twice."""
        self._each(lambda tracker: tracker.close(failed))
        self._open = {}

    def _start(self, name: Name, step: int) -> Tracker:
        return TRACKERS[name](self._folder, self._settings, step)

    def _each(self, action: Callable[[Tracker], None]) -> None:
        for name, tracker in list(self._open.items()):
            try:
                action(tracker)
            except tracker.failures as error:
                del self._open[name]
                reason = " ".join(str(error).split())[:200]
                self._say(f"warning: {name} fails ({reason}): the run goes on without it")


def check_installed(names: Sequence[Name]) -> None:
    """Raises MissingPackageError for a tracker whose library is not installed."""
    for name in names:
        spec = find_spec(name)
        if spec is None or spec.origin is None:  # a mere folder of that name
            raise MissingPackageError(
                f"--track {name} needs its library: pip install {name}, or 'reasonenv[track]'"
            )


class TensorBoard:
    """Event files in the folder `tensorboard` of the run directory."""

    failures = (OSError,)

    def __init__(self, folder: Path, settings: Mapping[str, Any], start: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(folder / "tensorboard"), purge_step=start + 1)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """See `Tracker`."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def log_responses(self, step: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """See `Tracker`."""
        # An indented line is code in Markdown, in which nothing is markup.
        lines = [
            f"    {column}: {printable(str(row.get(column)))}\n"
            for row in rows
            for column in (*COLUMNS, "")
            if column
        ]
        self._writer.add_text("rollouts", "".join(lines), step)

    def close(self, failed: bool) -> None:
        """See `Tracker`."""
        self._writer.close()


class WandB:
    """A run of Weights & Biases; `WANDB_MODE=offline` needs no account."""

    def __init__(self, folder: Path, settings: Mapping[str, Any], start: int) -> None:
        self._library, self._folder = importlib.import_module("wandb"), folder
        self.failures = (OSError, self._library.errors.Error)
        project = os.environ.get("WANDB_PROJECT", PROJECT)
        names: Any = {"project": project, "name": folder.name, "id": _identity(folder, "wandb")}
        try:
            self._run = self._library.init(
                **names, dir=str(folder), config=dict(settings), resume="allow"
            )
        except self.failures as error:
            raise UsageError(f"--track wandb: {error}") from error
        # Its own steps cannot go back, as those of a run that rolls back do.
        self._run.define_metric("*", step_metric="step")

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """See `Tracker`."""
        self._run.log({"step": step, **values})

    def log_responses(self, step: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """See `Tracker`."""
        columns, data = _table(rows, self._folder, self._library.Image)
        self._run.log({"step": step, "rollouts": self._library.Table(columns, data)})

    def close(self, failed: bool) -> None:
        """See `Tracker`."""
        self._run.finish(exit_code=int(failed))


class Trackio:
    """A run of Trackio, in its local folder or a Space."""

    failures = (OSError, sqlite3.Error)

    def __init__(self, folder: Path, settings: Mapping[str, Any], start: int) -> None:
        self._library, self._folder = importlib.import_module("trackio"), folder
        name = f"{folder.name}-{_identity(folder, 'trackio')}"
        project = os.environ.get("TRACKIO_PROJECT", PROJECT)
        try:
            self._run = self._library.init(
                project, name, config=dict(settings), resume="allow", embed=False
            )
        except (*self.failures, ValueError) as error:
            raise UsageError(f"--track trackio: {error}") from error

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """See `Tracker`."""
        self._run.log(dict(values), step=step)

    def log_responses(self, step: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """See `Tracker`."""
        columns, data = _table(rows, self._folder, self._library.Image)
        self._run.log({"rollouts": self._library.Table(columns, data)}, step=step)

    def close(self, failed: bool) -> None:
        """See `Tracker`."""
        self._run.finish()


class MLflow:
    """A run of MLflow, at `MLFLOW_TRACKING_URI` or in a local store."""

    def __init__(self, folder: Path, settings: Mapping[str, Any], start: int) -> None:
        self._library = importlib.import_module("mlflow")
        self.failures = (OSError, self._library.exceptions.MlflowException)
        try:
            if not {"MLFLOW_EXPERIMENT_NAME", "MLFLOW_EXPERIMENT_ID"} & set(os.environ):
                self._library.set_experiment(PROJECT)
            tag = {"reasonenv.run": _identity(folder, "mlflow")}
            earlier = self._library.search_runs(
                filter_string=f"tags.`reasonenv.run` = '{tag['reasonenv.run']}'",
                output_format="list",
            )
            if earlier:
                self._run = self._library.start_run(earlier[0].info.run_id)
            else:
                self._run = self._library.start_run(run_name=folder.name, tags=tag)
                self._library.log_dict(dict(settings), "settings.json")
        except self.failures as error:
            raise UsageError(f"--track mlflow: {error}") from error

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """See `Tracker`."""
        valid = {re.sub(r"[^\w\-. :/]", "_", name): value for name, value in values.items()}
        self._library.log_metrics(valid, step, run_id=self._run.info.run_id)

    def log_responses(self, step: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """See `Tracker`."""
        table = {"step": [step] * len(rows)}
        table |= {column: [str(row.get(column)) for row in rows] for column in COLUMNS}
        self._library.log_table(table, "rollouts.json", run_id=self._run.info.run_id)

    def close(self, failed: bool) -> None:
        """See `Tracker`."""
        self._library.end_run("FAILED" if failed else "FINISHED")


TRACKERS: dict[str, Callable[[Path, Mapping[str, Any], int], Tracker]] = {
    "tensorboard": TensorBoard,
    "wandb": WandB,
    "trackio": Trackio,
    "mlflow": MLflow,
}


def _table(
    rows: Sequence[Mapping[str, Any]], folder: Path, image: Callable[[str], Any]
) -> tuple[list[str], list[list[Any]]]:
    """Columns and cells of responses, with the first image of the problem where there is one."""
    columns, data = list(COLUMNS), [[row.get(column) for column in COLUMNS] for row in rows]
    if any(row.get("images") for row in rows):
        columns.append("image")
        for row, cells in zip(rows, data, strict=True):
            names = row.get("images")
            cells.append(image(str(folder / "rollouts" / names[0])) if names else None)
    return columns, data


def _unicode(value: Any) -> Any:
    """The value, if it is a text with "?" for halves of surrogate pairs, which UTF-8 lacks."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def _identity(folder: Path, name: str) -> str:
    """Identity of the run in a tracker, which the run directory keeps."""
    path = folder / RECORD
    record = read_json(path) if path.exists() else {}
    if not isinstance(record.get(name), str):
        record[name] = uuid4().hex[:8]
        write_atomically(path, json.dumps(record).encode() + b"\n")
    return record[name]
