"""Are two answers the same? Rules for every pair of shapes that answers take.

An answer is compared with a reference, and the two are not equals: a unit that the reference has
may be missing from the answer, and a decimal reference is a rounded number.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import floor, log10

from reasonenv.mathematics.arithmetic import FLOAT, approximate, exact, parts, same
from reasonenv.mathematics.regions import INFINITY, is_inequality, region, same_region
from reasonenv.mathematics.syntax import Node, negative, num, product
from reasonenv.mathematics.units import UNITS, Unit

_EXPRESSIONS = frozenset(["num", "sym", "const", "add", "mul", "pow", "fn", "deg", "call", "opaque"])


def matches(answer: Node, reference: Node) -> bool | None:
    """Whether an answer is what the reference says; None when that cannot be told.

    Raises:
        TooLarge: A number in one of them has too many digits.
    """
    if answer == reference:
        return True
    answer, reference = _settled(answer), _settled(reference)
    if answer is None or reference is None:
        return False
    for applies, rule in _RULES:
        if applies(answer, reference):
            return rule(answer, reference)
    if answer.op in _EXPRESSIONS and reference.op in _EXPRESSIONS:
        if INFINITY in (*parts(answer), *parts(reference)):
            return answer == reference
        return _same_value(answer, reference)
    return False


# --- what an answer says, once it is read


def _settled(node: Node) -> Node | None:
    """The tree without approximations, chains of equal numbers and ±; None when it is false."""
    if any(part.op == "pm" for part in parts(node)):
        node = Node("list", (_signed(node, True), _signed(node, False)))
    if node.op == "list":
        return Node("list", tuple(_flat(node.args)))
    if node.op == "tuple" and len(node.args[1]) == 1:
        return _settled(node.args[1][0])
    if node.op == "relation" and "~" in node.args[0]:
        return _unapproximated(node)
    if node.op == "relation" and set(node.args[0]) == {"="}:
        return _equation(node.args[1])
    return node


def _flat(items: Sequence[Node]) -> list[Node]:
    """Items in one list, those of x = 1, 2 and of x = ±1 among them."""
    flat: list[Node] = []
    for item in items:
        inner = _settled(item)
        if inner is None:
            flat.append(Node("false", ()))
        elif inner.op == "list" and item.op != "list":
            flat += inner.args
        else:
            flat.append(inner)
    return flat


def _signed(node: Node, upper: bool) -> Node:
    """The tree with the upper or the lower sign of each ±."""
    if node.op == "pm":
        term = _signed(node.args[0], upper)
        return term if node.args[1] == upper else negative(term)
    return Node(node.op, tuple(_signed_part(arg, upper) for arg in node.args))


def _signed_part(arg: object, upper: bool) -> object:
    if isinstance(arg, Node):
        return _signed(arg, upper)
    if isinstance(arg, tuple) and arg and isinstance(arg[0], Node):
        return tuple(_signed_part(item, upper) for item in arg)
    return arg


def _unapproximated(node: Node) -> Node | None:
    """What stands before ≈: an exact value, since 7 ≈ 8 says nothing."""
    ops, sides = node.args
    cut = ops.index("~")
    if _is_plain_number(sides[cut]):
        return None
    kept = sides[: cut + 1]
    return kept[0] if len(kept) == 1 else _settled(Node("relation", (ops[:cut], kept)))


def _is_plain_number(node: Node) -> bool:
    return node.op == "num" or (node.op == "mul" and all(_is_plain_number(n) for n in node.args))


def _equation(sides: Sequence[Node]) -> Node | None:
    """1 + 1 = 2 says 2, x = 1 + 1 = 2 says x = 2, 1 + 1 = 3 says nothing."""
    constants = [side for side in sides if _is_constant(side)]
    if len(constants) > 1 and not all(_agree(constants[0], other) for other in constants[1:]):
        return None
    if len(constants) == len(sides):
        return constants[-1]
    if len(sides) > 2:
        name = next(side for side in sides if not _is_constant(side))
        last = constants[-1] if constants else sides[-1]
        return Node("relation", (("=",), (name, last)))
    return Node("relation", (("=",), tuple(sides)))


def _agree(a: Node, b: Node) -> bool:
    return _same_value(a, b) is not False or _same_value(b, a) is not False


def _is_constant(node: Node) -> bool:
    return node.op in _EXPRESSIONS and not any(
        part.op in ("sym", "call", "opaque") for part in parts(node)
    )


# --- rules, in the order in which they are tried


def _is(*ops: str):  # noqa: ANN202
    return lambda a, r: a.op in ops or r.op in ops


def _collections(a: Node, r: Node) -> bool | None:
    """Lists and sets, in any order."""
    if "region" in (_shape(a), _shape(r)) or _inequalities(a) or _inequalities(r):
        return _regions(a, r)
    if r.op in ("list", "set") and a.op in ("list", "set"):
        return _same_items(a.args, r.args)
    if "tuple" in (a.op, r.op):
        return _point(a, r)
    if r.op == "relation" or a.op == "relation":
        return _values_of_name(a, r)
    if len(a.args) == 1 and a.op == "set":
        return matches(a.args[0], r)
    if len(r.args) == 1 and r.op == "set":
        return matches(a, r.args[0])
    return False


def _point(a: Node, r: Node) -> bool | None:
    """(1, 2) against x = 1, y = 2: only names say that a list has an order."""
    point, listed = (a, r) if a.op == "tuple" else (r, a)
    named = [_named(item) for item in listed.args]
    if point.args[0] != "()" or None in named:
        return False
    values = [value for _, value in filter(None, named)]
    return _in_order(values, r.args[1]) if point is r else _in_order(a.args[1], values)


def _values_of_name(a: Node, r: Node) -> bool | None:
    """x = {1, 2} against 1, 2."""
    equation, other = (a, r) if a.op == "relation" else (r, a)
    named = _named(equation)
    if named is None or named[1].op not in ("set", "list"):
        return False
    return matches(named[1], other) if a is equation else matches(other, named[1])


def _shape(node: Node) -> str:
    return "region" if node.op in ("union", "builder") or is_inequality(node) else "other"


def _inequalities(node: Node) -> bool:
    return node.op == "list" and any(_shape(item) == "region" for item in node.args)


def _same_items(answers: Sequence[Node], references: Sequence[Node]) -> bool | None:
    """Whether each reference has an answer of its own, and none is left over."""
    answers, references = _unnamed(answers, references)
    if len(answers) != len(references):
        return False
    left = list(answers)
    for reference in references:
        verdicts = [matches(answer, reference) for answer in left]
        if True not in verdicts:
            return None if None in verdicts else False
        left.pop(verdicts.index(True))
    return True


def _unnamed(
    answers: Sequence[Node], references: Sequence[Node]
) -> tuple[Sequence[Node], Sequence[Node]]:
    """Without the names of x = 1, x = 2 where the other side has none, or of the first alone.

    Raises:
        Nothing; where several different names are dropped, values must come in their order.
    """
    if not any(_named(item) for item in (*answers, *references)):
        return answers, references
    sides = [[_named(item) for item in items] for items in (answers, references)]
    names = [{named[0] for named in side if named} for side in sides]
    if names[0] and names[1] and len(names[0] | names[1]) > max(1, min(map(len, names))):
        return answers, references
    if not (names[0] and names[1]) and max(map(len, names)) > 1:
        stripped = [_stripped(items) for items in (answers, references)]
        # The order tells which value is whose.
        return [Node("tuple", ("()", tuple(s))) for s in stripped[:1]], [
            Node("tuple", ("()", tuple(stripped[1])))
        ]
    if names[0] and names[1] and len(names[0]) > 1:
        return answers, references
    return _stripped(answers), _stripped(references)


def _stripped(items: Sequence[Node]) -> list[Node]:
    return [named[1] if (named := _named(item)) else item for item in items]


def _in_order(answers: Sequence[Node], references: Sequence[Node]) -> bool | None:
    if len(answers) != len(references):
        return False
    return _all(matches(a, r) for a, r in zip(answers, references, strict=True))


def _all(verdicts) -> bool | None:  # noqa: ANN001
    """False when one is, None when one is open, else True."""
    verdicts = list(verdicts)
    return False if False in verdicts else None if None in verdicts else True


def _regions(a: Node, r: Node) -> bool | None:
    """Intervals, inequalities and unions, as sets of numbers or term by term."""
    left, right = region(a), region(r)
    if left is not None and right is not None:
        names = {left[1], right[1]} - {None}
        return len(names) < 2 and same_region(left[0], right[0])
    if a.op == r.op == "builder":
        return _all(matches(x, y) for x, y in zip(a.args, r.args, strict=True))
    if a.op == r.op == "list":
        return _same_items(a.args, r.args)
    if is_inequality(a) and is_inequality(r):
        return _same_inequality(a, r)
    if a.op == r.op == "union":
        return _same_items(a.args, r.args)
    return False


def _same_inequality(a: Node, r: Node) -> bool | None:
    """Two inequalities, up to a positive factor of the difference of their sides."""
    (ops, sides), (ref_ops, ref_sides) = a.args, r.args
    if len(ops) != len(ref_ops):
        return False
    if len(ops) > 1:
        if ops[0][0] != ref_ops[0][0]:
            sides, ops = sides[::-1], tuple(_FLIP.get(op, op) for op in ops[::-1])
        return _all(
            [ops == ref_ops, *(matches(x, y) for x, y in zip(sides, ref_sides, strict=True))]
        )
    left, right = _difference(ops[0], sides), _difference(ref_ops[0], ref_sides)
    if ops[0].strip("<>") != ref_ops[0].strip("<>") or ("!=" in ops) != ("!=" in ref_ops):
        return False
    factor = _factor(left, right)
    return factor is not None and (factor > 0 or "!=" in ops)


_FLIP = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def _difference(op: str, sides: Sequence[Node]) -> Node:
    left, right = sides if op in ("<", "<=", "=", "!=") else sides[::-1]
    return Node("add", (left, negative(right)))


def _factor(a: Node, b: Node) -> float | None:
    """The constant k with a = k b, None when there is none."""
    ratios: list[complex] = []
    for point in range(6):
        try:
            above, below = (FLOAT.evaluate(node, point) for node in (a, b))
        except (ArithmeticError, ValueError):
            continue
        if abs(below) < 1e-9 or abs(above) < 1e-9:
            continue
        ratios.append(above / below)
    if len(ratios) < 3 or abs(ratios[0].imag) > 1e-9:
        return None
    first = ratios[0]
    near = all(abs(ratio - first) <= 1e-9 * abs(first) for ratio in ratios)
    return first.real if near else None


def _tuples(a: Node, r: Node) -> bool | None:
    """Points and intervals: brackets and order count."""
    if a.op == r.op == "tuple":
        return a.args[0] == r.args[0] and _in_order(a.args[1], r.args[1])
    if "matrix" in (a.op, r.op):
        left, right = _cells(a), _cells(r)
        return _in_order(left, right)
    if "relation" in (a.op, r.op):
        return _equations(a, r)
    return False


def _cells(node: Node) -> Sequence[Node]:
    if node.op == "tuple":
        return node.args[1]
    rows = node.args
    return rows[0] if len(rows) == 1 else tuple(row[0] for row in rows if len(row) == 1)


def _matrices(a: Node, r: Node) -> bool | None:
    if a.op != r.op:
        return _tuples(a, r) if "tuple" in (a.op, r.op) else _equations(a, r)
    if [len(row) for row in a.args] != [len(row) for row in r.args]:
        return False
    return _all(_in_order(x, y) for x, y in zip(a.args, r.args, strict=True))


def _equations(a: Node, r: Node) -> bool | None:
    """Equations are equal up to a factor; x = 5 may be written 5."""
    left, right = _named(a), _named(r)
    if a.op == r.op == "relation":
        if set(a.args[0]) != {"="} or set(r.args[0]) != {"="}:
            return False
        return _same_equation(a, r, left, right)
    if left is not None and r.op != "relation":
        return matches(left[1], r)
    if right is not None and a.op != "relation":
        return matches(a, right[1])
    return False


def _same_equation(
    a: Node, r: Node, left: tuple[str, Node] | None, right: tuple[str, Node] | None
) -> bool | None:
    if left and right and (left[0] == right[0] or _renamed(left[0], right[0])):
        return matches(_with_variable_of(a, r, left[1]), right[1])
    pairs = [zip(a.args[1], sides, strict=False) for sides in (r.args[1], r.args[1][::-1])]
    if any(_all(matches(x, y) for x, y in pair) for pair in pairs):
        return True
    try:
        return _factor(_difference("=", a.args[1]), _difference("=", r.args[1])) is not None
    except TypeError:
        return None


def _with_variable_of(a: Node, r: Node, value: Node) -> Node:
    """The value of f(t) = t^2 as that of f(x), where the reference says f(x)."""
    given, asked = (node.args[1][0] for node in (a, r))
    if given.op == asked.op == "call" and len(given.args[1]) == len(asked.args[1]) == 1:
        old, new = given.args[1][0], asked.args[1][0]
        if old.op == new.op == "sym" and old != new and not _contains(value, new):
            return _replaced(value, old, new)
    return value


def _replaced(node: Node, old: Node, new: Node) -> Node:
    if node == old:
        return new
    return Node(node.op, tuple(_replaced_part(arg, old, new) for arg in node.args))


def _replaced_part(arg: object, old: Node, new: Node) -> object:
    if isinstance(arg, Node):
        return _replaced(arg, old, new)
    if isinstance(arg, tuple) and arg and isinstance(arg[0], Node):
        return tuple(_replaced(item, old, new) for item in arg)
    return arg


def _renamed(a: str, b: str) -> bool:
    """Whether one is y and the other a function's value, as in y = 2x and f(x) = 2x."""
    return "y" in (a, b) and ("()" in a or "()" in b)


