"""The labels of a benchmark by id, from its local files or the hub.

Rows need neither question nor image. Of several splits with labels, the one that covers most of
the requested ids is taken.
"""

import os
import re
from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from reasonenv.datasets import VARIABLE
from reasonenv.datasets.local import data_files, dataset_folder, split_of_file
from reasonenv.datasets.schema import Schema, check_values
from reasonenv.datasets.selection import warn_once, without_images
from reasonenv.entry_points import all_problems
from reasonenv.environment import HELD_OUT
from reasonenv.errors import DataError, MissingDataError, UsageError
from reasonenv.files import read_objects
from reasonenv.problem import Problem
from reasonenv.registration import find
from reasonenv.scoring.responses import Row

_SHARD = re.compile(r"-\d+-of-\d+$")
_MOST_PROBLEMS = 20_000


@dataclass
class Labels:
    """Labels of a split."""

    rows: dict[str, Row] = field(default_factory=dict)
    """By id, of the requested ids."""
    total: int = 0
    """Number of problems of the split."""
    folder: Path | None = None
    """Folder of its files; None without files."""
    example: str = ""
    """An id of the split, for errors."""


def load_labels(
    env_id: str,
    ids: Collection[str],
    options: Mapping[str, Any],
    columns: Sequence[str],
    pooled: bool = False,
) -> Labels:
    """The labels of the problems called `ids`.

    Args:
        env_id: Of the environment.
        ids: Requested ids.
        options: Arguments of the environment: `data`, the folder of the benchmark, or one with a
            subfolder for it, None for `REASONENV_DATA`, then the hub; `split`, None for the one
            that covers most ids; and those of an environment whose labels are its own problems.
        columns: Columns that a row must have to be a label; if none, that of the answer.
        pooled: True to score all parts of the benchmark as one, unless the split is one of them.

    Raises:
        MissingDataError: When there is no file of labels.
        UsageError: When a file cannot be read, or no id is known.
    """
    environment = find(env_id)
    schema = environment.schema
    if schema is None:
        return _of_problems(env_id, ids, options)
    split, data = options["split"], options["data"] or os.environ.get(VARIABLE)
    if split == HELD_OUT:
        split = environment.resolve_split(None)
    folder = dataset_folder(schema.name, Path(data)) if data else None
    parts = _local(schema, folder, columns or (schema.answer,)) if folder else _hub(schema, split)
    if split in parts:
        parts = {split: parts[split]}
    elif split is not None and not pooled and not schema.splits.keys().isdisjoint(parts):
        raise UsageError(f"{folder} has no split {split!r} of {schema.name}: {', '.join(parts)}")
    labels = {
        name: _select(rows, schema, set(ids), name, environment.filter)
        for name, rows in parts.items()
    }
    best = _best(labels, environment.evaluation_split(), split)
    if pooled:
        ordered = sorted(labels, key=[*schema.splits, *labels].index)
        # Of one id in several parts it is that of the first part, as in the environment.
        pool = dict(ChainMap(*(labels[name].rows for name in ordered)))
        best.total = sum(part.total for part in labels.values())
        if split is not None or len(best.rows) < len(pool):
            best.rows = pool
    best.folder = folder
    return best


def _best(labels: Mapping[str, Labels], main: str, split: str | None) -> Labels:
    """The labels that cover most ids, of several those of the split that scores are reported on."""
    count = {name: len(each.rows) for name, each in labels.items()}
    best = max(labels, key=lambda name: (count[name], name == main, name.startswith("test"), name))
    for name in labels.keys() - {best}:
        if split is None and count[best] and labels[name].rows.keys() == labels[best].rows.keys():
            warn_once(f"scored by the split {best}; {name} has these ids too: --split chooses")
    return labels[best]


