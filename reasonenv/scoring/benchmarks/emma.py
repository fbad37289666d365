r"""EMMA: the text of the last box must be the key or the text of its option.

This is the official fast rule, which knows no mathematics: three is not 3. The other official rule
is a judge model. On the 400 verdicts published for the mathematics of EMMA-mini the two agree.

Source: EMMA-Bench/EMMA.
"""

import re

from reasonenv.datasets.option_text import LETTERS
from reasonenv.grading import Grade
from reasonenv.grading.reading import box_contents
from reasonenv.scoring.responses import LabeledResponse, verdict

TABLES = {"category": "category", "type": "type", "source": "source"}
NEEDED = ("answer",)
_TEXT = re.compile(r"\\text\w*\s*\{([^{}]*)\}|[\s$]+")


def grade(case: LabeledResponse) -> Grade:
    """The verdict on the last box, or on the whole response without one."""
    answer = case.answer(lambda text: [text, *box_contents(text)][-1]) or ""
    key = str(case.label["answer"])
    letters = dict(zip(LETTERS, case.label.get("options") or (), strict=False))
    return verdict(_plain(answer) in {_plain(key), _plain(str(letters.get(key, key)))}, answer)


def _plain(text: str) -> str:
    return _TEXT.sub(r"\1", text).casefold()
