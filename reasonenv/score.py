"""Official scores of stored responses.

    python -m reasonenv.score --env MathVista-v0 --responses outputs.jsonl --data mathvista
    python -m reasonenv.score --env AIME24-v0 --responses a.jsonl --compare b.jsonl --data aime24

A line of a file of responses is {"id": ..., "response": ...}: the data set's own id and what the
model wrote. Several lines with one id are samples of one problem. A line that brings an
`extraction`, the answer as a judge model extracted it, is scored by that. A `.json` file may hold
such rows as a list or by id, and any file may be compressed by gzip. Labels are read from the files
of the data set: rows without question or image will do.

A line that cannot be scored (an unknown id, a repetition, broken JSON) is told on standard error
and left out. Status: 0 when the rest is scored, 1 with --strict when a line was left out, 2 when
nothing could be scored, 130 when interrupted.
"""

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reasonenv.cli import check_output, new_parser, status
from reasonenv.datasets.files import replaced
from reasonenv.scoring import judges
from reasonenv.scoring.board import comparison, graded, summary, to_stderr
from reasonenv.scoring.cases import Sheet
from reasonenv.scoring.responses import Skipped, read


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; its statuses are described above."""
    options = _parser().parse_args(arguments)
    return status(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    check_output("output", options.output)
    check_output("verdicts", options.verdicts)
    sheet = _sheet(options, options.responses)
    scores = summary(sheet, options.seed)
    if options.compare:
        other = _sheet(options, options.compare)
        scores["compared"] = {
            "with": options.compare,
            "accuracy": summary(other, options.seed)["accuracy"],
            **comparison(sheet, other, options.seed),
        }
    for path, content in (
        (options.output, json.dumps(scores, indent=1) + "\n"),
        (options.verdicts, _verdicts(sheet)),
    ):
        if path:
            with replaced(path) as aside:
                aside.write_text(content, encoding="utf-8")
    with contextlib.suppress(BrokenPipeError):
        _print(scores)
        sys.stdout.flush()
    return 1 if options.strict and scores["skipped"] else 0


def _parser() -> argparse.ArgumentParser:
    parser = new_parser("score", __doc__)
    add = parser.add_argument
    add("--env", required=True, help="an environment, such as MathVista-v0")
    add("--responses", required=True, metavar="FILE.jsonl", help="what is scored")
    add("--data", metavar="DIR", help="labels; by default REASONENV_DATA, then the hub")
    add("--split", help="part of the data; by default the one that covers most ids")
    add("--output", metavar="FILE.json", help="where the scores go")
    add("--verdicts", metavar="FILE.jsonl", help="where every response's verdict goes")
    add("--compare", metavar="OTHER.jsonl", help="responses to compare with, problem by problem")
    add(
        "--judge", metavar="MODULE:FUNCTION", help="judges instead of the rules; see scoring.judges"
    )
    add("--seed", type=int, default=0, help="of the intervals and tests (0)")
    add("--strict", action="store_true", help="end with status 1 when a line was left out")
    return parser


def _sheet(options: argparse.Namespace, path: str) -> Sheet:
    skipped = Skipped(to_stderr)
    judge = None if options.judge is None else judges.load(options.judge)
    rows = read(Path(path), skipped)
    return graded(
        options.env, rows, options.data, split=options.split, judge=judge, skipped=skipped
    )


def _verdicts(sheet: Sheet) -> str:
    rows = (
        {"id": case.id, "correct": grade.correct, "answer": grade.answer, "status": grade.status}
        for case, grade in zip(sheet.cases, sheet.grades, strict=True)
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


def _print(scores: dict[str, Any]) -> None:
    print(f"{'':34}problems  accuracy  95 % interval")
    _print_line(scores["env"], {**scores, "num": scores["num_problems"]})
    for title, table in scores["by"].items():
        if len(table) <= _MOST_LINES:
            print(title)
            for name, line in table.items():
                _print_line(f"  {name}", line)
    for name in ("mean@k", "pass@k", "maj@k"):
        for k, value in scores.get(name, {}).items():
            _print_line(name.replace("k", k), {"num": "", "accuracy": value, "interval": []})
    _print_own(scores)
    if other := scores.get("compared"):
        low, high = other["interval"]
        print(
            f"{other['difference']:+.2%} [{low:+.2%}, {high:+.2%}] beside {other['with']}, "
            f"p = {other['p_value']:.3g} over {other['num_problems']} problems"
        )


_MOST_LINES = 40


def _print_line(name: str, line: dict[str, Any]) -> None:
    ends = "  ".join(f"{end:.2%}" for end in line["interval"])
    print(f"{name[:32]:34}{line['num']:>8}  {line['accuracy']:8.2%}  {ends}")


def _print_own(scores: dict[str, Any]) -> None:
    """What is the benchmark's own."""
    if exact := scores.get("exact"):
        _print_line("to 1e-6", {**exact, "num": ""})
    metric = scores.get("four_dimensional", {})
    for name in ("strict", "loose"):
        if name in metric:
            line = {**metric[name], "accuracy": metric[name]["score"]}
            _print_line(f"score ({name})", {**line, "num": metric["num_composite_problems"]})
            kinds = ", ".join(f"{kind} {count}" for kind, count in line["counts"].items())
            print(f"  {kinds}")


if __name__ == "__main__":
    sys.exit(main())
