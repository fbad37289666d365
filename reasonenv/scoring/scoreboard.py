"""From rows of responses to graded responses, and from those to scores."""

import importlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from inspect import signature
from pkgutil import iter_modules, resolve_name
from typing import Any

import numpy as np

from reasonenv.datasets.column_names import cell
from reasonenv.errors import DataError, UsageError
from reasonenv.grading import VERSION, Grade
from reasonenv.registration import find
from reasonenv.scoring import benchmarks
from reasonenv.scoring.labels import Labels, load_labels
from reasonenv.scoring.responses import (
    GradedResponses,
    LabeledResponse,
    Row,
    SkipLog,
    most_frequent,
    stored_responses,
)
from reasonenv.scoring.statistics import (
    majority_at_k,
    over_problems,
    over_samples,
    paired_comparison,
    pass_at_k,
    sample_sizes,
)

Judge = Callable[[Row, str], bool | str | None]
"""A custom judge, such as a language model, in place of the rules: a function of a problem's label
(its row in the data set) and a response, called from several threads. It returns True or False, or
the extracted answer as text, to which the rules are applied; None means that the response has no
answer."""
# A judge waits for its model most of the time.
_NUM_THREADS = 8
# Benchmarks with rules of their own, by their names in lower case.
_BENCHMARKS = {module.name for module in iter_modules(benchmarks.__path__)}


def rules(env_id: str) -> Any:
    """The module with the rules of a benchmark: `grade` or `grades`, `TABLES`, `NEEDED`, extras.

    Raises:
        gymnasium.error.NameNotFound: When no environment has this name.
    """
    name = re.sub(r"-v\d+$", "", find(env_id).id).lower()
    module = f"benchmarks.{name}" if name in _BENCHMARKS else "final_answers"
    return importlib.import_module(f"reasonenv.scoring.{module}")


def grades_by_rules(
    env_id: str, cases: Sequence[LabeledResponse], guess: int | None = None
) -> list[Grade]:
    """The grades of responses by the rules of their benchmark; `guess` as of `grade_responses`."""
    module = rules(env_id)
    grades: Any = getattr(module, "grades", lambda cases: [module.grade(case) for case in cases])
    if guess is None:
        return grades(cases)
    if "guess" not in signature(grades).parameters:
        raise UsageError(f"guess={guess}: only the rule of MMMU-Pro guesses letters")
    return grades(cases, guess=guess)


def load_judge(name: str) -> Any:
    """The judge called "module:function".

    Raises:
        UsageError: When there is none.
    """
    try:
        judge = resolve_name(name) if ":" in name else None
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"no judge {name!r}: {error}") from None
    if not callable(judge):
        raise UsageError(f"no judge {name!r}: give module:function")
    return judge


def grade_responses(  # noqa: PLR0913 - keywords of a user
    env_id: str,
    rows: Iterable[Row],
    data: str | os.PathLike[str] | None = None,
    *,
    split: str | None = None,
    env_options: Mapping[str, Any] | None = None,
    judge: Judge | None = None,
    guess: int | None = None,
    skipped: SkipLog | None = None,
) -> GradedResponses:
    """Responses to the problems of an environment, graded.

    Args:
        env_id: A registered environment.
        rows: `{"id": ..., "response": ...}`; `extraction`, where a row has it, is its answer.
        data: Folder with the labels; None for `REASONENV_DATA`, then the environment itself.
        split: Part of the data; None for the one that covers most ids.
        env_options: Further arguments of an environment whose labels are its own problems.
        judge: As of `load_judge`; None for the rules of the benchmark.
        guess: Seed of the random letters that the rule of MMMU-Pro gives to responses without one;
            None for no letter.
        skipped: Log of skipped rows and other warnings; None for lines on standard error.

    Raises:
        MissingDataError: When there are no labels.
        DataError: When no row can be scored.
    """
    module = rules(env_id)
    skipped = skipped or SkipLog()
    stored = stored_responses(rows, skipped)
    if not stored:
        number = sum(skipped.counts.values())
        raise DataError(f"there is no response to score; rows that were skipped: {number}")
    ids = dict.fromkeys(response.id for response in stored)
    pooled = getattr(module, "POOLED", False)
    options = {**(env_options or {}), "data": data, "split": split}
    labels = load_labels(env_id, ids, options, module.NEEDED, pooled)
    cases = _label(env_id, stored, labels, module.NEEDED, skipped)
    rule = partial(grades_by_rules, env_id, guess=guess)
    grades = _judged(cases, judge, rule, skipped) if judge else rule(cases)
    num_missing = labels.total - len({case.id for case in cases})
    counts = dict(skipped.counts)
    return GradedResponses(find(env_id).id, cases, grades, num_missing, labels.folder, counts)


