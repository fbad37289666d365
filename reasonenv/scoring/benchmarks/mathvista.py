"""MathVista: normalised answers must equal the reference as texts.

Officially a language model extracts the answer of a response; here `short_answers` does, by rules,
unless a row has an `extraction`. The rest is the official rule: of a multiple choice the option
that is named or else the nearest in edit distance, so that none stays unanswered; integers cut
off, floats rounded to the problem's precision.

Source: lupantech/MathVista, evaluation/extract_answer.py and calculate_score.py.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from reasonenv.errors import DataError
from reasonenv.grading import Grade
from reasonenv.scoring.responses import LabeledResponse, Row, verdict
from reasonenv.scoring.short_answers import chosen_option, last_list, last_number

_METADATA = ("language", "source", "category", "task", "context", "grade", "skills")
TABLES = {
    "question_type": "question_type",
    "answer_type": "answer_type",
    **{name: f"metadata.{name}" for name in _METADATA},
}
NEEDED = ("answer", "question_type", "answer_type", "metadata")

_MARKED = re.compile(r"\(([a-zA-Z])\)")
_NUMBERS = {"integer": int, "float": float}
_LONGEST = 200
_MOST_COMPARED = 2_000


def grade(case: LabeledResponse) -> Grade:
    """The official verdict on the extracted answer; `answer` is the normalised one.

    Raises:
        DataError: A column that the kind of question needs is empty.
    """
    label, column = case.label, "answer"
    if label["question_type"] == "multi_choice":
        column = "choices"
    elif label["answer_type"] == "float":
        column = "precision"
    if label.get(column) in (None, []):
        raise DataError(f"label {case.id!r}: column {column!r} is empty")
    answer = normalise_answer(case.answer(partial(extract_answer, label=label)) or "", label)
    return verdict(answer == label["answer"], answer)


def extract_answer(response: str, label: Row) -> str:
    """The short answer in a response; where it gives none, its first sentence.

    A language model extracts about the same of a response that refuses; the option nearest to it
    is then taken.
    """
    response, is_choice = response.strip(), label["question_type"] == "multi_choice"
    if is_choice and response in label["choices"]:
        return response
    if not is_choice and label["answer_type"] in _NUMBERS:
        with suppress(ValueError):
            return str(_NUMBERS[label["answer_type"]](response))
    for line in response.split("\n"):
        quoted, end, _ = line.partition('The answer is "')[2].rpartition('".')
        if end:
            return quoted
    if is_choice:
        answer = chosen_option(response, label["choices"])
    elif label["answer_type"] == "list":
        answer = last_list(response)
    else:
        answer = last_number(response)
    return response.partition(". ")[0][:_LONGEST] if answer is None else answer


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
