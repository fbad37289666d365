"""MathVista: normalised answers must equal the reference as texts.

Officially a language model extracts the answer of a response; here `short_answers` does, by rules,
unless a row has an `extraction`. The rest is the official rule: of a multiple choice the option
that is named or else the nearest in edit distance, so that none stays unanswered; integers cut
off, floats rounded to the problem's precision.

Source: lupantech/MathVista, evaluation/extract_answer.py and calculate_score.py.
"""

import re
from collections.abc import Sequence

from reasonenv.errors import DataError
from reasonenv.grading import Grade
from reasonenv.grading.reading import answer_section
from reasonenv.scoring.responses import LabeledResponse, Row
from reasonenv.scoring.short_answers import chosen_option, last_list, last_number

_METADATA = ("language", "source", "category", "task", "context", "grade", "skills")
TABLES = {
    "question_type": "question_type",
    "answer_type": "answer_type",
    **{name: f"metadata.{name}" for name in _METADATA},
}
NEEDED = ("answer", "question_type", "answer_type", "metadata")

_MARKED = re.compile(r"\(([a-zA-Z])\)")
_LONGEST = 200
_MOST_COMPARED = 2_000


def grades(cases: Sequence[LabeledResponse]) -> list[Grade]:
    """The official verdicts on the extracted answers; `answer` is the normalised one."""
    return [_graded(case) for case in cases]


def _graded(case: LabeledResponse) -> Grade:
    _check_label(case)
    answer = case.extraction
    if answer is None:
        answer = extract_answer(answer_section(case.response)[0].strip(), case.label)
    prediction = normalise_answer(answer, case.label)
    correct = prediction == case.label["answer"]
    return Grade(correct, prediction, "no_answer" if prediction is None else "ok")


def _check_label(case: LabeledResponse) -> None:
    """Checks the columns that a kind of question needs; raises DataError."""
    is_choice = case.label["question_type"] == "multi_choice"
    for is_needed, column in (
        (is_choice, "choices"),
        (not is_choice and case.label["answer_type"] == "float", "precision"),
    ):
        if is_needed and case.label.get(column) in (None, []):
            raise DataError(f"label {case.id!r}: column {column!r} is empty")


def extract_answer(response: str, label: Row) -> str:
    """The short answer in a response; where it gives none, its first sentence.

    A language model extracts about the same of a response that refuses; the option nearest to it
    is then taken.
    """
    direct = _direct(response, label)
    if direct is not None:
        return direct
    for line in response.split("\n"):
        quoted, end, _ = line.partition('The answer is "')[2].rpartition('".')
        if end:
            return quoted
    if label["question_type"] == "multi_choice":
        answer = chosen_option(response, label["choices"])
    elif label["answer_type"] == "list":
        answer = last_list(response)
    else:
        answer = last_number(response)
    return response.partition(". ")[0][:_LONGEST] if answer is None else answer


def _direct(response: str, label: Row) -> str | None:
    """The answer of a response without other text; None for other responses."""
    if label["question_type"] == "multi_choice":
        return response if response in label["choices"] else None
    kinds = {"integer": int, "float": float}
    try:
        return str(kinds[label["answer_type"]](response))
    except (KeyError, ValueError):
        return None


def normalise_answer(answer: str, label: Row) -> str | None:
    """An extracted answer in the form of the reference; None where it has none."""
    if label["question_type"] == "multi_choice":
        return _nearest_option(answer.strip(), label["choices"])
    try:
        if label["answer_type"] == "integer":
            return str(int(float(answer)))
        if label["answer_type"] == "float":
            return str(round(float(answer), int(label["precision"])))
    except (ValueError, OverflowError):
        return None
    return answer


def _nearest_option(answer: str, choices: Sequence[str]) -> str:
    """The option that a text names by its letter or is, else the nearest one."""
    marked = _MARKED.findall(answer)
    answer = marked[0].upper() if marked else answer[:_MOST_COMPARED]
    place = ord(answer) - ord("A") if len(answer) == 1 else -1
    if 0 <= place < len(choices):
        return choices[place]
    return min(choices, key=lambda choice: distance(answer, choice))


def distance(first: str, second: str) -> int:
    """Characters to insert, delete or replace to make one text the other (Levenshtein, 1966)."""
    above = list(range(len(second) + 1))
    for row, character in enumerate(first, 1):
        costs = [row]
        for column, other in enumerate(second, 1):
            replacement = above[column - 1] + (character != other)
            costs.append(min(replacement, above[column] + 1, costs[-1] + 1))
        above = costs
    return above[-1]
