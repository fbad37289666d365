"""Accuracy of each family of figures, with intervals by combination, and errors by their kind."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from reasonenv.envs import figures
from reasonenv.problem import Problem
from reasonenv.scoring.statistics import over_clusters


def by_family(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Accuracy with its 95 % interval, of all problems and of each family, and kinds of errors.

    Problems of one combination of operands are a cluster: what a model knows of it decides about
    all of them.

    Args:
        rows: Graded responses, as `python -m agents.evaluate` writes them.
    """
    families: dict[str, list[tuple[Any, bool]]] = defaultdict(list)
    errors: Counter[str] = Counter()
    count = 0
    for row in rows:
        problem = problem_of(row["id"])
        name = problem.metadata["family"]
        family = figures.FAMILIES[name]
        families[name].append((family.canonical(problem.metadata["operands"]), row["correct"]))
        count += 1
        if not row["correct"]:
            errors[kind_of_error(problem, row["response"])] += 1
    together = [
        ((name, combination), ok) for name in families for combination, ok in families[name]
    ]
    return {
        "num_problems": count,
        "all": accuracy(together),
        "families": {name: accuracy(families[name]) for name in figures.FAMILIES if families[name]},
        "errors": {kind: round(number / count, 4) for kind, number in errors.most_common()},
    }


def problem_of(id: str) -> Problem:
    """The problem with an id."""
    _, level, split, seed, index = id.split("/")
    level, _, names = level.partition(":")
    options: dict[str, Any] = {"families": names.split("+")} if names else {}
    return figures.problems(split, int(level), int(seed), **options)[int(index)]


def accuracy(answers: Sequence[tuple[Any, bool]]) -> dict[str, Any]:
    """Mean, 95 % interval over combinations, and numbers of problems and combinations."""
    clusters: dict[Any, list[bool]] = defaultdict(list)
    for combination, correct in answers:
        clusters[combination].append(correct)
    sums = np.array([sum(values) for values in clusters.values()])
    sizes = np.array([len(values) for values in clusters.values()])
    return {
        "accuracy": round(float(sums.sum() / sizes.sum()), 4),
        "interval": [round(end, 4) for end in over_clusters(sums, sizes)],
        "num_problems": int(sizes.sum()),
        "num_combinations": len(sums),
    }


def kind_of_error(problem: Problem, response: str) -> str:
    """Kind of the first difference of a wrong response from the right solution.

    slip: a line whose value is one too small, as in the teacher's slips. misread: another value or
    number taken from the figure or the question. arithmetic: another wrong value of a line. copy:
    digits joined or copied wrongly. letter: the right number and another letter. form: no steps.
    """
    steps = _lines(problem.solution or "")
    written = _lines(response)
    if not written:
        return "form"
    known = {value for line in steps for value in re.findall(r"\d+", line)}
    for right, line in zip(steps, written, strict=False):
        if right == line:
            continue
        expression, _, value = line.rpartition("=")
        right_expression, _, right_value = right.rpartition("=")
        if expression != right_expression:
            return "misread" if not set(re.findall(r"\d+", expression)) <= known else "copy"
        if not expression:
            return "copy"
        if value.isdigit() and right_value.isdigit() and int(value) == int(right_value) - 1:
            return "slip"
        return "misread" if re.fullmatch(r"[a-z]\w*|[K-N]", expression) else "arithmetic"
    return "letter" if problem.options else "copy"


def _lines(response: str) -> list[str]:
    match = re.match(r"<think>(.*?)</think>", response, re.DOTALL)
    return match[1].split("\n") if match else []
