"""Does each reference grade as right against itself, and as wrong against another one?

    python -m reasonenv.check MMK12-v0 --data DIR        an environment
    python -m reasonenv.check test.jsonl                 rows: .jsonl, .json, .parquet, or a folder
    python -m reasonenv.check rows.json --answer-column target --output exceptions.json

A data set whose references fail themselves pays nobody for the problems concerned. A reference
that is paid for another's answer need not be a fault: the two may be equal in value, as 1/2 and
0.5 are, so read those pairs. Rows that cannot be read, for a broken image or an empty answer, are
listed, and the rest is checked. Status: 0 when every reference is right against itself, 1 when
one is not or a row cannot be read, 2 when nothing could be checked.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reasonenv import entry_points
from reasonenv.atomic_write import atomic_write
from reasonenv.cli import check_output_path, exit_status, new_parser
from reasonenv.datasets import answer_keys
from reasonenv.datasets.answer_keys import Reference
from reasonenv.errors import DataError, UsageError
from reasonenv.progress import shown
from reasonenv.registration import registry
from reasonenv.workers import Grader

_SHOWN = 10
_CHUNK = 64
_MOST = 20_000


@dataclass(frozen=True)
class Finding:
    """A reference whose grade is not what it should be.

    Args:
        row: Where the problem stands in the data set, from 0.
        id: The problem's name.
        reference: Its reference answer.
        options: Texts of its multiple choice.
        answer: The answer that was graded: the reference itself, or another's.
        status: The status of the grade.
    """

    row: int
    id: str
    reference: str
    options: tuple[str, ...]
    answer: str
    status: str


def written(answer: str) -> str:
    """A response that gives an answer in the form that every environment pays for."""
    return f"<think>It is known.</think><answer>\\boxed{{{answer}}}</answer>"


def check(
    checked: Sequence[Reference], grader: Grader, seed: int = 0
) -> tuple[list[Finding], list[Finding]]:
    """The references that fail themselves, and those that pay another's answer.

    A choice is tried as its letter and as its text. The other answer is one of the same data
    set that is drawn at random, the same in every run, among those that read differently.

    Args:
        checked: What to check; an answer that is empty fails.
        grader: Grades.
        seed: Of the draw.
    """
    rows = list(enumerate(checked))
    own = [(row, reference, form) for row, reference in rows for form in reference.forms()]
    others = shuffled(checked, seed)
    foreign = [(row, r, o) for (row, r), o in zip(rows, others, strict=True) if o is not None]
    failing = _graded(own, grader, "against itself", expected=True)
    paying = _graded(foreign, grader, "against another", expected=False)
    return failing, paying


def shuffled(checked: Sequence[Reference], seed: int) -> list[str | None]:
    """For each reference another's answer that reads differently; None where there is none."""
    draw = random.Random(seed)
    answers = [reference.answer for reference in checked if _reading(reference.answer)]
    distinct = list(dict.fromkeys(answers))
    others: list[str | None] = []
    for reference in checked:
        mine = {_reading(form) for form in reference.forms()}
        # Among all rows, so that frequent answers come as often as a model meets them; only
        # where nearly all of them read alike, among the different ones.
        drawn = (draw.choice(answers) for _ in range(100 if answers else 0))
        others.append(next((o for o in (*drawn, *distinct) if _reading(o) not in mine), None))
    return others


def _reading(answer: str) -> str:
    return "".join(answer.replace("$", "").split())


