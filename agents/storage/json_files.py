"""JSON and JSON Lines files, and the conversion of Python values to JSON."""

import dataclasses
import errno
import json
import math
import stat
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from agents.errors import RecordError
from reasonenv.files import unique_keys


def json_value(value: Any, nonfinite: Callable[[float], Any] = lambda number: None) -> Any:
    """Value with JSON types only; functions become their names.

    Args:
        value: Of any type.
        nonfinite: JSON value of a number that is not finite; `str` for one that is read again.
    """
    inner = partial(json_value, nonfinite=nonfinite)
    if isinstance(value, float):
        return value if math.isfinite(value) else nonfinite(value)
    for kind, convert in _CONVERSIONS:
        if isinstance(value, kind):
            return convert(value, inner)
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and not callable(value):
        return {f.name: inner(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return getattr(value, "__name__", None) or str(value)


_CONVERSIONS: tuple[tuple[Any, Callable[[Any, Callable[[Any], Any]], Any]], ...] = (
    (bool | int | str | None, lambda value, inner: value),
    (np.generic | np.ndarray | Tensor, lambda value, inner: inner(value.tolist())),
    (Mapping, lambda value, inner: {str(k): inner(v) for k, v in value.items()}),
    (list | tuple | set | frozenset, lambda value, inner: [inner(v) for v in value]),
)


def json_line(row: Mapping[str, Any]) -> bytes:
    """A row as a line of a `.jsonl` file."""
    # A response may contain half of a surrogate pair, which UTF-8 cannot encode.
    text = json.dumps(json_value(row), ensure_ascii=False, allow_nan=False)
    return text.encode(errors="replace") + b"\n"


NESTING = 100
"""Levels of lists and objects in a JSON text; more would exhaust the stack of what walks them."""


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text.

    Raises:
        RecordError: It is no JSON, is nested more than `NESTING` deep, or has a number of too many
            digits.
    """
    try:
        value = json.loads(text, object_pairs_hook=unique_keys)
    except RecursionError as error:
        raise RecordError(f"nested more than {NESTING} deep") from error
    except ValueError as error:
        # Of Python's limit of digits, the advice is for programmers.
        raise RecordError(str(error).partition(";")[0]) from error
    if _depth(value) > NESTING:
        raise RecordError(f"nested more than {NESTING} deep")
    return value


def _depth(value: Any) -> int:
    """Levels of lists and objects, up to one more than `NESTING`."""
    level, depth = [value], 0
    while depth <= NESTING:
        inner = [item for item in level if isinstance(item, dict | list)]
        if not inner:
            return depth
        level = [item for c in inner for item in (c.values() if isinstance(c, dict) else c)]
        depth += 1
    return depth


def read_regular(path: Path, limit: int = -1) -> bytes:
    """The content of a file; neither a pipe nor a device, which need not end, is opened.

    Args:
        path: The file.
        limit: Bytes at most; -1 for a file of any size.

    Raises:
        OSError: The path cannot be read, is no regular file, or has more bytes.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    with path.open("rb") as file:
        content = file.read(limit + 1 if limit >= 0 else -1)
    if 0 <= limit < len(content):
        raise OSError(errno.EFBIG, f"it has more than {limit:,} bytes", str(path))
    return content


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        RecordError: The file is missing, unreadable, or holds no object.
    """
    try:
        content = parse_json(read_regular(path))
    except (OSError, ValueError) as error:
        raise RecordError(f"cannot read {path}: {error}") from error
    if not isinstance(content, dict):
        raise RecordError(f"cannot read {path}: expected an object, found {type(content).__name__}")
    return content


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


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a `.jsonl` file without an incomplete last line; empty for an absent file.

    Raises:
        RecordError: Another line is damaged; the message has its number.
    """
    if not path.exists():
        return []
    try:
        *lines, _incomplete = read_regular(path).split(b"\n")
    except OSError as error:
        raise RecordError(f"cannot read {path}: {error}") from error
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            row = parse_json(line)
        except ValueError as error:
            raise RecordError(f"{path}, line {number} is no JSON: {error}; remove it") from error
        if not isinstance(row, dict):
            raise RecordError(f"{path}, line {number} is no JSON object: {row!r:.99}; remove it")
        rows.append(row)
    return rows
