"""Names that an answer may choose: integer parameters of families, constants of integration."""

import re

from reasonenv.grading.parsing.nodes import Node, children, is_known, substituted, walk

_INTEGERS = Node("sym", ("mathbb Z",))
_NUMBERS = frozenset(Node("sym", (f"mathbb {name}",)) for name in "RCQ")
_PARAMETERS = tuple("klmnt")
_CONSTANT = re.compile(r"[CcK](?:_\d)?")
_VARIABLES = frozenset(["x", "y", "t", "u", "s", "z", "theta"])
_SUMS = frozenset(
    ["add", "mul", "pm", "deg", "list", "either", "set", "tuple", "relation", "union"]
)


def with_shared_names(answer: Node, reference: Node) -> tuple[Node, Node]:
    """Two nodes with one name for an integer parameter and for each constant of integration.

    kπ is nπ, declared as integers or not; the k of a reference that declares none must stand in
    multiples of π or of degrees alone, since it may be a real number elsewhere. x^2 + C_1 is
    x^2 + C, and c x, c in R, is c x.
    """
    left, right = _with_shared_parameter(*map(_without_domain, (answer, reference)))
    return _with_shared_constants(left, right), right


def _declared(node: Node) -> tuple[Node, Node, Node] | None:
    """A formula, a name of it and the set of numbers that the name is declared to be from."""
    match node:
        case Node(op="list", args=(*items, Node(op="relation", args=(("in",), (name, numbers))))):
            if name.op == "sym" and items:
                rest = items[0] if len(items) == 1 else Node("list", tuple(items))
                return rest, name, numbers
    return None


def _without_domain(node: Node) -> Node:
    declared = _declared(node)
    if declared is None or declared[2] not in _NUMBERS or declared[1] not in walk(declared[0]):
        return node
    return declared[0]


def _with_shared_parameter(a: Node, b: Node) -> tuple[Node, Node]:
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
    declared = _declared(node)
    return declared[:2] if declared and declared[2] == _INTEGERS else (node, None)


def _lone_parameter(node: Node) -> Node | None:
    if node.op in ("num", "sym") or "sym" not in node.kinds:
        return None
    names = {part for part in walk(node) if part.op == "sym" and part.args[0] in _PARAMETERS}
    return names.pop() if len(names) == 1 else None


def _is_period(node: Node, name: Node) -> bool:
    """True if a name occurs only as a factor, or in a linear one, of π or of an angle."""
    if node == name or name.args == ("t",):
        return False
    if name not in walk(node):
        return True
    if node.op == "mul" and any(map(_is_angle, node.args)):
        others = [factor for factor in node.args if not is_known(factor)]
        return len(others) == 1 and _is_linear(others[0], name)
    return node.op in _SUMS and all(_is_period(part, name) for part in children(node))


def _is_angle(node: Node) -> bool:
    return is_known(node) and not node.kinds.isdisjoint(["pi", "deg"])


def _is_linear(node: Node, name: Node) -> bool:
    """True if a node is a sum of numbers and of multiples of a name."""
    if node == name or is_known(node):
        return True
    if node.op == "mul" and sum(not is_known(part) for part in node.args) != 1:
        return False
    return node.op in ("add", "mul") and all(_is_linear(part, name) for part in node.args)


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
    variables = names - constants
    return sorted(constants) if variables and variables <= _VARIABLES else []