def _named(node: Node) -> tuple[str, Node] | None:
    """The name and the value of an equation that says what something is."""
    if node.op != "relation" or set(node.args[0]) != {"="}:
        return None
    left, right = node.args[1]
    if _is_constant(left) or (right.op == "sym" and not _is_name(left)):
        left, right = right, left
    if not _is_name(left) or right.op == "sym" or _contains(right, left):
        return None
    return _name(left), right


def _contains(node: Node, name: Node) -> bool:
    return name.op == "sym" and any(part == name for part in parts(node))


def _is_name(node: Node) -> bool:
    """A symbol, a function's value, AB, a ratio of such: what a value can be given to."""
    if node.op in ("sym", "call"):
        return True
    if node.op == "mul":
        return all(_is_capital(n) or _is_inverse_name(n) or n.op == "mul" and _is_name(n) for n in node.args)
    if node.op == "ratio":
        return all(_is_name(part) for part in node.args)
    if node.op == "fn":
        return node.args[0] in ("sin", "cos", "tan", "prime") and _is_name(node.args[1][0])
    return False


def _is_capital(node: Node) -> bool:
    return node.op == "sym" and node.args[0][:1].isupper()


def _is_inverse_name(node: Node) -> bool:
    return node.op == "pow" and _is_name(node.args[0]) and node.args[1] == num(-1)


