"""Stored responses: rows of JSON with an id and a response. Bad rows are reported and skipped."""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from reasonenv.errors import DataError, MissingDataError, UsageError
from reasonenv.files import check_regular, unique_keys

LONGEST_LINE = 2**26
"""Bytes of a line at most: many times the longest response of a model."""
_BROKEN_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)

ID_COLUMNS = ("id", "pid", "sample_index", "unique_id", "question number", "idx")
"""Columns of the id of a row, in order of preference."""


@dataclass(frozen=True)
class StoredResponse:
    """A response with the id of its problem.

    Args:
        id: Of the problem.
        text: The model's text.
        extraction: The answer in it, extracted beforehand, as by a judge model; else None.
        where: File and line, for errors.
        sample: Its number among the responses to the problem, as text; None without one.
    """

    id: str
    text: str
    extraction: str | None
    where: str
    sample: str | None = None


@dataclass
class SkipLog:
    """Reports skipped rows, one line each, and counts them by kind."""

    report: Callable[[str], object]
    counts: Counter[str] = field(default_factory=Counter)

    def __call__(self, kind: str, line: str) -> None:
        """One more of a kind: "broken", "unknown_id", "duplicate", "judge_error"."""
        self.counts[kind] += 1
        self.report(line)


def read_responses(path: Path, skipped: SkipLog) -> Iterator[Mapping[str, Any]]:
    """The rows of a file, each with its place for errors.

    Args:
        path: JSON lines; or `.json`, a list of rows or an object of rows by id. Either may be
            compressed by gzip.
        skipped: Log of entries that are no rows.

    Raises:
        MissingDataError: When there is no such file.
        UsageError: When it is a folder.
        DataError: When it is a pipe or a device, or an object of JSON has a key twice.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder: a file of responses was expected, JSON lines")
    if not path.exists():
        raise MissingDataError(f"there is no file {path}")
    check_regular(path)
    content = _document(path) if ".json" in path.suffixes else None
    if content is None:
        yield from _lines(path, skipped)
        return
    for name, row in content:
        where = f"{path}, row {name}"
        if isinstance(row, dict):
            yield {**row, _WHERE: where}
        else:
            skipped("broken", f"{where}: skipped, {row!r:.40} is no object")


def _lines(path: Path, skipped: SkipLog) -> Iterator[Mapping[str, Any]]:
    number = 0
    try:
        with _opened(path) as lines:
            for number, line in enumerate(_bounded_lines(lines), 1):
                where = f"{path}, line {number}"
                if line is None:
                    skipped("broken", f"{where}: skipped, it has more than {LONGEST_LINE:,} bytes")
                elif line.strip() and (row := _row(line, where, skipped)) is not None:
                    yield {**row, _WHERE: where}
    except _BROKEN_GZIP as error:
        skipped("broken", f"{path}: skipped after line {number}, {error}")


def _bounded_lines(file: BinaryIO) -> Iterator[bytes | None]:
    """The lines of a file, None for one that is too long, which is not held in memory."""
    while line := file.readline(LONGEST_LINE):
        end = line
        while len(end) == LONGEST_LINE and not end.endswith(b"\n"):
            end = file.readline(LONGEST_LINE)
            line = None
        yield line


def _row(line: bytes, where: str, skipped: SkipLog) -> Mapping[str, Any] | None:
    try:
        row = json.loads(line.decode("utf-8-sig"), object_pairs_hook=unique_keys)
        if not isinstance(row, dict):
            raise ValueError(f"a {type(row).__name__} where an object was expected")
    except (ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        skipped("broken", f"{where}: skipped, {reason}")
        return None
    return row


def _document(path: Path) -> list[tuple[str, Any]] | None:
    """The rows of one JSON value and their names; None where the file is none, such as lines."""
    try:
        with _opened(path) as file:
            text = file.read().decode("utf-8-sig")
        content = json.loads(text)
    except (ValueError, RecursionError, *_BROKEN_GZIP):
        return None
    try:
        json.loads(text, object_pairs_hook=unique_keys)
    except ValueError as error:
        raise DataError(f"{path}: {error}") from error
    if isinstance(content, list):
        return [(str(number), row) for number, row in enumerate(content, 1)]
    is_of_rows = isinstance(content, dict) and "response" not in content
    # Rows by id need not repeat it; one that does may use another column.
    return [(name, _with_id(name, row)) for name, row in content.items()] if is_of_rows else None


def _with_id(name: str, row: Any) -> Any:
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


def stored_responses(rows: Iterable[Mapping[str, Any]], skipped: SkipLog) -> list[StoredResponse]:
    """The responses of the rows, without repetitions."""
    stored: list[StoredResponse] = []
    places: dict[Any, str] = {}
    for number, row in enumerate(rows, 1):
        where = str(row.get(_WHERE, f"row {number}"))
        if (response := _response(row, where, skipped)) is None:
            continue
        key = number if response.sample is None else (response.id, response.sample)
        if (first := places.setdefault(key, where)) == where:
            stored.append(response)
        else:
            which = f"sample {response.sample} of id {response.id!r}"
            skipped("duplicate", f"{where}: skipped, {which} stands at {first}")
    return _without_repetitions(stored, skipped)


def _response(row: Mapping[str, Any], where: str, skipped: SkipLog) -> StoredResponse | None:
    name = next((row[column] for column in ID_COLUMNS if row.get(column) is not None), None)
    if not isinstance(name, str | int):
        skipped("broken", f"{where}: skipped, it has no 'id'")
        return None
    if "response" not in row:
        skipped("broken", f"{where} (id {name!r}): skipped, it has no 'response'")
        return None
    text, extraction = row["response"], row.get("extraction")
    if text is None:
        skipped.report(f"{where} (id {name!r}): its response is null and counts as empty")
    extraction = None if extraction is None else str(extraction)
    sample = None if row.get("sample") is None else str(row["sample"])
    return StoredResponse(str(name), "" if text is None else str(text), extraction, where, sample)


def _without_repetitions(stored: list[StoredResponse], skipped: SkipLog) -> list[StoredResponse]:
    """The responses without those that repeat one of a problem that has too many.

    Where nearly every problem has k responses, one beyond k that equals an earlier one was written
    twice and is skipped; one beyond k that differs is one more sample, and is reported.
    """
    counts = Counter(response.id for response in stored)
    usual = Counter(counts.values()).most_common(1)[0][0] if counts else 0
    unique: list[StoredResponse] = []
    texts: dict[str, list[str]] = {}
    for response in stored:
        earlier = texts.setdefault(response.id, [])
        is_beyond = counts[response.id] > usual
        if is_beyond and response.text in earlier:
            counts[response.id] -= 1
            skipped(
                "duplicate",
                f"{response.where}: skipped, id {response.id!r} has this response already",
            )
            continue
        if is_beyond and len(earlier) == usual:
            skipped.report(
                f"{response.where}: id {response.id!r} has {counts[response.id]} responses, others "
                f"have {usual}; all count as samples"
            )
        earlier.append(response.text)
        unique.append(response)
    return unique
