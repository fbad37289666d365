r"""Grades one response, or a file of responses, and says why.

    python -m reasonenv.grade 'so it is \boxed{\frac12}' 0.5
    python -m reasonenv.grade 'B. 12 cm' B --options '10 cm' '12 cm'
    python -m reasonenv.grade '\boxed{1200, 1400}' '[1200, 1400]' --kind list
    python -m reasonenv.grade responses.jsonl        rows of response and reference, or .json, .csv

A line for each response: right or wrong, the answer and where it stood, what it was compared with,
and the kind of the reference, which picks the reader. Columns of a file: `response`; the reference
by a usual name, as in `reasonenv.check`; `options`, a list, and `kind`, where there are some.
Status: 0 where all are right, 1 where one is not, 2 when nothing could be graded.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reasonenv.console import exit_status, new_parser, print_line, standard_streams
from reasonenv.datasets.column_names import ANSWER_COLUMNS
from reasonenv.errors import DataError, UsageError
from reasonenv.files import parse_json, read_objects
from reasonenv.grading import KINDS, VERSION
from reasonenv.workers import Grader

_REFERENCES = ("reference", *ANSWER_COLUMNS)


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 where a response is not right."""
    parser = new_parser("grade", __doc__)
    parser.add_argument("response", help="a response, or a file of rows")
    parser.add_argument("reference", nargs="?", help="the right answer; none for a file")
    parser.add_argument("--options", nargs="+", default=(), help="texts of the choice, in order")
    parser.add_argument("--kind", choices=KINDS, help="kind of the reference; default guessed")
    parser.add_argument("--prose", action="store_true", help="read sentences without a marker")
    options = parser.parse_args(arguments)
    return exit_status(lambda: _run(options))


def _run(options: Any) -> int:
    if options.reference is None:
        rows = _rows(Path(options.response))
    else:
        rows = [(options.response, options.reference, options.options, options.kind)]
    responses, references, choices, kinds = zip(*rows, strict=True)
    if empty := [number for number, text in enumerate(references, 1) if not text.strip()]:
        where = "the reference" if len(rows) == 1 else f"the reference of row {empty[0]}"
        raise DataError(f"{where} is empty: give the right answer, or leave the row out")
    with Grader(prose=options.prose) as grader:
        grades = grader.grade(responses, references, choices, kinds)
    count, right = len(grades), sum(grade.correct for grade in grades)
    for number, grade in enumerate(grades, start=1):
        print_line(f"{number:>6}  {grade}" if count > 1 else str(grade))
    if count > 1:
        unjudged = sum(grade.status not in ("ok", "no_answer") for grade in grades)
        grader = f"reasonenv.grading, version {VERSION}"
        print_line(f"{right} of {count} right, {unjudged} not judged; {grader}")
    return 0 if right == count else 1


_Row = tuple[str, str, Sequence[str], str | None]


def _rows(path: Path) -> list[_Row]:
    """Response, reference, options and kind of each row of a file."""
    if not path.exists():
        raise UsageError(f"give a reference, or a file of rows: there is no file {str(path)!r:.80}")
    if not (rows := list(read_objects(path))):
        raise DataError(f"{path} has no rows")
    return [_row(path, number, row) for number, row in enumerate(rows, start=1)]


def _row(path: Path, number: int, row: Mapping[str, Any]) -> _Row:
    where = f"{path}, row {number}"
    reference = next((row[name] for name in _REFERENCES if row.get(name) is not None), None)
    response = row.get("response")
    if not isinstance(response, str) or not isinstance(reference, str | int | float):
        raise DataError(f"{where}: a column response and one of the reference are needed")
    options = row.get("options") or ()
    if isinstance(options, str):
        options = parse_json(options, f"{where}: options {options!r:.60} are no JSON list")
    return response, str(reference), tuple(map(str, options)), row.get("kind") or None


if __name__ == "__main__":
    raise SystemExit(main())
