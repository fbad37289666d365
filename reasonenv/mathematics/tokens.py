"""Tokens of a formula."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from reasonenv.mathematics.units import AMBIGUOUS, UNITS

FUNCTIONS = frozenset(
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log lg exp sqrt abs".split()
)
CONNECTORS = frozenset(["and", "or", "AND", "OR", "且", "或", "和", "与", "及"])
GREEK = frozenset(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi rho"
    " sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
    " hbar ell partial nabla infty".split()
)

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:\d+(?:\{,\}\d{3})*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4}(?![\d.a-zA-Z]))?)
    |\\text\{(?P<text>[^{}]*)\}
    |\\(?:begin|end)\s*\{(?P<environment>[a-z]+\*?)\}
    |(?P<command>\\(?:[a-zA-Z]+|.))
    |(?P<word>[a-zA-Z]+)
    |(?P<sign>[^\s\w]|_)
    |(?P<other>\S)
    )""",
    re.VERBOSE | re.DOTALL,
)  # fmt: skip
_VOWEL = re.compile("[aeiouy]")


class Token(NamedTuple):
    """A piece of a formula."""

    kind: str
    """number, name, word, function, command, begin, end, sign, or connector."""
    text: str
    spaced: bool
    """Whether white space stands before it."""


def tokens(text: str, units: bool, limit: int) -> list[Token] | None:
    """The tokens of a canonical text, or None when there are more than `limit`.

    Args:
        text: As `notation.canonical` leaves it.
        units: Whether letters such as "cm" are a unit, and not the product of c and m.
        limit: Tokens at most.
    """
    found: list[Token] = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or len(found) > limit:
            return None
        spaced = match[0][0].isspace()
        found.extend(_classified(match, units, spaced))
        position = match.end()
    return found if len(found) <= limit else None


def _classified(match: re.Match[str], units: bool, spaced: bool) -> Iterator[Token]:
    kind, value = match.lastgroup or "", match[match.lastgroup or 0]
    if kind == "number":
        yield Token("number", value.replace("{,}", ""), spaced)
    elif kind == "text":
        value = value.strip()
        yield Token("connector" if value in CONNECTORS else "word", value, True)
    elif kind == "environment":
        yield Token("begin" if "\\begin" in match[0] else "end", value.rstrip("*"), spaced)
    elif kind == "command":
        name = value[1:]
        if name in FUNCTIONS:
            yield Token("function", name, spaced)
        else:
            yield Token("name" if name in GREEK else "command", name, spaced)
    elif kind == "word":
        yield from _letters(value, units, spaced)
    elif kind == "other":
        yield Token("connector" if value in CONNECTORS else "word", value, spaced)
    else:
        yield Token("sign", value, spaced)


def _letters(run: str, units: bool, spaced: bool) -> Iterator[Token]:
    """A run of letters: a function, a connector, a word, or the product of its letters."""
    if run in FUNCTIONS:
        yield Token("function", run, spaced)
    elif run in CONNECTORS:
        yield Token("connector", run, spaced)
    elif run in ("pi", "infinity", "inf", "oo"):
        yield Token("name", "pi" if run == "pi" else "infty", spaced)
    elif _is_word(run) or (units and run in UNITS and (spaced or run not in AMBIGUOUS)):
        yield Token("word", run, spaced)
    else:
        for index, letter in enumerate(run):
            yield Token("name", letter, spaced and index == 0)


def _is_word(run: str) -> bool:
    """Whether letters read as a word rather than as a product: long, and with a vowel."""
    return len(run) > 3 and _VOWEL.search(run[1:].lower()) is not None and not run.isupper()
