"""Custom judges, such as language models, in place of the rules.

A judge is a function of a problem's label (its row in the data set) and a response. It returns
True or False, or the extracted answer as text, to which the rules are applied; None means that the
response has no answer. It is called from several threads.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pkgutil import resolve_name
from typing import Any

from reasonenv.errors import UsageError
from reasonenv.grading import Grade
from reasonenv.scoring.responses import LabeledResponse, Row, SkipLog

Judge = Callable[[Row, str], bool | str | None]

# A judge waits for its model most of the time.
_NUM_THREADS = 8


def load_judge(name: str) -> Any:
    """The judge called "module:function".

    Raises:
        UsageError: When there is none.
    """
    try:
        judge = resolve_name(name) if ":" in name else None
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"no judge {name!r}: {error}") from None
    if not callable(judge):
        raise UsageError(f"no judge {name!r}: give module:function")
    return judge


def judge_all(
    cases: Sequence[LabeledResponse],
    judge: Judge,
    rule: Callable[[Sequence[LabeledResponse]], list[Grade]],
    skipped: SkipLog,
) -> list[Grade]:
    """The verdicts of a judge; where it extracts an answer, those of the rules on it.

    An exception of the judge is reported, and the response is wrong with the status "error".
    """
    with ThreadPoolExecutor(_NUM_THREADS) as pool:
        answers = list(pool.map(lambda case: _answer(judge, case), cases))
    texts = [
        replace(case, extraction=text)
        for case, text in zip(cases, answers, strict=True)
        if isinstance(text, str)
    ]
    grades = iter(rule(texts) if texts else [])
    return [
        next(grades) if isinstance(answer, str) else _grade(case, answer, skipped)
        for case, answer in zip(cases, answers, strict=True)
    ]


def _answer(judge: Judge, case: LabeledResponse) -> Any:
    try:
        return judge(case.label, case.response)
    # A judge is a user's code: an exception must not lose the verdicts so far.
    except Exception as error:
        return error


def _grade(case: LabeledResponse, answer: Any, skipped: SkipLog) -> Grade:
    if answer is None:
        return Grade(False, None, "no_answer")
    if isinstance(answer, bool):
        return Grade(answer, None, "ok")
    reason = f"{type(answer).__name__}: {answer}".partition("\n")[0]
    skipped(
        "judge_error", f"id {case.id!r}: the judge gave no verdict, which counts as wrong, {reason}"
    )
    return Grade(False, None, "error")
