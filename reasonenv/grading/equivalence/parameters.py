"""Names that an answer may choose: integer parameters of families, constants of integration."""

import re
from collections.abc import Iterable

from reasonenv.grading.parsing.nodes import Node, children, is_known, substituted, walk

_INTEGERS = Node("sym", ("mathbb Z",))
_PARAMETERS = tuple("klmnt")
_CONSTANT = re.compile(r"[CcK](?:_\d)?")
_VARIABLES = frozenset(["x", "y", "t", "u", "s", "z", "theta"])


def with_shared_names(answer: Node, reference: Node) -> tuple[Node, Node]:
    """Two nodes with one name for an integer parameter and for each constant of integration.

    kπ is nπ, declared as integers or not; the k of a reference that declares none must stand in
    multiples of π or of degrees alone, since it may be a real number elsewhere. x^2 + C_1 is
    x^2 + C.
    """
    left, right = with_shared_parameter(*map(_without_domain, (answer, reference)))
    return _with_shared_constants(left, right), right


_NUMBERS = frozenset(Node("sym", (f"mathbb {name}",)) for name in "RCQ")


def _without_domain(node: Node) -> Node:
    """A formula without the set of all numbers that one of its names is from: c x, c in R."""
    match node:
        case Node(op="list", args=(item, Node(op="relation", args=(("in",), (name, numbers))))):
            if numbers in _NUMBERS and name.op == "sym" and _contains(item, name):
                return item
    return node


def with_shared_parameter(a: Node, b: Node) -> tuple[Node, Node]:
    """Two nodes with one name for an integer parameter: kπ, k ∈ Z is nπ, n ∈ Z, and kπ."""
    (left, declared), (right, other_declared) = _family(a), _family(b)
    name, other = declared or _lone_parameter(left), other_declared or _lone_parameter(right)
    if name is None or other is None:
        return a, b
    if other_declared is None and not _is_period(right, other):
        return a, b
    if declared is None and other_declared is None and not _is_period(left, name):
        return a, b
    if name == other:
        return left, right
    return (a, b) if other in walk(left) else (substituted(left, name, other), right)


def _family(node: Node) -> tuple[Node, Node | None]:
    """A family of solutions and its integer parameter; None if no parameter is declared."""
    match node:
        case Node(op="list", args=(*items, Node(op="relation", args=(("in",), (name, numbers))))):
            if numbers == _INTEGERS and name.op == "sym" and items:
                rest = items[0] if len(items) == 1 else Node("list", tuple(items))
                return rest, name
    return node, None


def _lone_parameter(node: Node) -> Node | None:
    if node.op in ("num", "sym"):
        return None
    names = {part for part in walk(node) if part.op == "sym" and part.args[0] in _PARAMETERS}
    return names.pop() if len(names) == 1 else None


def _is_period(node: Node, name: Node) -> bool:
    """True if a name occurs only as a factor, or in a linear one, of π or of an angle."""
    if node == name or name.args == ("t",):
        return False
    if not _contains(node, name):
        return True
    if node.op == "mul" and any(map(_is_angle, node.args)):
        others = [factor for factor in node.args if not is_known(factor)]
        return len(others) == 1 and _is_linear(others[0], name)
    is_sum = node.op in (
        "add",
        "mul",
        "pm",
        "deg",
        "list",
        "either",
        "set",
        "tuple",
        "relation",
        "union",
    )
    return is_sum and all(_is_period(part, name) for part in children(node))


def _is_angle(node: Node) -> bool:
    return is_known(node) and not node.kinds.isdisjoint(["pi", "deg"])


def _is_linear(node: Node, name: Node) -> bool:
    """True if a node is a sum of numbers and of multiples of a name."""
    if node == name or is_known(node):
        return True
    if node.op == "mul":
        return sum(not is_known(part) for part in node.args) == 1 and all(
            _is_linear(part, name) for part in node.args
        )
    return node.op == "add" and all(_is_linear(part, name) for part in node.args)


def _contains(node: Node, name: Node) -> bool:
    return name in walk(node)


def _with_shared_constants(answer: Node, reference: Node) -> Node:
    """The answer with the reference's constants of integration, if all its symbols are theirs."""
    if "sym" not in answer.kinds or answer == reference:
        return answer
    names, others = _constants(answer), _constants(reference)
    if not names or len(names) != len(others) or names == others:
        return answer
    is_same_case = [name.upper() for name in names] == [name.upper() for name in others]
    if len(names) > 1 and not is_same_case:
        return answer
    for name, other in zip(names, others, strict=True):
        answer = substituted(answer, Node("sym", (name,)), Node("sym", (other,)))
    return answer


def _constants(node: Node) -> list[str]:
    """Constants of integration in a function of usual variables, sorted; none in other formulas."""
    names = {part.args[0] for part in walk(node) if part.op == "sym"}
    constants = {name for name in names if _CONSTANT.fullmatch(name)}
    return sorted(constants) if _are_variables(names - constants) else []


def _are_variables(names: Iterable[str]) -> bool:
    names = set(names)
    return bool(names) and names <= _VARIABLES
