"""HTML file of runs: accuracy, highlights, facts, curves and rollouts, without other resources.

Texts of models and data sets are JSON without a `<`, or compressed; the script turns them into text
nodes only. The policy in the page's head allows this script and this style
by their digests and nothing else, and no string to become markup.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from agents.report.facts import run_section
from agents.report.rollouts import LIMIT, Rollouts, collect, highlights
from agents.report.runs import RunFolder, run_labels
from reasonenv.console import printable

HERE = Path(__file__).parent
SCRIPTS = ("page.js", "charts.js", "rollouts.js", "highlights.js")
LONGEST_TITLE = 99
"""Characters of the names of folders in the title."""


def make_page(runs: Sequence[RunFolder], limit: int = LIMIT) -> str:
    """The content of the file.

    Args:
        runs: One or more.
        limit: Bytes of all rollouts.
    """
    rollouts, names = collect(runs, limit), run_labels(runs)
    style = (HERE / "page.css").read_text(encoding="utf-8")
    scripts = "\n".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{scripts}}})();\n'
    note = (
        f"{rollouts.num_left_out} of {rollouts.num_left_out + len(rollouts.index)} groups are left "
        "out to keep this file small; all are in the run directories."
    )
    template = Template((HERE / "page.html").read_text(encoding="utf-8"))
    return template.substitute(
        policy=escape(_policy(script, style)),
        title=escape(printable(_title(runs, names))),
        style=style,
        script=script,
        facts="\n".join(map(run_section, runs, names)),
        note=note if rollouts.num_left_out else "",
        data=_inert(_data(runs, names, rollouts)),
        bodies="\n".join(_stored("body", k, body) for k, body in enumerate(rollouts.bodies)),
        images="\n".join(_stored("image", *image) for image in rollouts.images.values()),
    )


def _title(runs: Sequence[RunFolder], names: Sequence[str]) -> str:
    """Label and folder of a run; of several the folders too, as far as they fit in a line."""
    label = f"{names[0]}: " if len(set(names)) == 1 else ""
    folders = ", ".join(run.folder.resolve().name for run in runs)
    return label + (folders if len(folders) <= LONGEST_TITLE else f"{len(runs)} runs")


def _policy(script: str, style: str) -> str:
    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    )


def _data(runs: Sequence[RunFolder], names: Sequence[str], rollouts: Rollouts) -> dict[str, Any]:
    kinds = list(dict.fromkeys(run.kind for run in runs))
    # A metric that is zero throughout has no curve.
    values = ((name, value) for run in runs for row in run.rows for name, value in row.items())
    metrics = list(dict.fromkeys(name for name, value in values if value and name != "step"))
    return {
        "runs": [
            _run(run, name, kinds.index(run.kind), metrics)
            for run, name in zip(runs, names, strict=True)
        ],
        "groups": rollouts.index,
        "highlights": highlights(rollouts.index, [run.last_step for run in runs]),
    }


def _run(run: RunFolder, name: str, kind: int, metrics: Sequence[str]) -> dict[str, Any]:
    own = [metric for metric in metrics if any(metric in row for row in run.rows)]
    return {
        "label": printable(name),
        "kind": kind,
        "seed": run.seed,
        "folder": printable(str(run.folder)),
        "steps": [row["step"] for row in run.rows],
        "metrics": {printable(m): [_short(row.get(m)) for row in run.rows] for m in own},
        "evaluations": [
            {
                "step": row["step"],
                "split": printable(row["split"]),
                "accuracy": _short(row["accuracy"]),
            }
            for row in run.evaluations
        ],
    }


def _short(value: float | None) -> float | None:
    """A number with six digits, enough for a curve."""
    return None if value is None else float(f"{value:.6g}")


def _stored(kind: str, place: int, content: str) -> str:
    """A script element of inert text: base64 or a data URI."""
    return f'<script type="text/plain" id="{kind}-{place}">{content}</script>'


def _inert(value: Any) -> str:
    """JSON in ASCII that holds no `<`, so that it cannot end the enclosing element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
