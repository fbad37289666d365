"""Tokenizer of formulas."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from reasonenv.grading.parsing.magnitudes import MAGNITUDES
from reasonenv.grading.parsing.units import AMBIGUOUS, UNITS, compound_unit

FUNCTIONS = frozenset(
    """sin cos tan cot sec csc arcsin arccos arctan arccot arcsec arccsc sinh cosh tanh coth sech
    csch arsinh arcosh artanh ln log lg exp sqrt abs""".split()  # noqa: SIM905 - a page of quotation marks is harder to read
)
FUNCTION_NAMES = {
    "cosec": "csc", "arccosec": "arccsc", "cosech": "csch", "cotg": "cot", "asin": "arcsin",
    "acos": "arccos", "atan": "arctan", "acot": "arccot", "asinh": "arsinh", "acosh": "arcosh",
    "atanh": "artanh", "arcsinh": "arsinh", "arccosh": "arcosh", "arctanh": "artanh",
    "arctg": "arctan", "arcctg": "arccot", "ctg": "cot",
}  # fmt: skip
"""Other names of functions; the standard ones are those of ISO 80000-2."""
# Without a backslash these are products.
_COMMANDS = FUNCTION_NAMES | {
    "tg": "tan", "sh": "sinh", "ch": "cosh", "th": "tanh", "cth": "coth", "arsh": "arsinh",
    "arch": "arcosh", "arth": "artanh",
}  # fmt: skip
ALTERNATIVES = frozenset(["or", "OR", "或", "或者", "lor", "vee"])
"""Words and signs between statements of which one is true."""
CONJUNCTIONS = frozenset(["and", "AND", "且", "并且", "和", "与", "及", "land", "wedge"])
"""Words and signs between statements that are all true."""
CONNECTORS = ALTERNATIVES | CONJUNCTIONS
GREEK = frozenset(
    """alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi
    pi rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi
    Omega hbar ell partial nabla infty""".split()  # noqa: SIM905 - as above
)

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:\d+(?:\{,\}\d{3})*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4}(?![\d.a-zA-Z]))?)
    |\\text\{(?P<text>[^{}]*)\}
    |\\(?:begin|end)\s*\{(?P<environment>[a-z]+\*?)\}
    |(?P<command>\\(?:[a-zA-Z]+|.))
    |(?P<word>[a-zA-Z]+)
    |(?P<sign>[^\s\w]|_)
    |(?P<chinese>[\u4e00-\u9fff]+)
    |(?P<other>\S)
    )""",
    re.VERBOSE | re.DOTALL,
)
_LONG = UNITS.keys() | CONNECTORS
_VOWEL = re.compile("[aeiouy]")
_PLURAL = re.compile("[aeiou][a-z]{2,10}s")
_SHORT_NOUN = re.compile("[b-df-hj-np-tv-z][aeiou][b-df-hj-np-tv-z]")
_DEPTH = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


class Token(NamedTuple):
    """A token of a formula.

    Attributes:
        kind: number, name, word, function, command, begin, end, sign, or connector.
        text: Its text, without the backslash of a command.
        spaced: True if white space precedes it.
    """

    kind: str
    text: str
    spaced: bool


def tokenize(text: str, units: bool, limit: int, glued: bool = False) -> list[Token] | None:
    """The tokens of a canonical text, or None if there are more than `limit`.

    Args:
        text: Output of `notation.canonical`.
        units: True if letters such as "cm" are a unit, False if the product of c and m.
        limit: Tokens at most.
        glued: True if short letters right after a number are a unit too, as in 5h and 500mA.
    """
    tokens: list[Token] = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or len(tokens) > limit:
            return None
        # 10.8m is a length, where 5m may be five times m.
        after_number = bool(tokens) and tokens[-1].kind == "number"
        apart = glued or (after_number and "." in tokens[-1].text)
        tokens.extend(_classified(match, units, apart))
        position = match.end()
    return tokens if len(tokens) <= limit else None


def _classified(match: re.Match[str], units: bool, apart: bool) -> Iterator[Token]:
    kind = match.lastgroup or ""
    value, spaced = match[kind], match[0][0].isspace()
    if kind == "number":
        yield Token("number", value.replace("{,}", ""), spaced)
    elif kind == "text":
        yield from _words(value.strip())
    elif kind == "environment":
        yield Token("begin" if "\\begin" in match[0] else "end", value.rstrip("*"), spaced)
    elif kind == "command":
        yield _command(value[1:], spaced)
    elif kind == "word":
        yield from _letters(value, units, spaced, apart)
    elif kind == "chinese":
        yield from _characters(value)
    elif kind == "other":
        yield _word_token(value, spaced)
    else:
        yield Token("sign", value, spaced)


