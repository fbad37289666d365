"""Are two answers equal? Pure functions over exact arithmetic and math-verify.

Three steps, each for what the one before leaves open: letters, equal texts and whatever the
grammar of `reasonenv.mathematics` can read are settled by `quick`; what is too large to evaluate is
turned down by `turned_down`; the rest goes to math-verify in `symbolic`, which only
`reasonenv.workers` may call on text that nobody has read: there a process that hangs is killed.

The policies behind a verdict:

- Order counts in points, intervals and matrices; not in sets, in lists, in several roots.
- A unit that the reference has may be missing; another one is converted, and wrong where it
  measures something else. A reference without a unit accepts any. A percent sign is a unit.
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

from reasonenv.answers import claim, final_answer, is_hedged
from reasonenv.choices import asked, chosen, right_text
from reasonenv.mathematics.arithmetic import TooLarge, Undefined
from reasonenv.mathematics.comparison import matches
from reasonenv.mathematics.syntax import MAX_LENGTH, Node, read
from reasonenv.texts import clock, is_date, is_prose, is_text, last_clause, same_time, squeezed, words


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
    verdict, text = settle(answer, reference, options)
    return Grade(verdict[0], answer, verdict[1]) if verdict else _evaluated(answer, text)


def _evaluated(answer: str, text: str) -> Grade:
    correct, status = evaluate(answer, text)
    return Grade(correct, answer, status)


def settle(
    answer: str, reference: str, options: Sequence[str] = ()
) -> tuple[tuple[bool, str] | None, str]:
    """Verdict and status where they can be had within bounds, and the text that is asked for.

    Without a verdict `evaluate` must compare that text with the answer, where it can be killed.
    """
    correct, text = choose(answer, reference, options)
    try:
        verdict = quick(answer, text) if correct is None else correct
    except TooLarge:
        return (False, "unparseable"), text
    if verdict is not None:
        return (verdict, "ok"), text
    if turned_down(answer) or turned_down(text):
        return (False, "unparseable"), text
    return None, text


def choose(answer: str, reference: str, options: Sequence[str]) -> tuple[bool | None, str]:
    """The verdict of a multiple choice, or None and the text that the answer must equal."""
    reference = stated(reference)
    letters = asked(reference)
    if letters is None:
        named = _LETTERED.match(reference)
        return named is not None and answer == named[1] or None, reference
    text = right_text(letters, options)
    given = chosen(answer)
    is_text_of_it = text is not None and asked(answer) is None and words(answer) == words(text)
    if given is not None and not is_text_of_it:
        return given == letters, reference
    if text is not None:
        return None, text
    return False, reference


_LETTERED = re.compile(r"\(?([A-J])(?:[.):]+\s*\S|\s+[A-Za-z]{3})")


@lru_cache(maxsize=20_000)
def stated(reference: str) -> str:
    r"""What a reference says: of a worked solution its box, of any other text all."""
    if "\\boxed" in reference or "\\fbox" in reference or "answer is" in reference:
        return final_answer(_ADJACENT.sub("}, ", reference)) or reference
    return reference


_ADJACENT = re.compile(r"\}(?=\s*\\boxed)")


def quick(answer: str, reference: str) -> bool | None:
    """The verdict where text or bounded arithmetic settles it, within a millisecond; else None.

    Raises:
        TooLarge: A number has too many digits to be worth computing.
    """
    if len(answer) > MAX_LENGTH:
        if not is_prose(answer) or (answer := claim(answer) or "") == "":
            return None
    left, right = squeezed(answer), squeezed(reference)
    if not left or not right:
        return False
    if left == right:
        return True
    if left.isdecimal() and right.isdecimal() and left.isascii() and right.isascii():
        return left.lstrip("0") == right.lstrip("0")
    if is_text(reference) and is_text(answer):
        return _same_words(answer, reference)
    if is_date(left) or is_date(right):
        return False
    if (time := clock(answer)) and (other := clock(reference)) and (time[1] or other[1]):
        return same_time(time, other)
    return _compared(answer, reference)


def _same_words(answer: str, reference: str) -> bool:
    """Whether a text, or what it says after its last "is", is the reference."""
    right = words(reference)
    head, clause = last_clause(answer)
    return words(answer) == right or (words(clause) == right and not is_hedged(head))


def _compared(answer: str, reference: str) -> bool | None:
    """The verdict of the readings of both; of what prose claims where it is none."""
    verdict = _readings(answer, reference)
    if is_prose(answer):
        if verdict:
            return not is_hedged(_FORMULAS.sub(" ", answer)) or is_hedged(reference)
        said = claim(answer)
        if verdict is None and said is not None and said != answer:
            verdict = quick(said, reference)
    if verdict is None and (is_text(reference) or is_text(answer)):
        return _same_words(answer, reference)
    return verdict


_FORMULAS = re.compile(r"\$[^$]*\$")


def _readings(answer: str, reference: str) -> bool | None:
    """The verdict as formulas, and where they differ as quantities with units."""
    verdicts: list[bool | None] = []
    for variant in _variants(answer, reference):
        given, asked_for = read(answer, *variant), read(reference, *variant)
        verdict = None
        if given is not None and asked_for is not None:
            verdict = _matches(given, asked_for)
        if verdict:
            return True
        verdicts.append(verdict)
    return False if False in verdicts else None


def _variants(answer: str, reference: str) -> list[tuple[bool, bool]]:
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


# --- what is left to math-verify


# Each of these is cheap to write and has no bound on what it costs to evaluate.
_EXPLOSIVE = re.compile(
    r"\d\s*[eE]\s*[+-]?\s*\d{4}"  # 1E1000000
    r"|\d{100}"
    r"|\^[\s{(+-]*\d{4}"  # 2^{10000000}
    r"|\^\s*(?:\{[^{}]*\^|\([^()]*\^|\w\s*\^)"  # towers
    r"|(?:\d{3}|[!)}\]])\s*!"
    r"|[\])}]\s*\^[\s{]*\d{2}"  # (x + y + z)^{1000}
)
_HARMLESS = frozenset(
    r"""frac sqrt pi cdot times div pm mp le ge ne lt gt leq geq neq in notin cup cap setminus infty
    sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log lg exp alpha beta gamma delta
    epsilon theta lambda mu nu rho sigma phi omega Delta Omega text mathbb mathrm mathbf left right
    begin end circ degree emptyset varnothing mid vert lvert rvert vec overline bar hat angle land
    lor wedge vee forall exists to dfrac tfrac boxed quad qquad displaystyle ldots cdots dots prime
    ell dot complement subset subseteq""".split()
)
_COMMAND = re.compile(r"\\([a-zA-Z]+)")
_OPENED = re.compile(r"[({\[)}\]]")
_NESTING = 16
_LENGTH = 300


def turned_down(text: str) -> bool:
    """Whether a text is too long, deep, large or strange for math-verify to be asked about it."""
    if len(text) > _LENGTH or not text.isprintable() or is_prose(text) or _EXPLOSIVE.search(text):
        return True
    if not _HARMLESS.issuperset(_COMMAND.findall(text)):
        return True
    depth = 0
    for bracket in _OPENED.findall(text):
        depth += 1 if bracket in "({[" else -1
        if not 0 <= depth <= _NESTING:
            return True
    return depth != 0


def evaluate(answer: str, reference: str) -> tuple[bool, str]:
    """Verdict and status of two answers that `settle` leaves open. Imports sympy when first used."""
    if turned_down(answer) or turned_down(reference):
        return False, "unparseable"
    try:
        return symbolic(answer, reference), "ok"
    except MemoryError:
        return False, "memory"
    # Whatever a parser raises on words that are no mathematics, they are not the right answer.
    except Exception:
        return False, "unparseable"


def symbolic(answer: str, reference: str) -> bool:
    """Whether math-verify finds two answers equal; its own timeouts, made of signals, are off.

    Only its LaTeX grammar reads them: the one for plain expressions ends in sympy's `parse_expr`,
    which is Python's `eval`.
    """
    from math_verify import LatexExtractionConfig, parse, verify

    options = {
        "extraction_config": [LatexExtractionConfig(boxed_match_priority=0)],
        "parsing_timeout": 0,
        "raise_on_error": True,
    }
    gold = parse(f"\\boxed{{{_bare(reference)}}}", **options)
    found = parse(f"\\boxed{{{_bare(answer)}}}", **options)
    return verify(gold, found, timeout_seconds=0, raise_on_error=True)


def _bare(text: str) -> str:
    return text.strip().strip("$").strip()
