"""`python -m reasonenv.check --attacks`: a grader on the corpus, kind by kind."""

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from reasonenv.attacks import Attack, corpus
from reasonenv.attacks.foreign import ForeignGrader, Outcome
from reasonenv.console import check_output_path, print_line, track
from reasonenv.errors import UsageError
from reasonenv.files import atomic_write
from reasonenv.grading import VERSION
from reasonenv.score_intervals import wilson
from reasonenv.workers import Grader

OWN = f"reasonenv.grading, version {VERSION}"

_Judge = Callable[[Attack], Outcome]
_Graded = tuple[Attack, Outcome]


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
        report = {"grader": options.grader or OWN} | summary(rows, outcomes)
        report["code_ran"] = canary.exists()
    if options.output:
        with atomic_write(options.output) as file:
            text = json.dumps(report, ensure_ascii=False, indent=1) + "\n"
            file.write_text(text, encoding="utf-8", errors="backslashreplace")
    _print(report)
    return 0 if _is_clean(report) else 1


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
    with Grader(num_workers) as own, ThreadPoolExecutor(own.num_workers) as pool:
        foreign = [ForeignGrader(name, deadline) for _ in range(own.num_workers)] if name else []
        try:
            if foreign:
                pool.submit(foreign[0].start).result()
            judge = _by_others(foreign, canary) if foreign else _by_own(own, canary)
            futures = [pool.submit(judge, row) for row in rows]
            return [future.result() for future in track(futures, "grading")]
        finally:
            pool.shutdown(cancel_futures=True)
            for process in foreign:
                process.close()


def _by_own(grader: Grader, canary: Path) -> _Judge:
    def judge(row: Attack) -> Outcome:
        response, reference, options = row.job(canary)
        return Outcome(grader.submit(response, reference, options).result().correct)

    return judge


def _by_others(graders: Sequence[ForeignGrader], canary: Path) -> _Judge:
    idle: SimpleQueue[ForeignGrader] = SimpleQueue()
    for grader in graders:
        idle.put(grader)

    def judge(row: Attack) -> Outcome:
        grader = idle.get()
        try:
            return grader.grade(*row.job(canary)[:2])
        finally:
            idle.put(grader)

    return judge


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


def _table(graded: Sequence[_Graded]) -> dict[str, dict[str, Any]]:
    """A line for each kind, and one for all."""
    kinds = dict.fromkeys(sorted(row.kind for row, _ in graded))
    lines = {kind: _line([pair for pair in graded if pair[0].kind == kind]) for kind in kinds}
    return lines | ({"all": _line(graded)} if graded else {})


def _line(graded: Sequence[_Graded]) -> dict[str, Any]:
    errors = sum(_is_error(*pair) for pair in graded)
    return {
        "num": len(graded),
        "errors": errors,
        "interval": wilson(errors, len(graded)),
        "raised": sum(outcome.failure == "raised" for _, outcome in graded),
        "hung": sum(outcome.failure == "hung" for _, outcome in graded),
    }


def _print(report: dict[str, Any]) -> None:
    print_line(f"{report['grader']}")
    for title, error, table in (
        ("wrong answers", "paid", report["attacks"]),
        ("right answers", "refused", report["controls"]),
    ):
        if table:
            print_line(f"{title:20}{'number':>8}{error:>9}  {'95 % interval':20}raised  hung")
        for kind, line in table.items():
            ends = "  ".join(f"{end:7.2%}" for end in line["interval"])
            print_line(
                f"  {kind:18}{line['num']:8}{line['errors']:9}  {ends:20}"
                f"{line['raised']:6}{line['hung']:6}"
            )
    if report["raised"]:
        name, message = next(iter(report["raised"].items()))
        print_line(f"the first that raised is {name}: {message}")
    if report["code_ran"]:
        print_line("code of a response was run: never evaluate what a model wrote")


def _is_clean(report: dict[str, Any]) -> bool:
    return not any(report[name] for name in ("paid", "refused", "raised", "hung", "code_ran"))
