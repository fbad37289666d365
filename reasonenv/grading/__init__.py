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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reasonenv.errors import UsageError
from reasonenv.grading.budget import MAX_OPERATIONS, OverBudget, budgeted
from reasonenv.grading.fallback import is_unsafe, symbolic_verdict
from reasonenv.grading.numeric.exact import TooLarge
from reasonenv.grading.parsing.grammar import read
from reasonenv.grading.reading import (
    KINDS,
    Span,
    final_answer,
    final_span,
    kind_of,
    plain_verdict,
    solution_answer,
)
from reasonenv.grading.reading import verdict as rule_verdict

VERSION = 3
"""Version of the verdicts, another one after any change of a rule: scores and rewards are
comparable at equal versions."""

__all__ = [
    "KINDS",
    "VERSION",
    "Grade",
    "OverBudget",
    "Span",
    "check_kind",
    "check_texts",
    "final_answer",
    "final_span",
    "grade",
    "grade_by_rules",
    "is_unsafe",
    "rule_verdict",
    "symbolic_verdict",
    "worker_verdict",
]


@dataclass(frozen=True)
class Grade:
    """The verdict on one response, and how it came about.

    Args:
        correct: True if the final answer equals the reference; False unless `status` is "ok".
        answer: The final answer as written in the response, None if there is none.
        status: "ok", "no_answer", "unparseable", "timeout", "memory" or "error".
        source: Where the answer stood: "box", "tag", "marker", "line" or "prose"; "" for none.
        kind: Kind of the reference, one of `KINDS`, which picked the reader; "text" where both are
            the same, "" for none.
        reference: What the answer was compared with; "" for nothing.
    """

    correct: bool
    answer: str | None
    status: str
    source: str = field(default="", compare=False)
    kind: str = field(default="", compare=False)
    reference: str = field(default="", compare=False)

    def __str__(self) -> str:
        """One line that says why."""
        verdict = "right" if self.correct else "wrong"
        if self.answer is None:
            return f"{verdict}: no answer in a box, a tag, after a marker or on the last line"
        place = _PLACES.get(self.source, "the response")
        compared = f"compared with {self.reference!r} ({self.kind})"
        if self.status != "ok":
            verdict = f"{verdict}, since it could not be judged ({self.status})"
        return f"{verdict}: {self.answer!r} from {place}, {compared}"


_PLACES = {
    "box": "the last box",
    "tag": "the answer tag",
    "marker": "the text after the last marker",
    "line": "the last line",
    "prose": "the last sentence",
}


def check_kind(kind: str | None) -> None:
    """Raises UsageError for a kind of reference that there is not."""
    if kind is not None and kind not in KINDS:
        raise UsageError(f"kind={kind!r}: give one of {', '.join(KINDS)}, or None to guess it")


def check_texts(name: str, values: Iterable[str]) -> list[str]:
    """The list of texts itself.

    Raises:
        UsageError: It is one text or a mapping, or holds anything else.
    """
    if isinstance(values, str | Mapping):
        what = "one text" if isinstance(values, str) else "a mapping"
        raise UsageError(f"{name} is {what}, {values!r:.60}: give a list of texts")
    texts = list(values)
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(f"{name} has {text!r:.60}, of type {type(text).__name__}: give texts")
    return texts


def grade(
    response: str,
    reference: str,
    options: Sequence[str] = (),
    *,
    kind: str | None = None,
    prose: bool = False,
) -> Grade:
    """Grade of one response.

    A pure function that runs in the caller's process. Its rules have a budget of operations, and a
    pair that is over it is "unparseable". It rejects formulas known to be expensive for math-verify
    but has no deadline; for the responses of a model use `reasonenv.workers.Grader`.

    Args:
        response: The whole text of the model.
        reference: The right answer; a letter when there are options.
        options: Texts of a multiple choice, in order; the text of the right one is accepted too.
        kind: Kind of the reference, one of `KINDS`; None to guess it.
        prose: True to take the only value of a last sentence without a box, tag or marker.

    Raises:
        UsageError: There is no such kind, or an argument is no text, such as the number 12.
    """
    check_kind(kind)
    check_texts("response and reference", (response, reference))
    options = check_texts("options", options)
    span = final_span(response, prose)
    if span is None:
        return Grade(False, None, "no_answer")
    try:
        verdict, text = grade_by_rules(span.text, reference, options, kind)
    except OverBudget:
        return explained((False, "unparseable"), span, reference, options, kind)
    return explained(verdict or symbolic_verdict(span.text, text), span, text, options, kind)


def explained(
    verdict: tuple[bool, str], span: Span, text: str, options: Sequence[str], kind: str | None
) -> Grade:
    """The grade of a verdict, with where the answer stood and the text that it had to equal."""
    kind = kind or ("text" if span.text == text else kind_of(text, tuple(options)))
    return Grade(verdict[0], span.text, verdict[1], span.source, kind, text)


class RuleVerdict(NamedTuple):
    """What the rules decide.

    Attributes:
        verdict: The verdict and its status; None if `symbolic_verdict` has to compare the answer
            with the text, in a process that can be killed.
        text: What the answer must equal.
    """

    verdict: tuple[bool, str] | None
    text: str


def grade_by_rules(
    answer: str, reference: str, options: Sequence[str] = (), kind: str | None = None
) -> RuleVerdict:
    """The verdict of the rules, within their budget.

    Raises:
        OverBudget: The rules take more operations than their budget has: `worker_verdict` applies
            them without one, in a process that can be killed.
    """
    if not options and (decided := plain_verdict(answer, reference)) is not None:
        return RuleVerdict((decided, "ok"), reference)
    with budgeted(MAX_OPERATIONS):
        return _unbudgeted(answer, reference, options, kind)


def worker_verdict(
    answer: str, reference: str, options: Sequence[str] | None = None, kind: str = ""
) -> tuple[bool, str]:
    """Verdict and status under a deadline, in a worker.

    Args:
        answer: An answer that the rules could not judge.
        reference: The text that it must equal.
        options: None for a pair that the rules leave to math-verify; else the pair was over their
            budget, and they judge it here, with these options of a multiple choice, without one.
        kind: Kind of the reference, "" to guess it.
    """
    if options is None:
        return symbolic_verdict(answer, reference)
    try:
        verdict, text = _unbudgeted(answer, reference, options, kind or None)
    except MemoryError:
        return False, "memory"
    return verdict or symbolic_verdict(answer, text)


def _unbudgeted(
    answer: str, reference: str, options: Sequence[str], kind: str | None
) -> RuleVerdict:
    text = solution_answer(reference)
    try:
        correct = rule_verdict(answer, text, options, kind)
    except TooLarge:
        return RuleVerdict((False, "unparseable"), text)
    if correct is not None:
        return RuleVerdict((correct, "ok"), text)
    if is_unsafe(answer) or is_unsafe(text) or _is_garbled(answer, text):
        return RuleVerdict((False, "unparseable"), text)
    return RuleVerdict(None, text)


def _is_garbled(answer: str, reference: str) -> bool:
    """True if math-verify would drop the part of an answer that it cannot read."""
    answers, references = ({read(t, False).node, read(t, True).node} for t in (answer, reference))
    return answers == {None} and references != {None}
