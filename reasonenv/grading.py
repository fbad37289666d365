"""Are two answers equal? Pure functions over exact arithmetic and math-verify.

Three steps, each for what the one before leaves open: equal strings, letters and numbers are
settled by `quick`; what is too large to evaluate is turned down by `oversized`; the rest goes to
math-verify in `symbolic`, which only `reasonenv.workers` may call on text that nobody has read:
there a process that hangs is killed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reasonenv.answers import final_answer, normal
from reasonenv.numbers import same_number


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


def choose(answer: str, reference: str, options: Sequence[str]) -> tuple[bool | None, str]:
    """The verdict of a multiple choice, or None and the text that the answer must equal."""
    right = normal(reference).strip("().")
    if not re.fullmatch(r"[A-J]", right):
        return None, reference
    letter = choice(answer)
    if letter is not None:
        return letter == right, reference
    index = ord(right) - ord("A")
    if index < len(options):
        return None, options[index]
    return (False, reference) if options else (None, reference)


_LONE_LETTER = re.compile(r"\(?([A-Ja-j])[).:]*")
_LEADING_LETTER = re.compile(r"\(?([A-J])(?:\)|\s*[.:,、：])\s*\S")
_NAMED_LETTER = re.compile(r"(?:[Oo]ption|[Cc]hoice|选项?)\s*\(?([A-J])\b")


def choice(answer: str) -> str | None:
    """The one letter that an answer chooses, as in "C", "(c)", "C. 12 cm" or "option C"."""
    text = normal(answer)
    match = _LONE_LETTER.fullmatch(text) or _LEADING_LETTER.match(text)
    match = match or _NAMED_LETTER.search(answer)
    # "A, B" begins like a letter with its text, yet chooses two.
    if match is None or re.fullmatch(r"[A-J](?:\W+(?:and|or)?\W*[A-J])+\W*", text):
        return None
    return match.group(1).upper()


def quick(answer: str, reference: str) -> bool | None:
    """The verdict where strings or numbers settle it, in microseconds; else None."""
    left, right = normal(answer), normal(reference)
    if left == right:
        return True
    if left.isalpha() and right.isalpha() and len(right) != 2:
        # math-verify would read words as products of letters, in which god is dog, and h as H.
        return len(right) > 2 and left.casefold() == right.casefold()
    return same_number(left, right)


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
_LENGTH = 1024


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
    words = re.findall(r"(?<![\\a-zA-Z])[a-zA-Z]{3,}", re.sub(r"\\[a-z]+\{[^{}]*\}", "", text))
    inner = text.strip().strip("$").strip()
    return text if "$" in inner or len(words) > 2 else f"\\boxed{{{inner}}}"
