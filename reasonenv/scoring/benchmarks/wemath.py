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
from reasonenv.scoring.responses import GradedResponses, LabeledResponse, Row, verdict
from reasonenv.scoring.statistics import over_clusters

_STEPS = {"2steps_multi": "two-step", "3steps_multi": "three-step"}
TABLES = {
    "steps": lambda row: _STEPS.get(row["key"], "one-step"),
    "key": "key",
    "knowledge concept": "knowledge concept",
}
NEEDED = ("answer", "key", "ID")

_MARKS = re.compile(r"[<>:.]")
_BOX = re.compile(r"\\boxed\{(?:\\(?:text|mathrm|mathbf)\{)?([^{}]*)\}")
_NODES = "knowledge_structure_nodes.json"


def grade(case: LabeledResponse) -> Grade:
    """The official verdict."""
    letter = case.answer(chosen_letter)
    return verdict(letter == str(case.label["answer"]).strip(), letter)


def chosen_letter(response: str) -> str | None:
    r"""The letter right after the last "Answer"; else the letter in the last box.

    The official code ignores boxes, and takes the first letter of a response without "Answer";
    here a box precedes that.
    """
    _, announcement, text = response.rpartition("Answer")
    letter = _letter(text)
    boxed = [found for box in _BOX.findall(text) if (found := _letter(box))]
    return boxed[-1] if boxed and not (announcement and letter) else letter


def _letter(text: str) -> str | None:
    """The letter that a text begins with, by the official rules."""
    text = _MARKS.sub("", text.strip()).strip()
    return text[0] if text and text[0] in "ABCDEFGH" else None


def extras(graded: GradedResponses) -> dict[str, Any]:
    """The four-dimensional metric, and the accuracy by knowledge domain."""
    metric = composite_scores(graded.labels, graded.correct)
    domains = domain_accuracies(graded.labels, graded.correct, graded.folder)
    return {k: v for k, v in (("four_dimensional", metric), ("domains", domains)) if v}


def composite_scores(
    labels: Mapping[str, Row], correct: Mapping[str, Sequence[bool]]
) -> dict[str, Any]:
    """The four-dimensional metric of the composite problems that are answered as a whole.

    Args:
        labels: By id.
        correct: Verdicts on the samples of each answered problem, by id; the first samples make
            one set of composite problems, the second ones another, and the metric is their mean.
    """
    groups: dict[str, dict[str, Sequence[bool]]] = defaultdict(dict)
    for name, verdicts in correct.items():
        groups[str(labels[name]["ID"])][str(labels[name]["key"])] = verdicts
    composites = []
    for parts in groups.values():
        num = min(map(len, parts.values()))
        wholes = [own[:num] for key, own in parts.items() if key.endswith("multi")]
        steps = [own[:num] for key, own in parts.items() if not key.endswith("multi")]
        if wholes and len(parts) == int(next(iter(parts))[0]) + 1:
            composites.append(np.array([wholes[0], np.all(steps, 0), np.any(steps, 0)], bool))
    if not composites:
        return {}
    wholes, all_steps, any_step = np.concatenate(composites, axis=1)
    sizes = np.array([each.shape[1] for each in composites])
    return {
        "num_composite_problems": len(composites),
        "strict": _metric(sizes, wholes, all_steps, all_steps),
        "loose": _metric(sizes, wholes, all_steps, any_step),
    }


def _metric(
    sizes: np.ndarray, wholes: np.ndarray, all_steps: np.ndarray, mastered: np.ndarray
) -> dict[str, Any]:
    """The rates and the score, of verdicts on the samples of composites, `sizes` of each.

    A right composite is mastered where `mastered` is True.
    """
    kinds = np.select([~wholes & ~all_steps, ~wholes & all_steps, wholes & mastered], [0, 1, 2], 3)
    counts = np.bincount(kinds, minlength=4)
    total, right = counts.sum(), counts[2] + counts[3]
    weights = np.array([0.0, 0.5, 1.0, 0.0])
    return {
        "score": float(counts @ weights / total),
        "interval": over_clusters(np.add.reduceat(weights[kinds], np.cumsum(sizes) - sizes), sizes),
        "insufficient_knowledge": float(counts[0] / total),
        "inadequate_generalization": float(counts[1] / total),
        "complete_mastery": float(counts[2] / total),
        "rote_memorization": float(counts[3] / right) if right else None,
        "counts": dict(zip(("IK", "IG", "CM", "RM"), map(int, counts), strict=True)),
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
