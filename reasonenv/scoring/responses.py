"""Stored responses: rows of JSON with an id and a response. Bad ones are told and left out."""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from reasonenv.errors import MissingDataError, UsageError
from reasonenv.scoring import Complain

_BROKEN_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)

ID_COLUMNS = ("id", "pid", "sample_index", "unique_id", "question number", "idx")
"""Where the id of a row is looked for, in this order."""


@dataclass(frozen=True)
class Response:
    """A stored response.

    Args:
        id: Of the problem.
        text: What the model wrote.
        extraction: The answer in it where somebody has extracted it, such as a judge model.
        where: What an error calls it.
    """

    id: str
    text: str
    extraction: str | None
    where: str


@dataclass
class Skipped:
    """Tells what is left out, a line each, and counts it by kind."""

    complain: Complain
    counts: Counter[str] = field(default_factory=Counter)

    def __call__(self, kind: str, line: str) -> None:
        """One more of a kind: "broken", "unknown_id", "duplicate", "judge_error"."""
        self.counts[kind] += 1
        self.complain(line)


def read(path: Path, skipped: Skipped) -> Iterator[Mapping[str, Any]]:
    """The rows of a file, each with what an error calls it.

    Args:
        path: JSON lines; or `.json`, a list of rows or an object of rows by id. Either may be
            compressed by gzip.
        skipped: Told of what is no row.

    Raises:
        MissingDataError: When there is no such file.
        UsageError: When it is a folder.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder: a file of responses was expected, JSON lines")
    if not path.exists():
        raise MissingDataError(f"there is no file {path}")
    content = _document(path) if ".json" in path.suffixes else None
    if content is None:
        yield from _lines(path, skipped)
        return
    for name, row in content:
        where = f"{path}, row {name}"
        if isinstance(row, dict):
            yield {**row, _WHERE: where}
        else:
            skipped("broken", f"{where}: left out, {row!r:.40} is no object")


def _lines(path: Path, skipped: Skipped) -> Iterator[Mapping[str, Any]]:
    number = 0
    try:
        with _opened(path) as lines:
            for number, line in enumerate(lines, 1):
                where = f"{path}, line {number}"
                if line.strip() and (row := _row(line, where, skipped)) is not None:
                    yield {**row, _WHERE: where}
    except _BROKEN_GZIP as error:
        skipped("broken", f"{path}: what follows line {number} is left out, {error}")


def _row(line: bytes, where: str, skipped: Skipped) -> Mapping[str, Any] | None:
    try:
        row = json.loads(line.decode("utf-8-sig"))
        if not isinstance(row, dict):
            raise ValueError(f"a {type(row).__name__} where an object was expected")
    except (ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        skipped("broken", f"{where}: left out, {reason}")
        return None
    return row


def _document(path: Path) -> list[tuple[str, Any]] | None:
    """The rows of one JSON value and their names; None where the file is none, such as lines."""
    try:
        with _opened(path) as file:
            content = json.loads(file.read().decode("utf-8-sig"))
    except (ValueError, RecursionError, *_BROKEN_GZIP):
        return None
    if isinstance(content, list):
        return [(str(number), row) for number, row in enumerate(content, 1)]
    is_of_rows = isinstance(content, dict) and "response" not in content
    # Rows by id need not repeat it; one that does may call it otherwise.
    return [(name, _named(name, row)) for name, row in content.items()] if is_of_rows else None


def _named(name: str, row: Any) -> Any:
    has_name = not isinstance(row, dict) or any(row.get(each) is not None for each in ID_COLUMNS)
    return row if has_name else {**row, "id": name}


def _opened(path: Path) -> BinaryIO:
    file = path.open("rb")
    start = file.read(2)
    file.seek(0)
    if start != b"\x1f\x8b":
        return file
    file.close()
    return gzip.open(path)  # pyright: ignore[reportReturnType] - it reads like one


_WHERE = "\0where"


def responses(rows: Iterable[Mapping[str, Any]], skipped: Skipped) -> list[Response]:
    """The responses among the rows, without repetitions."""
    found = [
        response
        for number, row in enumerate(rows, 1)
        if (response := _response(row, str(row.get(_WHERE, f"row {number}")), skipped))
    ]
    return _without_repetitions(found, skipped)


def _response(row: Mapping[str, Any], where: str, skipped: Skipped) -> Response | None:
    name = next((row[column] for column in ID_COLUMNS if row.get(column) is not None), None)
    if not isinstance(name, str | int):
        skipped("broken", f"{where}: left out, it has no 'id'")
        return None
    if "response" not in row:
        skipped("broken", f"{where} (id {name!r}): left out, it has no 'response'")
        return None
    text, extraction = row["response"], row.get("extraction")
    if text is None:
        skipped.complain(f"{where} (id {name!r}): its response is null and counts as empty")
    extraction = None if extraction is None else str(extraction)
    return Response(str(name), "" if text is None else str(text), extraction, where)


def _without_repetitions(found: list[Response], skipped: Skipped) -> list[Response]:
    """The responses without those that repeat one of a problem that has too many.

    Where nearly every problem has k responses, k are wanted: what is equal to an earlier one and
    goes beyond k was written twice. Another response is a sample more, and is told.
    """
    counts = Counter(response.id for response in found)
    usual = Counter(counts.values()).most_common(1)[0][0] if counts else 0
    kept: list[Response] = []
    seen: dict[str, list[str]] = {}
    for response in found:
        earlier = seen.setdefault(response.id, [])
        is_beyond = counts[response.id] > usual
        if is_beyond and response.text in earlier:
            counts[response.id] -= 1
            skipped(
                "duplicate",
                f"{response.where}: left out, id {response.id!r} has this response already",
            )
            continue
        if is_beyond and len(earlier) == usual:
            skipped.complain(
                f"{response.where}: id {response.id!r} has {counts[response.id]} responses, others "
                f"have {usual}; all count as samples"
            )
        earlier.append(response.text)
        kept.append(response)
    return kept
