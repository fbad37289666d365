"""HTML file of runs: accuracy, highlights, facts, curves and rollouts, without other resources.

Texts of models and data sets are JSON without a `<`, or compressed; the script turns them into text
nodes only. The policy in the page's head allows this script and this style
by their digests and nothing else, and no string to become markup.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from agents.monitoring.collapse import WINDOW, all_warnings
from agents.report.rollouts import LIMIT, Rollouts, collect, highlights
from agents.report.runs import RunFolder, run_labels
from agents.storage.provenance import commands
from reasonenv.console import printable
from reasonenv.scoring import interval_text

HERE = Path(__file__).parent
SCRIPTS = ("page.js", "charts.js", "rollouts.js", "highlights.js")
LONGEST_TITLE = 99
"""Characters of the names of folders in the title."""
PARTS = {"rollout": 0, "grade": 1, "train": 2, "sync": 3, "other": 4}
"""Parts of a step, and the number of their color; all but the rest have their `time/` metric."""
LANES = {
    "trainer": {"wait": 5, "train": 2, "sync": 3, "other": 4},
    "sampler": {"sampler_wait": 5, "transfer": 3, "rollout": 0, "grade": 1},
}
"""The same of a step beside which the sampler works."""


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
        facts="\n".join(map(_section, runs, names)),
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
            _run(r, n, kinds.index(r.kind), metrics) for r, n in zip(runs, names, strict=True)
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
            {"step": e["step"], "split": printable(e["split"]), "accuracy": _short(e["accuracy"])}
            for e in run.evaluations
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


def _section(run: RunFolder, label: str) -> str:
    """Facts of a run in plain HTML, readable without a script; every value is escaped."""
    title = f"<h3>{_text(f'{label}, seed {run.seed}')}</h3>"
    parts = _facts, _collapse_warnings, _evaluations, _times, _command, _more
    return f'<article class="run">{title}{"".join(part(run) for part in parts)}</article>'


def _facts(run: RunFolder) -> str:
    machine = run.record.get("machine") or {}
    gpus = machine.get("gpus")
    words = [machine.get("platform"), f"{machine.get('num_cores')} cores" if machine else None]
    words.append(f"{len(gpus)} x {gpus[0]}" if gpus else None)
    rows = [
        ("folder", run.folder),
        ("steps", f"{run.last_step} of {run.settings.get('run.num_steps')}"),
        ("model", run.settings.get("run.model")),
        ("started", run.record.get("started")),
        ("resumed", ", ".join(f"after step {each['step']}" for each in run.record["resumed"])),
        ("machine", ", ".join(filter(None, words))),
    ]
    return _rows((name, value) for name, value in rows if value)


def _more(run: RunFolder) -> str:
    """Settings, versions and commit, folded."""
    rows = [*run.settings.items(), *run.record["versions"].items()]
    if git := run.record["git"]:
        rows.append(("commit", f"{git['revision']}{' (changed)' * git['changed']}"))
    summary = "<summary>All settings and versions</summary>"
    return f'<details class="more">{summary}{_rows(rows)}</details>'


def _evaluations(run: RunFolder) -> str:
    rows = []
    for row in run.evaluations:
        words = ["unknown" if row["accuracy"] is None else f"{row['accuracy']:.3f}"]
        if row.get("interval"):
            words.append(f"95 % interval {interval_text(row['interval'])}")
        if row.get("num_problems") is not None:
            words.append(f"{row['num_problems']:,} problems")
        rows.append((f"{row['split']}, step {row['step']}", ", ".join(words)))
    return f"<h4>Accuracy of evaluations</h4>{_rows(rows)}" if rows else ""


def _collapse_warnings(run: RunFolder) -> str:
    warnings = all_warnings(run.rows)
    if not warnings:
        calm = "<p class='calm'>Collapse detection raised no warning.</p>"
        return calm if len(run.rows) >= WINDOW else ""
    items = "".join(
        f'<li class="{"collapse" if w.collapse else "waste"}">{_text(str(w))}.</li>'
        for w in warnings
    )
    return f'<h4>Warnings of collapse detection</h4><ul class="findings">{items}</ul>'


def _times(run: RunFolder) -> str:
    """Seconds of each part of all steps as bars and a table, and the peak of memory.

    A step has one lane; two where the sampler works beside the trainer.
    """
    total = sum(row.get("time/step_s") or 0.0 for row in run.rows)
    if not total:
        return ""
    is_beside = any("time/wait_s" in row for row in run.rows)
    bars, rows = [], []
    for lane, colors in (LANES if is_beside else {"step": PARTS}).items():
        names = [name for name in colors if name != "other"]
        seconds = {n: sum(row.get(f"time/{n}_s") or 0.0 for row in run.rows) for n in names}
        if "other" in colors:
            seconds["other"] = max(0.0, total - sum(seconds.values()))
        bars.append(_bar(lane, seconds, colors))
        title = f"{lane}: " if is_beside else ""
        for name, part in seconds.items():
            share = f"{part / total:.1%}, {part / len(run.rows):.3g} s a step"
            label, kind = title + name.removeprefix("sampler_"), f"part{colors[name]}"
            rows.append((label, f"{part:,.1f} s, {share}", kind))
    peak = max(row.get("memory/peak_gib") or 0.0 for row in run.rows)
    rows += [("all steps", f"{total:,.1f} s"), ("peak memory", f"{peak:.2f} GiB")]
    return f'<div class="times"><h4>Time and memory</h4>{"".join(bars)}{_rows(rows)}</div>'


def _bar(lane: str, seconds: Mapping[str, float], colors: Mapping[str, int]) -> str:
    """A bar of the parts of a lane, in their colors."""
    rects, left, total = [], 0.0, sum(seconds.values()) or 1.0
    for name, part in seconds.items():
        width, title = 100 * part / total, f"<title>{name.removeprefix('sampler_')}</title>"
        place = f'class="part{colors[name]}" x="{left:.3f}" width="{width:.3f}" height="10"'
        rects.append(f"<rect {place}>{title}</rect>")
        left += width
    return (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" '
        f'aria-label="Shares of the time of the {lane}">{"".join(rects)}</svg>'
    )


def _command(run: RunFolder) -> str:
    lines = commands(run.record)
    title = "The command that repeats it" if len(lines) == 1 else "The commands that repeat it"
    pre = f"<pre>{_text(chr(10).join(lines))}</pre>"
    return f'<h4>{title}</h4><div class="command">{pre}<button class="copy">Copy</button></div>'


def _rows(rows: Iterable[Sequence[object]]) -> str:
    """A table of names, values and, where there is one, the class of a name."""
    cells = "".join(
        f'<tr><th scope="row" class="{"".join(map(str, kind))}">{_text(str(name))}</th>'
        f"<td>{_text(str(value))}</td></tr>"
        for name, value, *kind in rows
    )
    return f"<table>{cells}</table>"


def _text(text: str) -> str:
    """HTML of a text without control characters, which could hide or reorder what is read."""
    return escape(printable(text))
