"""Verdicts on 2,000 responses of a real pretrained model against an exact key.

    python benchmarks/grading_pretrained.py --sample    # SmolLM2-135M-Instruct, 15 minutes a core
    python benchmarks/grading_pretrained.py             # grading/pretrained.json, tables

`--sample` writes grading/responses.json.gz: responses to WordProblems-v0, 700 of each of the levels
1 and 2, 300 of 3 and of 4, sampled by `agents.evaluate` (prompt "plain", temperature 1, at most 64
tokens, seed 0), with the verdict of the grader of that day. The key is arithmetic: the number of
the problem, and the number that the response claims as `number_claims` reads it. Where that differs
from a verdict, the response was read by eye: grading/pretrained_labels.json has "right", "wrong" or
"unclear" with the kind. A response that is cut off after 64 tokens is rows_of_table apart.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pretrained
from number_claims import claimed_number
from provenance import provenance
from reasonenv.envs.word_problems import problems
from reasonenv.grading import VERSION, grade

HERE = Path(__file__).parent / "grading"
RESPONSES, LABELS = HERE / "responses.json.gz", HERE / "pretrained_labels.json"
SIZES = {1: 700, 2: 700, 3: 300, 4: 300}


def sample() -> None:
    """Samples the responses of all levels, and writes them."""
    rows = []
    for level, size in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            options = {
                "env": "WordProblems-v0", "env-options": json.dumps({"level": level}),
                "split": "train", "num-problems": size, "model": pretrained.make(),
                "max-response-length": 64, "temperature": 1, "seed": 0, "dtype": "float32",
                "sampler-batch-size": 100, "output-dir": folder,
            }  # fmt: skip
            flags = [text for name, value in options.items() for text in (f"--{name}", str(value))]
            subprocess.run([sys.executable, "-m", "agents.evaluate", *flags], check=True)
            rows += read_rows(Path(folder) / "WordProblems-v0.jsonl", level)
    write(rows)


def read_rows(path: Path, level: int) -> list[list[Any]]:
    """Level, index, text, whether it is complete, and the verdict of that day."""
    lines = map(json.loads, path.read_text().splitlines())
    return [
        [level, index, row["response"], row["finished"], row["correct"]]
        for index, row in enumerate(lines)
    ]


def write(rows: list[list[Any]]) -> None:
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    RESPONSES.write_bytes(gzip.compress(text.encode(), mtime=0))


def judgements() -> list[dict[str, Any]]:
    """Each response with the verdicts on it then and now, and what it is by the key."""
    labels = json.loads(LABELS.read_text())
    sequences = {level: problems("train", level) for level in SIZES}
    rows = []
    for level, index, response, is_complete, before in json.loads(
        gzip.decompress(RESPONSES.read_bytes())
    ):
        problem = sequences[level][index]
        claims_it = claimed_number(problem.question, response) == float(problem.answer)
        label = labels.get(f"{level}/{index}", "right" if claims_it else "wrong")
        name, _, kind = label.partition(": ")
        verdicts = {"then": before, "now": grade(response, problem.answer).correct}
        if name == "unclear" or all((name == "right") == paid for paid in verdicts.values()):
            kind = kind if name == "unclear" else ""
        rows.append(
            {"id": f"{level}/{index}", "level": level, "complete": is_complete, "label": name,
             "kind": kind, "read": f"{level}/{index}" in labels, "claims_it": claims_it, **verdicts}
        )  # fmt: skip
    return rows


def unread(rows: list[dict[str, Any]]) -> list[str]:
    """Responses without a label where the reader differs from a verdict."""
    return [
        row["id"]
        for row in rows
        if not row["read"] and not row["claims_it"] == row["then"] == row["now"]
    ]


def table(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Counts by level, complete and cut-off responses apart."""
    rows_of_table = []
    for level in SIZES:
        for is_complete in (True, False):
            part = [r for r in rows if (r["level"], r["complete"]) == (level, is_complete)]
            counts: dict[str, Any] = {
                "level": level,
                "complete": is_complete,
                "responses": len(part),
            }
            counts |= Counter(row["label"] for row in part)
            for when in ("then", "now"):
                counts[f"paid_{when}"] = sum(row[when] for row in part)
                counts[f"false_accepts_{when}"] = count(part, "wrong", when, True)
                counts[f"false_refusals_{when}"] = count(part, "right", when, False)
            rows_of_table.append(counts)
    return rows_of_table


def count(rows: list[dict[str, Any]], label: str, when: str, verdict: bool) -> int:
    return sum(row["label"] == label and row[when] == verdict for row in rows)


def markdown(counts: list[dict[str, Any]]) -> str:
    lines = [
        "| level | | responses | right | paid | false accepts | false refusals |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in counts:
        cells = [
            row["level"], "complete" if row["complete"] else "cut off", row["responses"],
            row.get("right", 0),
            *(f"{row[f'{name}_then']}, {row[f'{name}_now']}"
              for name in ("paid", "false_accepts", "false_refusals")),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def errors(rows: list[dict[str, Any]], label: str, when: str) -> dict[str, list[str]]:
    """Ids of the wrong verdicts by kind, on responses that are right or wrong."""
    kinds: dict[str, list[str]] = {}
    for row in rows:
        if row["label"] == label and row[when] != (label == "right"):
            kinds.setdefault(row["kind"] or "none", []).append(row["id"])
    return kinds


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", action="store_true", help="sample the responses anew")
    if parser.parse_args().sample:
        sample()
    rows = judgements()
    if missing := unread(rows):
        print(f"to be read and labelled in {LABELS.name}: {' '.join(missing)}", file=sys.stderr)
    result = provenance("grading_pretrained.py") | {"grader_version": VERSION, "table": table(rows)}
    for when in ("then", "now"):
        result[f"false_accepts_{when}"] = errors(rows, "wrong", when)
        result[f"false_refusals_{when}"] = errors(rows, "right", when)
    (HERE / "pretrained.json").write_text(json.dumps(result, indent=1) + "\n")
    print(markdown(result["table"]))


if __name__ == "__main__":
    main()
