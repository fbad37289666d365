r"""Grammar of whole answers: lists of relations between expressions, quantities and sets.

A recursive-descent parser that evaluates nothing. It rejects texts of more than 1024 characters,
400 tokens or 24 levels; in any other it consumes each token once, so that the tree has a few nodes
for each token at most.
"""

from collections.abc import Sequence

from reasonenv.grading.budget import counted_cache, spend
from reasonenv.grading.parsing.cursor import Cursor, Rule, Unreadable
from reasonenv.grading.parsing.expressions import labeled_point, parse_argument, parse_product
from reasonenv.grading.parsing.functions import ATOMS, CLOSING, parse_figure, parse_letter
from reasonenv.grading.parsing.junctions import joined
from reasonenv.grading.parsing.lookahead import (
    is_call_ahead,
    skip_inverse,
    skip_label,
    skip_transpose,
)
from reasonenv.grading.parsing.measurements import parse_quantity
from reasonenv.grading.parsing.nodes import Node
from reasonenv.grading.parsing.notation import MAX_LENGTH, canonical
from reasonenv.grading.parsing.tokens import Token, join_digit_groups, tokenize
from reasonenv.grading.parsing.units import ExtremeUnit

MAX_TOKENS = 400
"""Tokens of a formula at most."""

# Trees of longer texts are seldom needed twice and would take much memory.
_MAX_CACHED_LENGTH = 100
_RELATIONS = {
    "=": "=", "<": "<", ">": ">", "le": "<=", "ge": ">=", "ne": "!=", "approx": "~", "simeq": "~",
    "in": "in", "equiv": "=", "to": "->", "rightarrow": "->", "notin": "notin",
    "subset": "subset", "subseteq": "subseteq", "subsetneq": "subsetneq", "subsetneqq": "subsetneq",
    "supset": "supset", "supseteq": "supseteq", "supsetneq": "supsetneq", "supsetneqq": "supsetneq",
    "Rightarrow": "implies", "Longrightarrow": "implies", "implies": "implies",
    "Leftarrow": "implied", "Longleftarrow": "implied", "impliedby": "implied",
    "Leftrightarrow": "iff", "Longleftrightarrow": "iff", "iff": "iff", "perp": "perp",
    "parallel": "parallel", "cong": "cong", "sim": "sim",
}  # fmt: skip
_TURNED = {
    "supset": "subset", "supseteq": "subseteq", "supsetneq": "subsetneq", "implied": "implies",
}  # fmt: skip
_JOINED = {"cup": "union", "cap": "intersection", "setminus": "minus", ":": "ratio"}
_MATRICES = frozenset(["matrix", "pmatrix", "bmatrix", "Bmatrix", "array", "smallmatrix"])
_SYSTEMS = frozenset(["cases", "aligned", "align", "alignedat", "gathered", "split"])
_OPAQUE = ("sum", "prod", "int", "lim", "gcd", "max", "min", "det")


def parse_answer(
    text: str, units: bool = False, grouped: bool = True, glued: bool = False
) -> Node | None:
    """The tree of an answer, or None if it is prose, too long, or not in the grammar.

    Args:
        text: An answer as written.
        units: True if letters after a number are a unit, if there is one of that name.
        grouped: True if 1,234 is one number, False if two.
        glued: True if a unit may be short and stand right after its number, as in 500mA.
    """
    if len(text) > MAX_LENGTH:
        return None
    return (_parse if len(text) > _MAX_CACHED_LENGTH else _cached_parse)(
        text, units, grouped, glued
    )


def _parse(text: str, units: bool, grouped: bool, glued: bool) -> Node | None:
    tokens = tokenize(canonical(text), units, MAX_TOKENS, glued)
    if not tokens:
        return None
    spend(len(tokens))
    try:
        return parse_groups(Cursor(join_digit_groups(tokens) if grouped else tokens, units, _ATOMS))
    except (Unreadable, ExtremeUnit):
        return None