def _words(payload: str) -> Iterator[Token]:
    """The words of a text inside a formula as one, apart from a magnitude before them."""
    name = _COMMANDS.get(payload, payload)
    if name in FUNCTIONS and payload not in UNITS:
        yield Token("function", name, True)
        return
    first, _, rest = payload.partition(" ")
    if rest and first.lower() in MAGNITUDES:
        yield Token("word", first, True)
        yield Token("word", rest.strip(), True)
    elif (
        payload[:1] in MAGNITUDES
        and compound_unit(payload) is None
        and CONNECTORS.isdisjoint(payload)
    ):
        yield from _characters(payload)
    else:
        yield _word_token(payload, True)


def _word_token(text: str, spaced: bool) -> Token:
    return Token("connector" if text in CONNECTORS else "word", text, spaced)


def _command(name: str, spaced: bool) -> Token:
    if name in CONNECTORS:
        return Token("connector", name, spaced)
    name = _COMMANDS.get(name, name)
    kind = "function" if name in FUNCTIONS else "name" if name in GREEK else "command"
    return Token(kind, name, spaced)


def _characters(run: str) -> Iterator[Token]:
    """Chinese text: the longest units, then single characters."""
    start = 0
    while start < len(run):
        size = next((n for n in (4, 3, 2) if run[start : start + n] in _LONG), 1)
        yield _word_token(run[start : start + size], False)
        start += size


def _letters(run: str, units: bool, spaced: bool, apart: bool) -> Iterator[Token]:
    """A run of letters: a function, a connector, a word, or the product of its letters."""
    if (name := FUNCTION_NAMES.get(run, run)) in FUNCTIONS:
        yield Token("function", name, spaced)
    elif run in CONNECTORS:
        yield Token("connector", run, spaced)
    elif run in ("pi", "infinity", "inf", "oo"):
        yield Token("name", "pi" if run == "pi" else "infty", spaced)
    elif _is_word(run) or (units and _is_unit(run, spaced or apart)):
        yield Token("word", run, spaced)
    else:
        for index, letter in enumerate(run):
            yield Token("name", letter, spaced and index == 0)


def _is_unit(run: str, apart: bool) -> bool:
    """True if letters are a unit, a magnitude, or a word of one, km per hour, or a noun, 1 cup."""
    if run in ("per", "sq") or (apart and (run in MAGNITUDES or _SHORT_NOUN.fullmatch(run))):
        return True
    return run in UNITS and (apart or run not in AMBIGUOUS)


def _is_word(run: str) -> bool:
    """True if letters are a word and no product: long, and with a vowel."""
    if len(run) < 4 or run.isupper():
        return False
    return _VOWEL.search(run[1:].lower()) is not None or _PLURAL.fullmatch(run) is not None


def join_digit_groups(tokens: list[Token]) -> list[Token]:
    """The tokens with 1 , 234 joined outside of brackets, and 0 , 5 if it is the whole text."""
    if not any(token.text == "," for token in tokens):
        return tokens
    merged: list[Token] = []
    depth = 0
    for token in tokens:
        depth += _DEPTH.get(token.text, 0)
        merged.append(token)
        if depth == 0 and token.kind == "number" and len(merged) > 2 and _is_group(*merged[-3:]):
            whole, _, group = merged[-3:]
            merged[-3:] = [Token("number", whole.text + group.text, whole.spaced)]
    if len(merged) == 3 and _is_decimal_comma(*merged):
        return [Token("number", f"0.{merged[2].text}", False)]
    return merged


def _is_group(whole: Token, comma: Token, group: Token) -> bool:
    """True if a number, a comma and three digits are one number, with no space between them."""
    return (
        comma.text == ","
        and not (comma.spaced or group.spaced)
        and whole.kind == "number"
        and whole.text.isdecimal()
        and not whole.text.startswith("0")
        and len(group.text.partition(".")[0]) == 3
    )


def _is_decimal_comma(zero: Token, comma: Token, digits: Token) -> bool:
    return (
        zero.text == "0"
        and comma.text == ","
        and digits.kind == "number"
        and not digits.spaced
        and "." not in digits.text
    )
