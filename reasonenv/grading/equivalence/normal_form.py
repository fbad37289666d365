"""Normal form of an answer: no intermediate steps, approximations or ±; definitions x = 5.

With the names that an answer may choose: integer parameters of families, constants of integration.
"""

from collections.abc import Iterator, Sequence

from reasonenv.grading.numeric.equality import decimal_of, float_value, same_value
from reasonenv.grading.parsing.nodes import (
    EXPRESSIONS,
    FALSE,
    MINUS_ONE,
    UNKNOWN,
    Node,
    children,
    is_constant,
    is_known,
    map_children,
    negative,
    substituted,
    walk,
)

_COORDINATES = frozenset(Node("sym", (letter,)) for letter in "xyz")
_NAMING = frozenset(["sin", "cos", "tan", "prime"])


def normal_form(node: Node) -> Node | None:
    """The node without approximations, chains of equal numbers and ±; None if it is false."""
    if "pm" in node.kinds:
        node = _sign_cases(node)
    if node.op in ("list", "either"):
        return Node("list", tuple(_flat(node.args)))
    if node.op == "tuple" and len(node.args[1]) == 1:
        return normal_form(node.args[1][0])
    if node.op == "relation" and node.args[0] == ("in",) and _is_name(node.args[1][0]):
        return node.args[1][1]
    if node.op == "relation" and "~" in node.args[0]:
        return _without_approximation(node)
    if node.op == "relation" and set(node.args[0]) == {"="}:
        return _equation(node.args[1])
    return node


def splits_alternatives(a: Node, b: Node) -> bool:
    """True if one of a = 2 or b = 3 and a = 2, b = 3: one is alternatives, the other is both."""
    if (a.op == "either") == (b.op == "either"):
        return False
    items = [item for node in (a, b) for item in node.args if isinstance(item, Node)]
    names = {equation[0].partition("_")[0] for equation in map(definition, items) if equation}
    return len(names) > 1


def definition(node: Node) -> tuple[str, Node] | None:
    """The name and the value of an equation that defines a name; None for any other node."""
    if node.op != "relation" or node.args[0] != ("=",):
        return None
    left, right = node.args[1]
    if right.op == "matrix":
        return repr(left), right
    if _is_value(left) or (right.op == "sym" and not _is_name(left)):
        left, right = right, left
    is_identity = left.op == "call" and right in left.args[1]  # f(x) = x
    if not _is_name(left) or (right.op == "sym" and not is_identity) or contains(right, left):
        return None
    return _name(left), right


def defined_value(node: Node) -> Node:
    """The value of x = 1; any other node unchanged."""
    equation = definition(node)
    return equation[1] if equation else node


def contains(node: Node, symbol: Node) -> bool:
    """True if a node contains a symbol; False if `symbol` is no symbol."""
    return symbol.op == "sym" and symbol in walk(node)


def _flat(items: Sequence[Node]) -> list[Node]:
    """Items in one flat list, with those of x = 1, 2 and x = ±1 expanded."""
    flat: list[Node] = []
    for item in items:
        inner = normal_form(item) or FALSE
        if inner.op == "list" and item.op != "list":
            flat += inner.args
        else:
            flat.append(inner)
    return flat


def _sign_cases(node: Node) -> Node:
    """A node with ± as a list: both signs throughout, or of each element of a list."""
    if node.op in ("list", "set") and sum(item.op == "relation" for item in node.args) < 2:
        signed = [_sign_cases(item).args if "pm" in item.kinds else (item,) for item in node.args]
        return Node("list", tuple(item for items in signed for item in items))
    return Node("list", (_with_sign(node, True), _with_sign(node, False)))


def _with_sign(node: Node, upper: bool) -> Node:
    """The node with the upper or the lower sign of each ±."""
    if node.op != "pm":
        return map_children(node, lambda part: _with_sign(part, upper))
    term = _with_sign(node.args[0], upper)
    return term if node.args[1] == upper else negative(term)


def _without_approximation(node: Node) -> Node | None:
    """The exact value before ≈; the value after it for a name. None for a false 7 ≈ 8."""
    ops, sides = node.args
    cut = ops.index("~")
    if cut == len(ops) - 1 and _is_name(sides[cut]):
        return normal_form(Node("relation", (("=",) * len(ops), (*sides[: cut + 1], sides[-1]))))
    if all(part.op in ("num", "mul") for part in walk(sides[cut])):
        return None
    x, y, decimal = float_value(sides[cut]), float_value(sides[-1]), decimal_of(sides[-1])
    # More than rounding, or half a percent, from the exact value.
    error = max((decimal.unit if decimal else 1) / 2, abs(x or 0) / 200)
    if x is not None and y is not None and abs(x - y) > error:
        return None
    exact = sides[: cut + 1]
    return exact[0] if len(exact) == 1 else normal_form(Node("relation", (ops[:cut], exact)))


