"""Facts of runs in plain HTML, readable without a script; every value is escaped."""

from collections.abc import Sequence
from html import escape
from typing import Any

from agents.monitoring.collapse import all_warnings
from agents.monitoring.collapse_rules import WINDOW
from agents.reporting.runs import RunFolder
from agents.storage.provenance import commands
from reasonenv.console import printable
from reasonenv.score_tables import interval_text

PARTS = ("rollout", "grade", "train", "sync")
"""Parts of a step that have their own `time/` metric."""


def run_section(run: RunFolder, label: str, faults: Sequence[str]) -> str:
    """Settings, evaluations, collapse warnings, times and command of a run."""
    pieces = [
        f"<h3>{_text(_title(run, label))}</h3>",
        _list("faults", "Damaged or missing", faults),
        _rows(_facts(run)),
        _collapse_warnings(run),
        _evaluations(run),
        _times(run),
        _command(run),
        _more(run),
    ]
    return f'<article class="run">{"".join(pieces)}</article>'


def _title(run: RunFolder, label: str) -> str:
    seed = "" if run.seed is None else f", seed {run.seed}"
    return f"{label}{seed}"


def _facts(run: RunFolder) -> list[tuple[str, str]]:
    settings, record = run.settings, run.record
    num_steps = settings.get("run.num_steps")
    step = run.rows[-1]["step"] if run.rows else 0
    resumed = record.get("resumed") or ()
    rows = [
        ("folder", str(run.folder)),
        ("steps", f"{step} of {num_steps}" if num_steps else str(step)),
        ("model", settings.get("run.model")),
        ("started", record.get("started")),
        ("resumed", ", ".join(f"after step {entry.get('step')}" for entry in resumed)),
        ("machine", _machine(record.get("machine") or {})),
    ]
    return [(name, str(value)) for name, value in rows if value not in (None, "")]


def _more(run: RunFolder) -> str:
    """Settings, versions and commit, folded."""
    record, git = run.record, run.record.get("git") or {}
    rows = [(name, str(value)) for name, value in run.settings.items()]
    rows += [(name, str(number)) for name, number in (record.get("versions") or {}).items()]
    if git:
        rows.append(("commit", f"{git.get('revision')}{' (changed)' * bool(git.get('changed'))}"))
    if not rows:
        return ""
    summary = "<summary>All settings and versions</summary>"
    return f'<details class="more">{summary}{_rows(rows)}</details>'


def _machine(machine: dict[str, Any]) -> str:
    gpus = machine.get("gpus") or []
    words = [machine.get("platform"), f"{machine.get('num_cores')} cores" if machine else None]
    words.append(f"{len(gpus)} x {gpus[0]}" if gpus else None)
    return ", ".join(str(word) for word in words if word)


def _evaluations(run: RunFolder) -> str:
    rows = []
    for row in run.evaluations:
        accuracy = "unknown" if row["accuracy"] is None else f"{row['accuracy']:.3f}"
        if row["interval"]:
            accuracy += f", 95 % interval {interval_text(row['interval'])}"
        if row["num_problems"] is not None:
            accuracy += f", {row['num_problems']:,} problems"
        rows.append((f"{row['split'] or ''}, step {row['step']}", accuracy))
    return f"<h4>Accuracy of evaluations</h4>{_rows(rows)}" if rows else ""


def _collapse_warnings(run: RunFolder) -> str:
    if len(run.rows) < WINDOW:
        return ""
    warnings = list(all_warnings(run.rows))
    if not warnings:
        return "<p class='calm'>Collapse detection raised no warning.</p>"
    items = "".join(
        f'<li class="{"collapse" if w.collapse else "waste"}"><b>{_text(w.kind)}</b>, steps '
        f"{w.onset} to {w.step}: {_text(w.evidence)}. {_text(w.advice)}.</li>"
        for w in warnings
    )
    return f'<h4>Warnings of collapse detection</h4><ul class="findings">{items}</ul>'


def _times(run: RunFolder) -> str:
    """Seconds of each part of all steps as a bar and a table, and the peak of memory."""
    total = _sum(run, "time/step_s")
    if not total:
        return ""
    parts = {part: _sum(run, f"time/{part}_s") for part in PARTS}
    parts["other"] = max(0.0, total - sum(parts.values()))
    bars, left = [], 0.0
    for k, seconds in enumerate(parts.values()):
        width = 100 * seconds / max(total, sum(parts.values()))
        bars.append(f'<rect class="part{k}" x="{left:.3f}" width="{width:.3f}" height="10"/>')
        left += width
    rows = [
        (name, f"{seconds:,.1f} s, {seconds / total:.1%}, {seconds / len(run.rows):.3g} s a step")
        for name, seconds in parts.items()
    ]
    peak = max((row.get("memory/peak_gib") or 0.0 for row in run.rows), default=0.0)
    rows.append(("all steps", f"{total:,.1f} s"))
    if peak:
        rows.append(("peak memory", f"{peak:.2f} GiB"))
    bar = (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" '
        f'aria-label="Shares of the time of a step">{"".join(bars)}</svg>'
    )
    return f'<div class="times"><h4>Time and memory</h4>{bar}{_rows(rows)}</div>'


def _sum(run: RunFolder, name: str) -> float:
    return sum(row.get(name) or 0.0 for row in run.rows)


def _command(run: RunFolder) -> str:
    lines = commands(run.record)
    if not lines:
        return ""
    title = "The command that repeats it" if len(lines) == 1 else "The commands that repeat it"
    return (
        f"<h4>{title}</h4>"
        f'<div class="command"><pre>{_text(chr(10).join(lines))}</pre>'
        '<button class="copy">Copy</button></div>'
    )


def _rows(rows: Sequence[tuple[str, str]]) -> str:
    cells = "".join(
        f'<tr><th scope="row">{_text(name)}</th><td>{_text(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>{cells}</table>"


def _text(text: str) -> str:
    """HTML of a text without control characters, which could hide or reorder what is read."""
    return escape(printable(text))


def _list(kind: str, title: str, items: Sequence[str]) -> str:
    if not items:
        return ""
    lines = "".join(f"<li>{_text(item)}</li>" for item in items)
    return f'<h4>{_text(title)}</h4><ul class="{kind}">{lines}</ul>'
