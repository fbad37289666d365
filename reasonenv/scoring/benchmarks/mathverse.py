"""MathVerse: accuracy over the five versions with images, by version, subject and subfield.

Officially a language model extracts the answer and a second prompt judges it; here a letter is
compared with the letter or its option, and any other answer mathematically. Give `judge` for a
language model. The official accuracy is that of all rows of the five versions; rows of the version
"Text Only" have their line in the table, and count only where there are no others.

Source: ZrrSkywalker/MathVerse, evaluation/extract_answer_s1.py and score_answer_s2.py.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from reasonenv.datasets.option_text import option_texts
from reasonenv.grading import Grade
from reasonenv.scoring.final_answers import grade_against
from reasonenv.scoring.responses import LabeledResponse, Row
from reasonenv.scoring.short_answers import LETTERS, chosen_option


def _attribute(row: Row, name: str) -> str | None:
    metadata = row.get("metadata") or {}
    return row.get(name) or metadata.get(name) or metadata.get(f"{name}s")


def _subfield(row: Row) -> str | None:
    subject, subfield = _attribute(row, "subject"), _attribute(row, "subfield")
    return f"{subject}, {subfield}" if subfield else None


TABLES = {
    "problem_version": lambda row: _attribute(row, "problem_version"),
    "subject": lambda row: _attribute(row, "subject"),
    "subfield": _subfield,
    "question_type": "question_type",
}
NEEDED = ("answer", "question_type")
TEXT_ONLY = "Text Only"


def grades(cases: Sequence[LabeledResponse]) -> list[Grade]:
    """The grades of the announced options, else of the final answers."""
    options = [label_options(case.label) for case in cases]
    references = [str(case.label["answer"]).strip() for case in cases]
    # A multiple choice with the option that the response announces in words.
    cases = [
        replace(case, extraction=case.answer(partial(chosen_option, choices=texts or LETTERS[:4])))
        if len(answer) == 1 and answer in LETTERS
        else case
        for case, texts, answer in zip(cases, options, references, strict=True)
    ]
    return grade_against(cases, references, options)


def counted(label: Row) -> bool:
    """True if a row counts towards the accuracy."""
    return _attribute(label, "problem_version") != TEXT_ONLY


def label_options(label: Row) -> tuple[str, ...]:
    """The texts of a multiple choice, from its own column or the end of the question."""
    if not str(label.get("question_type", "multi")).startswith("multi"):
        return ()
    question = label.get("question") or label.get("question_for_eval") or ""
    lines = label.get("choices") or question.rpartition("Choices:")[2].strip().splitlines()
    return option_texts(lines)
