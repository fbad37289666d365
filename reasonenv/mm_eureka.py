"""The accuracy reward that was released with MM-EUREKA and CPGD, to compare with; quirks and all.

Train on `reasonenv.rewards.accuracy`. This one does not read `<answer>3</answer>`, where the tag
touches the number, and pays for whatever has a reference that math-verify cannot parse.

MM-EUREKA, examples/scripts/reward_func_qwen_instruct.py, https://github.com/ModalMinds/MM-EUREKA.
"""

import functools
import logging
import re
from typing import Any

from reasonenv.grading import Grade
from reasonenv.problem import Problem
from reasonenv.workers import WorkerPool

_CHOICES = frozenset("abcd")
# Without DOTALL, as there: an answer of several lines is no match.
_ANSWER = re.compile(r"<answer>(.*?)</answer>")


def mm_eureka(response: str, problem: Problem, grade: Grade) -> float:
    """1 or 0, as the released reward pays for a response; `grade` plays no part.

    math-verify reads the whole answer, in a worker that is killed after two CPU seconds; what is
    cut off earns 0. An answer of more than 10,000 characters earns 0 unread.
    """
    text = response.strip()
    if not text or len(_content(text)) > _LONGEST:
        return 0.0
    return float(_pool().submit(text, problem.answer).result().correct)


_LONGEST = 10_000


@functools.cache
def _pool() -> WorkerPool:
    return WorkerPool(num_workers=1, timeout=2.0, judge="reasonenv.mm_eureka:verdict")


def verdict(text: str, reference: str) -> tuple[bool, str]:
    """What `judge` says, and that it said it: a judge for `Pool`."""
    try:
        return judge(text, reference), "ok"
    except MemoryError:
        return False, "memory"


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