def _graded(
    pairs: Sequence[tuple[int, Reference, str]], grader: Grader, title: str, expected: bool
) -> list[Finding]:
    """The pairs of a reference and an answer whose verdict is not the expected one."""
    findings = []
    chunks = [pairs[start : start + _CHUNK] for start in range(0, len(pairs), _CHUNK)]
    for chunk in shown(chunks, title, unit=_CHUNK):
        responses = [written(answer) for *_, answer in chunk]
        truths, options = [r.answer for _, r, _ in chunk], [r.options for _, r, _ in chunk]
        grades = grader.grade(responses, truths, options)
        findings += [
            Finding(row, reference.id, reference.answer, reference.options, answer, grade.status)
            for (row, reference, answer), grade in zip(chunk, grades, strict=True)
            if grade.correct != expected
        ]
    return findings


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 when a reference fails itself, 2 when nothing could be checked."""
    options = _parser().parse_args(arguments)
    return exit_status(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    checked, broken = _read(options)
    if not checked:
        raise DataError(f"no row can be read; the first: {broken[0]}")
    with Grader(num_workers=options.num_workers) as grader:
        failing, paying = check(checked, grader, options.seed)
    if options.output:
        report = _report(options, checked, failing, paying) | {"unreadable": broken}
        with atomic_write(options.output) as file:
            text = json.dumps(report, ensure_ascii=False, indent=1) + "\n"
            file.write_text(text, encoding="utf-8")
    for line in broken:
        print(f"unreadable: {line}")
    print(f"{'':34}references  of {len(checked)}")
    _print_part("right against itself", len(checked), failing)
    _print_part("wrong against another's", len(checked), paying)
    if paying:
        print("a pair of equal value, such as 1/2 and 0.5, is no fault: read the pairs above")
    return 1 if failing or broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = new_parser("check", __doc__)
    add = parser.add_argument
    add("dataset", nargs="?", help="an environment such as MMK12-v0, a file of rows, or a folder")
    add("--env", help="the same as DATASET, an environment")
    add("--data", help="folder of local files of an environment")
    add("--split", help="part of an environment; train, or the main one of a benchmark")
    columns = ", ".join(answer_keys.ANSWER_COLUMNS)
    add("--answer-column", help=f"where a file has its answers; else the first of {columns}")
    columns = ", ".join(answer_keys.OPTION_COLUMNS)
    add("--options-column", help=f"where it has the texts of choices; else {columns}")
    add("--num-problems", type=int, help=f"at most; all of a file, {_MOST} of an environment")
    add("--num-workers", type=int, help="processes that grade; as many as cores, at most 8")
    add("--seed", type=int, default=0, help="of the draw of other answers (0)")
    add("--output", metavar="FILE.json", help="where to save every exception")
    return parser


def _read(options: argparse.Namespace) -> tuple[list[Reference], list[str]]:
    """The references that the command line names, and a line for each that cannot be read."""
    name = options.dataset or options.env
    if not name or (options.dataset and options.env):
        raise UsageError("name one data set: an environment, a file or a folder; see --help")
    if options.num_problems is not None and options.num_problems < 1:
        raise UsageError(f"--num-problems={options.num_problems}: at least one is needed")
    check_output_path("output", options.output)
    path = Path(name)
    if options.env or name in registry or not _is_path(name):
        return _of_environment(name, options)
    found = answer_keys.read_references(path, options.answer_column, options.options_column)
    return found[: options.num_problems], []


def _is_path(name: str) -> bool:
    path = Path(name)
    is_id = name.startswith("reasonenv/")
    return path.exists() or (not is_id and (path.suffix != "" or len(path.parts) > 1))


def _of_environment(name: str, options: argparse.Namespace) -> tuple[list[Reference], list[str]]:
    problems = entry_points.all_problems(name, options.split, options.data)
    most = min(options.num_problems or _MOST, len(problems))
    found, broken = [], []
    for index in shown(range(most), "reading"):
        try:
            problem = problems[index]
        except DataError as error:
            broken.append(str(error))
        else:
            found.append(Reference(problem.id, problem.answer, problem.options))
    return found, broken


def _print_part(title: str, total: int, findings: Sequence[Finding]) -> None:
    good = total - len({finding.row for finding in findings})
    print(f"{title:34}{good:10}  {good / total:7.2%}")
    for finding in findings[:_SHOWN]:
        answer = "" if finding.answer == finding.reference else f", answer {finding.answer[:60]!r}"
        status = "" if finding.status == "ok" else f" ({finding.status})"
        print(f"    not {finding.id}: reference {finding.reference[:60]!r}{answer}{status}")
    if len(findings) > _SHOWN:
        print(f"    and {len(findings) - _SHOWN} more: --output saves them all")


def _report(
    options: argparse.Namespace,
    checked: Sequence[Reference],
    failing: Iterable[Finding],
    paying: Iterable[Finding],
) -> dict[str, Any]:
    return {
        "dataset": options.dataset or options.env,
        "references": len(checked),
        "seed": options.seed,
        "wrong_against_itself": [asdict(finding) for finding in failing],
        "right_against_another": [asdict(finding) for finding in paying],
    }


if __name__ == "__main__":
    sys.exit(main())