def _label(
    env_id: str,
    stored: Sequence[LabeledResponse],
    labels: Labels,
    columns: Sequence[str],
    skipped: SkipLog,
) -> list[LabeledResponse]:
    """The responses with their labels; those without one are skipped."""
    cases = []
    for response in stored:
        label = labels.rows.get(response.id)
        if label is None:
            line = f"skipped, {env_id} has no problem {response.id!r}"
            skipped("unknown_id", f"{response.where}: {line}")
        elif missing := [name for name in columns if label.get(name) is None]:
            line = f"skipped, the label of {response.id!r} has no {missing[0]!r}"
            skipped("broken_label", f"{response.where}: {line}")
        else:
            cases.append(replace(response, label=label))
    if not cases:
        raise DataError(
            f"none of the {len(stored)} responses is to a known problem of {env_id}: there is "
            f"{stored[0].id!r}, known ids are such as {labels.example!r}"
        )
    return cases


def _judged(
    cases: Sequence[LabeledResponse],
    judge: Judge,
    rule: Callable[[Sequence[LabeledResponse]], list[Grade]],
    skipped: SkipLog,
) -> list[Grade]:
    """The verdicts of a judge; where it extracts an answer, those of the rules on it.

    An exception of the judge is reported, and the response is wrong with the status "error".
    """
    with ThreadPoolExecutor(_NUM_THREADS) as pool:
        answers = list(pool.map(lambda case: _answer(judge, case), cases))
    texts = [
        replace(case, extraction=text)
        for case, text in zip(cases, answers, strict=True)
        if isinstance(text, str)
    ]
    grades = iter(rule(texts) if texts else [])
    return [
        next(grades) if isinstance(answer, str) else _grade(case, answer, skipped)
        for case, answer in zip(cases, answers, strict=True)
    ]


def _answer(judge: Judge, case: LabeledResponse) -> Any:
    try:
        return judge(case.label, case.response)
    # A judge is a user's code: an exception must not lose the verdicts so far.
    except Exception as error:
        return error


def _grade(case: LabeledResponse, answer: Any, skipped: SkipLog) -> Grade:
    if answer is None:
        return Grade(False, None, "no_answer")
    if isinstance(answer, bool):
        return Grade(answer, None, "ok")
    reason = f"{type(answer).__name__}: {answer}".partition("\n")[0]
    skipped(
        "judge_error", f"id {case.id!r}: the judge gave no verdict, which counts as wrong, {reason}"
    )
    return Grade(False, None, "error")


def summarize(graded: GradedResponses, seed: int = 0) -> dict[str, Any]:
    """The scores of graded responses as JSON-able values, each with its interval."""
    module, names = rules(graded.env), _counted(graded)
    line = _line(graded, names)
    num_samples = most_frequent(map(len, graded.correct.values()))
    scores = {
        "env": graded.env,
        "rules": module.__name__,
        "grader_version": VERSION,
        "num_problems": line.pop("num"),
        "num_samples": num_samples,
        **line,
    }
    if num_samples > 1:
        scores["mean@k"] = {str(num_samples): line["accuracy"]}
        scores |= _sample_scores(graded, names, seed)
    scores["by"] = _tables(graded, module.TABLES)
    if hasattr(module, "extras"):
        scores |= module.extras(graded)
    return scores | {
        "status": dict(sorted(Counter(grade.status for grade in graded.grades).items())),
        "num_responses": len(graded.cases),
        "num_missing": graded.num_missing,
        "skipped": dict(graded.skipped),
    }


