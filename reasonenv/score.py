"""Official scores of stored responses.

    python -m reasonenv.score --env MathVista-v0 --responses outputs.jsonl --data mathvista
    python -m reasonenv.score --env AIME24-v0 --responses a.jsonl --compare b.jsonl --data aime24

A line of a file of responses is {"id": ..., "response": ...}: the data set's own id and the model's
text. Several lines with one id are samples of one problem. If a line has an `extraction`, the
answer extracted by a judge model, that is scored. A `.json` file may hold such rows as a list or by
id, and any file may be compressed by gzip. Labels are read from the files of the data set; their
rows need neither question nor image.

A line that cannot be scored (an unknown id, a repetition, broken JSON) is reported on standard
error and skipped. Status: 0 when the rest is scored, 1 with --strict when a line was skipped,
2 when nothing could be scored, 130 when interrupted.
"""

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reasonenv.atomic_write import atomic_write
from reasonenv.cli import check_output_path, exit_status, new_parser, standard_streams
from reasonenv.scoring import judges
from reasonenv.scoring.final_answers import GradedResponses
from reasonenv.scoring.response_files import SkipLog, read_responses
from reasonenv.scoring.scoreboard import comparison, grade_responses, summarize, to_stderr
from reasonenv.terminal import print_line


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; its statuses are described above."""
    options = _parser().parse_args(arguments)
    return exit_status(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    check_output_path("output", options.output)
    check_output_path("verdicts", options.verdicts)
    graded = _graded(options, options.responses)
    scores = summarize(graded, options.seed)
    if options.compare:
        other = _graded(options, options.compare)
        scores["compared"] = {
            "with": options.compare,
            "accuracy": summarize(other, options.seed)["accuracy"],
            **comparison(graded, other, options.seed),
        }
    for path, content in (
        (options.output, json.dumps(scores, indent=1) + "\n"),
        (options.verdicts, _verdicts(graded)),
    ):
        if path:
            with atomic_write(path) as file:
                file.write_text(content, encoding="utf-8")
    with contextlib.suppress(BrokenPipeError):
        _print(scores)
        sys.stdout.flush()
    return 1 if options.strict and scores["skipped"] else 0


def _parser() -> argparse.ArgumentParser:
    parser = new_parser("score", __doc__)
    add = parser.add_argument
    add("--env", required=True, help="an environment, such as MathVista-v0")
    add("--responses", required=True, metavar="FILE.jsonl", help="responses to score")
    add("--data", metavar="DIR", help="folder of the labels; default REASONENV_DATA, then the hub")
    add("--split", help="split of the data; default the one that covers most ids")
    add("--output", metavar="FILE.json", help="file to write the scores to")
    add("--verdicts", metavar="FILE.jsonl", help="file to write a verdict a response to")
    add("--compare", metavar="OTHER.jsonl", help="responses to compare with, problem by problem")
    add(
        "--judge", metavar="MODULE:FUNCTION", help="judge in place of the rules; see scoring.judges"
    )
    add("--seed", type=int, default=0, help="seed of maj@k, and of a test of many problems (0)")
    add("--strict", action="store_true", help="exit with status 1 when a line was skipped")
    return parser


def _graded(options: argparse.Namespace, path: str) -> GradedResponses:
    skipped = SkipLog(to_stderr)
    judge = None if options.judge is None else judges.load_judge(options.judge)
    rows = read_responses(Path(path), skipped)
    return grade_responses(
        options.env, rows, options.data, split=options.split, judge=judge, skipped=skipped
    )


def _verdicts(graded: GradedResponses) -> str:
    rows = (
        {"id": case.id, "correct": grade.correct, "answer": grade.answer, "status": grade.status}
        for case, grade in zip(graded.cases, graded.grades, strict=True)
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


def _print(scores: dict[str, Any]) -> None:
    print_line(f"{'':34}problems  accuracy  95 % interval")
    _print_line(scores["env"], {**scores, "num": scores["num_problems"]})
    for title, table in scores["by"].items():
        if len(table) <= _MAX_ROWS:
            print_line(title)
            for name, line in table.items():
                _print_line(f"  {name}", line)
    for name in ("mean@k", "pass@k", "maj@k"):
        for k, value in scores.get(name, {}).items():
            _print_line(name.replace("k", k), {"num": "", "accuracy": value, "interval": []})
    _print_extras(scores)
    if other := scores.get("compared"):
        ends = ", ".join(f"{end:+.2%}" for end in other["interval"]) or "no interval"
        print_line(
            f"{other['difference']:+.2%} [{ends}] compared with {other['with']}, "
            f"p = {other['p_value']:.3g} over {other['num_problems']} problems"
        )


_MAX_ROWS = 40


def _print_line(name: str, line: dict[str, Any]) -> None:
    ends = "  ".join(f"{end:.2%}" for end in line["interval"])
    print_line(f"{name[:32]:34}{line['num']:>8}  {line['accuracy']:8.2%}  {ends}")


def _print_extras(scores: dict[str, Any]) -> None:
    """Extra scores of a benchmark."""
    if exact := scores.get("exact"):
        _print_line("to 1e-6", {**exact, "num": ""})
    metric = scores.get("four_dimensional", {})
    for name in ("strict", "loose"):
        if name in metric:
            line = {**metric[name], "accuracy": metric[name]["score"]}
            _print_line(f"score ({name})", {**line, "num": metric["num_composite_problems"]})
            kinds = ", ".join(f"{kind} {count}" for kind, count in line["counts"].items())
            print_line(f"  {kinds}")


if __name__ == "__main__":
    sys.exit(main())
