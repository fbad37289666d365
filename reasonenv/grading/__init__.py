"""Equality of a response's final answer and the reference.

    reading        the answer in a response, and a reader for each kind of reference
    parsing        from a formula to a tree of nodes
    numeric        values of expressions, bounded in size
    equivalence    equality of two trees
    fallback       math-verify, for formulas that the parser does not cover
    budget         operations of one grading, counted

`grade_by_rules` applies all but the fallback, within a budget of operations and in the caller's
process. `fallback` has no bound on time: on untrusted text it runs in a process of
`reasonenv.workers`, under a deadline. So do the rules on the rare pair that is over their budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from reasonenv.grading.budget import MAX_OPERATIONS, OverBudget, budgeted
from reasonenv.grading.fallback import is_unsafe, symbolic_verdict
from reasonenv.grading.numeric.exact import TooLarge
from reasonenv.grading.parsing.grammar import read
from reasonenv.grading.reading import final_answer, final_span, solution_answer
from reasonenv.grading.reading.verdicts import verdict as rule_verdict

VERSION = 3
"""Version of the verdicts, another one after any change of a rule: scores and rewards are
comparable at equal versions."""

__all__ = [
    "VERSION",
    "Grade",
    "OverBudget",
    "final_answer",
    "grade",
    "grade_by_rules",
    "is_unsafe",
    "rule_verdict",
    "symbolic_verdict",
    "worker_verdict",
]


@dataclass(frozen=True)
class Grade:
    """The verdict on one response.

    Args:
        correct: True if the final answer equals the reference; False unless `status` is "ok".
        answer: The final answer as written in the response, None if there is none.
        status: "ok", "no_answer", "unparseable", "timeout", "memory" or "error".
    """

    correct: bool
    answer: str | None
    status: str


def grade(response: str, reference: str, options: Sequence[str] = ()) -> Grade:
    """Grade of one response.

    A pure function that runs in the caller's process. Its rules have a budget of operations, and a
    pair that is over it is "unparseable". It rejects formulas known to be expensive for math-verify
    but has no deadline; for the responses of a model use `reasonenv.workers.Grader`.

    Args:
        response: The whole text of the model.
        reference: The right answer; a letter when there are options.
        options: Texts of a multiple choice, in order; the text of the right one is accepted too.
    """
    answer = final_answer(response)
    if answer is None:
        return Grade(False, None, "no_answer")
    try:
        verdict, text = grade_by_rules(answer, reference, options)
    except OverBudget:
        return Grade(False, answer, "unparseable")
    correct, status = verdict or symbolic_verdict(answer, text)
    return Grade(correct, answer, status)


def grade_by_rules(
    answer: str, reference: str, options: Sequence[str] = ()
) -> tuple[tuple[bool, str] | None, str]:
    """Verdict and status by rules, within their budget, and the text that the answer must equal.

    The verdict is None if the rules cannot decide: `symbolic_verdict` then compares the answer
    with that text, in a process that can be killed.

    Raises:
        OverBudget: The rules take more operations than their budget has: `worker_verdict` applies
            them without one, in a process that can be killed.
    """
    with budgeted(MAX_OPERATIONS):
        return _unbudgeted(answer, reference, options)


def worker_verdict(
    answer: str, reference: str, options: Sequence[str] | None = None
) -> tuple[bool, str]:
    """Verdict and status under a deadline, in a worker.

    Args:
        answer: An answer that the rules could not judge.
        reference: The text that it must equal.
        options: None for a pair that the rules leave to math-verify; else the pair was over their
            budget, and they judge it here, with these options of a multiple choice, without one.
    """
    if options is None:
        return symbolic_verdict(answer, reference)
    try:
        verdict, text = _unbudgeted(answer, reference, options)
    except MemoryError:
        return False, "memory"
    return verdict or symbolic_verdict(answer, text)


def _unbudgeted(
    answer: str, reference: str, options: Sequence[str]
) -> tuple[tuple[bool, str] | None, str]:
    text = solution_answer(reference)
    try:
        verdict = rule_verdict(answer, text, options)
    except TooLarge:
        return (False, "unparseable"), text
    if verdict or _repeats(answer, reference):
        return (True, "ok"), text
    if verdict is not None:
        return (verdict, "ok"), text
    if is_unsafe(answer) or is_unsafe(text) or _is_garbled(answer, text):
        return (False, "unparseable"), text
    return None, text


def _repeats(answer: str, reference: str) -> bool:
    """True for the answer of a response that is the reference, however unusual that is."""
    return answer in reference and answer == final_answer(f"<answer>{reference}</answer>")


def _is_garbled(answer: str, reference: str) -> bool:
    """True if the parser reads the reference but not the answer.

    math-verify would drop the part that it cannot read, and compare the rest.
    """
    return _is_readable(reference) and not _is_readable(answer)


def _is_readable(text: str) -> bool:
    return any(read(text, units).node is not None for units in (False, True))
