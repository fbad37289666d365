"""Tokens of formulas, and a cursor over them."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from reasonenv.grading.budget import spend
from reasonenv.grading.parsing import rows
from reasonenv.grading.parsing.nodes import Node
from reasonenv.grading.parsing.units import AMBIGUOUS, MAGNITUDES, UNITS, compound_unit

MAX_DEPTH = 24
"""Levels of brackets, powers, functions and signs after an atom at most."""
FUNCTIONS = frozenset(name for name, *_ in rows("functions.tsv"))
_NAMES = {other: name for name, others, _ in rows("functions.tsv") for other in others.split()}
_COMMANDS = _NAMES | {
    command: name for name, _, commands in rows("functions.tsv") for command in commands.split()
}
for _table in (_NAMES, _COMMANDS):
    _table.pop("-")  # stands for no other name
_CONSTANTS = {"pi": "pi", "infinity": "infty", "inf": "infty", "oo": "infty"}
ALTERNATIVES = frozenset(["or", "OR", "或", "或者", "lor", "vee"])
"""Words and signs between statements of which one is true."""
CONJUNCTIONS = frozenset(["and", "AND", "且", "并且", "和", "与", "及", "land", "wedge"])
"""Words and signs between statements that are all true."""
_CONNECTORS = ALTERNATIVES | CONJUNCTIONS
_GREEK = frozenset(
    """alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi
    pi rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi
    Omega hbar ell partial nabla infty""".split()  # noqa: SIM905 - a page of quotation marks is harder to read
)
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:\d+(?:\{,\}\d{3})*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4}(?![\d.a-zA-Z]))?)
    |\\text\{(?P<text>[^{}]*)\}
    |\\begin\s*\{(?P<begin>[a-z]+)\*?\}|\\end\s*\{(?P<end>[a-z]+)\*?\}
    |\\(?P<command>[a-zA-Z]+|.)
    |(?P<letters>[a-zA-Z]+)
    |(?P<sign>[^\s\w]|_)
    |(?P<chinese>[\u4e00-\u9fff]+)
    |(?P<other>\S)
    )""",
    re.VERBOSE | re.DOTALL,
)
_VOWEL = re.compile("[aeiouy]")
_PLURAL = re.compile("[aeiou][a-z]{2,10}s")
_SHORT_NOUN = re.compile("[b-df-hj-np-tv-z][aeiou][b-df-hj-np-tv-z]")


class Unreadable(Exception):  # noqa: N818 - a property of a text, not a program's error
    """The text is not in the grammar."""


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


def tokenize(text: str, units: bool, limit: int) -> tuple[list[Token], bool, bool]:
    """The tokens of a canonical text, none if there are more than `limit`.

    With them, as in `grammar.Reading`, whether letters may be a unit, and whether a short one is.

    Args:
        text: Output of `notation.canonical`.
        units: True if letters such as "cm" are a unit, False if the product of c and m.
        limit: Tokens at most.
    """
    tokens: list[Token] = []
    sorts: set[str] = set()
    for match in _TOKEN.finditer(text.rstrip()):
        kind = match.lastgroup or ""
        value, spaced = match[kind], match[0][0].isspace()
        if kind in ("sign", "number", "begin", "end"):
            tokens.append(Token(kind, value.replace("{,}", ""), spaced))
        elif kind == "letters" and (unit := _unit(value, spaced, tokens)):
            sorts.add(unit)
            tokens += [Token("word", value, spaced)] if units else _product(value, spaced)
        else:
            tokens += _TOKENS[kind](value, spaced)
        if len(tokens) > limit:
            return [], False, False
    return tokens, bool(sorts), units and "short" in sorts


def _unit(run: str, spaced: bool, tokens: list[Token]) -> str:
    """Either "unit" or "short" for letters that may be a unit, a magnitude or a noun; else ""."""
    if run in _CONNECTORS or run in FUNCTIONS or run in _NAMES or run in ("pi", "inf"):
        return ""
    # 10.8m is a length, where 5m may be five times m.
    before = tokens[-1] if tokens and tokens[-1].kind == "number" else None
    apart = spaced or (before is not None and "." in before.text)
    if run in UNITS:
        is_sure = apart or run not in AMBIGUOUS
    elif run in ("per", "sq"):
        is_sure = True
    elif not _is_word(run) and (run in MAGNITUDES or _SHORT_NOUN.fullmatch(run)):
        is_sure = apart
    else:
        return ""
    return "unit" if is_sure else "short" if before else ""


def _is_word(run: str) -> bool:
    """True if letters are a word and no product: long, and with a vowel."""
    if len(run) < 4 or run.isupper():
        return False
    return _VOWEL.search(run[1:].lower()) is not None or _PLURAL.fullmatch(run) is not None


def _product(run: str, spaced: bool) -> list[Token]:
    if _is_word(run):
        return [Token("word", run, spaced)]
    return [Token("name", letter, spaced and not k) for k, letter in enumerate(run)]


def _letters(run: str, spaced: bool) -> list[Token]:
    if (name := _NAMES.get(run, run)) in FUNCTIONS:
        return [Token("function", name, spaced)]
    if run in _CONNECTORS:
        return [Token("connector", run, spaced)]
    if run in _CONSTANTS:
        return [Token("name", _CONSTANTS[run], spaced)]
    return _product(run, spaced)


