r"""The grammar of what has a name: letters, functions, and the commands of LaTeX."""

from reasonenv.grading.parsing.cursor import Cursor, Rule, Unreadable
from reasonenv.grading.parsing.expressions import argument, braced, power, sum_
from reasonenv.grading.parsing.nodes import MINUS_ONE, Node, inverse, num, product
from reasonenv.grading.parsing.numerals import literal, script

CLOSING = {"(": (")", "]"), "[": ("]", ")"), "{": ("}",)}
"""What may close a bracket: intervals may be open on one side."""

_ACCENTS = (
    "vec", "overrightarrow", "overline", "hat", "bar", "widehat", "tilde", "dot", "ddot", "mathbb",
    "mathcal",
)  # fmt: skip
_GEOMETRY = ("angle", "triangle", "odot", "bigtriangleup", "measuredangle", "parallelogram")
_CONSTANTS = frozenset(["pi", "e", "i", "infty"])
_INVERTED = frozenset(["sin", "cos", "tan"])


def letter(cursor: Cursor, name: str) -> Node:
    """A constant, or a letter with its subscript."""
    if name in _CONSTANTS and not cursor.peek("_"):
        return Node("const", (name,))
    return Node("sym", (f"{name}_{script(cursor)}" if cursor.skip("_") else name,))


def function(cursor: Cursor, name: str) -> Node:
    r"""Sin x, \sin^2 x, \log_2 8, \sqrt[3]{x}."""
    if name == "sqrt":
        return _root(cursor)
    base: tuple[Node, ...] = ()
    exponent: Node | None = None
    while cursor.peek("_", "^"):
        if cursor.take().text == "_":
            base = (argument(cursor),)
        else:
            exponent = argument(cursor)
    inner = (_operand(cursor), *base)
    if exponent == MINUS_ONE and name in _INVERTED:
        return Node("fn", (f"arc{name}", inner))
    value = Node("fn", (name, inner))
    return value if exponent is None else Node("pow", (value, exponent))


def _operand(cursor: Cursor) -> Node:
    """What a function takes: a bracket, or the product up to the next function or sign."""
    if cursor.peek("(", "["):
        cursor.descend()
        opening = cursor.take().text
        value = sum_(cursor)
        cursor.expect(*CLOSING[opening])
        cursor.ascend()
        return value
    if cursor.peek("{"):
        return braced(cursor)
    factors = [power(cursor)]
    while cursor.kind() in ("number", "name") or cursor.peek("frac", "sqrt"):
        factors.append(power(cursor))
    if cursor.skip("/", "div"):
        factors.append(inverse(power(cursor)))
    return product(factors)


def _root(cursor: Cursor) -> Node:
    degree = num(2)
    if cursor.skip("["):
        degree = sum_(cursor)
        cursor.expect("]")
    if cursor.skip("("):
        value = sum_(cursor)
        cursor.expect(")")
    else:
        value = argument(cursor)
    return Node("fn", ("root", (value, degree)))


def _fraction(cursor: Cursor, _: str) -> Node:
    above, below = argument(cursor), argument(cursor)
    return product([above, inverse(below)])


def _binomial(cursor: Cursor, _: str) -> Node:
    return Node("fn", ("binomial", (argument(cursor), argument(cursor))))


def _rounded(cursor: Cursor, name: str) -> Node:
    r"""\lfloor sum \rfloor, and the ceiling."""
    value = sum_(cursor)
    cursor.expect(f"r{name[1:]}")
    return Node("fn", (name[1:], (value,)))


def _absolute(cursor: Cursor, _: str) -> Node:
    value = cursor.within_bars(sum_)
    cursor.expect("|")
    return Node("fn", ("abs", (value,)))


def _accented(cursor: Cursor, name: str) -> Node:
    return Node("sym", (f"{name} {script(cursor)}",))


def _figure(cursor: Cursor, name: str) -> Node:
    """An angle or a triangle by the letters of its points."""
    letters = ""
    while cursor.kind() in ("name", "number"):
        letters += cursor.take().text
    if not letters:
        raise Unreadable
    return Node("sym", (f"{name} {letters}",))


ATOMS: dict[str, Rule] = {
    "number": literal,
    "function": function,
    "|": _absolute,
    r"\frac": _fraction,
    r"\emptyset": lambda cursor, _: Node("set", ()),
    r"\boxed": lambda cursor, _: braced(cursor),
    **dict.fromkeys([r"\binom", r"\dbinom", r"\tbinom"], _binomial),
    **dict.fromkeys([r"\lfloor", r"\lceil"], _rounded),
    **dict.fromkeys([f"\\{name}" for name in _ACCENTS], _accented),
    **dict.fromkeys([f"\\{name}" for name in _GEOMETRY], _figure),
    **dict.fromkeys([r"\ldots", r"\cdots", r"\dots"], lambda cursor, _: Node("sym", ("...",))),
}
"""Atoms that hold nothing but expressions."""
