"""From rows of responses to a graded sheet, and from a sheet to its scores."""

import importlib
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from reasonenv.errors import DataError
from reasonenv.grading import Grade
from reasonenv.registration import find
from reasonenv.scoring.cases import Case, Sheet
from reasonenv.scoring.intervals import over_problems, over_samples
from reasonenv.scoring.judges import Judge, judged
from reasonenv.scoring.labels import Labels, labels
from reasonenv.scoring.paired import compared
from reasonenv.scoring.responses import Response, Skipped, responses
from reasonenv.scoring.samples import majority_at_k, pass_at_k, sizes

_RULES = {
    "MathVista": "mathvista",
    "MathVerse": "mathverse",
    "MathVision": "mathvision",
    "OlympiadBench": "olympiadbench",
    "WeMath": "wemath",
    "GSM8K": "gsm8k",
}


def rules(env_id: str) -> Any:
    """The module with the rules of a benchmark: `grades`, `TABLES`, `NEEDED` and what is its own.

    Raises:
        gymnasium.error.NameNotFound: When no environment has this name.
    """
    name = re.sub(r"-v\d+$", "", find(env_id).id)
    return importlib.import_module(f"reasonenv.scoring.benchmarks.{_RULES.get(name, 'graded')}")


def to_stderr(line: str) -> None:
    """Prints a line beside the results."""
    print(line, file=sys.stderr)


def graded(
    env_id: str,
    rows: Iterable[Mapping[str, Any]],
    data: str | os.PathLike[str] | None = None,
    *,
    split: str | None = None,
    judge: Judge | None = None,
    skipped: Skipped | None = None,
) -> Sheet:
    """The graded sheet of responses to the problems of an environment.

    Args:
        env_id: A registered environment.
        rows: `{"id": ..., "response": ...}`; `extraction`, where a row has it, is its answer.
        data: Folder with the labels; None for `REASONENV_DATA`, then the environment itself.
        split: Part of the data; None for the one that covers most ids.
        judge: Takes a label and a response, and gives a verdict or the extracted answer; None for
            the rules of the benchmark.
        skipped: Told of each row that is left out, and of what else is odd; None for lines on
            standard error.

    Raises:
        MissingDataError: When there are no labels.
        DataError: When no row can be scored.
    """
    module = rules(env_id)
    skipped = skipped or Skipped(to_stderr)
    found = responses(rows, skipped)
    if not found:
        raise DataError(f"there is no response to score: {dict(skipped.counts) or 'no rows'}")
    ids = dict.fromkeys(response.id for response in found)
    pooled = getattr(module, "POOLED", False)
    known = labels(env_id, ids, data, split, module.NEEDED, pooled)
    cases = _cases(env_id, found, known, module.NEEDED, skipped)
    grades = judged(cases, judge, module.grades, skipped) if judge else module.grades(cases)
    answered = {case.id for case in cases}
    return Sheet(
        find(env_id).id,
        cases,
        grades,
        known.total - len(answered),
        known.folder,
        dict(skipped.counts),
    )


def _cases(
    env_id: str,
    found: Sequence[Response],
    known: Labels,
    needed: Sequence[str],
    skipped: Skipped,
) -> list[Case]:
    """The responses with their labels; those without one are told."""
    cases = []
    for response in found:
        label = known.rows.get(response.id)
        if label is None:
            line = f"left out, {env_id} has no problem {response.id!r}"
            skipped("unknown_id", f"{response.where}: {line}")
        elif any(label.get(column) is None for column in needed):
            column = next(column for column in needed if label.get(column) is None)
            line = f"left out, the label of {response.id!r} has no {column!r}"
            skipped("broken_label", f"{response.where}: {line}")
        else:
            cases.append(Case(response.id, label, response.text, response.extraction))
    if not cases:
        raise DataError(
            f"none of the {len(found)} responses is to a known problem of {env_id}: there is "
            f"{found[0].id!r}, known ids are such as {known.example!r}"
        )
    return cases


