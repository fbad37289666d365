r"""Grammar of whole answers: lists of relations between expressions, quantities and sets.

A recursive-descent parser that evaluates nothing. It rejects texts of more than 1024 characters,
400 tokens or 24 levels; in any other it consumes each token once, so that the tree has a few nodes
for each token at most.
"""

from collections.abc import Sequence
from typing import NamedTuple

from reasonenv.grading.budget import counted_cache, spend
from reasonenv.grading.parsing import rows
from reasonenv.grading.parsing.expressions import (
    ATOMS,
    CLOSING,
    labeled_point,
    parse_argument,
    parse_letter,
    parse_product,
)
from reasonenv.grading.parsing.nodes import Node, is_inequality
from reasonenv.grading.parsing.notation import MAX_LENGTH, canonical
from reasonenv.grading.parsing.quantities import parse_quantity
from reasonenv.grading.parsing.tokens import (
    ALTERNATIVES,
    CONJUNCTIONS,
    Cursor,
    Rule,
    Token,
    Unreadable,
    join_digit_groups,
    tokenize,
)
from reasonenv.grading.parsing.units import ExtremeUnit

MAX_TOKENS = 400
"""Tokens of a formula at most."""

MAX_SIDES = 12
"""Sides of a chain of equations or comparisons at most."""

# Trees of longer texts are seldom needed twice and would take much memory.
_MAX_CACHED_LENGTH = 100
_RELATIONS = {sign: op for signs, op, _ in rows("relations.tsv") for sign in signs.split()}
_TURNED = {op: turned for _, op, turned in rows("relations.tsv") if turned != "-"}
_JOINED = {"cup": "union", "cap": "intersection", "setminus": "minus", ":": "ratio"}
_MATRICES = frozenset(["matrix", "pmatrix", "bmatrix", "Bmatrix", "array", "smallmatrix"])
_SYSTEMS = frozenset(["cases", "aligned", "align", "alignedat", "gathered", "split"])
_OPAQUE = ("sum", "prod", "int", "lim", "gcd", "max", "min", "det")
_MAX_LABEL = 24


class Reading(NamedTuple):
    """What a text says.

    Attributes:
        node: The tree; None if the text is prose, too long, or not in the grammar.
        has_units: True if letters may be a unit, or the product of their letters.
        has_short_units: True if one of these is read as a unit, and is short and right after its
            number: 5h, 500mA.
    """

    node: Node | None
    has_units: bool = False
    has_short_units: bool = False


def read(text: str, units: bool = False, grouped: bool = True) -> Reading:
    """The reading of an answer.

    Args:
        text: An answer as written.
        units: True if letters after a number are a unit, if there is one of that name.
        grouped: True if 1,234 is one number, False if two.
    """
    if len(text) > MAX_LENGTH:
        return Reading(None)
    return (_read if len(text) > _MAX_CACHED_LENGTH else _cached)(text, units, grouped)


def _read(text: str, units: bool, grouped: bool) -> Reading:
    tokens, *sorts = tokenize(canonical(text), units, MAX_TOKENS)
    spend(len(tokens))
    try:
        cursor = Cursor(join_digit_groups(tokens) if grouped else tokens, _ATOMS)
        return Reading(_groups(cursor), *sorts)
    except (Unreadable, ExtremeUnit):
        return Reading(None, *sorts)


_cached = counted_cache(maxsize=4096)(_read)


def _groups(cursor: Cursor) -> Node:
    r"""Whole answer: items ; items \\ items ... up to the end."""
    groups = [_items(cursor)]
    while cursor.skip(";", "\\"):
        if cursor.next is not None:
            groups.append(_items(cursor))
    if cursor.next is not None:
        raise Unreadable
    return groups[0] if len(groups) == 1 else Node("list", tuple(groups))


def _items(cursor: Cursor) -> Node:
    """Items: relation, relation or relation ..."""
    relations, separators = [_relation(cursor)], []
    while separator := _separator(cursor):
        relations.append(_relation(cursor))
        separators += separator
    return _joined(relations, separators, cursor.depth == 0) if separators else relations[0]


def _separator(cursor: Cursor) -> list[str]:
    """Consumes a comma, an "and", or both; the text of the last."""
    start = cursor.at
    while cursor.symbol() == "," or cursor.kind() == "connector":
        cursor.at += 1
        if cursor.at - start > 3:
            raise Unreadable
    return [token.text for token in cursor.tokens[start : cursor.at]][-1:]