def _name(node: Node) -> str:
    if node.op == "sym":
        return node.args[0]
    return f"{node.args[0]}()" if node.op == "call" else repr(node)


def _ratios(a: Node, r: Node) -> bool | None:
    """2 : 3 is 4 : 6 and 2/3."""
    if "relation" in (a.op, r.op):
        return _equations(a, r)
    if a.op == r.op:
        if len(a.args) != len(r.args):
            return False
        return _all(
            same(product([a.args[0], y]), product([x, r.args[0]]))
            for x, y in zip(a.args[1:], r.args[1:], strict=True)
        )
    left, right = (_quotient(node) for node in (a, r))
    return left is not None and right is not None and matches(left, right)


def _quotient(node: Node) -> Node | None:
    if node.op != "ratio":
        return node if node.op in _EXPRESSIONS else None
    if len(node.args) != 2:
        return None
    return product([node.args[0], Node("pow", (node.args[1], num(-1)))])


# --- quantities


def _quantities(a: Node, r: Node) -> bool | None:
    """A missing unit is accepted, a different one is converted, a wrong one is wrong."""
    if a.op not in _MEASURED or r.op not in _MEASURED:
        return _equations(a, r) if "relation" in (a.op, r.op) else False
    (value, unit, words), (ref_value, ref_unit, ref_words) = _measure(a), _measure(r)
    if words and ref_words and not ref_unit and not _related(words, ref_words):
        return False
    if unit is None and ref_unit is not None:
        return _bare_value(value, ref_value, ref_unit, words)
    if unit is None or ref_unit is None:
        if unit is not None and _is_percent(unit) and matches(_scaled(value, unit), ref_value):
            return True
        return matches(value, ref_value)
    if not unit.measures_like(ref_unit):
        return _turns(value, unit, ref_value, ref_unit)
    if unit.factor == ref_unit.factor:
        return matches(value, ref_value)
    return matches(_scaled(value, unit), _scaled(ref_value, ref_unit))