def _row_id(row: Row, number: int, schema: Schema) -> str:
    """The id of a row in its environment: the data set's own, or the row's number."""
    extra = row.get("extra_info")
    if isinstance(extra, Mapping) and "index" in extra:
        return str(extra["index"])
    names = (schema.key, *schema.aliases.get(schema.key, ()))
    return str(next((row[name] for name in names if row.get(name) is not None), number))


def _select(
    rows: Iterable[Row], schema: Schema, ids: set[str], part: str, filter: Mapping[str, Any]
) -> Labels:
    """The rows of the requested ids, which may be "id" or "part/id".

    Raises:
        DataError: A value is of another kind, or two rows of one id have different answers.
    """
    labels, names = Labels(), set()
    for number, row in enumerate(rows):
        label = schema.renamed(row)
        is_posed = all(label.get(name) in values for name, values in filter.items())
        if label.get(schema.answer) == "" or not is_posed:
            continue
        name = _row_id(row, number, schema)
        names.add(name)
        for spelling in {name, f"{part}/{name}"} & ids:
            first = labels.rows.setdefault(spelling, {"part": part, **label})
            try:
                check_values(schema, label)
            except DataError as error:
                raise DataError(f"label {name!r} of {part}: {error}") from None
            if str(first.get(schema.answer)) != str(label.get(schema.answer)):
                line = f"two rows of {part} have the id {name!r} and different answers"
                raise DataError(f"{line}: remove one")
        labels.example = labels.example or name
    labels.total = len(names)
    return labels


def _local(schema: Schema, folder: Path, columns: Sequence[str]) -> dict[str, Iterable[Row]]:
    """The rows of the files that hold labels, by split, or by the name of another file."""
    parts: dict[str, list[Path]] = {}
    for file in data_files(schema, folder):
        if _has_labels(file, schema, columns):
            part = split_of_file(file, schema) or _SHARD.sub("", file.stem)
            parts.setdefault(part, []).append(file)
    if not parts:
        raise MissingDataError(
            f"{folder} has no labels of {schema.name}: JSON or Parquet with the columns "
            f"{', '.join(columns)} was expected"
        )
    return {part: chain.from_iterable(map(read_objects, paths)) for part, paths in parts.items()}


def _has_labels(file: Path, schema: Schema, columns: Sequence[str]) -> bool:
    try:
        row = next(read_objects(file), {})
    except DataError:
        return False  # other JSON, such as scores
    return bool(row) and {*row, *schema.renamed(row)}.issuperset(columns)


def _hub(schema: Schema, split: str | None) -> dict[str, Iterable[Row]]:
    from reasonenv.datasets.hub import hub_table

    names = [name for name in schema.splits if split in (None, name)] or list(schema.splits)
    return {name: hub_table(schema, name).rows for name in names}


def _of_problems(env_id: str, ids: Collection[str], options: Mapping[str, Any]) -> Labels:
    """The labels of an environment without a schema: of its problems, drawn or from any file."""
    environment = find(env_id)
    main = environment.evaluation_split(options)
    splits = [name for name in environment.split_names(options) if name != main]
    labels: dict[str, Labels] = {}
    for name in [options["split"]] if options["split"] else [main, *splits]:
        labels[name] = _of_split(all_problems(env_id, name, options["data"], options), ids)
        if len(labels[name].rows) == len(ids) or "data" not in environment.parameters:
            break
    return _best(labels, main, options["split"])


def _of_split(problems: Sequence[Problem], ids: Collection[str]) -> Labels:
    missing = set(ids)
    labels = Labels(total=len(problems))
    for index in range(min(len(problems), _MOST_PROBLEMS)):
        if not missing:
            break
        try:
            problem = without_images(problems, index)
        except DataError:
            continue  # its responses are reported as those to an unknown problem
        labels.example = labels.example or problem.id
        if problem.id in missing:
            missing.remove(problem.id)
            answer = {"answer": problem.answer, "options": problem.options}
            labels.rows[problem.id] = {**problem.metadata, **answer}
    return labels
