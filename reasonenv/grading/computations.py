"""Computations of numbers: those in words as formulas, and those that are not carried out.

"8 plus 3 is 11" and "the sum of 8 and 3 is 11" are 8 + 3 = 11. Only operations on numbers in
digits are rewritten, and of their results only those that follow a verb: what stands around them,
"8 + 3 is not 11", is judged as it is around a formula.
"""

import re

_MAX_LENGTH = 2000
_SIGNS = {
    "plus": "+",
    "added to": "+",
    "increased by": "+",
    "minus": "-",
    "decreased by": "-",
    "times": "×",
    "multiplied by": "×",
    "x": "×",
    "X": "×",
    "divided by": "÷",
}
_OPERATION = re.compile(rf"(?<=\d)((?:\s[a-zA-Z]{{1,15}})?)\s({'|'.join(_SIGNS)})\s(?=\(?[$€£]?\d)")
_NAMES = {"sum": "+", "product": "×", "difference": "-", "quotient": "÷"}
_NUMBER = r"\d{1,12}(?:\.\d{1,12})?"
_NAMED = re.compile(
    rf"(?<![a-zA-Z])(?:[Tt]he\s)?({'|'.join(_NAMES)})\s(?:of|between)\s"
    rf"({_NUMBER}(?:,\s{_NUMBER}){{0,8}}),?\sand\s({_NUMBER})(?=\s(?:is|are|equals?|gives?|makes?|will)\b)"
)
_RESULT = re.compile(
    r"([\d)](?:\s[a-zA-Z]{3,15})?\s?[-+*/×÷−·]\s?\(?[$€£]?\d{1,12}(?:[.,]\d{1,12})?\)?"
    r"(?:\s(?!which|that)[a-zA-Z]{3,15})?)(?:,?\s(?:which|that))?"
    r"\s(?:is|are|is\sequal\sto|equals?|makes?|gives?(?:\s(?:us|you))?|comes\sto|will\sbe)"
    r"\s(?:exactly\s|just\s|simply\s)?(?=[$€£]?\d)"
)
_TOGETHER = re.compile(
    rf"(?:(?<=\s)|\A)({_NUMBER}) and ({_NUMBER})(?: together)?"
    r" (?:makes?|adds? up to|sums? to|totals?) (?=\d)"
)


def in_signs(text: str) -> str:
    """A text with its computations in words as formulas; any other text unchanged."""
    if len(text) > _MAX_LENGTH or not any(map(str.isdigit, text)):
        return text
    text = _TOGETHER.sub(r"\1 + \2 = ", _NAMED.sub(_named, text))
    text = _OPERATION.sub(lambda match: f"{match[1]} {_SIGNS[match[2]]} ", text)
    return _RESULT.sub(r"\1 = ", text)


def _named(match: re.Match[str]) -> str:
    numbers = [*match[2].split(", "), match[3]]
    if match[1] in ("difference", "quotient") and len(numbers) > 2:
        return match[0]
    if match[1] == "difference":
        numbers.sort(key=float, reverse=True)
    return f" {_NAMES[match[1]]} ".join(numbers)


_SPELLINGS = {"\\times": "*", "\\cdot": "*", "\\div": "÷", " / ": "÷", " x ": "*", "\\left": "",
              "\\right": ""}  # fmt: skip
_DECORATION = str.maketrans("", "", " \t\n(){}$\\`")
_DIGITS = r"\d++(?:,\d{3}(?!\d))*+(?:\.\d++)?+"
_COMPUTATION = re.compile(
    rf"(?<![\w.,])(?:[a-zA-Z]{{1,10}}=)?-?{_DIGITS}(?:[-+*×·÷−–]{_DIGITS})++[a-zA-Z]{{0,30}}"
)
_NUMERAL = re.compile(rf"(?<![\w.,])-?{_DIGITS}(?:[a-zA-Z]{{1,15}}|[%°])?")


def is_not_carried_out(answer: str, reference: str) -> bool:
    """True for 8 + 5 in place of 13: a computation of numbers is left to the reader.

    Fractions are numbers, 1/2 and 12/4; with powers, roots and π a computation may stay.
    """
    if len(answer) > _MAX_LENGTH or not _NUMERAL.fullmatch(_plain(reference)):
        return False
    for spelling, sign in _SPELLINGS.items():
        answer = answer.replace(spelling, sign)
    return _COMPUTATION.fullmatch(_plain(answer)) is not None


def _plain(text: str) -> str:
    return text.translate(_DECORATION).strip(".*=")