_MEASURED = _EXPRESSIONS | {"quantity", "compound"}


def _bare_value(value: Node, ref_value: Node, unit: Unit, words: str) -> bool | None:
    """A number without a unit against one with a unit."""
    if words:
        return False
    verdict = matches(value, ref_value)
    if verdict is not True and _is_percent(unit):
        return matches(value, _scaled(ref_value, unit))
    return verdict


def _related(words: str, others: str) -> bool:
    """Whether two notes name a thing in common, in the singular or the plural."""
    left, right = ({word.rstrip("s") for word in text.lower().split()} for text in (words, others))
    return bool(left & right)


def _turns(value: Node, unit: Unit, ref_value: Node, ref_unit: Unit) -> bool | None:
    """Degrees against radians; any other pair of units that differ is wrong."""
    kinds = [set(u.dimension) for u in (unit, ref_unit)]
    if kinds == [{"angle"}, {"arc"}]:
        return same(product([value, _PI, num(Fraction(1, 180))]), ref_value)
    if kinds == [{"arc"}, {"angle"}]:
        return same(value, product([ref_value, _PI, num(Fraction(1, 180))]))
    return False


def _is_percent(unit: Unit) -> bool:
    return not unit.dimension


def _measure(node: Node) -> tuple[Node, Unit | None, str]:
    """Value, unit, and words of a quantity; 2 h 30 min is 2.5 h."""
    if node.op == "quantity":
        value, unit, words = node.args
        if value.op == "deg" and unit is None:
            return value.args[0], UNITS["degree"], words
        return value, unit, words
    if node.op == "deg":
        return node.args[0], UNITS["degree"], ""
    if node.op == "compound":
        (value, unit, _), (rest, small, words) = map(_measure, node.args)
        if unit is None or small is None or not unit.measures_like(small):
            return Node("false", ()), None, ""
        scale = num(small.factor / unit.factor)
        return Node("add", (value, product([rest, scale]))), unit, words
    return node, None, ""


