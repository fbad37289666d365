"""Stored responses, with the labels that they are scored against and their grades.

A file of responses has rows of JSON with an id and a response. Bad rows are reported and skipped.
"""

import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from reasonenv.console import print_line
from reasonenv.errors import DataError, MissingDataError, UsageError
from reasonenv.files import read_rows
from reasonenv.grading import Grade
from reasonenv.grading.reading import answer_section
from reasonenv.registration import find

ID_COLUMNS = ("id", "pid", "sample_index", "unique_id", "question number", "idx")
"""Columns of the id of a row, in order of preference."""
Row = Mapping[str, Any]
_WHERE = "\0where"


@dataclass(frozen=True)
class LabeledResponse:
    """A response and the label that it is scored against.

    Args:
        id: Of the problem.
        label: The problem's row in the data set; its question and images may be missing.
        response: The model's text.
        extraction: The answer in it, extracted beforehand, as by a judge model; else None.
        where: File and line, for errors.
        sample: Its number among the responses to the problem, as text; None without one.
    """

    id: str
    label: Row
    response: str
    extraction: str | None = None
    where: str = ""
    sample: str | None = None

    def answer(self, read: Callable[[str], str | None]) -> str | None:
        """The extracted answer, else what `read` finds outside of the reasoning."""
        is_extracted = self.extraction is not None
        return self.extraction if is_extracted else read(answer_section(self.response)[0])


def verdict(is_right: bool, answer: str | None) -> Grade:
    """The grade of an answer by the rules of a benchmark; an empty answer is none."""
    return Grade(is_right, answer or None, "ok" if answer else "no_answer")


@dataclass(frozen=True)
class GradedResponses:
    """Graded responses to the problems of a benchmark.

    Args:
        env: Id of the environment.
        cases: The responses, in the order of their file.
        grades: Of each.
        num_missing: Problems of the split without a response.
        folder: Folder of the data, if they are files.
        skipped: Number of skipped rows by reason.
    """

    env: str
    cases: Sequence[LabeledResponse]
    grades: Sequence[Grade]
    num_missing: int = 0
    folder: Path | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def labels(self) -> dict[str, Row]:
        """The label of every problem that has a response."""
        return {case.id: case.label for case in self.cases}

    @cached_property
    def clusters(self) -> dict[str, Hashable]:
        """The cluster of every problem, of itself alone where it has nothing in common."""
        cluster_of = find(self.env).cluster_of
        return {name: cluster_of(label) or (name,) for name, label in self.labels.items()}

    @cached_property
    def samples(self) -> dict[str, list[Grade]]:
        """The grades of every problem's samples."""
        samples: dict[str, list[Grade]] = {case.id: [] for case in self.cases}
        for case, grade in zip(self.cases, self.grades, strict=True):
            samples[case.id].append(grade)
        return samples

    @cached_property
    def correct(self) -> dict[str, list[bool]]:
        """The verdicts on every problem's samples."""
        return {name: [grade.correct for grade in own] for name, own in self.samples.items()}

    @cached_property
    def means(self) -> dict[str, float]:
        """The accuracy of every problem's samples."""
        return {name: float(np.mean(own)) for name, own in self.correct.items()}


@dataclass
class SkipLog:
    """Reports skipped rows, one line each, by default on standard error, and counts the kinds."""

    report: Callable[[str], object] = lambda line: print_line(line, sys.stderr)
    counts: Counter[str] = field(default_factory=Counter)

    def __call__(self, kind: str, line: str) -> None:
        """One more of a kind: "broken", "unknown_id", "duplicate", "judge_error"."""
        self.counts[kind] += 1
        self.report(line)


def read_responses(path: Path, skipped: SkipLog) -> Iterator[Row]:
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


def stored_responses(rows: Iterable[Row], skipped: SkipLog) -> list[LabeledResponse]:
    """The responses of the rows without repetitions, whose labels are still empty."""
    stored: list[LabeledResponse] = []
    places: dict[tuple[str, str], str] = {}
    for number, row in enumerate(rows, 1):
        where = str(row.get(_WHERE, f"row {number}"))
        if (response := _response(row, where, skipped)) is None:
            continue
        first = where
        if response.sample is not None:
            first = places.setdefault((response.id, response.sample), where)
        if first == where:
            stored.append(response)
        else:
            which = f"sample {response.sample} of id {response.id!r}"
            skipped("duplicate", f"{where}: skipped, {which} stands at {first}")
    return _without_repetitions(stored, skipped)


def _id(row: Row) -> Any:
    """The id of a row; None without one."""
    return next((row[name] for name in ID_COLUMNS if row.get(name) is not None), None)


def _response(row: Row, where: str, skipped: SkipLog) -> LabeledResponse | None:
    if not isinstance(name := _id(row), str | int):
        skipped("broken", f"{where}: skipped, it has no 'id'")
        return None
    if "response" not in row:
        skipped("broken", f"{where} (id {name!r}): skipped, it has no 'response'")
        return None
    if row["response"] is None:
        skipped.report(f"{where} (id {name!r}): its response is null and counts as empty")
    text, extraction, sample = (
        None if row.get(column) is None else str(row[column])
        for column in ("response", "extraction", "sample")
    )
    return LabeledResponse(str(name), {}, text or "", extraction, where, sample)


def _without_repetitions(stored: list[LabeledResponse], skipped: SkipLog) -> list[LabeledResponse]:
    """The responses without those that repeat one of a problem that has too many.

    Where nearly every problem has k responses, one beyond k that equals an earlier one was written
    twice and is skipped; one beyond k that differs is one more sample, and is reported.
    """
    counts = Counter(response.id for response in stored)
    usual = most_frequent(counts.values())
    unique: list[LabeledResponse] = []
    texts: dict[str, list[str]] = {}
    for each in stored:
        earlier, count = texts.setdefault(each.id, []), counts[each.id]
        if count > usual and each.response in earlier:
            counts[each.id] -= 1
            line = f"skipped, id {each.id!r} has this response already"
            skipped("duplicate", f"{each.where}: {line}")
            continue
        if count > usual and len(earlier) == usual:
            line = f"{count} responses, others have {usual}; all count as samples"
            skipped.report(f"{each.where}: id {each.id!r} has {line}")
        earlier.append(each.response)
        unique.append(each)
    return unique


def most_frequent(numbers: Iterable[int]) -> int:
    """The number that occurs most often, the first of several; 0 for none."""
    return next((number for number, _ in Counter(numbers).most_common(1)), 0)
