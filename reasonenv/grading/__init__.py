"""Equality of a response's final answer and the reference.

    extraction       the final answer in a response
    choice           multiple choice: a letter, an option's text, or both
    names            names in capital letters: figures, criteria, numerals, formulas of chemistry
    computations     computations in words, and those that are not carried out
    words            texts, sentences that state words, numbers in words
    times            times of day, dates, durations
    ranges           ranges, scores and codes with hyphens
    digits           numbers in digits with other signs between them
    restatements     one value given twice
    parsing          from a formula to a tree of nodes
    numeric          values of expressions, bounded in size
    equivalence      equality of two trees
    fallback         math-verify, for formulas that the parser does not cover
    budget           operations of one grading, counted

`grade_by_rules` applies all but the fallback, within a budget of operations and in the caller's
process. `fallback` has no bound on time: on untrusted text it runs in a process of
`reasonenv.workers`, under a deadline. So do the rules on the rare pair that is over their budget.

Grading policy:

- Two different claims are no answer; after an explicit correction the last counts; a hedge, a
  denial or a comparison leaves none. `extraction` has the rules.
- Order counts in points, intervals and matrices; not in sets, in lists, in several roots, nor in
  numbered statements, such as ①④.
- A unit that the reference has may be missing; a different one is converted, and wrong when the
  two measure different quantities. A reference without a unit accepts any. Letters right
  after a number are a unit where the other text has one. A direction may be missing as well; a
  different one is wrong.
- A percentage equals its value, and its number where the reference has no sign and is 1 or more.
- After a number magnitudes multiply it (4千, 3 dozen), counters, plurals, units and remarks leave
  it, and all other words change it (4的平方, 4以上, 4 or 5, unknown words).
- A decimal equals an exact value (a fraction, a root, π) when it gives six significant digits or
  more and is within one unit of its last. A decimal reference of three digits or more counts as
  rounded, and accepts the exact value that rounds to it; one of four or more accepts a decimal that
  has more digits.
- x = 5 and 5 are the same, and y = 2x and f(x) = 2x; equations are equal up to a factor, (1, 3) is
  1 < x < 3, and 2 : 3 is 2/3. The factor is not zero, and an equation that always holds equals no
  other.
- The left side of an answer is a label where the reference has none, |AB| = 1 or a + b = 5 for 5,
  unless it is an equation in one unknown, x + 1 = 5 and AB^2 = 5, or in x, y and z. A reference
  a + b = 5 is not 5, and another label than that of the reference is wrong.
- "And", "or" and commas are the same between values and between equations for one name; a = 2 or
  b = 3 is not a = 2, b = 3. Signs of logic and of sets have their meaning and their order.
- A sum, difference, product or quotient of plain numbers is not carried out, and equals no number;
  fractions are numbers.
- What looks like a time of day on both sides is one, and no ratio. Numbers joined by a hyphen are a
  range, a score or a code, compared one by one.
- Names in capital letters are compared as spelled, except for the ends of a segment, a line, an arc
  and an angle, and for where the name of a quadrilateral begins.
- Expressions are equal when they agree at every point where both are real.
- Words are compared without case, articles and punctuation; phrases for the lack of a value are
  equal by their meaning, DNE and 不存在. A short sentence may state a word or a date, by closed
  lists of verbs: 两圆外切, Ben finished first. It states none where it denies, doubts, compares or
  names another. Number words at the start of a text are numbers, and so is the only one of a
  sentence; ordinals, names and what follows an article are not. A comma before other than three
  digits may be a decimal one.
- Of a multiple choice the letter or the text of the right option is right; a letter beside the text
  of another option is wrong. Two letters that are claimed are several choices; "A or B" is none.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reasonenv.grading.budget import MAX_OPERATIONS, OverBudget, budgeted, spend_on_text
from reasonenv.grading.choice.multiple_choice import choice_verdict
from reasonenv.grading.computations import in_signs, is_not_carried_out
from reasonenv.grading.digits import in_fractions, is_number_of, plain_digits, single_number
from reasonenv.grading.equivalence.comparison import matches
from reasonenv.grading.equivalence.quantities import is_measured
from reasonenv.grading.extraction import final_answer, has_qualifier, prose_answer, solution_answer
from reasonenv.grading.extraction.equations import stated_equation
from reasonenv.grading.extraction.qualifiers import is_unsure, words_around
from reasonenv.grading.extraction.sentences import has_statement
from reasonenv.grading.fallback import is_unsafe, symbolic_verdict
from reasonenv.grading.names import name_verdict
from reasonenv.grading.numeric.exact import TooLarge, Undefined
from reasonenv.grading.parsing.grammar import MAX_LENGTH, parse_answer
from reasonenv.grading.parsing.nodes import Node
from reasonenv.grading.ranges import range_verdict
from reasonenv.grading.restatements import restates
from reasonenv.grading.times.clock import schedule_verdict, with_clock_digits
from reasonenv.grading.times.dates import same_date
from reasonenv.grading.times.durations import in_one_unit
from reasonenv.grading.words.counts import with_digits
from reasonenv.grading.words.numbers import below_zero, in_digits
from reasonenv.grading.words.phrases import meaning, with_weekdays
from reasonenv.grading.words.statements import is_added, states
from reasonenv.grading.words.text import (
    has_date,
    is_prose,
    is_text,
    same_words,
    split_at_verb,
    without_spaces,
)

VERSION = 2
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
        correct = None if options else name_verdict(answer, text)
        if correct is None:
            correct, text = choice_verdict(answer, text, options, rule_verdict)
        verdict = rule_verdict(answer, text) if correct is None else correct
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
    return any(parse_answer(text, units) is not None for units in (False, True))


def rule_verdict(answer: str, reference: str) -> bool | None:
    """Verdict by text comparison and bounded arithmetic, in about a millisecond; None if undecided.

    Raises:
        TooLarge: A number has too many digits to be worth computing.
    """
    spend_on_text(answer)
    spend_on_text(reference)
    if len(answer) > MAX_LENGTH:
        answer = (prose_answer(answer) or "") if is_prose(answer) else ""
        if not answer:
            return None
    left, right = without_spaces(answer), without_spaces(reference)
    if not left or not right:
        return False
    if left == right or states(answer, reference):
        return True
    if _are_digits(left) and _are_digits(right):
        return left.lstrip("0") == right.lstrip("0")
    spelled = _spelled(answer, reference)
    if spelled != (answer, reference):
        return rule_verdict(*spelled)
    verdict = _text_verdict(answer, reference, left, right)
    if verdict is None:
        verdict = _formula_verdict(answer, reference)
    return verdict or restates(answer, reference, rule_verdict) or verdict


def _spelled(answer: str, reference: str) -> tuple[str, str]:
    """Both with number words as digits, no signs between digits, and standard phrases."""
    answer, reference = with_weekdays(*map(with_clock_digits, (answer, reference)))
    answer, reference = (below_zero(plain_digits(meaning(text))) for text in (answer, reference))
    answer, reference = in_digits(answer, reference)
    if any(map(str.isdigit, reference)):
        answer = with_digits(answer) or answer
    return in_signs(answer), reference


def _are_digits(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _text_verdict(answer: str, reference: str, left: str, right: str) -> bool | None:
    """Verdict on names, words, dates, times of day and ranges; None for anything else.

    `left` and `right` are the answer and the reference without spaces.
    """
    if (verdict := name_verdict(answer, reference)) is not None:
        return verdict
    if is_text(reference) and is_text(answer):
        return _text_matches(answer, reference)
    is_same = same_date(answer, reference)
    if is_same is not None:
        return is_same
    if has_date(left) or has_date(right):
        return False
    verdict = schedule_verdict(answer, reference)
    return range_verdict(answer, reference, rule_verdict) if verdict is None else verdict


def _text_matches(answer: str, reference: str) -> bool:
    """True if a text, or the part after its last "is", equals the reference."""
    head, clause = split_at_verb(answer)
    if same_words(answer, reference):
        return True
    if has_qualifier(head) or has_statement(head) or is_added(head):
        return False
    return same_words(clause, reference) or same_words(*in_digits(clause, reference))


def _formula_verdict(answer: str, reference: str) -> bool | None:
    """Verdict on the parsed formulas; if those are undecided, on the answer stated in prose."""
    answer, reference = in_fractions(in_one_unit(answer)), in_fractions(in_one_unit(reference))
    if is_number_of(answer, reference):
        return True
    number = single_number(answer)
    if number is not None and _parsed_verdict(number, reference):
        return True
    is_sentence = _SENTENCE.search(answer) is not None
    verdict = None if is_sentence else _parsed_verdict(answer, reference)
    if is_sentence or is_prose(answer) or (verdict is None and _CHINESE.search(answer)):
        if verdict:
            is_changed = has_qualifier(words_around(answer)) or is_unsure(answer)
            return not is_changed or has_qualifier(reference)
        statement = prose_answer(answer)
        if verdict is None and "=" in reference and "=" in answer:
            statement = stated_equation(answer, statement)
        if verdict is None and statement is not None and statement != answer:
            verdict = rule_verdict(statement, reference)
    if verdict is None and (is_text(reference) or is_text(answer)):
        return _text_matches(answer, reference)
    return verdict


_CHINESE = re.compile("[\u4e00-\u9fff]")
# Words too short to tell them from products, and an end of one sentence before another.
_SENTENCE = re.compile(
    r"(?<![\\a-zA-Z])(?:it is|we get|we have|he has)\s|[a-zA-Z\d)$][.!]\s+[A-Z][a-z]+\b|。."
    r"|[a-zA-Z]\s(?:is|are|was|has|have|had|gets?|got)\s[-−]?[$€£]?\d",
    re.I,
)


def _parsed_verdict(answer: str, reference: str) -> bool | None:
    """Verdict on both as plain formulas, then as quantities with units; True if either is."""
    if is_not_carried_out(answer, reference):
        return False
    verdicts: dict[tuple[Node, Node], bool | None] = {}
    has_unit = False
    for setting in _parser_settings(answer, reference):
        left, right = parse_answer(answer, *setting), parse_answer(reference, *setting)
        has_unit = has_unit or any(each is not None and is_measured(each) for each in (left, right))
        if left is None or right is None or (left, right) in verdicts:
            continue
        verdict = verdicts[left, right] = _matches(left, right)
        if verdict:
            return True
    if has_unit and _same_with_units(answer, reference):
        return True
    return False if False in verdicts.values() else None


def _same_with_units(answer: str, reference: str) -> bool:
    """True if both are quantities, and equal, when letters after a number are a unit: 500mA."""
    left, right = (parse_answer(text, True, glued=True) for text in (answer, reference))
    if left is None or right is None or not (is_measured(left) and is_measured(right)):
        return False
    return _matches(left, right) is True


def _parser_settings(answer: str, reference: str) -> list[tuple[bool, bool]]:
    """Values of `units` and `grouped` to parse with; ungrouped digits only if there are groups."""
    if not (_GROUP.search(answer) or _GROUP.search(reference)):
        return [(False, True), (True, True)]
    return [(False, True), (True, True), (False, False)]


_GROUP = re.compile(r"\d,\d{3}")


def _matches(answer: Node, reference: Node) -> bool | None:
    try:
        return matches(answer, reference)
    except Undefined:
        return False