def _scaled(value: Node, unit: Unit) -> Node:
    """In base units."""
    if value.op == "num":
        return num(value.args[0] * unit.factor, value.args[1])
    return product([value, num(unit.factor)])


# --- values


def _same_value(a: Node, r: Node) -> bool | None:
    """Equal expressions, and decimals that round them."""
    verdict = same(a, r)
    if verdict is not False:
        return verdict
    if _degrees_as_arc(a, r):
        return True
    return _rounds(a, r)


def _degrees_as_arc(a: Node, r: Node) -> bool:
    """Whether one is an angle in degrees and the other the same in multiples of π."""
    for angle, arc in ((a, r), (r, a)):
        if angle.op == "deg" and arc.op != "deg" and any(p == _PI for p in parts(arc)):
            turn = product([angle.args[0], _PI, num(Fraction(1, 180))])
            return same(turn, arc) is True
    return False


_PI = Node("const", ("pi",))


def _rounds(a: Node, r: Node) -> bool:
    """Whether a decimal is the other value, rounded: see `grading`."""
    x, y = approximate(a), approximate(r)
    if x is None or y is None or not x or not y:
        return False
    given, asked = _digits(a), _digits(r)
    if given and asked:
        return asked[0] >= 4 and given[0] > asked[0] and abs(x - y) <= asked[1] / 2
    if asked:
        return exact(a) != _whole(a) and asked[0] >= 3 and abs(x - y) <= asked[1] / 2
    return given is not None and given[0] >= 6 and exact(r) != _whole(r) and abs(x - y) < given[1]


def _whole(node: Node) -> Fraction | None:
    """Its value where that is an integer, and else one that no expression has."""
    value = exact(node)
    return value if value is not None and value.denominator == 1 else Fraction(-1, 7**30)


def _digits(node: Node) -> tuple[int, float] | None:
    """Significant digits of a decimal, and the unit of its last; None for anything else."""
    if node.op == "mul" and len(node.args) == 2 and node.args[1].op == "pow":
        inner, scale = _digits(node.args[0]), approximate(node.args[1])
        return (inner[0], inner[1] * abs(scale)) if inner and scale else None
    if node.op != "num" or not node.args[1]:
        return None
    value, places = node.args
    unit = 10.0**-places
    if not value:
        return None
    return places + floor(log10(abs(value))) + 1, unit


_RULES = (
    (_is("false"), lambda a, r: False),
    (_is("list", "set"), _collections),
    (lambda a, r: _shape(a) == "region" or _shape(r) == "region", _regions),
    (_is("matrix"), _matrices),
    (_is("tuple"), _tuples),
    (_is("ratio"), _ratios),
    (_is("relation"), _equations),
    (_is("quantity", "compound"), _quantities),
)