_cached_parse = counted_cache(maxsize=2048)(_parse)


def parse_groups(cursor: Cursor) -> Node:
    r"""Whole answer: items ; items \\ items ... up to the end.

    Raises:
        Unreadable: The tokens are not in the grammar.
    """
    groups = [parse_items(cursor)]
    while cursor.skip(";", "\\"):
        if cursor.next is not None:
            groups.append(parse_items(cursor))
    if cursor.next is not None:
        raise Unreadable
    return groups[0] if len(groups) == 1 else Node("list", tuple(groups))


def parse_items(cursor: Cursor) -> Node:
    """Items: relation, relation or relation ..."""
    relations, separators = [parse_relation(cursor)], []
    while separator := _separator(cursor):
        relations.append(parse_relation(cursor))
        separators += separator
    if len(relations) == 1:
        return relations[0]
    return joined(relations, separators, is_outermost=cursor.depth == 0)


def _separator(cursor: Cursor) -> list[str]:
    """Consumes a comma, an "and", or both; the text of the last."""
    start = cursor.at
    while cursor.peek(",") or cursor.kind() == "connector":
        cursor.at += 1
        if cursor.at - start > 3:
            raise Unreadable
    return [token.text for token in cursor.tokens[start : cursor.at]][-1:]


def parse_relation(cursor: Cursor) -> Node:
    """Relation: side = side < side ..., or one side."""
    sides, ops = [_parse_side(cursor)], []
    while cursor.peek(*_RELATIONS):
        ops.append(_RELATIONS[cursor.take().text])
        sides.append(_parse_side(cursor))
    if len(ops) == 1 and ops[0] in _TURNED:
        return Node("relation", ((_TURNED[ops[0]],), tuple(sides[::-1])))
    return Node("relation", (tuple(ops), tuple(sides))) if ops else sides[0]


def _parse_side(cursor: Cursor) -> Node:
    """A union of sets, a ratio, or a quantity."""
    if cursor.at == 0:
        cursor.skip("=", "approx")
    if title := _title(cursor):
        return Node("sym", (title,))
    first = parse_quantity(cursor)
    for sign, op in _JOINED.items():
        if cursor.peek(sign) and not (cursor.barred and sign == ":"):
            parts = [first]
            while cursor.skip(sign):
                parts.append(parse_quantity(cursor))
            return Node(op, tuple(parts))
    return first


def _title(cursor: Cursor) -> str:
    """Words before an equals sign or a colon, such as "Surface area ="."""
    end = cursor.at
    while end < len(cursor.tokens) and cursor.tokens[end].kind == "word":
        end += 1
    if end in (cursor.at, len(cursor.tokens)) or cursor.tokens[end].text not in ("=", ":"):
        return ""
    words = [token.text.lower() for token in cursor.tokens[cursor.at : end]]
    cursor.at = end
    cursor.tokens[end] = Token("sign", "=", False)
    return " ".join(words)


def _bracket(cursor: Cursor, opening: str) -> Node:
    """( sum ), a point, or an interval."""
    inner = parse_items(cursor)
    if cursor.skip(";"):
        inner = Node("list", (*_elements(inner), *_elements(parse_items(cursor))))
    brackets = opening + cursor.expect(*CLOSING[opening])
    if inner.op != "list" and brackets == "()":
        return inner
    return Node("tuple", (brackets, _elements(inner)))


def _brace(cursor: Cursor, _: str) -> Node:
    """{ }, { a, b }, { x | condition }, or { sum } where the braces only group."""
    if cursor.skip("}"):
        return Node("set", ())
    inner = cursor.within_bars(parse_items)
    if cursor.skip("|"):
        return _builder(cursor, inner)
    cursor.expect("}")
    return Node("set", inner.args) if inner.op == "list" else inner


def _set(cursor: Cursor, _: str) -> Node:
    r"""\{ a, b \} or \{ x | condition \}."""
    inner = cursor.within_bars(parse_items)
    if cursor.skip("|", ":"):
        return _builder(cursor, inner)
    cursor.expect("}")
    return Node("set", _elements(inner))


