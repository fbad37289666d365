r"""EMMA: the text of the last box must be the key or the text of its option.

This is the official fast rule, which knows no mathematics: three is not 3. The other official rule
is a judge model. On the 400 verdicts published for the mathematics of EMMA-mini the two agree.

Source: EMMA-Bench/EMMA.
"""

import re
from collections.abc import Sequence

from reasonenv.datasets.option_text import LETTERS
from reasonenv.grading import Grade
from reasonenv.grading.reading import answer_section, box_contents
from reasonenv.scoring.responses import LabeledResponse

TABLES = {"category": "category", "type": "type", "source": "source"}
NEEDED = ("answer",)
_TEXT = re.compile(r"\\text\w*\s*\{([^{}]*)\}|[\s$]+")


def grades(cases: Sequence[LabeledResponse]) -> list[Grade]:
    """The verdicts on the last boxes, or on whole responses without one."""
    return [_graded(case) for case in cases]


def _graded(case: LabeledResponse) -> Grade:
    response = answer_section(case.response)[0]
    answer = case.extraction or [response, *box_contents(response)][-1]
    key = str(case.label["answer"])
    letters = dict(zip(LETTERS, case.label.get("options") or (), strict=False))
    is_right = _plain(answer) in {_plain(key), _plain(str(letters.get(key, key)))}
    return Grade(is_right, answer or None, "ok" if answer else "no_answer")


def _plain(text: str) -> str:
    return _TEXT.sub(r"\1", text).casefold()
