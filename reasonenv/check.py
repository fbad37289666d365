"""Grades each reference of a data set against itself (right) and against another one (wrong).

With --attacks it grades a corpus of wrong answers instead, with anyone's grader.

    python -m reasonenv.check MMK12-v0 --data DIR        an environment
    python -m reasonenv.check file --data test.jsonl     your own questions, as they are posed
    python -m reasonenv.check test.jsonl                 rows: .jsonl, .json, .parquet, or a folder
    python -m reasonenv.check rows.json --answer-column target --output exceptions.json
    python -m reasonenv.check --attacks --grader module:function      anyone's grader

No response to a problem whose reference fails itself can earn the reward. A reference that accepts
another's answer need not be an error: the two may be equal in value, as 1/2 and 0.5 are, so read
those pairs. The kinds of the references are counted; one that is guessed wrongly, such as of a list
in brackets, can be declared in a column `kind`. Rows that cannot be read, for a broken image or an
empty answer, are listed, and the rest is checked.
Status: 0 when every reference is right against itself, 1 when one is not or a
row cannot be read, 2 when nothing could be checked.

The grader of --attacks is a function of a response and a reference that returns a bool, by default
that of this package. It runs in processes with a deadline for each pair. Wrong answers that it pays
and right ones that it refuses are counted by kind, with 95 % intervals, and so are pairs on which
it raises or hangs. Status: 0 without any of these, 1 with some, 2 when there is no such function.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from reasonenv import entry_points
from reasonenv.attacks import report as attack_report
from reasonenv.console import (
    add_data_flags,
    check_output_path,
    env_options,
    exit_status,
    new_parser,
    print_line,
    standard_streams,
    track,
)
from reasonenv.datasets import answer_keys
from reasonenv.datasets.answer_keys import Reference
from reasonenv.datasets.selection import listed
from reasonenv.errors import DataError, UsageError
from reasonenv.grading.reading import kind_of
from reasonenv.registration import registry
from reasonenv.workers import Grader

_NUM_PRINTED = 10
_MAX_PROBLEMS = 20_000


@dataclass(frozen=True)
class WrongVerdict:
    """A wrong verdict of the grader on a reference.

    Args:
        row: Number of the problem in the data set, from 0.
        id: Id of the problem.
        reference: Its reference answer.
        options: Texts of its multiple choice.
        answer: The graded answer: the reference itself, or another's.
        status: The status of the grade.
    """

    row: int
    id: str
    reference: str
    options: tuple[str, ...]
    answer: str
    status: str


def as_response(answer: str) -> str:
    """A response with an answer in the format that every environment rewards."""
    return f"<think>It is known.</think><answer>\\boxed{{{answer}}}</answer>"


def check_references(
    references: Sequence[Reference], grader: Grader, seed: int = 0
) -> tuple[list[WrongVerdict], list[WrongVerdict]]:
    """The references that fail themselves, and those that accept another's answer.

    A choice is graded as its letter and as its text. The other answer is drawn from the same data
    set, with a seed, among those of different text.

    Args:
        references: References to check; an empty answer fails.
        grader: The grader.
        seed: Of the draw.
    """
    rows = list(enumerate(references))
    own = [(row, reference, form) for row, reference in rows for form in reference.forms()]
    others = other_answers(references, seed)
    foreign = [(row, r, o) for (row, r), o in zip(rows, others, strict=True) if o is not None]
    failing = _wrong_verdicts(own, grader, "against itself", expected=True)
    accepting = _wrong_verdicts(foreign, grader, "against another", expected=False)
    return failing, accepting


def other_answers(references: Sequence[Reference], seed: int) -> list[str | None]:
    """For each reference another's answer of different text; None where there is none."""
    rng = random.Random(seed)
    answers = [reference.answer for reference in references if _bare_text(reference.answer)]
    distinct = list(dict.fromkeys(answers))
    others: list[str | None] = []
    for reference in references:
        own = {_bare_text(form) for form in reference.forms()}
        # From all rows, so that frequent answers are frequent here; where nearly all of them are
        # the same, from the distinct ones.
        draws = (rng.choice(answers) for _ in range(100 if answers else 0))
        others.append(next((o for o in (*draws, *distinct) if _bare_text(o) not in own), None))
    return others


def _bare_text(answer: str) -> str:
    return "".join(answer.replace("$", "").split())