def _joined(items: Sequence[Node], separators: Sequence[str], is_outermost: bool) -> Node:
    """Several items: a union of inequalities, systems, alternatives, or a list."""
    is_either = not ALTERNATIVES.isdisjoint(separators)
    if all(map(is_inequality, items)) and (is_either or CONJUNCTIONS.issuperset(separators)):
        return Node("union" if is_either else "intersection", tuple(items))
    if _are_propositions(items, separators):
        if is_either and not CONJUNCTIONS.isdisjoint(separators):
            raise Unreadable
        return Node("or" if is_either else "and", tuple(items))
    if (systems := _systems(items, separators)) is not None:
        return Node("list", systems)
    return Node("either" if is_either and is_outermost else "list", tuple(items))


def _are_propositions(items: Sequence[Node], separators: Sequence[str]) -> bool:
    """True for p and q, and for anything but equations with ∧ or ∨ between."""
    if not {"lor", "vee", "land", "wedge"}.isdisjoint(separators):
        return all(item.op != "relation" for item in items)
    is_joined = "," not in separators
    return is_joined and all(item.op == "not" or item.args[0] in tuple("pqrs") for item in items)


def _systems(items: Sequence[Node], separators: Sequence[str]) -> tuple[Node, ...] | None:
    """Two systems of x = 1, y = 2 or x = 3, y = 4; None unless the same names are repeated."""
    names = [item.args[1][0] for item in items if item.op == "relation" and item.args[0] == ("=",)]
    size = len(set(names))
    if len(names) < len(items) or size < 2 or len(names) == size or len(names) % size:
        return None
    parts = [slice(start, start + size) for start in range(0, len(items), size)]
    inner = [each for index, each in enumerate(separators, start=1) if index % size]
    if any(len(set(names[part])) < size for part in parts) or not ALTERNATIVES.isdisjoint(inner):
        return None
    return tuple(Node("list", tuple(items[part])) for part in parts)


def _relation(cursor: Cursor) -> Node:
    """Relation: side = side < side ..., or one side; with the modulus of a congruence."""
    sides, ops = [_side(cursor)], []
    while cursor.symbol() in _RELATIONS:
        ops.append(_RELATIONS[cursor.take().text])
        sides.append(_side(cursor))
    if len(sides) > MAX_SIDES:
        raise Unreadable
    if cursor.skip("pmod"):
        return Node("congruence", (tuple(sides), parse_argument(cursor)))
    if len(ops) == 1 and ops[0] in _TURNED:
        return Node("relation", ((_TURNED[ops[0]],), tuple(sides[::-1])))
    return Node("relation", (tuple(ops), tuple(sides))) if ops else sides[0]


def _side(cursor: Cursor) -> Node:
    """A union of sets, a ratio, or a quantity."""
    if cursor.at == 0:
        cursor.skip("=", "approx", "equiv")
    if title := _title(cursor):
        return Node("sym", (title,))
    first = parse_quantity(cursor)
    sign = cursor.symbol()
    if sign not in _JOINED or (cursor.barred and sign == ":"):
        return first
    parts = [first]
    while cursor.skip(sign):
        parts.append(parse_quantity(cursor))
    return Node(_JOINED[sign], tuple(parts))


def _title(cursor: Cursor) -> str:
    """Consumes words before an equals sign or a colon, such as "Surface area ="."""
    end = cursor.at
    while end < len(cursor.tokens) and cursor.tokens[end].kind == "word":
        end += 1
    if end in (cursor.at, len(cursor.tokens)) or cursor.tokens[end].text not in ("=", ":"):
        return ""
    cursor.at, start = end, cursor.at
    cursor.tokens[end] = Token("sign", "=", False)
    return " ".join(token.text.lower() for token in cursor.tokens[start:end])


def _bracket(cursor: Cursor, opening: str) -> Node:
    """( sum ), a point, or an interval."""
    inner = _items(cursor)
    if cursor.skip(";"):
        inner = Node("list", (*_elements(inner), *_elements(_items(cursor))))
    brackets = opening + cursor.expect(*CLOSING[opening])
    if inner.op != "list" and brackets == "()":
        return inner
    return Node("tuple", (brackets, _elements(inner)))


def _brace(cursor: Cursor, opening: str) -> Node:
    r"""{ }, { a, b }, { x | condition }, also with \{ and \}; or { sum }, a group."""
    if cursor.skip("}"):
        return Node("set", ())
    inner = cursor.within_bars(_items)
    if cursor.skip("|") or (opening == "\\{" and cursor.skip(":")):
        condition = cursor.within_bars(_items, barred=False)
        cursor.expect("}")
        return Node("builder", (inner, condition))
    cursor.expect("}")
    is_group = opening == "{" and inner.op != "list"
    return inner if is_group else Node("set", _elements(inner))


