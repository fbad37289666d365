"""JSON and JSON Lines files, and the conversion of Python values to JSON."""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from agents.errors import RecordError
from reasonenv.files import parse_json, read_regular


def json_value(value: Any, nonfinite: Callable[[float], Any] = lambda number: None) -> Any:
    """Value with JSON types only; functions become their names.

    Args:
        value: Of any type.
        nonfinite: JSON value of a number that is not finite; `str` for one that is read again.
    """
    inner = partial(json_value, nonfinite=nonfinite)
    if isinstance(value, np.generic | np.ndarray | Tensor):
        value = value.tolist()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type) and not callable(value):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else nonfinite(value)
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, Mapping):
        return {str(key): inner(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [inner(item) for item in value]
    return getattr(value, "__name__", None) or str(value)


def json_line(row: Mapping[str, Any]) -> bytes:
    """A row as a line of a `.jsonl` file."""
    # A response may contain half of a surrogate pair, which UTF-8 cannot encode.
    text = json.dumps(json_value(row), ensure_ascii=False, allow_nan=False)
    return text.encode(errors="replace") + b"\n"


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        RecordError: The file is missing, unreadable, or holds no object.
    """
    try:
        return _object(read_regular(path))
    except (OSError, ValueError) as error:
        raise RecordError(f"cannot read {path}: {error}") from error


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a `.jsonl` file without an incomplete last line; empty for an absent file.

    Raises:
        RecordError: Another line is damaged; the message has its number.
    """
    if not path.exists():
        return []
    *lines, _incomplete = path.read_bytes().split(b"\n")
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(_object(line))
        except ValueError as error:
            raise RecordError(f"{path}, line {number}: {error}; remove it") from error
    return rows


def read_steps(path: Path) -> list[dict[str, Any]]:
    """The objects of a `.jsonl` file of a run, each with its `step`.

    Raises:
        RecordError: A line is damaged; the message has its number.
    """
    rows = read_json_lines(path)
    for number, row in enumerate(rows, 1):
        if type(row.get("step")) is not int:
            raise RecordError(f"{path}, line {number} has no step: {row!r:.99}; remove it")
    return rows


def _object(text: bytes) -> dict[str, Any]:
    value = parse_json(text)
    if not isinstance(value, dict):
        raise ValueError(f"an object was expected, not {value!r:.99}")
    return value