def _words(payload: str, _: bool) -> list[Token]:
    """The words of a text inside a formula as one, apart from a magnitude before them."""
    payload = payload.strip()
    name = _COMMANDS.get(payload, payload)
    if name in FUNCTIONS and payload not in UNITS:
        return [Token("function", name, True)]
    first, _gap, rest = payload.partition(" ")
    if rest and first.lower() in MAGNITUDES:
        return [Token("word", first, True), Token("word", rest.strip(), True)]
    is_scaled = payload[:1] in MAGNITUDES and compound_unit(payload) is None
    if is_scaled and _CONNECTORS.isdisjoint(payload):
        return list(_characters(payload))
    return [_word(payload, True)]


def _word(text: str, spaced: bool) -> Token:
    return Token("connector" if text in _CONNECTORS else "word", text, spaced)


def _command(name: str, spaced: bool) -> list[Token]:
    if name in _CONNECTORS:
        return [Token("connector", name, spaced)]
    name = _COMMANDS.get(name, name)
    kind = "function" if name in FUNCTIONS else "name" if name in _GREEK else "command"
    return [Token(kind, name, spaced)]


def _characters(run: str) -> Iterator[Token]:
    """Chinese text: the longest units and connectors, then single characters."""
    start = 0
    while start < len(run):
        parts = (run[start : start + size] for size in (4, 3, 2))
        part = next((part for part in parts if part in UNITS or part in _CONNECTORS), run[start])
        yield _word(part, False)
        start += len(part)


_TOKENS: dict[str, Callable[[str, bool], list[Token]]] = {
    "text": _words,
    "command": _command,
    "letters": _letters,
    "chinese": lambda run, _: list(_characters(run)),
    "other": lambda value, spaced: [_word(value, spaced)],
}
_BRACKETS = {"(": ")", "[": "]", "{": "}"}


def join_digit_groups(tokens: list[Token]) -> list[Token]:
    """The tokens with 1 , 234 joined, and 0 , 5 if it is the whole text.

    In brackets a comma joins digits where the commas between the elements have a space.
    """
    if not any(token.text == "," for token in tokens):
        return tokens
    merged: list[Token] = []
    joins = [True]
    for at, token in enumerate(tokens):
        if token.text in _BRACKETS:
            joins.append(token.text == "{" or _has_spaced_comma(tokens, at + 1))
        elif token.text in _BRACKETS.values() and len(joins) > 1:
            joins.pop()
        merged.append(token)
        match merged[-3:] if joins[-1] else ():
            case [
                Token("number", whole, space),
                Token("sign", ",", False),
                Token("number", group, False),
            ]:
                is_whole = whole.isdecimal() and whole[0] != "0"
                if is_whole and len(group.partition(".")[0]) == 3:
                    merged[-3:] = [Token("number", whole + group, space)]
    match merged:
        case [Token(text="0"), Token(text=","), Token("number", digits, False)]:
            return merged if "." in digits else [Token("number", f"0.{digits}", False)]
    return merged


def _has_spaced_comma(tokens: list[Token], at: int) -> bool:
    """True if the elements of the bracket that opens before a token have a space between them."""
    spend(1)
    for comma, following in zip(tokens[at:], tokens[at + 1 :], strict=False):
        if comma.text in ("(", ")", "[", "]"):
            return False
        if comma.text == "," and following.spaced:
            return True
    return False


class Cursor:
    """A position in a list of tokens, with the context of the parser.

    Args:
        tokens: Tokens of the whole answer.
        atoms: Rules for atoms, by the text of a sign, by a command with its backslash, and by the
            kind of any other token.

    Attributes:
        at: Index of the next token.
        depth: Number of open brackets, powers and functions.
        barred: True if a bar closes an absolute value, False if it opens one.
    """

    __slots__ = ("at", "atoms", "barred", "depth", "tokens")

    def __init__(self, tokens: list[Token], atoms: "Mapping[str, Rule]") -> None:
        self.tokens, self.atoms = tokens, atoms
        self.at = self.depth = 0
        self.barred = False

    @property
    def next(self) -> Token | None:
        """The next token, None at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def kind(self) -> str | None:
        """The kind of the next token, None at the end."""
        return self.tokens[self.at].kind if self.at < len(self.tokens) else None

    def texts(self, count: int) -> list[str]:
        """The texts of the next tokens, `count` at most."""
        return [token.text for token in self.tokens[self.at : self.at + count]]

    def symbol(self) -> str:
        """The next token if it is a sign or a command, else ""."""
        if self.at >= len(self.tokens):
            return ""
        kind, text, _ = self.tokens[self.at]
        return text if kind in ("sign", "command") else ""

    def peek(self, *texts: str) -> bool:
        """True if the next token is one of these signs or commands."""
        return self.symbol() in texts

    def take(self) -> Token:
        """Consumes and returns the next token; raises Unreadable at the end."""
        if self.at >= len(self.tokens):
            raise Unreadable
        self.at += 1
        return self.tokens[self.at - 1]

    def skip(self, *texts: str) -> bool:
        """Consumes the next token if it is one of these signs or commands; True if it was."""
        is_next = self.symbol() in texts
        self.at += is_next
        return is_next

    def expect(self, *texts: str) -> str:
        """Consumes one of these signs or commands, and returns it; else raises Unreadable."""
        if not self.skip(*texts):
            raise Unreadable
        return self.tokens[self.at - 1].text

    def descend(self) -> None:
        """Opens one more level; raises Unreadable if too many are open."""
        spend(1)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable

    def within_bars(self, rule: "Callable[[Cursor], Node]", barred: bool = True) -> Node:
        """The result of a rule while a bar closes (`barred`) or opens an absolute value."""
        before, self.barred = self.barred, barred
        value = rule(self)
        self.barred = before
        return value


Rule = Callable[[Cursor, str], Node]
"""Parser of an atom after its first token, with the text of that token."""
