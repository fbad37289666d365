"""`python -m reasonenv.check --attacks`: a grader on the corpus, kind by kind."""

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from reasonenv.attacks import Attack, corpus
from reasonenv.console import check_output_path, print_line, track
from reasonenv.errors import UsageError
from reasonenv.files import atomic_write
from reasonenv.grading import VERSION
from reasonenv.scoring import Table, interval_text
from reasonenv.scoring.statistics import wilson
from reasonenv.workers import Grader, Judgement, WorkerPool

_OWN = f"reasonenv.grading, version {VERSION}"


class Outcome(NamedTuple):
    """The outcome of one grading.

    Args:
        is_paid: True if the grader accepts the response.
        failure: "raised" for an exception or a lost process, "hung" past the deadline, else "".
        message: What was raised.
    """

    is_paid: bool
    failure: str = ""
    message: str = ""


def run(options: argparse.Namespace) -> int:
    """Prints the tables and writes the report; 1 if a verdict is wrong or missing.

    Raises:
        UsageError: An option does not fit, or there is no such grader.
    """
    check_output_path("output", options.output)
    if not options.deadline > 0:
        raise UsageError(f"--deadline={options.deadline}: more than 0 seconds are needed")
    rows = list(corpus(options.kind))
    with tempfile.TemporaryDirectory() as folder:
        canary = Path(folder) / "canary"
        outcomes = grade(rows, canary, options.grader, options.deadline, options.num_workers)
        report = {"grader": options.grader or _OWN} | summary(rows, outcomes)
        report["code_ran"] = canary.exists()
    if options.output:
        write(options.output, report)
    _print(report)
    faults = ("paid", "refused", "raised", "hung", "code_ran")
    return 1 if any(report[name] for name in faults) else 0


def write(path: str, report: dict[str, Any]) -> None:
    """Writes a report as JSON."""
    text = json.dumps(report, ensure_ascii=False, indent=1) + "\n"
    with atomic_write(path) as file:
        # Half of a surrogate pair has no UTF-8, but an escape in JSON.
        file.write_text(text, encoding="utf-8", errors="backslashreplace")


def grade(
    rows: Sequence[Attack],
    canary: Path,
    name: str | None = None,
    deadline: float = 10.0,
    num_workers: int | None = None,
) -> list[Outcome]:
    """The outcome of each row, in order.

    Args:
        rows: Rows of the corpus.
        canary: File that code in a response would create.
        name: "module:function"; None for `reasonenv.grading`.
        deadline: Seconds for one pair of another grader.
        num_workers: Processes at most; None for the number of cores, at most 8.
    """
    if name is None:
        with Grader(num_workers) as own:
            grades = [own.submit(*row.job(canary)) for row in track(rows, "grading")]
            return [Outcome(grade.result().correct) for grade in grades]
    pool = WorkerPool(
        num_workers,
        timeout=deadline,
        judge="reasonenv.attacks.foreign:load",
        arguments=(name, os.getcwd()),
        wall_clock=deadline,
        attempts=1,
    )
    with closing(pool):
        if fault := pool.submit(finish=_outcome).result().message:
            raise UsageError(f"--grader={name}: {fault}")
        outcomes = [pool.submit(*row.job(canary)[:2], finish=_outcome) for row in rows]
        return [outcome.result() for outcome in track(outcomes, "grading")]


def _outcome(judgement: Judgement) -> Outcome:
    if judgement.status == "timeout":
        return Outcome(False, "hung")
    if judgement.exit_code is not None:
        message = f"its process ended with status {judgement.exit_code}"
        return Outcome(False, "raised", message)
    return Outcome(judgement.correct, "raised" if judgement.status else "", judgement.status)


def summary(rows: Sequence[Attack], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Tables of wrong answers paid and right answers refused, by kind, and the ids of both."""
    graded = list(zip(rows, outcomes, strict=True))
    return {
        "attacks": _table([pair for pair in graded if not pair[0].is_right]),
        "controls": _table([pair for pair in graded if pair[0].is_right]),
        "paid": [row.id for row, outcome in graded if _is_error(row, outcome) and outcome.is_paid],
        "refused": [row.id for row, outcome in graded if row.is_right and not outcome.is_paid],
        "raised": {r.id: outcome.message for r, outcome in graded if outcome.failure == "raised"},
        "hung": [row.id for row, outcome in graded if outcome.failure == "hung"],
    }


def _is_error(row: Attack, outcome: Outcome) -> bool:
    return outcome.is_paid != row.is_right


def _table(graded: Sequence[tuple[Attack, Outcome]]) -> dict[str, dict[str, Any]]:
    """A line for each kind, and one for all."""
    table: dict[str, dict[str, Any]] = {}
    for kind in (*sorted({row.kind for row, _ in graded}), *(["all"] if graded else [])):
        pairs = [pair for pair in graded if kind in (pair[0].kind, "all")]
        errors = sum(_is_error(*pair) for pair in pairs)
        failures = [outcome.failure for _, outcome in pairs]
        table[kind] = {
            "num": len(pairs),
            "errors": errors,
            "interval": wilson(errors, len(pairs)),
            "raised": failures.count("raised"),
            "hung": failures.count("hung"),
        }
    return table


def _print(report: dict[str, Any]) -> None:
    print_line(report["grader"])
    for title, error, table in (
        ("wrong answers", "paid", report["attacks"]),
        ("right answers", "refused", report["controls"]),
    ):
        header = (title, "number", error, "95 % interval", "raised", "hung")
        rows = [
            (
                kind,
                *(str(line[name]) for name in ("num", "errors")),
                interval_text(line["interval"], ".2%"),
                *(str(line[name]) for name in ("raised", "hung")),
            )
            for kind, line in table.items()
        ]
        for text in Table(header, rows).text() if rows else ():
            print_line(text)
    if report["raised"]:
        name, message = next(iter(report["raised"].items()))
        print_line(f"the first that raised is {name}: {message}")
    if report["code_ran"]:
        print_line("code of a response was run: never evaluate what a model wrote")
