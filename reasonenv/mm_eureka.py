"""The accuracy reward released with MM-EUREKA and CPGD, for comparison, with its errors.

Train on `reasonenv.rewards.accuracy`. This one does not read `<answer>3</answer>`, where the tag
touches the number, and rewards any response if math-verify cannot parse the reference.

MM-EUREKA, examples/scripts/reward_func_qwen_instruct.py, https://github.com/ModalMinds/MM-EUREKA.
"""

import functools
import logging
from typing import Any

from reasonenv.grading import Grade
from reasonenv.problem import Problem
from reasonenv.workers import WorkerPool

_CHOICES = frozenset("abcd")
_LONGEST = 10_000


def mm_eureka(response: str, problem: Problem, grade: Grade) -> float:
    """1 or 0, the released reward of a response; `grade` is not used.

    math-verify parses the whole answer in a worker with a limit of two CPU seconds; beyond it, and
    for an answer of more than 10,000 characters, the reward is 0.
    """
    text = response.strip()
    if not text or len(_content(text)) > _LONGEST:
        return 0.0
    return float(_pool().submit(text, problem.answer).result().correct)


@functools.cache
def _pool() -> WorkerPool:
    return WorkerPool(num_workers=1, timeout=2.0, judge="reasonenv.mm_eureka:judge")


def judge(text: str, reference: str) -> tuple[bool, str]:
    """True if the released reward of a text that is not empty is 1, and the status, as `Grade` has.

    The time has no bound.
    """
    try:
        return _is_rewarded(text, reference), "ok"
    except MemoryError:
        return False, "memory"


def _is_rewarded(text: str, reference: str) -> bool:
    from math_verify import (
        ExprExtractionConfig,
        LatexExtractionConfig,
        StringExtractionConfig,
        verify,
    )

    gold = _parse(f"${reference}$")
    if not gold:
        return True  # as in the release, which means to skip the problem
    content = _content(text)
    configs = [StringExtractionConfig(), LatexExtractionConfig(), ExprExtractionConfig()]
    # The gold comes first in math-verify's signature, but not in the release.
    if verify(_parse(content, extraction_config=configs), gold, timeout_seconds=0):
        return True
    # A letter of the gold occurs anywhere in the answer, and no other of a to d.
    answer = content.replace("<answer>", "").replace("</answer>", "").lower()
    letters = {letter for letter in _CHOICES if letter in answer}
    return len(letters) == 1 and letters <= {str(item).lower() for item in gold}


def _content(text: str) -> str:
    """The first answer with its tags; without one, the text after the last opening tag.

    As in the release, an answer of several lines is none.
    """
    for line in text.split("\n"):
        content, end, _ = line.partition("<answer>")[2].partition("</answer>")
        if end:
            return f"<answer>{content}</answer>"
    return text.rpartition("<answer>")[2]


def _parse(text: str, **kwargs: Any) -> list[Any]:
    from math_verify import parse

    # Its own time limits are signals, for the main thread alone; it warns when they are off.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    return parse(text, parsing_timeout=0, **kwargs)
