"""Stored responses: rows of JSON with an id and a response. Bad rows are reported and skipped."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reasonenv.errors import DataError, MissingDataError, UsageError
from reasonenv.files import read_rows

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
        path: JSON lines, or another file of `files.read_rows`.
        skipped: Log of entries that are no rows.

    Raises:
        MissingDataError: When there is no such file.
        UsageError: When it is a folder.
        DataError: When it cannot be read as a whole, or an object of JSON has a key twice.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder: a file of responses was expected, JSON lines")
    if not path.exists():
        raise MissingDataError(f"there is no file {path}")
    for row in read_rows(path):
        where = f"{path}, {row.place}"
        if isinstance(row.value, Mapping):
            # Rows by id need not repeat it; one that does may use another column.
            id = {} if row.key is None or _id(row.value) is not None else {"id": row.key}
            yield {**row.value, **id, _WHERE: where}
        else:
            is_fault = isinstance(row.value, DataError)
            reason = row.value if is_fault else f"{row.value!r:.40} is no object"
            skipped("broken", f"{where}: skipped, {reason}")


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


def _id(row: Mapping[str, Any]) -> Any:
    """The id of a row; None without one."""
    return next((row[name] for name in ID_COLUMNS if row.get(name) is not None), None)


def _response(row: Mapping[str, Any], where: str, skipped: SkipLog) -> StoredResponse | None:
    if not isinstance(name := _id(row), str | int):
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
