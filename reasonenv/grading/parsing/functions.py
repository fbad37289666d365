r"""Grammar of letters, functions and LaTeX commands."""

from reasonenv.grading.parsing.cursor import Cursor, Rule, Unreadable
from reasonenv.grading.parsing.expressions import (
    parse_argument,
    parse_braced,
    parse_power,
    parse_sum,
)
from reasonenv.grading.parsing.nodes import MINUS_ONE, Node, inverse, num, product
from reasonenv.grading.parsing.numerals import parse_literal, parse_subscript
from reasonenv.grading.parsing.tokens import Token

CLOSING = {"(": (")", "]"), "[": ("]", ")"), "{": ("}",)}
"""Closing brackets by opening one: intervals may be open on one side."""

_ACCENTS = (
    "vec", "overrightarrow", "overline", "hat", "bar", "widehat", "tilde", "dot", "ddot", "mathbb",
    "mathcal",
)  # fmt: skip
_ACCENT_NAMES = {"overrightarrow": "vec", "widehat": "hat", "overline": "bar"}
_GEOMETRY = ("angle", "triangle", "odot", "bigtriangleup", "measuredangle", "parallelogram")
_CONSTANTS = frozenset(["pi", "e", "i", "infty"])
_INVERTED = {
    **{name: f"arc{name}" for name in ("sin", "cos", "tan", "cot", "sec", "csc")},
    **{name: f"ar{name}" for name in ("sinh", "cosh", "tanh")},
}


def parse_letter(cursor: Cursor, name: str) -> Node:
    """A constant, or a letter with its subscript."""
    if name in _CONSTANTS and not cursor.peek("_"):
        return Node("const", (name,))
    return Node("sym", (f"{name}_{parse_subscript(cursor)}" if cursor.skip("_") else name,))


def parse_function_call(cursor: Cursor, name: str) -> Node:
    r"""Sin x, \sin^2 x, \log_2 8, \sqrt[3]{x}."""
    if name == "sqrt":
        return _root(cursor)
    base: tuple[Node, ...] = ()
    exponent: Node | None = None
    while cursor.peek("_", "^"):
        if cursor.take().text == "_":
            base = (parse_argument(cursor),)
        else:
            exponent = parse_argument(cursor)
    inner = (_operand(cursor), *base)
    if exponent == MINUS_ONE and name in _INVERTED:
        return Node("fn", (_INVERTED[name], inner))
    value = Node("fn", (name, inner))
    return value if exponent is None else Node("pow", (value, exponent))


def _operand(cursor: Cursor) -> Node:
    """Operand of a function: a bracket, or the product up to the next function, e^ or sign."""
    if cursor.peek("(", "["):
        cursor.descend()
        opening = cursor.take().text
        value = parse_sum(cursor)
        cursor.expect(*CLOSING[opening])
        cursor.ascend()
        return value
    if cursor.peek("{"):
        return parse_braced(cursor)
    factors = [parse_power(cursor)]
    while cursor.kind() in ("number", "name") or cursor.peek("frac", "sqrt"):
        if _is_exponential(cursor) and not all(factor.op == "num" for factor in factors):
            break
        factors.append(parse_power(cursor))
    if cursor.skip("/", "div"):
        factors.append(inverse(parse_power(cursor)))
    return product(factors)


def _is_exponential(cursor: Cursor) -> bool:
    r"""True before e^: \sin x e^x is a product, the argument of \ln 2 e^x is one."""
    match cursor.tokens[cursor.at : cursor.at + 2]:
        case [Token(kind="name", text="e"), Token(text="^")]:
            return True
    return False


def _root(cursor: Cursor) -> Node:
    degree = num(2)
    if cursor.skip("["):
        degree = parse_sum(cursor)
        cursor.expect("]")
    if cursor.skip("("):
        value = parse_sum(cursor)
        cursor.expect(")")
    else:
        value = parse_argument(cursor)
    return Node("fn", ("root", (value, degree)))


def _fraction(cursor: Cursor, _: str) -> Node:
    above, below = parse_argument(cursor), parse_argument(cursor)
    return product([above, inverse(below)])


def _binomial(cursor: Cursor, _: str) -> Node:
    return Node("fn", ("binomial", (parse_argument(cursor), parse_argument(cursor))))


def _rounded(cursor: Cursor, name: str) -> Node:
    r"""\lfloor sum \rfloor, and the ceiling."""
    value = parse_sum(cursor)
    cursor.expect(f"r{name[1:]}")
    return Node("fn", (name[1:], (value,)))


def _absolute(cursor: Cursor, _: str) -> Node:
    value = cursor.within_bars(parse_sum)
    cursor.expect("|")
    return Node("fn", ("abs", (value,)))


def _accented(cursor: Cursor, name: str) -> Node:
    return Node("sym", (f"{_ACCENT_NAMES.get(name, name)} {parse_subscript(cursor)}",))


def _negation(cursor: Cursor, _: str) -> Node:
    return Node("not", (parse_power(cursor),))


def _quantifier(cursor: Cursor, name: str) -> Node:
    """Quantifiers with their variables, in order: for all x there is a y."""
    words = [name]
    while cursor.kind() == "name" or cursor.peek("forall", "exists"):
        words.append(cursor.take().text)
    return Node("quantifier", (" ".join(words),))


def parse_figure(cursor: Cursor, name: str) -> Node:
    """An angle or a triangle by the letters of its points."""
    letters = ""
    while cursor.kind() in ("name", "number"):
        letters += cursor.take().text
    if not letters:
        raise Unreadable
    if name in ("angle", "measuredangle") and len(letters) == 3:
        letters = min(letters, letters[::-1])
    return Node("sym", (f"{name} {letters}",))


ATOMS: dict[str, Rule] = {
    "number": parse_literal,
    "function": parse_function_call,
    "|": _absolute,
    r"\frac": _fraction,
    r"\emptyset": lambda cursor, _: Node("set", ()),
    **dict.fromkeys([r"\neg", r"\lnot"], _negation),
    **dict.fromkeys([r"\forall", r"\exists"], _quantifier),
    r"\boxed": lambda cursor, _: parse_braced(cursor),
    **dict.fromkeys([r"\binom", r"\dbinom", r"\tbinom"], _binomial),
    **dict.fromkeys([r"\lfloor", r"\lceil"], _rounded),
    **dict.fromkeys([f"\\{name}" for name in _ACCENTS], _accented),
    **dict.fromkeys([f"\\{name}" for name in _GEOMETRY], parse_figure),
    **dict.fromkeys([r"\ldots", r"\cdots", r"\dots"], lambda cursor, _: Node("sym", ("...",))),
}
"""Rules for atoms that contain only expressions."""
