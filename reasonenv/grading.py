"""Are two answers equal? Pure functions over exact arithmetic and math-verify.

Three steps, each for what the one before leaves open: letters, equal texts and whatever the
grammar of `reasonenv.mathematics` can read are settled by `quick`; what is too large to evaluate is
turned down by `oversized`; the rest goes to math-verify in `symbolic`, which only
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

from reasonenv.answers import claim, final_answer
from reasonenv.choices import asked, chosen, right_text
from reasonenv.mathematics.arithmetic import TooLarge
from reasonenv.mathematics.comparison import matches
from reasonenv.mathematics.notation import canonical
from reasonenv.mathematics.syntax import MAX_LENGTH, Node, read


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
    correct, reference = choose(answer, reference, options)
    if correct is None:
        correct = quick(answer, reference)
    status = "ok"
    if correct is None:
        correct, status = evaluate(answer, reference)
    return Grade(correct, answer, status)


def choose(answer: str, reference: str, options: Sequence[str]) -> tuple[bool | None, str]:
    """The verdict of a multiple choice, or None and the text that the answer must equal."""
    reference = stated(reference)
    letters = asked(reference)
    if letters is None:
        return None, reference
    text = right_text(letters, options)
    given = chosen(answer)
    if given is not None and not (text is not None and words(answer) == words(text)):
        return given == letters, reference
    if text is not None:
        return None, text
    return False, reference


@lru_cache(maxsize=20_000)
def stated(reference: str) -> str:
    r"""What a reference says: of a worked solution its box, of any other text all."""
    if "\\boxed" in reference or "\\fbox" in reference:
        return final_answer(reference) or reference
    return reference


def quick(answer: str, reference: str) -> bool | None:
    """The verdict where text or bounded arithmetic settles it, within a millisecond; else None."""
    if len(answer) > MAX_LENGTH:
        answer = claim(answer) or answer
    left, right = squeezed(answer), squeezed(reference)
    if not left or not right:
        return False
    if left == right:
        return True
    if left.isdecimal() and right.isdecimal() and left.isascii() and right.isascii():
        return left.lstrip("0") == right.lstrip("0")
    if words(answer) == words(reference):
        return True
    return _compared(answer, reference)


def _compared(answer: str, reference: str) -> bool | None:
    """The verdict of the readings of both; of what prose claims where it is none."""
    verdict = _readings(answer, reference)
    if verdict is None and is_prose(answer):
        said = claim(answer)
        if said is not None and said != answer and squeezed(said):
            if squeezed(said) == squeezed(reference):
                return True
            verdict = _readings(said, reference)
    if verdict is None and (is_text(reference) or is_text(answer)):
        return words(last_clause(answer)) == words(reference)
    return verdict


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
    except (TooLarge, RecursionError):
        return None


# --- text


_NOT_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|textbf|mbox)\s*\{|[\s$.,;:!?\"'(){}*\\-]+|\b(?:a|an|the)\b")
_WORD = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{3,}|[\u4e00-\u9fff]{2,}|[\u0600-\u06ff]{2,}")
_CLAUSE = re.compile(r".*\b(?:is|are|be|was)\b|.*[是为：:=]", re.DOTALL)


def squeezed(text: str) -> str:
    """A canonical text without decoration, and without spaces but those between digits."""
    return re.sub(r"(?<!\d)\s+|\s+(?!\d)", "", canonical(text[:100_000]))


@lru_cache(maxsize=20_000)
def words(text: str) -> str:
    """The words of a text, without case, articles, fonts and punctuation."""
    text = canonical(text[:2000]).casefold()
    if any(sign in text for sign in "0123456789^_=<>+/|"):
        return text
    return re.sub(r"\s+", " ", _NOT_TEXT.sub(" ", text)).strip() or text


def is_prose(text: str) -> bool:
    """Whether a text has words beside its formulas."""
    return _WORD.search(text) is not None


def is_text(reference: str) -> bool:
    """Whether a text is words alone."""
    return not any(sign in reference for sign in "0123456789^_=<>+/|[(") and (
        "\\" not in re.sub(r"\\(?:text|mathrm|textbf)(?![a-zA-Z])", "", reference)
    )


def last_clause(text: str) -> str:
    """What follows the last "is" of a sentence."""
    text = text.strip()
    match = _CLAUSE.match(text[-300:])
    return text[-300:][match.end() :] if match else text


# --- math-verify


# Each of these is cheap to write and has no bound on what it costs to evaluate.
_EXPLOSIVE = re.compile(
    r"\d\s*[eE]\s*[+-]?\s*\d{4}"  # 1E1000000
    r"|\d{257}"
    r"|\^[\s{(+-]*\d{4}"  # 2^{10000000}
    r"|\^\s*(?:\{[^{}]*\^|\([^()]*\^|\w\s*\^)"  # towers
    r"|(?:\d{3}|[!)}\]])\s*!"
    r"|\\(?:int|iint|sum|prod|binom|dbinom|Gamma|gcd|operatorname)(?![a-zA-Z])"
    r"|[\])}]\s*\^[\s{]*\d{2}"  # (x + y + z)^{1000}
)
_NESTING = 32
_LENGTH = 400


def evaluate(answer: str, reference: str) -> tuple[bool, str]:
    """Verdict and status of two answers that `quick` leaves open. Imports sympy when first used."""
    if oversized(answer) or oversized(reference):
        return False, "unparseable"
    try:
        return symbolic(answer, reference), "ok"
    except MemoryError:
        return False, "memory"
    # Whatever a parser raises on words that are no mathematics, they are not the right answer.
    except Exception:
        return False, "unparseable"


def oversized(text: str) -> bool:
    """Whether an answer is too long, too deep or too large to be evaluated at all."""
    if len(text) > _LENGTH or _EXPLOSIVE.search(text):
        return True
    depth = 0
    for bracket in re.findall(r"[({\[)}\]]", text):
        depth += 1 if bracket in "({[" else -1
        if depth > _NESTING:
            return True
    return False


def symbolic(answer: str, reference: str) -> bool:
    """Whether math-verify finds two answers equal; its own timeouts, made of signals, are off."""
    from math_verify import parse, verify

    gold = parse(_as_mathematics(reference), parsing_timeout=0, raise_on_error=True)
    found = parse(_as_mathematics(answer), parsing_timeout=0, raise_on_error=True)
    return verify(gold, found, timeout_seconds=0, raise_on_error=True)


def _as_mathematics(text: str) -> str:
    """The text as math-verify reads it: prose with its formulas, or one boxed formula."""
    found = re.findall(r"(?<![\\a-zA-Z])[a-zA-Z]{3,}", re.sub(r"\\[a-z]+\{[^{}]*\}", "", text))
    inner = text.strip().strip("$").strip()
    return text if "$" in inner or len(found) > 2 else f"\\boxed{{{inner}}}"
