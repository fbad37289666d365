r"""Extraction of short answers by rules, where the official code asks a language model.

Announcements count, in this order: the last `\boxed{}`, the text after the last "answer is" on
that line, an option at the beginning, the last words in bold, the last sentence that begins with
"therefore". Without an announcement it is the option named last, or the last number; none where
the first or last sentence refuses to answer. `inferred_letter` is VLMEvalKit's rule
(open-compass/VLMEvalKit, vlmeval/utils/matching_util.py: `can_infer`).

`value` reads a constant as MathVision's official code does, which uses latex2sympy2
(https://github.com/OrangeX4/latex2sympy) and knows LaTeX alone: a text with √, π or `sqrt(3)`, a
name that is no number and \frac{1}2 have no value, 1:2 is a quotient, 2\frac{1}{2} a product and
\log to the base 10. What has a value is read by the grader's parser, in bounded time and memory. On
all 1,540 texts of the outputs that were published with the data the two differ in one, [700,800],
and in no verdict.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from reasonenv.grading.numeric.evaluation import ROUGH, ExpressionEvaluator, is_real
from reasonenv.grading.numeric.exact import exact_value
from reasonenv.grading.parsing.grammar import read
from reasonenv.grading.parsing.nodes import UNKNOWN, Node
from reasonenv.grading.reading import box_contents

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
_PUNCTUATION = re.compile(r"[.()\[\],:;!*#{}]")
_PHRASE = re.compile(
    r"\b(?:answer|option|choice)\b[^.:\n]{0,60}?(?:\bis\b|\bare\b|\bbe\b|:)", re.IGNORECASE
)
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
_CONCLUSION = re.compile(r"(?:^|[.\n]\s{0,5})(?:therefore|thus|hence|so)\b([^\n]*)", re.IGNORECASE)
_SENTENCE = re.compile(r"\.(?=\s|$)|\n")
_REFUSAL = re.compile(
    r"\b(?:cannot|can't|can’t|could not|unable|impossible|insufficient|incomplete|please provide"
    r"|not (?:possible|enough|clear|provided|available|listed|given|in the (?:options|choices))"
    r"|(?:does|do|did) not (?:provide|contain|include|specify|have|give)|(?:is|are) missing"
    r"|doesn't (?:provide|specify)|don't have|none of the (?:options|choices)|no correct"
    r"|(?:a|be) mistake)\b",
    re.IGNORECASE,
)
_MARKED = re.compile(r"\(([A-Z])\)")
_LEADING = re.compile(r"\W*(?:option\s+)?([A-Z])(?![\w'’])(?!\s+[a-z])", re.IGNORECASE)
_NAMED = re.compile(r"\W{0,3}([A-Z])[.):]")
_BARE = re.compile(r"\W*([A-Z])\W*")
_NUMBER = re.compile(
    r"(?<![\w.])[-−]?\$?\s?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|(?<![\w.])[-−]?\.\d+"
)
_FUNCTIONS = "sin|cos|tan|arcsin|arccos|arctan|sinh|cosh|tanh|exp|log"
_LATEX = re.compile(
    rf"(?:[\d.,+*/^!:()\[\]{{}}_$~\s-]|(?<=\d)\\%|\\,|\\(?:[dt]?frac|[dt]?binom|sqrt|pi|cdot|times"
    rf"|div|left|right|displaystyle|q?quad|{_FUNCTIONS})(?![a-zA-Z]))+",
    re.ASCII,
)
_BRACED = r"\s*\{(?:[^{}]|\{[^{}]*\})*\}"
_WITHOUT_BRACES = re.compile(rf"\\[dt]?(?:frac|binom)(?!{_BRACED}\s*\{{)|\\sqrt(?!\s*[\[{{])|\{{,")
_PRODUCT = re.compile(r"(?<=\d)\s*(?=\\[dt]?frac)|(?<=\d)\s+(?=\d)")
_LONGEST = 1000
# Where an option's text may begin and end: not within a word or a decimal.
_BEGIN, _END = r"(?<!\w)(?<!\d\.)", r"(?!\w|\.\d)"
_LIST = re.compile(r"\[[^\[\]]*\]")
# fmt: off
_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
          "eleven", "twelve"]
# fmt: on
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)


def inferred_letter(response: str, options: Sequence[str]) -> str | None:
    """The letter of the one option that a response names by letter, or else by its text.

    "Z" where it refuses, or names Z; None where it names none or several.
    """
    if any(refusal in response for refusal in _REFUSALS):
        return "Z"
    letters = LETTERS[: len(options)]
    words = set(_PUNCTUATION.sub(" ", response).split())
    matches = [letter for letter in letters if letter in words]
    if len(matches) == 1:
        return matches[0]
    if not matches and "Z" in words:
        return "Z"
    lower = response.lower()
    texts = [letter for letter, text in zip(letters, options, strict=True) if text.lower() in lower]
    return texts[0] if len(texts) == 1 else None


def chosen_option(response: str, choices: Sequence[str]) -> str | None:
    """The letter or the text of the option that a response chooses; None where it names none."""
    response, letters = response.strip(), LETTERS[: len(choices)]
    bare = _BARE.fullmatch(response)
    if bare and bare[1] in letters:
        return bare[1]
    for clause in _announced(response):
        if option := _in_clause(clause, letters, choices):
            return option
    if option := _leading(response, letters, choices):
        return option
    for clause in _concluded(response):
        if option := _in_clause(clause, letters, choices):
            return option
    if refuses(response):
        return None
    marked = [letter for letter in _MARKED.findall(response) if letter in letters]
    return marked[-1] if marked else _last_named(response, choices)


def last_number(response: str) -> str | None:
    """The number in a response's announcement, else its last one, in digits; None without one."""
    for clause in (*_announced(response), *_concluded(response)):
        if (number := _last_number_of(clause)) is not None:
            return number
    return None if refuses(response) else _last_number_of(response)