def _elements(inner: Node) -> tuple[Node, ...]:
    return inner.args if inner.op == "list" else (inner,)


def _name(cursor: Cursor, name: str) -> Node:
    """A letter with its subscript; a call if it is a common name of a function."""
    if name == "Delta" and cursor.kind() == "name":  # a difference
        return Node("sym", (f"Delta {parse_letter(cursor, cursor.take().text).args[0]}",))
    value = parse_letter(cursor, name)
    if value.op == "sym" and (label := _label(cursor, name)):
        return Node("sym", (f"{value.args[0]}{label}",))
    if value.op != "sym" or not (name in tuple("fghFGP") or _is_call(cursor)):
        return value
    start, primes = cursor.at, ""
    if cursor.texts(6) == ["^", "{", "-", "1", "}", "("]:  # f^{-1}(x) is no quotient
        cursor.at += 5
        primes = "^-1"
    while cursor.skip("'"):
        primes += "'"
    if not cursor.skip("("):
        cursor.at = start
        return value
    members = _elements(_items(cursor))
    cursor.expect(")")
    if name.isupper() and len(members) > 1:
        return labeled_point(cursor, value, Node("tuple", ("()", members)))
    return Node("call", (value.args[0] + primes, members))


def _is_call(cursor: Cursor) -> bool:
    """True before (0), since y(0) is no product with 0, and before (x) =."""
    opening, *inside = cursor.texts(4) or [""]
    is_variable = inside[1:] == [")", "="] and cursor.tokens[cursor.at + 1].kind == "name"
    return opening == "(" and (inside[:2] == ["0", ")"] or is_variable)


def _label(cursor: Cursor, name: str) -> str:
    """Consumes the brackets in P(A|B) =, T(10) = and n(A ∪ B) =; their text, "" if none are there.

    Sums count in operators of probability alone, since A(x + 1) = 5 is a product.
    """
    texts = cursor.texts(_MAX_LABEL) if cursor.peek("(") else []
    end = texts.index(")") if ")" in texts else 0
    inside = set(texts[1:end])
    if texts[end + 1 : end + 2] not in (["="], ["approx"]) or "(" in inside:
        return ""
    is_set = name == "n" and not inside.isdisjoint(("cup", "cap"))
    is_other = name.isupper() and name not in "FG" and inside.isdisjoint("+-")
    is_single = end == 2 and texts[1].isalpha()
    if is_single or not (name in "PED" or is_other or is_set):
        return ""
    cursor.at += end + 1
    return "".join(texts[: end + 1])


def _opaque(cursor: Cursor, name: str) -> Node:
    parts: list[Node] = []
    while cursor.skip("_", "^"):
        if cursor.skip("{"):
            inner = _relation(cursor)
            cursor.expect("}")
        else:
            inner = parse_argument(cursor)
        parts += inner.args[1] if inner.op == "relation" else [inner]
    return Node("opaque", (name, (*parts, parse_product(cursor))))


def _environment(cursor: Cursor, name: str) -> Node:
    if name == "array" and cursor.skip("{"):
        while not cursor.skip("}"):
            cursor.take()
    rows = _rows(cursor)
    if name in _MATRICES:
        return Node("matrix", rows)
    if name == "vmatrix":
        if any(len(row) != len(rows) for row in rows):
            raise Unreadable
        return Node("fn", ("det", rows))
    if name not in _SYSTEMS:
        raise Unreadable
    if all(len(row) == 2 for row in rows):
        return Node("list", tuple(Node("case", row) for row in rows))
    return Node("list", sum(rows, ()))


def _rows(cursor: Cursor) -> tuple[tuple[Node, ...], ...]:
    r"""Items & items \\ items & items, up to the end of the environment."""
    rows: list[list[Node]] = [[]]
    while cursor.kind() != "end":
        if cursor.skip("\\"):
            rows.append([])
        elif not cursor.skip("&"):
            rows[-1].append(_items(cursor))
    cursor.take()
    return tuple(map(tuple, rows if rows[-1] else rows[:-1]))


_ATOMS: dict[str, Rule] = {
    **ATOMS,
    "name": _name,
    "begin": _environment,
    "(": _bracket,
    "[": _bracket,
    "{": _brace,
    r"\{": lambda cursor, _: _brace(cursor, "\\{"),
    **dict.fromkeys([f"\\{name}" for name in _OPAQUE], _opaque),
}
