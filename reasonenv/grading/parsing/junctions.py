"""Items with "and", "or" or commas between them, as one node."""

from collections.abc import Sequence

from reasonenv.grading.parsing.nodes import Node, is_inequality
from reasonenv.grading.parsing.tokens import ALTERNATIVES, CONJUNCTIONS

_PROPOSITIONS = frozenset("pqrs")
_SIGNS = frozenset(["lor", "vee", "land", "wedge"])


def joined(items: Sequence[Node], separators: Sequence[str], is_outermost: bool) -> Node:
    """The node of several items.

    It is a union of inequalities, a statement of logic, a list of systems, alternatives, or a list.

    Args:
        items: Two or more.
        separators: What stands between them: a comma, a word or a sign.
        is_outermost: True if the items are a whole answer, False if they stand in brackets.
    """
    is_either = not ALTERNATIVES.isdisjoint(separators)
    if is_either and all(map(is_inequality, items)):
        return Node("union", tuple(items))
    if CONJUNCTIONS.issuperset(separators) and all(map(is_inequality, items)):
        return Node("intersection", tuple(items))
    if _is_quantified(items[0]):
        return Node("case", tuple(items))
    if _are_propositions(items, separators):
        return _disjunction(items, separators)
    systems = _systems(items, separators)
    if systems is not None:
        return Node("list", systems)
    return Node("either" if is_either and is_outermost else "list", tuple(items))


def _is_quantified(node: Node) -> bool:
    """True for "for all x" and "there is an x in R"."""
    return (node.args[1][0] if node.op == "relation" else node).op == "quantifier"


def _are_propositions(items: Sequence[Node], separators: Sequence[str]) -> bool:
    """True for p and q, and for anything but equations with ∧ or ∨ between."""
    if not all(each in ALTERNATIVES | CONJUNCTIONS for each in separators):
        return False
    if not _SIGNS.isdisjoint(separators):
        return all(item.op != "relation" for item in items)
    return all(
        item.op in ("not", "and", "or") or (item.op == "sym" and item.args[0] in _PROPOSITIONS)
        for item in items
    )


def _disjunction(items: Sequence[Node], separators: Sequence[str]) -> Node:
    """The statement p and q or r, where "and" binds closer than "or"."""
    groups = [[items[0]]]
    for separator, item in zip(separators, items[1:], strict=True):
        if separator in ALTERNATIVES:
            groups.append([item])
        else:
            groups[-1].append(item)
    terms = tuple(Node("and", tuple(group)) if group[1:] else group[0] for group in groups)
    return terms[0] if len(terms) == 1 else Node("or", terms)


def _systems(items: Sequence[Node], separators: Sequence[str]) -> tuple[Node, ...] | None:
    """Two systems of x = 1, y = 2 or x = 3, y = 4; None unless the same names are repeated."""
    names = [_left_side(item) for item in items]
    size = len(set(names))
    if None in names or size < 2 or len(names) == size or len(names) % size:
        return None
    starts = range(0, len(items), size)
    if any(set(names[start : start + size]) != set(names) for start in starts):
        return None
    inner = [each for index, each in enumerate(separators, start=1) if index % size]
    if not ALTERNATIVES.isdisjoint(inner):
        return None
    return tuple(Node("list", tuple(items[start : start + size])) for start in starts)


def _left_side(node: Node) -> Node | None:
    return node.args[1][0] if node.op == "relation" and node.args[0] == ("=",) else None