def _counted(graded: GradedResponses) -> list[str]:
    """Ids of the problems that count towards the accuracy; all, where none would."""
    counts = getattr(rules(graded.env), "counted", lambda label: True)
    names = [name for name, label in graded.labels.items() if counts(label)]
    return names or list(graded.labels)


def _sample_scores(graded: GradedResponses, names: Sequence[str], seed: int) -> dict[str, Any]:
    """pass@k and maj@k with their intervals; mean@k of all samples is the accuracy itself."""
    correct = np.array([sum(graded.correct[name]) for name in names])
    total = np.array([len(graded.correct[name]) for name in names])
    votes = [_votes(graded.samples[name]) for name in names]
    clusters = [graded.clusters[name] for name in names]
    rates: dict[str, dict[str, list[float]]] = {"pass@k": {}, "maj@k": {}}
    for k in sample_sizes(int(total.min())):
        pairs = zip(correct, total, strict=True)
        rates["pass@k"][str(k)] = [pass_at_k(int(c), int(n), k) for c, n in pairs]
        rates["maj@k"][str(k)] = [majority_at_k(each, True, k, seed) for each in votes]
    intervals, scores = (
        {name: {k: of(values) for k, values in by_k.items()} for name, by_k in rates.items()}
        for of in (lambda values: over_problems(values, clusters), _mean)
    )
    return {"interval_samples": over_samples(correct, total), **scores, "intervals": intervals}


def _votes(grades: Sequence[Grade]) -> list[bool | str | None]:
    """The vote of each sample: True for right ones, the answer's text for others."""
    return [
        True if grade.correct else None if grade.answer is None else "".join(grade.answer.split())
        for grade in grades
    ]


def _tables(graded: GradedResponses, tables: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Accuracy by the groups of each table; a problem may count in several rows.

    Args:
        graded: All responses.
        tables: By title the column of the group, or a function of the label.
    """
    rows = {}
    for title, group in tables.items():
        parts: dict[str, list[str]] = {}
        for name, label in graded.labels.items():
            value = group(label) if callable(group) else cell(label, group)
            for each in value if isinstance(value, list | tuple) else (value,):
                if each is not None and each != "":
                    parts.setdefault(str(each), []).append(name)
        if parts:
            rows[title] = {part: _line(graded, names) for part, names in sorted(parts.items())}
    return rows


def _line(graded: GradedResponses, names: Sequence[str]) -> dict[str, Any]:
    """Accuracy of some problems, with its interval over their clusters."""
    means = [graded.means[name] for name in names]
    clusters = [graded.clusters[name] for name in names]
    return {
        "accuracy": _mean(means),
        "num": len(names),
        "num_clusters": len(set(clusters)),
        "interval": over_problems(means, clusters),
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def comparison(graded: GradedResponses, other: GradedResponses, seed: int = 0) -> dict[str, Any]:
    """The paired comparison of two files of responses, over the problems of both.

    Returns:
        That of `paired_comparison`; `accuracies` and `intervals` of the two, on these problems.

    Raises:
        DataError: When they have no problem in common.
    """
    common = [name for name in _counted(graded) if name in other.means]
    if not common:
        raise DataError("the two files have no problem in common: there is nothing to compare")
    both = [[each.means[name] for name in common] for each in (graded, other)]
    clusters = [graded.clusters[name] for name in common]
    return {
        **paired_comparison(both[0], both[1], seed, clusters),
        "accuracies": [_mean(means) for means in both],
        "intervals": [over_problems(means, clusters) for means in both],
    }
