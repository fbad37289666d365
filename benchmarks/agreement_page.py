"""The page of agreement, made of the records: agreement/README.md.

    python benchmarks/agreement_page.py

Of agreement/outputs.json, which `agreement.py --outputs` writes, of the records of
`python -m reasonenv.check --attacks --output` in agreement/attacks-*.json, and of the first runs on
pairs written blind, agreement/blind.json. A test compares the page with the records.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reasonenv.scoring.statistics import wilson

FOLDER = Path(__file__).with_name("agreement")
PAGE = FOLDER / "README.md"
_HEAD = """# Agreement with labelled outputs, and attacks

This page is generated from the records beside it by `python benchmarks/agreement_page.py`. False
accepts are wrong answers that are paid, out of all wrong ones; refusals are right answers that are
not, out of all right ones; each with its 95 % interval (Wilson).
"""


_ATTACKS = """The rules were developed on this corpus, so that 0 is a check against regressions and
no estimate. Bare math-verify was run on the first nine kinds alone: compare rows, not `all`.
"""


def page() -> str:
    """The page, as Markdown."""
    outputs = FOLDER / "outputs.json"
    attacks = sorted(FOLDER.glob("attacks-*.json"))
    parts = [_HEAD, *([_of_outputs(_read(outputs))] if outputs.exists() else [])]
    parts.append(_of_blind_pairs(json.loads((FOLDER / "blind.json").read_text(encoding="utf-8"))))
    if attacks:
        parts.append(_of_attacks([_read(path) for path in attacks]))
    return "\n".join(parts)


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def _of_outputs(record: dict[str, Any]) -> str:
    unread = record["unread"]
    sources, kinds = record["tables"].values()
    developed = [row["kind"] for row in sources if row["kind"] not in (*unread, "all")]
    lines = [
        "## Real outputs of models\n",
        f"Version {record['grader_version']} of the grader, {record['date']}; rows whose label "
        "cannot be decided are left out.\n",
        f"Developed on, so that their figures are no estimate for other outputs: "
        f"{', '.join(developed)}.\n",
        f"Not read while the rules were written: {', '.join(unread) or 'none'}.\n",
        *_table(sources),
        "\nBy source and kind:\n",
        *_table(kinds),
        f"\n```bash\n{record['command']}\n```\n",
    ]
    return "\n".join(lines)


def _table(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| | n | agree | false accepts | refusals | math-verify: agree "
        "| false accepts | refusals |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [
            cell
            for who in ("ours", "bare")
            for cell in (
                f"{row[f'{who}_agreement']:.1%}",
                _count(row[f"{who}_fp"], row["n"] - row["right"], row[f"{who}_fp_interval"]),
                _count(row[f"{who}_fn"], row["right"], row[f"{who}_fn_interval"]),
            )
        ]
        lines.append(f"| {row['kind']} | {row['n']} | {' | '.join(cells)} |")
    return lines


def _count(count: int, total: int, interval: Sequence[float]) -> str:
    if not total:
        return ""
    return f"{count} of {total} [{interval[0]:.1%}, {interval[1]:.1%}]"


_BLIND = """## Pairs written blind

Pairs, outputs in the manner of models, and wrong answers, half of the pairs in Chinese, with labels
by authors who had not seen the rules; in `tests/reasonenv/grading/blind`. Set a was graded once and
then read, set b was written and graded after that. The pairs are invented: they are harder than
outputs of models, and their rates hold for no benchmark.
"""


def _of_blind_pairs(rows: list[dict[str, Any]]) -> str:
    names = ["version 2, first run", "version 1", "math-verify"]
    lines = [
        _BLIND,
        f"| | {' | '.join(f'{name}: false accepts | refusals' for name in names)} |",
        f"|---|{'---|---|' * len(names)}",
    ]
    for row in rows:
        totals = row["wrong"], row["right"]
        cells = [
            _count(count, total, wilson(count, total) if total else [])
            for name in names
            for count, total in zip(row[name], totals, strict=True)
        ]
        lines.append(f"| {row['set']}: {row['rows']} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _of_attacks(records: list[dict[str, Any]]) -> str:
    names = [record["grader"] for record in records]
    lines = ["## The corpus of attacks\n", _ATTACKS, "Wrong answers paid:\n"]
    lines += _counts(records, "attacks")
    lines += ["\nRight answers refused:\n", *_counts(records, "controls")]
    others = [name for name in names if ":" in name]
    commands = ["python -m reasonenv.check --attacks --output FILE.json"]
    commands += [f"{commands[0]} --grader {name}" for name in others]
    return "\n".join([*lines, "\n```bash", *commands, "```\n"])


def _counts(records: list[dict[str, Any]], part: str) -> list[str]:
    kinds = list(dict.fromkeys(kind for record in records for kind in record[part]))
    lines = [
        f"| | {' | '.join(record['grader'] for record in records)} |",
        f"|---|{'---|' * len(records)}",
    ]
    for kind in kinds:
        found = [record[part].get(kind) for record in records]
        cells = [_count(row["errors"], row["num"], row["interval"]) if row else "" for row in found]
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
