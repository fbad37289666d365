"""Judges of one's own, such as language models, in place of the rules.

A judge is a function of the label of a problem (the row of the data set) and a response. It gives
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
from reasonenv.scoring.cases import Case, Row
from reasonenv.scoring.responses import Skipped

Judge = Callable[[Row, str], bool | str | None]

# A judge waits for its model most of the time.
_NUM_THREADS = 8


def load(name: str) -> Any:
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


def judged(
    cases: Sequence[Case],
    judge: Judge,
    rule: Callable[[Sequence[Case]], list[Grade]],
    skipped: Skipped,
) -> list[Grade]:
    """The verdicts of a judge; where it gives an answer, those of the rules on it.

    What it raises is told, and the response counts as wrong with the status "error".
    """
    with ThreadPoolExecutor(_NUM_THREADS) as pool:
        said = list(pool.map(lambda case: _asked(judge, case), cases))
    texts = [
        replace(case, extraction=s) for case, s in zip(cases, said, strict=True) if _is_text(s)
    ]
    ruled = iter(rule(texts) if texts else [])
    return [
        next(ruled) if _is_text(answer) else _grade(case, answer, skipped)
        for case, answer in zip(cases, said, strict=True)
    ]


def _is_text(answer: Any) -> bool:
    return isinstance(answer, str)


def _asked(judge: Judge, case: Case) -> Any:
    try:
        return judge(case.label, case.response)
    # A judge is anyone's code: what it raises must not lose what it has judged.
    except Exception as error:
        return error


def _grade(case: Case, answer: Any, skipped: Skipped) -> Grade:
    if answer is None:
        return Grade(False, None, "no_answer")
    if isinstance(answer, bool):
        return Grade(answer, None, "ok")
    reason = f"{type(answer).__name__}: {answer}".partition("\n")[0]
    skipped(
        "judge_error", f"id {case.id!r}: the judge gave no verdict, which counts as wrong, {reason}"
    )
    return Grade(False, None, "error")