def _equation(sides: Sequence[Node]) -> Node | None:
    """1 + 1 = 2 as 2, x = 1 + 1 = 2 as x = 2; None for the false 1 + 1 = 3, and for 2 = 2."""
    *computations, result = sides
    if result.op == "quantity" and all(map(_is_value, computations)):
        value, unit, _ = result.args
        if is_constant(value) and (unit is None or unit.dimension):  # 8 + 3 = 11 apples
            number = _equation([*computations, value])
            return number and Node("quantity", (number, *result.args[1:]))
    constants = [side for side in sides if _is_value(side)]
    if not all(_agree(constants[0], other) for other in constants[1:]):
        return None
    if len(constants) == len(sides):
        return constants[-1] if len(set(sides)) > 1 else None
    if len(sides) > 2 and constants:
        name, *others = (side for side in sides if not _is_value(side))
        if any(_contradicts(side, name, constants[-1]) for side in others):
            return None
        sides = (name, constants[-1])
    elif len(sides) > 2 and all(map(_is_name, sides[:-1])) and not _is_name(sides[-1]):
        sides = (sides[0], sides[-1])  # y = f(x) = 2x
    return Node("relation", (("=",) * (len(sides) - 1), tuple(sides)))


def _contradicts(side: Node, name: Node, value: Node) -> bool:
    """True for the x + 1 of x = 4 = x + 1."""
    instance = substituted(side, name, value) if name.op == "sym" else side
    return is_constant(instance) and not _agree(instance, value)


def _is_value(node: Node) -> bool:
    """True if a side is a constant; a lone e or i counts as a name, as of an eccentricity."""
    return is_constant(node) and not _is_letter(node)


def _is_letter(node: Node) -> bool:
    return node.op == "const" and node.args[0] in ("e", "i")


def _agree(a: Node, b: Node) -> bool:
    """True if two constants are equal; a value that is not evaluated, such as ∑, is accepted."""
    verdict = same_value(a, b) or same_value(b, a)
    return verdict or (verdict is None and "opaque" in a.kinds | b.kinds)


def _is_name(node: Node) -> bool:
    """True if a node can be assigned a value: a symbol, a function value, AB, a ratio of these."""
    if node.op in ("sym", "call", "opaque") or _is_letter(node):
        return True
    if node.op == "mul":
        return all(map(_is_part_of_name, node.args))
    if node.op == "fn":
        name, (inner, *_) = node.args
        return _is_length(inner) if name == "abs" else name in _NAMING and _is_name(inner)
    is_compound = node.op in ("ratio", "union", "intersection", "minus", "tuple")
    return is_compound and all(map(_is_name, children(node)))


def _is_part_of_name(node: Node) -> bool:
    """True for the factors of AB and AB/CD."""
    if node.op == "pow":
        return node.args[1] == MINUS_ONE and _is_name(node.args[0])
    return _is_capital(node) or (node.op == "mul" and _is_name(node))


def _is_length(node: Node) -> bool:
    """True for the inside of |AB|, |a| with an arrow and |z|: of a length, not of an equation."""
    if node.op == "sym":
        return node.args[0] in ("z", "w") or " " in node.args[0]
    return node.op == "mul" and all(map(_is_capital, node.args))


def labeled_value(node: Node) -> Node | None:
    """The 7 of 2a + b = 7, where the left side names a value by several unknowns; else None.

    x + 1 = 5 is none: it states another value of x. Nor is x + y = 5, the equation of a line.
    """
    if node.op != "relation" or node.args[0] != ("=",):
        return None
    left, value = node.args[1]
    if left.op not in EXPRESSIONS or not (value.op == "quantity" or is_constant(value)):
        return None
    unknowns = set(_unknowns(left))
    return value if len(unknowns) > 1 and not unknowns <= _COORDINATES else None


def _unknowns(node: Node) -> Iterator[object]:
    """The unknowns in an expression; the letters of a segment AB are one, and those of AB^2."""
    if node.op in UNKNOWN:
        yield node
        return
    factors = children(node) if node.op == "mul" else []
    capitals = tuple(p for p in factors if _is_capital(p.args[0] if p.op == "pow" else p))
    if capitals:
        yield capitals
    for part in children(node):
        if part not in capitals:
            yield from _unknowns(part)


def _is_capital(node: Node) -> bool:
    return node.op == "sym" and node.args[0][:1].isupper()


