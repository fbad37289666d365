"""Are two answers equal? Pure functions over exact arithmetic and math-verify.

Three steps, each for what the one before leaves open: letters, equal texts and whatever the
grammar of `parsing` can read are settled by `quick`; what is too large to evaluate is turned down
by `turned_down`; the rest goes to math-verify in `evaluate`, which only `reasonenv.workers` may
call on text that nobody has read: there a process that hangs is killed.

The policies behind a verdict:

- Order counts in points, intervals and matrices; not in sets, in lists, in several roots, nor in
  statements by their numbers, such as ①④.
- A unit that the reference has may be missing; another one is converted, and wrong where it
  measures something else. A reference without a unit accepts any. A percent sign is a unit.
  A direction may be missing as well; another one is wrong.
- A decimal equals an exact value (a fraction, a root, π) when it gives six significant digits or
  more and is within one unit of its last. A decimal reference of three digits or more is taken as
  rounded, and accepts the exact value that it rounds; one of four or more accepts a decimal that
  gives it more precisely.
- x = 5 and 5 are the same, and y = 2x and f(x) = 2x; equations are equal up to a factor, (1, 3) is
  1 < x < 3, and 2 : 3 is 2/3. x + y = 5 is not 5.
- Expressions are equal when they agree wherever both are real.
- Words are compared without case, articles and punctuation; number words are no numbers.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from reasonenv.grading.equivalence.comparison import matches
from reasonenv.grading.extraction import final_answer, has_qualifier, prose_answer
from reasonenv.grading.fallback import is_unsafe, symbolic_verdict
from reasonenv.grading.multiple_choice import answer_letters, option_text, reference_letters
from reasonenv.grading.numeric.exact import TooLarge, Undefined
from reasonenv.grading.parsing.grammar import MAX_LENGTH, parse_answer
from reasonenv.grading.parsing.nodes import Node
from reasonenv.grading.text import (
    has_date,
    is_prose,
    is_text,
    normalized_words,
    same_time,
    same_words,
    split_at_verb,
    time_of_day,
    without_spaces,
)

__all__ = [
    "Grade",
    "choice_verdict",
    "final_answer",
    "grade",
    "grade_by_rules",
    "is_unsafe",
    "reference_answer",
    "rule_verdict",
    "symbolic_verdict",
]


@dataclass(frozen=True)
class Grade:
    """The verdict on one response.

    Args:
        correct: Whether the final answer equals the reference; False unless `status` is "ok".
        answer: The final answer as it stands in the response, None when there is none.
        status: "ok", "no_answer", "unparseable", "timeout", "memory" or "error".
    """

    correct: bool
    answer: str | None
    status: str


def grade(response: str, reference: str, options: Sequence[str] = ()) -> Grade:
    """Whether the final answer of a response equals the reference.

    A pure function that runs in the caller's process. It turns down what is known to explode,
    but has no deadline; for the responses of a model use `reasonenv.workers.Grader`.

    Args:
        response: What the model wrote.
        reference: The right answer; a letter when there are options.
        options: Texts of a multiple choice, in order; the right one's text is right as well.
    """
    answer = final_answer(response)
    if answer is None:
        return Grade(False, None, "no_answer")
    verdict, text = grade_by_rules(answer, reference, options)
    return Grade(verdict[0], answer, verdict[1]) if verdict else _symbolic_grade(answer, text)


def _symbolic_grade(answer: str, text: str) -> Grade:
    correct, status = symbolic_verdict(answer, text)
    return Grade(correct, answer, status)


def grade_by_rules(
    answer: str, reference: str, options: Sequence[str] = ()
) -> tuple[tuple[bool, str] | None, str]:
    """Verdict and status where they can be had within bounds, and the text that is asked for.

    Without a verdict `evaluate` must compare that text with the answer, where it can be killed.
    """
    correct, text = choice_verdict(answer, reference, options)
    try:
        verdict = rule_verdict(answer, text) if correct is None else correct
    except TooLarge:
        return (False, "unparseable"), text
    if verdict is not None:
        return (verdict, "ok"), text
    if is_unsafe(answer) or is_unsafe(text) or _is_garbled(answer, text):
        return (False, "unparseable"), text
    return None, text


def _is_garbled(answer: str, reference: str) -> bool:
    """Whether the grammar reads the reference, but not the answer.

    math-verify would drop what it cannot read, and compare what is left.
    """
    return _is_readable(reference) and not _is_readable(answer)


def _is_readable(text: str) -> bool:
    return any(parse_answer(text, units) is not None for units in (False, True))


def choice_verdict(answer: str, reference: str, options: Sequence[str]) -> tuple[bool | None, str]:
    """The verdict of a multiple choice, or None and the text that the answer must equal."""
    reference = reference_answer(reference)
    letters = reference_letters(reference)
    if letters is None:
        named = _LABELED_OPTION.match(reference)
        return (True if named and answer in named.groups() else None), reference
    text = option_text(letters, options)
    given = answer_letters(answer)
    is_letter = len(reference_letters(answer) or ()) == 1
    is_text_of_it = (
        text is not None and not is_letter and normalized_words(answer) == normalized_words(text)
    )
    if given is not None and not is_text_of_it:
        return given == letters, reference
    if text is not None:
        return None, text
    return False, reference


_LABELED_OPTION = re.compile(r"\(?(?:([A-J])[.):]+\s*\S|([B-HJ])\s+[A-Za-z]{3})")


def reference_answer(reference: str) -> str:
    r"""What a reference says: of a worked solution its box, of any other text all."""
    if "\\boxed" in reference or "\\fbox" in reference or "answer is" in reference:
        return _solution(reference)
    return reference


@lru_cache(maxsize=1024)
def _solution(text: str) -> str:
    return final_answer(_ADJACENT.sub("}, ", text)) or text


_ADJACENT = re.compile(r"\}(?=\s*\\boxed)")


def rule_verdict(answer: str, reference: str) -> bool | None:
    """The verdict where text or bounded arithmetic settles it, within a millisecond; else None.

    Raises:
        TooLarge: A number has too many digits to be worth computing.
    """
    if len(answer) > MAX_LENGTH:
        answer = (prose_answer(answer) or "") if is_prose(answer) else ""
        if not answer:
            return None
    left, right = without_spaces(answer), without_spaces(reference)
    if not left or not right:
        return False
    if left == right:
        return True
    if _are_digits(left) and _are_digits(right):
        return left.lstrip("0") == right.lstrip("0")
    verdict = _text_verdict(answer, reference, left, right)
    return _formula_verdict(answer, reference) if verdict is None else verdict


def _are_digits(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _text_verdict(answer: str, reference: str, left: str, right: str) -> bool | None:
    """The verdict on words, dates and times of day; None where they are none.

    Args:
        answer: As it was written.
        reference: As it was written.
        left: The answer, squeezed.
        right: The reference, squeezed.
    """
    if is_text(reference) and is_text(answer):
        return _text_matches(answer, reference)
    if has_date(left) or has_date(right):
        return False
    given, asked_for = time_of_day(answer), time_of_day(reference)
    if given and asked_for and (given[1] or asked_for[1]):
        return same_time(given, asked_for)
    return None


def _text_matches(answer: str, reference: str) -> bool:
    """Whether a text, or what it says after its last "is", is the reference."""
    head, clause = split_at_verb(answer)
    if same_words(answer, reference):
        return True
    return same_words(clause, reference) and not has_qualifier(head)


def _formula_verdict(answer: str, reference: str) -> bool | None:
    """The verdict of the readings of both; of what prose claims where it is none."""
    verdict = _parsed_verdict(answer, reference)
    if is_prose(answer):
        if verdict:
            return not has_qualifier(_FORMULAS.sub(" ", answer)) or has_qualifier(reference)
        said = prose_answer(answer)
        if verdict is None and said is not None and said != answer:
            verdict = rule_verdict(said, reference)
    if verdict is None and (is_text(reference) or is_text(answer)):
        return _text_matches(answer, reference)
    return verdict


_FORMULAS = re.compile(r"\$[^$]*\$")


def _parsed_verdict(answer: str, reference: str) -> bool | None:
    """The verdict as formulas, and where they differ as quantities with units."""
    verdicts: dict[tuple[Node, Node], bool | None] = {}
    for variant in _parser_settings(answer, reference):
        given, asked_for = parse_answer(answer, *variant), parse_answer(reference, *variant)
        if given is None or asked_for is None or (given, asked_for) in verdicts:
            continue
        verdict = verdicts[given, asked_for] = _matches(given, asked_for)
        if verdict:
            return True
    return False if False in verdicts.values() else None


def _parser_settings(answer: str, reference: str) -> list[tuple[bool, bool]]:
    """Ways to read both: units, and groups of digits, where there are any."""
    if not (_GROUP.search(answer) or _GROUP.search(reference)):
        return [(False, True), (True, True)]
    return [(False, True), (True, True), (False, False)]


_GROUP = re.compile(r"\d,\d{3}")


def _matches(answer: Node, reference: Node) -> bool | None:
    try:
        return matches(answer, reference)
    except Undefined:
        return False
