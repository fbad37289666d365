"""Files of a run directory as typed values, with a line for each part that is damaged or missing.

What these functions return has the types that their tables name, so that nothing that draws it has
to look again. A value of another type is left out, and a number that is not finite is None.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agents.storage.json_files import json_value, parse_json, read_regular

Row = dict[str, Any]
Types = Mapping[str, Callable[[Any], Any]]
LARGEST_STEP = 2**53
"""Larger integers are not exact in a browser."""


def number(value: Any) -> float | None:
    """A finite number, or None."""
    try:
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
    except OverflowError:
        return None


def step_number(value: Any) -> int | None:
    """An integer from 0 on, or None."""
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return value if is_integer and 0 <= value <= LARGEST_STEP else None


def text(value: Any) -> str | None:
    """A text, a number or a bool as text, or None."""
    return str(value) if isinstance(value, str | int | float) else None


def mapping(value: Any) -> Row | None:
    """An object, or None."""
    return value if isinstance(value, dict) else None


def list_of(convert: Callable[[Any], Any]) -> Callable[[Any], list[Any] | None]:
    """Converter of lists of which each item has a type; None for other lists."""

    def converted(value: Any) -> list[Any] | None:
        items = [convert(item) for item in value] if isinstance(value, list) else [None]
        return None if any(item is None for item in items) else items

    return converted


def _log_ratio(value: Any) -> float | None:
    """A number within bounds that leave room for arithmetic."""
    ratio = number(value)
    return None if ratio is None else max(-1e6, min(ratio, 1e6))


def _interval(value: Any) -> list[float] | None:
    """Both ends of an interval; empty where there is none."""
    ends = list_of(number)(value)
    return ends if ends is not None and len(ends) in (0, 2) else None


def _machine(value: Any) -> Row | None:
    if not isinstance(value, dict):
        return None
    return value | {"gpus": list_of(text)(value.get("gpus")) or []}


def _settings(value: Any) -> Row | None:
    is_mapping = isinstance(value, dict) and isinstance(value.get("run", {}), dict)
    return value if is_mapping else None


RECORD: Types = {
    "settings": _settings,
    "command": text,
    "started": text,
    "machine": _machine,
    "resumed": list_of(mapping),
    **dict.fromkeys(("git", "versions", "environment"), mapping),
}
EVALUATION: Types = {
    "step": step_number,
    "split": text,
    "accuracy": number,
    "interval": _interval,
    "num_problems": step_number,
}
RESPONSE: Types = {
    **dict.fromkeys(("system", "question", "response", "problem_id", "answer", "reference"), text),
    **dict.fromkeys(("reward", "advantage", "accuracy"), number),
    "status": text,
    "group": step_number,
    "finished": lambda value: value if isinstance(value, bool) else None,
    "images": list_of(text),
    "tokens": list_of(lambda token: token if isinstance(token, str) else None),
    "log_ratio": lambda value: list(map(_log_ratio, value)) if isinstance(value, list) else None,
    "clipped": list_of(step_number),
}
"""Converters of the values of `run.json`, `evaluations.jsonl` and `rollouts/step-N.jsonl`."""


def read_record(path: Path, faults: list[str]) -> Row:
    """The object of `run.json`; empty where it cannot be read."""
    try:
        content = json_value(parse_json(read_regular(path)))
        if isinstance(content, dict):
            return _typed([content], lambda _: RECORD, path.name, faults)[0]
        faults.append("run.json is no object: the settings and the command are not known")
    except FileNotFoundError:
        faults.append("run.json is missing: the settings and the command are not known")
    except (OSError, ValueError) as error:
        faults.append(f"run.json cannot be read ({error}): settings and command are not known")
    return {}


def read_metrics(path: Path, faults: list[str]) -> list[Row]:
    """The steps of `metrics.jsonl` in their order; each metric is a number or None."""

    def types(row: Row) -> Types:
        return dict.fromkeys(row, number) | {"step": step_number}

    return _stepped(_typed(_objects(path, faults), types, path.name, faults), path, faults)


def read_evaluations(path: Path, faults: list[str]) -> list[Row]:
    """The rows of `evaluations.jsonl` in the order of steps."""
    rows = _typed(_objects(path, faults), lambda _: EVALUATION, path.name, faults)
    return _stepped(rows, path, faults)


def read_responses(path: Path, faults: list[str]) -> list[Row]:
    """The rows of `rollouts/step-N.jsonl` that have a response."""
    rows = _typed(_objects(path, faults), lambda _: RESPONSE, path.name, faults)
    return [row for row in rows if row["response"] is not None]


def _objects(path: Path, faults: list[str]) -> list[Row]:
    """The objects of a `.jsonl` file, without lines that are damaged."""
    try:
        *lines, rest = read_regular(path).split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        faults.append(f"{path.name} cannot be read and is left out ({error.strerror})")
        return []
    if rest:
        faults.append(f"{path.name}: the last line is cut and left out")
    rows: list[Row] = []
    damaged: list[str] = []
    for place, line in enumerate(lines, 1):
        try:
            row = json_value(parse_json(line))
            if not isinstance(row, dict):
                raise ValueError("no object")
            rows.append(row)
        except ValueError as error:
            damaged.append(f"line {place} is left out ({error})")
    if damaged:
        faults.append(f"{path.name}: {_first(damaged)}")
    return rows


def _typed(
    rows: Sequence[Row], types: Callable[[Row], Types], name: str, faults: list[str]
) -> list[Row]:
    """Rows with the values of a table; None where one is missing or of another type."""
    typed: list[Row] = []
    dropped: list[str] = []
    for row in rows:
        typed.append({key: convert(row.get(key)) for key, convert in types(row).items()})
        dropped += [
            f"the value of {key} is left out ({str(row[key])[:40]!r})"
            for key, value in typed[-1].items()
            if value is None and row.get(key) is not None
        ]
    if dropped:
        faults.append(f"{name}: {_first(dropped)}")
    return typed


def _stepped(rows: Sequence[Row], path: Path, faults: list[str]) -> list[Row]:
    """The rows that have a step, in the order of steps; the later one of two of the same step."""
    stepped = {(row["step"], row.get("split")): row for row in rows if row["step"] is not None}
    if len(stepped) < len(rows):
        count = len(rows) - len(stepped)
        faults.append(f"{path.name}: {count} of {len(rows)} lines have no step or repeat one")
    return sorted(stepped.values(), key=lambda row: row["step"])


def few(faults: Sequence[str], count: int = 20) -> list[str]:
    """The first lines of many, with the number of the others."""
    others = [f"and {len(faults) - count} more"] if len(faults) > count else []
    return [*faults[:count], *others]


def _first(faults: Sequence[str]) -> str:
    """The first of many faults, with the number of the others."""
    return faults[0] + (f", and {len(faults) - 1} more" if len(faults) > 1 else "")
