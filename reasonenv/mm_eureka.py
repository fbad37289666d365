"""The accuracy reward that was released with MM-EUREKA and CPGD, to compare with; quirks and all.

Train on `reasonenv.rewards.accuracy`. This one does not read `<answer>3</answer>`, where the tag
touches the number, and pays for whatever has a reference that math-verify cannot parse.

MM-EUREKA, examples/scripts/reward_func_qwen_instruct.py, https://github.com/ModalMinds/MM-EUREKA.
"""

import logging
import re
from typing import Any

from reasonenv.grading import Grade, turned_down
from reasonenv.problem import Problem

_CHOICES = frozenset("abcd")
# Without DOTALL, as there: an answer of several lines is no match.
_ANSWER = re.compile(r"<answer>(.*?)</answer>")


def mm_eureka(response: str, problem: Problem, grade: Grade) -> float:
    """1 or 0, as the released reward pays for a response; `grade` plays no part.

    It runs math-verify in the caller's process, with no deadline and from any thread: what is
    long or known to explode earns 0 unread, but nothing kills what is not known. Take it to
    compare, on responses that you trust; not in a long run.
    """
    text = response.strip()
    if not text or turned_down(_content(text)) or turned_down(problem.answer):
        return 0.0
    return float(judge(text, problem.answer))


def judge(text: str, reference: str) -> bool:
    """Whether the released reward pays for a text that is not empty; it may take for ever."""
    gold = _parse(f"${reference}$")
    if not gold:
        return True  # as there, where it is meant to skip the problem
    content = _content(text)
    said = content.replace("<answer>", "").replace("</answer>", "").lower()
    return _verified(content, gold) or _chooses(said, gold)


def _content(text: str) -> str:
    """The first answer with its tags; without one, whatever follows the last tag that opens."""
    match = _ANSWER.search(text)
    return match.group() if match else text.rpartition("<answer>")[2]


def _verified(content: str, gold: list[Any]) -> bool:
    from math_verify import (
        ExprExtractionConfig,
        LatexExtractionConfig,
        StringExtractionConfig,
        verify,
    )

    configs = [StringExtractionConfig(), LatexExtractionConfig(), ExprExtractionConfig()]
    # The gold comes first in math-verify's signature, but not there.
    return verify(_parse(content, extraction_config=configs), gold, timeout_seconds=0)


def _parse(text: str, **kwargs: Any) -> list[Any]:
    from math_verify import parse

    # Its own deadlines are signals, which only the main thread may set; it warns when they are off.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    return parse(text, parsing_timeout=0, **kwargs)


def _chooses(said: str, gold: list[Any]) -> bool:
    """Whether a letter of `gold` occurs anywhere in what was said, and no other of a to d does."""
    letters = _CHOICES.intersection(str(item).lower() for item in gold)
    return any({choice for choice in _CHOICES if choice in said} == {one} for one in letters)
