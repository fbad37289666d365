"""How far the grader and bare math-verify agree with labelled cases, kind by kind.

    python benchmarks/agreement.py --cases cases.jsonl --name open
    python benchmarks/agreement.py --outputs outputs.jsonl --name outputs --unread mmmu-pro
    python benchmarks/agreement_page.py

A line of --cases is an object with the keys id, source, gold, response, tagged (the response with
its tags, or null), expected (0 or 1), kind and disputed (false, or the policy on which the label
hangs). A line of --outputs is a real output of a model: with the keys id, gold, response, options,
source, kind and expected_adjudicated (0, 1, or null for a row that is left out, whose label cannot
be decided), or with model_output, ground_truth and is_correct, the verdict that it was published
with. --unread names the sources that nobody read while the rules were written. The tables are
printed as Markdown and saved, with the id of every case in which the grader differs, as
agreement/NAME.json; --failures lists those cases with their texts.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from baselines import Baseline
from provenance import provenance
from reasonenv.grading import VERSION
from reasonenv.scoring.statistics import wilson
from reasonenv.workers import Grader

HERE = Path(__file__).with_suffix("")
SUITES = ("handmade", "probe", "attack")
Case = dict[str, Any]


def read(path: str) -> list[Case]:
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def response(case: Case) -> str:
    return case["response"] if case["tagged"] is None else case["tagged"]


def graded(cases: Sequence[Case]) -> list[Case]:
    """The cases with the verdicts `ours` and `bare`, and the answer and status that we found."""
    responses = [response(case) for case in cases]
    with Grader() as grader:
        options = [case.get("options") or () for case in cases]
        grades = grader.grade(responses, [case["gold"] for case in cases], options)
    with Baseline("math_verify") as baseline:
        verdicts = [
            baseline.judge(text, case["gold"]) for text, case in zip(responses, cases, strict=True)
        ]
    return [
        case
        | {
            "ours": g.correct,
            "bare": bare,
            "killed": killed,
            "answer": g.answer,
            "status": g.status,
        }
        for case, g, (bare, _, killed) in zip(cases, grades, verdicts, strict=True)
    ]


def row(name: str, cases: Sequence[Case]) -> dict[str, Any]:
    """Counts of one kind: agreement, false positives and false negatives of both graders.

    The interval of false positives is that of their rate among wrong answers, that of false
    negatives of their rate among right ones.
    """
    num_right = sum(bool(case["expected"]) for case in cases)
    counts: dict[str, Any] = {"kind": name, "n": len(cases), "right": num_right}
    for who in ("ours", "bare"):
        paid = sum(bool(case[who]) and not case["expected"] for case in cases)
        missed = sum(not case[who] and bool(case["expected"]) for case in cases)
        right = (len(cases) - paid - missed) / len(cases)
        counts |= {f"{who}_agreement": round(right, 4), f"{who}_fp": paid, f"{who}_fn": missed}
        counts |= {
            f"{who}_agreement_interval": wilson(len(cases) - paid - missed, len(cases)),
            f"{who}_fp_interval": wilson(paid, len(cases) - num_right),
            f"{who}_fn_interval": wilson(missed, num_right),
        }
    return counts


def table(cases: Sequence[Case], key: Callable[[Case], str]) -> list[dict[str, Any]]:
    """A row for each value of a key, the largest first, and one for all."""
    parts: dict[str, list[Case]] = {}
    for case in cases:
        parts.setdefault(key(case), []).append(case)
    largest = sorted(parts.items(), key=lambda part: (-len(part[1]), part[0]))
    return [*(row(name, part) for name, part in largest), *([row("all", cases)] if cases else [])]


def suite(case: Case) -> str:
    return case["source"] if case["source"] in SUITES else "peer"


def _kind(case: Case) -> str:
    return case["kind"]


def tables(cases: Sequence[Case]) -> dict[str, list[dict[str, Any]]]:
    settled = [case for case in cases if not case["disputed"]]
    disputed = [case for case in cases if case["disputed"]]
    peers = [case for case in settled if suite(case) == "peer"]
    return {
        "undisputed, by suite": table(settled, suite),
        "undisputed, by kind": table(settled, _kind),
        "undisputed cases of peers, by kind": table(peers, _kind),
        "disputed, by policy": table(disputed, lambda case: case["disputed"]),
    }


def printed(title: str, rows: Iterable[dict[str, Any]]) -> str:
    """A table as Markdown."""
    lines = [
        f"\n### {title}\n",
        "| kind | n | reasonenv | FP | FN | math-verify | FP | FN |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for counts in rows:
        both = " | ".join(
            f"{counts[f'{who}_agreement']:.1%} | {counts[f'{who}_fp']} | {counts[f'{who}_fn']}"
            for who in ("ours", "bare")
        )
        lines.append(f"| {counts['kind']} | {counts['n']} | {both} |")
    return "\n".join(lines)


def of_outputs(path: str) -> list[Case]:
    """Published outputs of models as cases; without those whose label is null."""
    outputs = read(path)
    if outputs and "expected_adjudicated" in outputs[0]:
        return [
            output | {"expected": output["expected_adjudicated"], "tagged": None, "disputed": False}
            for output in outputs
            if output["expected_adjudicated"] is not None
        ]
    return [
        {
            "id": str(index),
            "source": "published verdict",
            "gold": output["ground_truth"],
            "response": output["model_output"],
            "tagged": None,
            "expected": int(output["is_correct"]),
            "kind": "paid" if output["is_correct"] else "not paid",
            "disputed": False,
        }
        for index, output in enumerate(outputs)
    ]


def tables_of_outputs(cases: Sequence[Case]) -> dict[str, list[dict[str, Any]]]:
    if {case["source"] for case in cases} == {"published verdict"}:
        return {"published verdicts": table(cases, _kind)}
    return {
        "outputs, by source": table(cases, lambda case: case["source"]),
        "outputs, by source and kind": table(
            cases, lambda case: f"{case['source']}: {case['kind']}"
        ),
    }


TOLD = ("id", "source", "kind", "disputed", "expected", "ours", "bare", "status")


def differences(cases: Sequence[Case]) -> list[Case]:
    """The cases in which the grader differs from the label, without their reasoning."""
    return [
        {key: case[key] for key in (*TOLD, "gold", "answer")} | {"end": response(case)[-160:]}
        for case in cases
        if case["ours"] != bool(case["expected"])
    ]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--cases", metavar="FILE", help="labelled cases")
    given.add_argument("--outputs", metavar="FILE", help="a model's outputs with verdicts")
    parser.add_argument("--name", required=True, help="of the result, agreement/NAME.json")
    parser.add_argument("--unread", nargs="+", default=[], help="sources not developed on")
    parser.add_argument("--failures", metavar="FILE", help="where to list the differences as text")
    options = parser.parse_args()
    cases = graded(read(options.cases) if options.cases else of_outputs(options.outputs))
    found = tables(cases) if options.cases else tables_of_outputs(cases)
    for title, rows in found.items():
        if rows:
            print(printed(title, rows))
    differing = differences(cases)
    if options.failures:
        lines = [json.dumps(case, ensure_ascii=False) for case in differing]
        Path(options.failures).write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = provenance("agreement.py") | {
        "grader_version": VERSION,
        "unread": options.unread,
        "tables": found,
        # Without their texts, which are not ours to pass on.
        "differences": [{key: case[key] for key in TOLD} for case in differing],
        "killed": {
            "reasonenv": sum(case["status"] == "timeout" for case in cases),
            "math-verify": sum(case["killed"] for case in cases),
        },
    }
    HERE.mkdir(exist_ok=True)
    path = HERE / f"{options.name}.json"
    path.write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
