"""MathVista: normalised answers must equal the reference as texts.

Officially a language model extracts the answer of a response; here `extraction` does, by rules,
unless a row brings an `extraction` of its own. What follows is the official rule: of a multiple
choice the option that is named or else the nearest in edit distance, so that none stays
unanswered; integers cut off, floats rounded to the problem's precision.

Source: lupantech/MathVista, evaluation/extract_answer.py and calculate_score.py.
"""

import re
from collections.abc import Sequence

from reasonenv.grading import Grade
from reasonenv.grading.extraction import section
from reasonenv.scoring import extraction
from reasonenv.scoring.cases import Case, Row

TABLES = {
    "question_type": lambda row: row.get("question_type"),
    "answer_type": lambda row: row.get("answer_type"),
    **{
        name: lambda row, name=name: row["metadata"].get(name)
        for name in ("language", "source", "category", "task", "context", "grade", "skills")
    },
}
NEEDED = ("answer", "question_type", "answer_type", "metadata")

_QUOTED = re.compile(r'The answer is "(.*)"\.')
_MARKED = re.compile(r"\(([a-zA-Z])\)")
_LONGEST = 200
_MOST_COMPARED = 2_000


def grades(cases: Sequence[Case]) -> list[Grade]:
    """The official verdicts on what is extracted; `answer` is the normalised one."""
    return [_graded(case) for case in cases]


def _graded(case: Case) -> Grade:
    found = case.extraction
    if found is None:
        found = extracted(section(case.response)[0].strip(), case.label)
    prediction = normalised(found, case.label)
    correct = prediction == case.label["answer"]
    return Grade(correct, prediction, "no_answer" if prediction is None else "ok")


def extracted(response: str, label: Row) -> str:
    """The short answer in a response; where it gives none, its first sentence.

    That is about what a language model extracts of a response that refuses, and what its nearest
    option is then looked for with.
    """
    direct = _direct(response, label)
    if direct is not None:
        return direct
    quoted = _QUOTED.search(response)
    if quoted:
        return quoted[1]
    if label["question_type"] == "multi_choice":
        found = extraction.option(response, label["choices"])
    elif label["answer_type"] == "list":
        found = extraction.listed(response)
    else:
        found = extraction.number(response)
    return response.partition(". ")[0][:_LONGEST] if found is None else found


def _direct(response: str, label: Row) -> str | None:
    """A response that is nothing but an answer."""
    if label["question_type"] == "multi_choice":
        return response if response in label["choices"] else None
    kinds = {"integer": int, "float": float}
    try:
        return str(kinds[label["answer_type"]](response))
    except (KeyError, ValueError):
        return None


def normalised(found: str, label: Row) -> str | None:
    """An extracted answer in the form of the reference; None where it has none."""
    if label["question_type"] == "multi_choice":
        return _chosen(found.strip(), label["choices"])
    try:
        if label["answer_type"] == "integer":
            return str(int(float(found)))
        if label["answer_type"] == "float":
            return str(round(float(found), int(label["precision"])))
    except (ValueError, OverflowError):
        return None
    return found


def _chosen(found: str, choices: Sequence[str]) -> str:
    """The option that a text names by its letter or is, else the nearest one."""
    marked = _MARKED.findall(found)
    found = marked[0].upper() if marked else found[:_MOST_COMPARED]
    place = ord(found) - ord("A") if len(found) == 1 else -1
    if 0 <= place < len(choices):
        return choices[place]
    return min(choices, key=lambda choice: distance(found, choice))


def distance(first: str, second: str) -> int:
    """Characters to insert, delete or replace to make one text the other (Levenshtein, 1966)."""
    above = list(range(len(second) + 1))
    for row, character in enumerate(first, 1):
        costs = [row]
        for column, other in enumerate(second, 1):
            replaced = above[column - 1] + (character != other)
            costs.append(min(replaced, above[column] + 1, costs[-1] + 1))
        above = costs
    return above[-1]
