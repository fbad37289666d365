"""We-Math: the four-dimensional metric over composite problems, strict and loose, and accuracy.

A composite problem has two or three one-step questions and one that takes all the steps. By which
of them are right it counts as

    insufficient knowledge (IK)      a step is wrong, and so is the whole
    inadequate generalization (IG)   all steps are right, the whole is wrong
    complete mastery (CM)            the whole is right; strict: all steps, loose: any step is
    rote memorization (RM)           the whole is right; strict: a step is wrong, loose: all are

and the score is (n - IG / 2 - RM - IK) / n, which is (IG / 2 + CM) / n. The rate of RM is of
RM + CM, the others are of n, the number of composite problems (525).

Source: We-Math/We-Math, evaluation/four_dimensional_metrics.py and accuracy.py.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reasonenv.errors import DataError
from reasonenv.files import read_objects
from reasonenv.grading import Grade
from reasonenv.grading.reading import answer_section
from reasonenv.scoring.final_answers import GradedResponses, LabeledResponse, Row
from reasonenv.scoring.intervals import over_clusters

_STEPS = {"2steps_multi": "two-step", "3steps_multi": "three-step"}
TABLES = {
    "steps": lambda row: _STEPS.get(row["key"], "one-step"),
    "key": lambda row: row["key"],
    "knowledge concept": lambda row: row.get("knowledge concept"),
}

NEEDED = ("answer", "key", "ID")

_MARKS = re.compile(r"[<>:.]")
_LETTERS = "ABCDEFGH"
_BOX = re.compile(r"\\boxed\{(?:\\(?:text|mathrm|mathbf)\{)?([^{}]*)\}")
_NODES = "knowledge_structure_nodes.json"


def grades(cases: Sequence[LabeledResponse]) -> list[Grade]:
    """The official verdicts."""
    return [_graded(case) for case in cases]


def _graded(case: LabeledResponse) -> Grade:
    letter = case.extraction
    if letter is None:
        letter = chosen_letter(answer_section(case.response)[0])
    correct = letter is not None and letter == str(case.label["answer"]).strip()
    return Grade(correct, letter, "ok" if letter else "no_answer")


def chosen_letter(response: str) -> str | None:
    r"""The letter right after the last "Answer"; else the letter in the last box.

    The official code ignores boxes, and takes the first letter of a response without "Answer";
    here a box precedes that.
    """
    _, announcement, text = response.rpartition("Answer")
    boxes = [box for box in _BOX.findall(text) if _letter(box)]
    if boxes and not (announcement and _letter(text)):
        return _letter(boxes[-1])
    return _letter(text)


def _letter(text: str) -> str | None:
    """The letter that a text begins with, by the official rules."""
    text = _MARKS.sub("", text.strip()).strip()
    return text[0] if text and text[0] in _LETTERS else None


def extras(graded: GradedResponses) -> dict[str, Any]:
    """The four-dimensional metric, and the accuracy by knowledge domain."""
    extra_scores: dict[str, Any] = {}
    if metric := composite_scores(graded.labels, graded.correct):
        extra_scores["four_dimensional"] = metric
    if by_domain := domain_accuracies(graded.labels, graded.correct, graded.folder):
        extra_scores["domains"] = by_domain
    return extra_scores


def composite_scores(
    labels: Mapping[str, Row], correct: Mapping[str, Sequence[bool]]
) -> dict[str, Any]:
    """The four-dimensional metric of the composite problems that are answered as a whole.

    Args:
        labels: By id.
        correct: Verdicts on the samples of each answered problem, by id; the first samples make
            one set of composite problems, the second ones another, and the metric is their mean.
    """
    composites = _composites(labels, correct)
    if not composites:
        return {}
    starts = np.cumsum([0, *map(len, composites[:-1])])
    samples = [sample for composite in composites for sample in composite]
    wholes = np.array([whole for whole, _ in samples], bool)
    all_steps = np.array([all(steps) for _, steps in samples], bool)
    any_step = np.array([any(steps) for _, steps in samples], bool)
    return {
        "num_composite_problems": len(composites),
        "strict": _metric(starts, wholes, all_steps, all_steps),
        "loose": _metric(starts, wholes, all_steps, any_step),
    }


def _metric(
    starts: np.ndarray, wholes: np.ndarray, all_steps: np.ndarray, mastered: np.ndarray
) -> dict[str, Any]:
    """The rates and the score; a right composite is mastered where `mastered` is True.

    Args:
        starts: Index of the first sample of each composite.
        wholes: Verdict on the composite, of each sample.
        all_steps: True where all of its steps are right.
        mastered: True where enough of its steps are right.
    """
    kinds = np.select([~wholes & ~all_steps, ~wholes & all_steps, wholes & mastered], [0, 1, 2], 3)
    counts = np.bincount(kinds, minlength=4)
    total = counts.sum()
    weights = np.array([0.0, 0.5, 1.0, 0.0])
    right = counts[2] + counts[3]
    return {
        "score": float(counts @ weights / total),
        "interval": over_clusters(
            np.add.reduceat(weights[kinds], starts), np.diff([*starts, total])
        ),
        "insufficient_knowledge": float(counts[0] / total),
        "inadequate_generalization": float(counts[1] / total),
        "complete_mastery": float(counts[2] / total),
        "rote_memorization": float(counts[3] / right) if right else None,
        "counts": dict(zip(("IK", "IG", "CM", "RM"), map(int, counts), strict=True)),
    }


def _composites(
    labels: Mapping[str, Row], correct: Mapping[str, Sequence[bool]]
) -> list[list[tuple[bool, list[bool]]]]:
    """The verdict on the whole and those on the steps, of each sample of each composite."""
    composites = []
    for parts in _groups(labels, correct).values():
        samples = []
        for sample in range(min(len(correct[name]) for name in parts.values())):
            verdicts = {key: correct[name][sample] for key, name in parts.items()}
            steps = [verdict for key, verdict in verdicts.items() if not key.endswith("multi")]
            whole = next(verdict for key, verdict in verdicts.items() if key.endswith("multi"))
            samples.append((whole, steps))
        composites.append(samples)
    return composites


def _groups(
    labels: Mapping[str, Row], correct: Mapping[str, Sequence[bool]]
) -> dict[str, dict[str, str]]:
    """The problems of each composite that is answered in full, by their keys."""
    groups: dict[str, dict[str, str]] = defaultdict(dict)
    for name in correct:
        groups[str(labels[name]["ID"])][str(labels[name]["key"])] = name
    return {
        group: parts
        for group, parts in groups.items()
        if len(parts) == int(next(iter(parts))[0]) + 1 and any(k.endswith("multi") for k in parts)
    }


def domain_accuracies(
    labels: Mapping[str, Row], correct: Mapping[str, Sequence[bool]], folder: Path | None
) -> dict[str, float]:
    """Accuracy by knowledge domain: the mean over its concepts of their one-step accuracy.

    Empty where the folder of the data has no `knowledge_structure_nodes.json`.
    """
    places = [folder, folder / "data"] if folder else []
    file = next((place / _NODES for place in places if (place / _NODES).is_file()), None)
    if file is None:
        return {}
    concepts: dict[str, list[float]] = defaultdict(list)
    for name, verdicts in correct.items():
        if not labels[name]["key"].endswith("multi"):
            concepts[str(labels[name].get("knowledge concept"))].append(float(np.mean(verdicts)))
    accuracies: dict[str, list[float]] = defaultdict(list)
    for node in read_objects(file):
        if not {"full node", "root2"} <= node.keys():
            raise DataError(f"{file}: a node has no 'full node' or no 'root2'")
        concept = str(node["full node"]).rpartition("_")[2]
        if concept in concepts:
            accuracies[str(node["root2"])].append(float(np.mean(concepts[concept])))
    return {domain: float(np.mean(values)) for domain, values in accuracies.items()}
