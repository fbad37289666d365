"""The labels of a benchmark by id, from whatever files of it there are.

Labels are enough: no question, no image is needed. Of several files that hold labels, those of the
split count that covers most of the ids that are asked for.
"""

import importlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reasonenv.datasets import VARIABLE, files
from reasonenv.datasets.schema import Source
from reasonenv.errors import DataError, MissingDataError, UsageError
from reasonenv.registration import find
from reasonenv.scoring.cases import Row

_SUFFIXES = (".parquet", ".jsonl", ".json")
_SHARD = re.compile(r"-\d+-of-\d+$")
_MOST_PROBLEMS = 20_000


@dataclass
class Labels:
    """The labels that were found.

    Args:
        rows: By id: those that were asked for.
        total: How many problems the split has.
        folder: Where its files lie; None when they come from elsewhere.
        example: An id that there is, for errors.
    """

    rows: dict[str, Row] = field(default_factory=dict)
    total: int = 0
    folder: Path | None = None
    example: str = ""


def labels(
    env_id: str,
    ids: Collection[str],
    data: str | os.PathLike[str] | None,
    split: str | None,
    needed: Sequence[str],
    pooled: bool = False,
) -> Labels:
    """The labels of the problems called `ids`.

    Args:
        env_id: Of the environment.
        ids: What is asked for.
        data: Folder of the benchmark, or with a subfolder for it; None for `REASONENV_DATA`, then
            the hub, or the environment itself where it makes its own problems.
        split: Part of the data; None for the one that covers most ids.
        needed: Columns that a row must have to be a label; if none, that of the answer.
        pooled: Whether the parts of the benchmark are scored as one.

    Raises:
        MissingDataError: When there is no file of labels.
        UsageError: When a file cannot be read, or no id is known.
    """
    module = importlib.import_module(find(env_id).module)
    source: Source | None = getattr(module, "SOURCE", None)
    if source is None:
        return _of_problems(module, ids, split)
    needed = needed or (source.answer,)
    data = data or os.environ.get(VARIABLE)
    folder = files.folder(source.name, Path(data)) if data else None
    parts = _local(source, folder, needed) if folder else _hub(source, split)
    if split in parts and not pooled:
        parts = {split: parts[split]}
    elif split is not None and not pooled and not source.splits.keys().isdisjoint(parts):
        raise UsageError(f"{folder} has no split {split!r} of {source.name}: {', '.join(parts)}")
    if not parts:
        raise MissingDataError(
            f"{folder} has no labels of {source.name}: JSON or Parquet with the columns "
            f"{', '.join(needed)} was expected"
        )
    wanted = set(ids)
    found = {name: _asked(rows, source, wanted, name) for name, rows in parts.items()}
    best = max(found, key=lambda name: (len(found[name].rows), name.startswith("test"), name))
    chosen = found[best]
    if pooled:
        chosen.total = sum(part.total for part in found.values())
        for part in found.values():
            chosen.rows = {**part.rows, **chosen.rows}
    chosen.folder = folder
    return chosen


def key(row: Row, number: int, source: Source) -> str:
    """The id of a row, as its environment calls it: the data set's own, or the row's number."""
    extra = row.get("extra_info")
    if isinstance(extra, Mapping) and "index" in extra:
        return str(extra["index"])
    names = (source.key, *source.aliases.get(source.key, ()))
    return str(next((row[name] for name in names if row.get(name) is not None), number))


def _asked(rows: Iterable[Row], source: Source, wanted: set[str], part: str) -> Labels:
    """Those of the rows that are asked for; one may also be called by its part and its id."""
    found = Labels()
    seen = set()
    for number, row in enumerate(rows):
        name = key(row, number, source)
        found.example = found.example or name
        seen.add(name)
        for spelling in (name, f"{part}/{name}"):
            if spelling in wanted and spelling not in found.rows:
                renamed = source.renamed(row)
                label = {renamed.get(column, column): value for column, value in row.items()}
                found.rows[spelling] = {"part": part, **label}
    found.total = len(seen)
    return found


def _local(source: Source, folder: Path, needed: Sequence[str]) -> dict[str, Iterable[Row]]:
    """The rows of the files that hold labels, by split."""
    places = [folder, *(folder / name for name in source.folders())]
    parts: dict[str, list[Path]] = {}
    for place in places:
        for file in sorted(place.iterdir()) if place.is_dir() else ():
            if file.suffix in _SUFFIXES and _has_labels(file, source, needed):
                parts.setdefault(_part(file, source), []).append(file)
    return {part: _rows(found) for part, found in parts.items()}


def _rows(found: Sequence[Path]) -> Iterator[Row]:
    for file in found:
        yield from files.rows(file)


def _has_labels(file: Path, source: Source, needed: Sequence[str]) -> bool:
    try:
        row = next(files.rows(file), {})
    except DataError:
        # What is no file of rows holds no labels: scores, trees of concepts.
        return False
    names = set(row) | set(source.renamed(row).values())
    return bool(row) and names.issuperset(needed)


def _part(file: Path, source: Source) -> str:
    """The split of a file by the beginning of its name, else its own name."""
    fits = [
        (len(begin), split)
        for split, begins in source.files().items()
        for begin in begins
        if re.match(rf"{re.escape(begin)}([-_.]|$)", file.name)
    ]
    return max(fits)[1] if fits else _SHARD.sub("", file.stem)


def _hub(source: Source, split: str | None) -> dict[str, Iterable[Row]]:
    from reasonenv.datasets import hub

    names = [name for name in source.splits if split in (None, name)] or list(source.splits)
    tables = {name: hub.table(source, name) for name in names}
    return {name: (table.words(i) for i in range(len(table))) for name, table in tables.items()}


def _of_problems(module: Any, ids: Collection[str], split: str | None) -> Labels:
    """The labels of an environment that makes its own problems."""
    splits = getattr(module, "SPLITS", ("train",))
    split = split or ("test" if "test" in splits else splits[0])
    problems = module.problems(split=split)
    missing = set(ids)
    found = Labels(total=len(problems))
    for index in range(min(len(problems), _MOST_PROBLEMS)):
        if not missing:
            break
        problem = problems[index]
        found.example = found.example or problem.id
        if problem.id in missing:
            missing.remove(problem.id)
            about = {**problem.metadata, "answer": problem.answer, "options": problem.options}
            found.rows[problem.id] = about
    return found
