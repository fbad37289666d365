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
    if "sym" not in answer.kinds or answer == reference:
        return answer, reference
    left, right = _with_shared_parameter(*map(_without_domain, (answer, reference)))
    return _with_shared_constants(left, right), right


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


def _with_shared_constants(answer: Node, reference: Node) -> Node:
    """The answer with the reference's constants of integration, if all its symbols are theirs."""
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