def summary(sheet: Sheet, seed: int = 0) -> dict[str, Any]:
    """The scores of a sheet as JSON-able values, each with its interval."""
    module = rules(sheet.env)
    counts = getattr(module, "counted", lambda label: True)
    counted = [name for name, label in sheet.labels.items() if counts(label)] or list(sheet.labels)
    means = [sheet.means[name] for name in counted]
    found = {
        "env": sheet.env,
        "num_problems": len(counted),
        "num_samples": sheet.num_samples,
        "accuracy": float(np.mean(means)),
        "interval": over_problems(means, seed),
    }
    if sheet.num_samples > 1:
        found |= _of_samples(sheet, counted, seed)
    found["by"] = _tables(sheet, module.TABLES, seed)
    if hasattr(module, "extras"):
        found |= module.extras(sheet, seed)
    return found | {
        "status": dict(sorted(Counter(grade.status for grade in sheet.grades).items())),
        "num_responses": len(sheet.cases),
        "num_missing": sheet.num_missing,
        "skipped": dict(sheet.skipped),
    }


def _of_samples(sheet: Sheet, names: Sequence[str], seed: int) -> dict[str, Any]:
    """What several samples of each problem tell; mean@k of all of them is the accuracy itself."""
    correct = np.array([sum(sheet.correct[name]) for name in names])
    total = np.array([len(sheet.correct[name]) for name in names])
    passed, voted = {}, {}
    for k in sizes(int(total.min())):
        pairs = zip(correct, total, strict=True)
        passed[str(k)] = [pass_at_k(int(c), int(n), k) for c, n in pairs]
        voted[str(k)] = [
            majority_at_k(_votes(sheet.samples[name]), True, k, seed) for name in names
        ]
    scores = {"pass@k": passed, "maj@k": voted}
    return {
        "mean@k": {str(sheet.num_samples): float(np.mean([sheet.means[name] for name in names]))},
        "interval_samples": over_samples(correct, total, seed),
        **{
            name: {k: float(np.mean(values)) for k, values in by_k.items()}
            for name, by_k in scores.items()
        },
        "intervals": {
            name: {k: over_problems(values, seed) for k, values in by_k.items()}
            for name, by_k in scores.items()
        },
    }


def _votes(grades: Sequence[Grade]) -> list[bool | str | None]:
    """What each sample votes for: the right ones for one, others for their texts."""
    return [
        True if grade.correct else None if grade.answer is None else "".join(grade.answer.split())
        for grade in grades
    ]


def _tables(
    sheet: Sheet, tables: Mapping[str, Callable[[Any], Any]], seed: int
) -> dict[str, dict[str, Any]]:
    """The accuracy by everything that tells problems apart; a problem may count in several rows."""
    found = {}
    for title, group in tables.items():
        parts: dict[str, list[float]] = {}
        for name, label in sheet.labels.items():
            value = group(label)
            for each in value if isinstance(value, list | tuple) else (value,):
                if each is not None and each != "":
                    parts.setdefault(str(each), []).append(sheet.means[name])
        if parts:
            found[title] = {part: _line(means, seed) for part, means in sorted(parts.items())}
    return found


def _line(means: Sequence[float], seed: int) -> dict[str, Any]:
    return {
        "accuracy": float(np.mean(means)),
        "num": len(means),
        "interval": over_problems(means, seed),
    }


def comparison(sheet: Sheet, other: Sheet, seed: int = 0) -> dict[str, Any]:
    """Whether the responses of a sheet are better than another's, over the problems of both.

    Raises:
        DataError: When they have no problem in common.
    """
    common = [name for name in sheet.means if name in other.means]
    if not common:
        raise DataError("the two files have no problem in common: there is nothing to compare")
    ours, theirs = ([each.means[name] for name in common] for each in (sheet, other))
    return compared(ours, theirs, seed)