def _name(node: Node) -> str:
    if node.op == "sym":
        return node.args[0]
    if node.op == "call" and len(node.args[1]) == 1 and node.args[1][0].op == "sym":
        # P(A) and P(B) are two values, where f(x) and f(t) are one function.
        return repr(node) if _is_capital(node.args[1][0]) else f"{node.args[0]}()"
    return repr(node)


_CONSTANTS = frozenset(["C", "c", "K", "C_0", "C_1"])
_VARIABLES = frozenset(Node("sym", (name,)) for name in (*"xytusz", "theta"))
_INTEGERS = Node("sym", ("mathbb Z",))
_NUMBERS = frozenset(Node("sym", (f"mathbb {name}",)) for name in "RCQ")
_PARAMETERS = tuple("klmnt")
_SUMS = frozenset(
    ["add", "mul", "pm", "deg", "list", "either", "set", "tuple", "relation", "union"]
)


def with_shared_names(answer: Node, reference: Node) -> tuple[Node, Node]:
    """Two nodes with one name for an integer parameter and for each constant of integration.

    kπ is nπ, declared as integers or not; the k of a reference that declares none must stand in
    multiples of π or of degrees alone, since it may be a real number elsewhere. x^2 + C_1 is
    x^2 + C, and c x, c in R, is c x.
    """
    if "sym" not in answer.kinds or answer == reference:
        return answer, reference
    left, right = _with_shared_parameter(*map(_without_domain, (answer, reference)))
    name = _integration_constant(left)
    other = _integration_constant(right) if name else None
    return (substituted(left, name, other) if name and other else left), right


def _declared(node: Node) -> tuple[Node, Node | None, Node | None]:
    """A formula, a name of it and the set of numbers that the name is declared to be from."""
    match node:
        case Node(op="list", args=(*items, Node(op="relation", args=(("in",), (name, numbers))))):
            if name.op == "sym" and items:
                return items[0] if len(items) == 1 else Node("list", tuple(items)), name, numbers
    return node, None, None


def _without_domain(node: Node) -> Node:
    formula, name, numbers = _declared(node)
    return formula if name and numbers in _NUMBERS and name in walk(formula) else node


def _with_shared_parameter(a: Node, b: Node) -> tuple[Node, Node]:
    """Two nodes with one name for an integer parameter: kπ, k ∈ Z is nπ, n ∈ Z, and kπ."""
    left, name, is_declared = _family(a)
    right, other, is_other_declared = _family(b)
    if name is None or other is None:
        return a, b
    if not is_other_declared and not _is_period(right, other):
        return a, b
    if not is_declared and not is_other_declared and not _is_period(left, name):
        return a, b
    if name == other:
        return left, right
    return (a, b) if other in walk(left) else (substituted(left, name, other), right)


def _family(node: Node) -> tuple[Node, Node | None, bool]:
    """A family of solutions, its integer parameter if it has one, and True if it declares that."""
    formula, name, numbers = _declared(node)
    if numbers == _INTEGERS:
        return formula, name, True
    if node.op in ("num", "sym") or "sym" not in node.kinds:
        return node, None, False
    names = {part for part in walk(node) if part.op == "sym" and part.args[0] in _PARAMETERS}
    return node, names.pop() if len(names) == 1 else None, False


def _is_period(node: Node, name: Node) -> bool:
    """True if a name occurs only as a factor, or in a linear one, of π or of an angle."""
    if node == name or name.args == ("t",):
        return False
    if name not in walk(node):
        return True
    if node.op == "mul":
        others = [factor for factor in node.args if not is_known(factor)]
        angles = [f for f in node.args if is_known(f) and not f.kinds.isdisjoint(["pi", "deg"])]
        if angles:
            return len(others) == 1 and _is_linear(others[0], name)
    return node.op in _SUMS and all(_is_period(part, name) for part in children(node))


def _is_linear(node: Node, name: Node) -> bool:
    """True if a node is a sum of numbers and of multiples of a name."""
    if node == name or is_known(node):
        return True
    if node.op == "mul" and sum(not is_known(part) for part in node.args) != 1:
        return False
    return node.op in ("add", "mul") and all(_is_linear(part, name) for part in node.args)


def _integration_constant(node: Node) -> Node | None:
    """The C of x^2 + C, the only one in a function of usual variables."""
    names = {part for part in walk(node) if part.op == "sym"}
    constants = {name for name in names if name.args[0] in _CONSTANTS}
    is_only = len(constants) == 1 and constants < names <= constants | _VARIABLES
    return constants.pop() if is_only else None