def _wrong_verdicts(
    pairs: Sequence[tuple[int, Reference, str]], grader: Grader, title: str, expected: bool
) -> list[WrongVerdict]:
    grades = [
        grader.submit(as_response(answer), reference.answer, reference.options, reference.kind)
        for _, reference, answer in track(pairs, title)
    ]
    return [
        WrongVerdict(row, each.id, each.answer, each.options, answer, grade.result().status)
        for (row, each, answer), grade in zip(pairs, grades, strict=True)
        if grade.result().correct != expected
    ]


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 when a reference fails itself, 2 when nothing could be checked."""
    options = _parser().parse_args(arguments)
    return exit_status(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    if options.attacks:
        if options.dataset or options.env:
            raise UsageError("--attacks has rows of its own: leave out the data set")
        return attack_report.run(options)
    if options.grader or options.kind:
        raise UsageError("--grader and --kind are options of --attacks: add it")
    references, unreadable = _read(options)
    if not references:
        raise DataError(f"no row can be read; the first: {unreadable[0]}")
    kinds = Counter(_kind(reference) for reference in references)
    with Grader(num_workers=options.num_workers) as grader:
        failing, accepting = check_references(references, grader, options.seed)
    if options.output:
        report = {
            "dataset": options.dataset or options.env,
            "references": len(references),
            "seed": options.seed,
            "wrong_against_itself": [asdict(verdict) for verdict in failing],
            "right_against_another": [asdict(verdict) for verdict in accepting],
            "unreadable": unreadable,
        }
        attack_report.write(options.output, report)
    for line in listed(unreadable):
        print_line(f"unreadable: {line}")
    print_line("kinds: " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
    print_line(f"{'':34}references  of {len(references)}")
    _print_part("right against itself", len(references), failing)
    _print_part("wrong against another's", len(references), accepting)
    if accepting:
        print_line("a pair of equal value, such as 1/2 and 0.5, is no error: read the pairs above")
    return 1 if failing or unreadable else 0


def _kind(reference: Reference) -> str:
    """The kind of a reference, as it was declared or as the grader guesses it."""
    kind = reference.kind or kind_of(reference.answer, reference.options)
    return kind if reference.kind else f"{kind} (guessed)"


def _parser() -> argparse.ArgumentParser:
    parser = new_parser("check", __doc__)
    add = parser.add_argument
    add("dataset", nargs="?", help="an environment such as MMK12-v0, a file of rows, or a folder")
    add("--env", help="the same as DATASET, an environment")
    add_data_flags(parser)
    add("--split", help="split of an environment; default train, or the main one of a benchmark")
    columns = ", ".join(answer_keys.ANSWER_COLUMNS)
    add("--answer-column", help=f"column of the answers in a file; default the first of {columns}")
    columns = ", ".join(answer_keys.OPTION_COLUMNS)
    add("--options-column", help=f"column of the texts of choices; default {columns}")
    about = f"at most; all of a file, {_MAX_PROBLEMS} of an environment"
    add("--num-problems", type=int, help=about)
    add("--num-workers", type=int, help="grading processes; default the number of cores, at most 8")
    add("--seed", type=int, default=0, help="seed of the draw of other answers (0)")
    add("--output", metavar="FILE.json", help="file to write all wrong verdicts to")
    add("--attacks", action="store_true", help="grade the corpus of attacks, not a data set")
    add("--grader", metavar="MODULE:FUNCTION", help="grader of --attacks; default this package's")
    add("--deadline", type=float, default=10.0, help="seconds for a pair of --grader (10)")
    add("--kind", nargs="+", default=(), help="kinds of attacks, such as time; default all")
    return parser


def _read(options: argparse.Namespace) -> tuple[list[Reference], list[str]]:
    """The references of the command line's data set, and a line for each unreadable row."""
    name = options.dataset or options.env
    if not name or (options.dataset and options.env):
        raise UsageError("name one data set: an environment, a file or a folder; see --help")
    if options.num_problems is not None and options.num_problems < 1:
        raise UsageError(f"--num-problems={options.num_problems}: at least one is needed")
    check_output_path("output", options.output, options.dataset, options.data)
    path, is_id = Path(name), name in registry or name.startswith("reasonenv/")
    is_path = path.exists() or (not is_id and (path.suffix != "" or len(path.parts) > 1))
    if options.env or name in registry or not is_path:
        return _of_environment(name, options)
    columns = options.answer_column, options.options_column
    return answer_keys.read_references(path, *columns)[: options.num_problems], []


def _of_environment(name: str, options: argparse.Namespace) -> tuple[list[Reference], list[str]]:
    arguments = env_options(options.env_options)
    problems = entry_points.all_problems(name, options.split, options.data, arguments)
    count = min(options.num_problems or _MAX_PROBLEMS, len(problems))
    references, unreadable = [], []
    for index in track(range(count), "reading"):
        try:
            problem = problems[index]
        except DataError as error:
            unreadable.append(str(error))
        else:
            references.append(Reference(problem.id, problem.answer, problem.options, problem.kind))
    return references, unreadable


def _print_part(title: str, total: int, wrong: Sequence[WrongVerdict]) -> None:
    good = total - len({verdict.row for verdict in wrong})
    print_line(f"{title:34}{good:10}  {good / total:7.2%}")
    for verdict in wrong[:_NUM_PRINTED]:
        answer = "" if verdict.answer == verdict.reference else f", answer {verdict.answer[:60]!r}"
        status = "" if verdict.status == "ok" else f" ({verdict.status})"
        print_line(f"    not {verdict.id}: reference {verdict.reference[:60]!r}{answer}{status}")
    if len(wrong) > _NUM_PRINTED:
        print_line(f"    and {len(wrong) - _NUM_PRINTED} more: --output saves them all")


if __name__ == "__main__":
    sys.exit(main())