def last_list(response: str) -> str | None:
    """The last list in brackets of a response."""
    lists = _LIST.findall(response)
    return lists[-1] if lists else None


def refuses(response: str) -> bool:
    """True if the first or the last sentence says that there is no answer."""
    sentences = [part for part in _SENTENCE.split(response.strip()) if part.strip()]
    ends = (sentences[0], sentences[-1]) if sentences else ()
    return any(_REFUSAL.search(sentence) for sentence in ends)


def _announced(response: str) -> Iterator[str]:
    """Clauses that announce the answer, the most explicit first."""
    boxes = [box for box in box_contents(response) if box.strip()]
    if boxes:
        yield ", ".join(boxes)
    yield from _last(_PHRASE, response, lambda m: _first_sentence(response[m.end() :]))


def _concluded(response: str) -> Iterator[str]:
    """Final clauses of a response: its last words in bold, its last conclusion."""
    yield from _last(_BOLD, response, lambda m: m[1])
    yield from _last(_CONCLUSION, response, lambda m: _first_sentence(m[1]))


def _last(
    pattern: re.Pattern[str], response: str, clause: Callable[[re.Match[str]], str]
) -> Iterator[str]:
    """The clause of the last match, if there is one that is no refusal."""
    matches = list(pattern.finditer(response))
    text = clause(matches[-1]) if matches else ""
    if text and not _REFUSAL.search(text):
        yield text


def _first_sentence(text: str) -> str:
    # "The answer is:" may have its answer on a line further below.
    return _SENTENCE.split(text.lstrip(" *:\"'\r\n\t"), maxsplit=1)[0].strip(" *:\"'")


def _in_clause(clause: str, letters: str, choices: Sequence[str]) -> str | None:
    clause = re.sub(r"\\text\w*\s*\{([^{}]*)\}", r"\1", clause)
    if clause in choices:
        return clause
    match = _MARKED.search(clause) or _LEADING.match(clause)
    if match and match[1].upper() in letters:
        return match[1].upper()
    return _leading(clause, letters, choices) or _last_named(clause, choices)


def _leading(text: str, letters: str, choices: Sequence[str]) -> str | None:
    """The option that a text begins with: "B. No", "No, because"; of several the longest."""
    match = _NAMED.match(text)
    if match and match[1] in letters:
        return match[1]
    begin = text.lstrip(" (*\"'").casefold()
    options = [
        choice
        for choice in choices
        if choice.strip() and re.match(rf"{re.escape(choice.casefold())}{_END}", begin)
    ]
    return max(options, key=len, default=None)


def _last_named(text: str, choices: Sequence[str]) -> str | None:
    """The option whose text stands last; of two at one place the longer one."""
    folded = text.casefold()
    ends = []
    for choice in choices:
        pattern = rf"{_BEGIN}{re.escape(choice.casefold())}{_END}"
        places = [match.end() for match in re.finditer(pattern, folded)] if choice.strip() else []
        ends += [(places[-1], len(choice), choice)] if places else []
    return max(ends)[2] if ends else None


def _last_number_of(text: str) -> str | None:
    constant = value(text) if len(text) < 100 else None
    if constant is not None:
        return str(int(constant)) if constant == int(constant) else str(constant)
    numbers = [match[0] for match in _NUMBER.finditer(text)]
    if numbers:
        return re.sub(r"[,$\s]", "", numbers[-1]).replace("−", "-")
    words = _WORD.findall(text)
    return str(_WORDS.index(words[-1].lower())) if words else None


class _RealEvaluator(ExpressionEvaluator):
    """An evaluator for which an expression has no value where a part of it is not real."""

    def value(self, node: Node, in_radians: bool = False) -> Any:
        number = super().value(node, in_radians)
        if not is_real(number):
            raise ValueError("not real")
        return number


def value(text: str) -> float | None:
    r"""The value of a text such as `\frac{1}{2}`, `2\sqrt{3}` or `10\pi + 20`; None without one.

    It is an int where it is whole and there is no quotient: 4/2 is 2.0.
    """
    if len(text) > _LONGEST or not _LATEX.fullmatch(text) or _WITHOUT_BRACES.search(text):
        return None
    quotients = text.replace(":", "/").replace(r"\%", "/100")
    node = read(_PRODUCT.sub(r"\\cdot ", quotients)).node
    if node is None or not UNKNOWN.isdisjoint(node.kinds):
        return None
    try:
        number = exact_value(node)
        if number is None:
            number = _RealEvaluator(ROUGH, 0, natural=False).value(node)
        is_whole = number == int(number.real) and "/" not in quotients and "frac" not in quotients
        return int(number.real) if is_whole else float(number.real)
    except (ArithmeticError, ValueError):
        return None
