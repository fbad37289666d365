"""Nodes of the tree of an answer.

Operations of expressions are num, sym, const, add, mul, pow, fn, deg, pm, call and opaque; of whole
answers list, either, tuple, set, union, intersection, minus, relation, builder, matrix, case,
ratio, congruence and quantity; of logic and, or and not; `false` is a false statement, such as
1 + 1 = 3.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from reasonenv.grading.budget import spend

EXPRESSIONS = frozenset(
    ["num", "sym", "const", "add", "mul", "pow", "fn", "deg", "call", "opaque"]
)  # fmt: skip
"""Operations whose value is a number."""
UNKNOWN = frozenset(["sym", "call", "opaque"])
"""Operations whose value is unknown."""
MIRRORED: Mapping[str, str] = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}
"""Comparisons, read from right to left."""
SYMMETRIC = frozenset(["perp", "parallel", "cong", "sim", "iff"])
"""Relations whose sides may change places."""


class Node:
    """An operation and its arguments. Immutable; compared and hashed by value.

    Args:
        op: The operation.
        args: Nodes, tuples of nodes, and for some operations a name, a number or a unit.
    """

    __slots__ = ("_hash", "_kinds", "args", "op")

    def __init__(self, op: str, args: tuple[Any, ...]) -> None:
        self.op, self.args = op, args
        self._hash: int | None = None
        self._kinds: frozenset[str] | None = None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Node):
            return NotImplemented
        return self.op == other.op and hash(self) == hash(other) and self.args == other.args

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.op, self.args))
        return self._hash

    def __repr__(self) -> str:
        return f"Node({self.op!r}, {self.args!r})"

    @property
    def kinds(self) -> frozenset[str]:
        """All operations in the node, with the names of functions and constants."""
        if self._kinds is None:
            own = [self.op, self.args[0]] if self.op in ("fn", "const") else [self.op]
            self._kinds = frozenset(own).union(*(child.kinds for child in children(self)))
        return self._kinds


def children(node: Node) -> list[Node]:
    """The child nodes, in order."""
    nodes: list[Node] = []
    for arg in node.args:
        if isinstance(arg, Node):
            nodes.append(arg)
        elif isinstance(arg, tuple):
            nodes += _members(arg)
    return nodes


def _members(args: Sequence[Any]) -> list[Node]:
    """The nodes in a tuple and in those within it, such as the rows of a matrix."""
    nodes = [arg for arg in args if isinstance(arg, Node)]
    return nodes or [node for arg in args if isinstance(arg, tuple) for node in _members(arg)]


def walk(node: Node) -> Iterator[Node]:
    """A node and all nodes below it, depth first."""
    stack = [node]
    while stack:
        spend(1)
        part = stack.pop()
        yield part
        stack += reversed(children(part))


def map_children(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node with `change` applied to each child."""
    spend(1)
    return Node(node.op, _map_args(node.args, change))


def substituted(node: Node, old: Node, new: Node) -> Node:
    """The node with every occurrence of `old` replaced."""
    return new if node == old else map_children(node, lambda part: substituted(part, old, new))


def _map_args(args: tuple[Any, ...], change: Callable[[Node], Node]) -> tuple[Any, ...]:
    return tuple(
        change(arg)
        if isinstance(arg, Node)
        else _map_args(arg, change)
        if isinstance(arg, tuple)
        else arg
        for arg in args
    )


def is_known(node: Node) -> bool:
    """True if a node has no symbol and no unknown function in it."""
    return node.kinds.isdisjoint(UNKNOWN)


def is_constant(node: Node) -> bool:
    """True if a node is an expression without symbols: it has one value at most."""
    return node.op in EXPRESSIONS and is_known(node)


def is_inequality(node: Node) -> bool:
    """True if a node is a chain of comparisons, none of them an equation."""
    return node.op == "relation" and all(op in MIRRORED for op in node.args[0])


def num(value: int | Fraction, places: int = 0) -> Node:
    """A number, written with `places` decimals."""
    return Node("num", (Fraction(value), places))


MINUS_ONE = num(-1)
PI = Node("const", ("pi",))
FALSE = Node("false", ())


def product(factors: Sequence[Node]) -> Node:
    """The product of factors; a single factor unchanged."""
    return factors[0] if len(factors) == 1 else Node("mul", tuple(factors))


def inverse(node: Node) -> Node:
    """1 / node."""
    return Node("pow", (node, MINUS_ONE))


def negative(node: Node) -> Node:
    """-node; a number for a number."""
    if node.op == "num":
        return Node("num", (-node.args[0], node.args[1]))
    if node.op == "quantity":
        return Node("quantity", (negative(node.args[0]), *node.args[1:]))
    return Node("mul", (MINUS_ONE, node))
