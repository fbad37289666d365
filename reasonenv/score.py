"""Official scores of stored responses.

    python -m reasonenv.score --env MathVista-v0 --responses outputs.jsonl --data mathvista
    python -m reasonenv.score --env AIME24-v0 --responses a.jsonl --compare b.jsonl --data aime24

A line of a file of responses is {"id": ..., "response": ...}: the data set's own id and the model's
text. Several lines with one id are samples of one problem. If a line has an `extraction`, the
answer extracted by a judge model, that is scored. A `.json` file may hold such rows as a list or by
id, and any file may be compressed by gzip. Labels are read from the files of the data set; their
rows need neither question nor image.

Official are the rules of the benchmark's own evaluation code, where this package has them, without
a judge model; all else is scored by this package's grader, and the table says so. Intervals are of
95 %, over the choice of problems, or of clusters of those that have something in common. --compare
tests the difference problem by problem or cluster by cluster. --format markdown, latex and json are
for pasting.

A line that cannot be scored (an unknown id, a repetition, broken JSON) is reported on standard
error and skipped. Status: 0 when the rest is scored, 1 with --strict when a line was skipped,
2 when nothing could be scored, 130 when interrupted.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from reasonenv.console import (
    add_data_flags,
    check_output_path,
    env_options,
    exit_status,
    new_parser,
    print_line,
    standard_streams,
)
from reasonenv.files import atomic_write
from reasonenv.scoring.responses import GradedResponses, SkipLog, read_responses
from reasonenv.scoring.scoreboard import comparison, grade_responses, load_judge, summarize
from reasonenv.scoring.tables import FORMATS, score_tables, table_lines


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; its statuses are described above."""
    options = _parser().parse_args(arguments)
    return exit_status(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    inputs = options.responses, options.compare, options.data
    check_output_path("output", options.output, *inputs)
    check_output_path("verdicts", options.verdicts, *inputs, options.output)
    graded = _graded(options, options.responses)
    scores = summarize(graded, options.seed)
    if options.judge:
        scores["rules"] = options.judge
    if options.compare:
        other = _graded(options, options.compare)
        scores["compared"] = {
            "responses": options.responses,
            "with": options.compare,
            "accuracy": summarize(other, options.seed)["accuracy"],
            **comparison(graded, other, options.seed),
        }
    document = json.dumps(scores, indent=1)
    for path, content in (options.output, document + "\n"), (options.verdicts, _verdicts(graded)):
        if path:
            with atomic_write(path) as file:
                file.write_text(content, encoding="utf-8")
    if options.format == "json":
        lines = document.splitlines()
    else:
        lines = table_lines(score_tables(scores), options.format)
    for line in lines:
        print_line(line)
    return 1 if options.strict and scores["skipped"] else 0


def _parser() -> argparse.ArgumentParser:
    parser = new_parser("score", __doc__)
    add = parser.add_argument
    add("--env", required=True, help="an environment, such as MathVista-v0")
    add("--responses", required=True, metavar="FILE.jsonl", help="responses to score")
    add_data_flags(parser)
    add("--split", help="split of the data; default the one that covers most ids")
    add("--format", choices=FORMATS, default="text", help="format on standard output (text)")
    add("--output", metavar="FILE.json", help="file to write the scores to")
    add("--verdicts", metavar="FILE.jsonl", help="file to write a verdict a response to")
    add("--compare", metavar="OTHER.jsonl", help="responses to compare with, problem by problem")
    about = "judge in place of the rules; see scoring.scoreboard.Judge"
    add("--judge", metavar="MODULE:FUNCTION", help=about)
    add(
        "--guess", type=int, metavar="SEED", help="seed of letters where MMMU-Pro's rule reads none"
    )
    add("--seed", type=int, default=0, help="seed of maj@k, and of a test of many problems (0)")
    add("--strict", action="store_true", help="exit with status 1 when a line was skipped")
    return parser


def _graded(options: argparse.Namespace, path: str) -> GradedResponses:
    skipped = SkipLog()
    judge = None if options.judge is None else load_judge(options.judge)
    rows = read_responses(Path(path), skipped)
    return grade_responses(
        options.env,
        rows,
        options.data,
        split=options.split,
        env_options=env_options(options.env_options),
        judge=judge,
        guess=options.guess,
        skipped=skipped,
    )


def _verdicts(graded: GradedResponses) -> str:
    rows = (
        {"id": case.id, "correct": grade.correct, "answer": grade.answer, "status": grade.status}
        for case, grade in zip(graded.cases, graded.grades, strict=True)
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