def _builder(cursor: Cursor, variable: Node) -> Node:
    condition = cursor.within_bars(parse_items, barred=False)
    cursor.expect("}")
    return Node("builder", (variable, condition))


def _elements(inner: Node) -> tuple[Node, ...]:
    return inner.args if inner.op == "list" else (inner,)


def _name(cursor: Cursor, name: str) -> Node:
    """A letter with its subscript; a call if it is a common name of a function."""
    if name == "Delta" and cursor.kind() == "name":
        return _difference(cursor)
    value = parse_letter(cursor, name)
    if value.op == "sym" and (label := skip_label(cursor, name)):
        return Node("sym", (f"{value.args[0]}{label}",))
    if value.op != "sym" or not (name in tuple("fghFGP") or is_call_ahead(cursor)):
        return value
    start, primes = cursor.at, "^-1" if skip_inverse(cursor) else ""
    while cursor.skip("'"):
        primes += "'"
    if not cursor.skip("("):
        cursor.at = start
        return value
    members = _elements(parse_items(cursor))
    cursor.expect(")")
    if name.isupper() and len(members) > 1:
        return labeled_point(cursor, value, Node("tuple", ("()", members)))
    return Node("call", (value.args[0] + primes, members))


def _difference(cursor: Cursor) -> Node:
    r"""Name of a difference, \Delta p; \Delta ABC is a triangle."""
    if all(
        token.kind == "name" and token.text.isupper() for token in cursor.tokens[cursor.at :][:3]
    ):
        return parse_figure(cursor, "triangle")
    return Node("sym", (f"Delta {parse_letter(cursor, cursor.take().text).args[0]}",))


def _opaque(cursor: Cursor, name: str) -> Node:
    """A sum, an integral or a limit: compared by its parts, never evaluated."""
    parts: list[Node] = []
    while cursor.skip("_", "^"):
        if cursor.skip("{"):
            inner = parse_relation(cursor)
            cursor.expect("}")
        else:
            inner = parse_argument(cursor)
        parts += inner.args[1] if inner.op == "relation" else [inner]
    return Node("opaque", (name, (*parts, parse_product(cursor))))


def _environment(cursor: Cursor, name: str) -> Node:
    """A matrix, a determinant, or the equations of a system."""
    if name in _SYSTEMS:
        rows = _rows(cursor)
        if all(len(row) == 2 for row in rows):
            return Node("list", tuple(Node("case", row) for row in rows))
        return Node("list", tuple(item for row in rows for item in row))
    if name == "vmatrix":
        return Node("fn", ("det", tuple(_rows(cursor))))
    if name not in _MATRICES:
        raise Unreadable
    if name == "array" and cursor.skip("{"):
        while not cursor.skip("}"):
            cursor.take()
    rows = tuple(_rows(cursor))
    is_regular = len({len(row) for row in rows}) == 1
    is_transposed = is_regular and skip_transpose(cursor)
    return Node("matrix", tuple(zip(*rows, strict=True)) if is_transposed else rows)


def _rows(cursor: Cursor) -> Sequence[tuple[Node, ...]]:
    r"""Items & items \\ items & items, up to the end of the environment."""
    rows: list[list[Node]] = [[]]
    while cursor.kind() != "end":
        if cursor.skip("\\"):
            rows.append([])
        elif not cursor.skip("&"):
            rows[-1].append(parse_items(cursor))
    cursor.take()
    return [tuple(row) for row in (rows if rows[-1] else rows[:-1])]


_ATOMS: dict[str, Rule] = {
    **ATOMS,
    "name": _name,
    "begin": _environment,
    "(": _bracket,
    "[": _bracket,
    "{": _brace,
    r"\{": _set,
    **dict.fromkeys([f"\\{name}" for name in _OPAQUE], _opaque),
}
