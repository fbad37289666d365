"""Comparison of two trees: one rule for each pair of forms that answers take.

The comparison is not symmetric: the answer may lack the unit of the reference, and a decimal
reference counts as a rounded number.
"""

from collections.abc import Callable

from reasonenv.grading.budget import spend
from reasonenv.grading.equivalence.collections import (
    same_collection,
    same_matrix,
    same_ordered,
    same_tuple,
    same_unordered,
)
from reasonenv.grading.equivalence.equations import (
    is_interval_set,
    same_congruence,
    same_equation,
    same_ratio,
    same_solution_set,
)
from reasonenv.grading.equivalence.intervals import solution_set
from reasonenv.grading.equivalence.normal_form import normal_form, splits_alternatives
from reasonenv.grading.equivalence.parameters import with_shared_names
from reasonenv.grading.equivalence.quantities import same_quantity
from reasonenv.grading.equivalence.verdicts import Match, Verdict
from reasonenv.grading.numeric.equality import omits_base, same_value
from reasonenv.grading.parsing.nodes import EXPRESSIONS, Node, is_inequality

_Rule = Callable[[Node, Node, Match], Verdict]


def matches(answer: Node, reference: Node) -> Verdict:
    """True if an answer equals the reference; None if undecided.

    Raises:
        TooLarge: A number in either has too many digits.
        Undefined: Either has no value.
    """
    spend(10)
    if answer == reference:
        return True
    if splits_alternatives(answer, reference):
        return False
    if answer.op == "intersection" and reference.op not in ("list", "intersection"):
        solutions = solution_set(answer)
        if solutions is not None and not solutions[0]:
            return False  # no number is below 1 and above 4
    answer, reference = map(_listed, (answer, reference))
    a, r = map(normal_form, with_shared_names(answer, reference))
    if a is None or r is None or "false" in a.kinds:
        return False
    return _rule(a, r)(a, r, matches)


def _listed(node: Node) -> Node:
    """Alternatives, and inequalities that hold together, as a list; other nodes unchanged."""
    is_listed = node.op == "either" or (node.op == "intersection" and is_inequality(node.args[0]))
    return Node("list", node.args) if is_listed else node


def _rule(a: Node, r: Node) -> _Rule:
    for node in (a, r):
        if is_interval_set(node) or (node.op == "list" and any(map(is_interval_set, node.args))):
            return same_solution_set
    for op, rule in _RULES.items():
        if op in (a.op, r.op):
            return rule
    return _same_values


def _same_logic(a: Node, r: Node, matches: Match) -> Verdict:
    """Conjunctions, disjunctions and negations; a comma stands for "and"."""
    ops = {"and" if node.op == "list" else node.op for node in (a, r)}
    return len(ops) == 1 and same_unordered(a.args, r.args, matches)


def _same_values(a: Node, r: Node, _: Match) -> Verdict:
    """Values of expressions; infinite ones are equal if written identically."""
    if a.op not in EXPRESSIONS or r.op not in EXPRESSIONS:
        return False
    if "infty" in a.kinds or "infty" in r.kinds:
        return a == r
    return omits_base(a, r) if (a.op, r.op) == ("num", "sym") else same_value(a, r)


_RULES: dict[str, _Rule] = {
    "false": lambda a, r, _: False,
    "congruence": same_congruence,
    **dict.fromkeys(["and", "or", "not"], _same_logic),
    "list": same_collection,
    "set": same_collection,
    "case": lambda a, r, matches: a.op == r.op and same_ordered(a.args, r.args, matches),
    "intersection": lambda a, r, matches: a.op == r.op and same_unordered(a.args, r.args, matches),
    "relation": same_equation,
    "matrix": same_matrix,
    "tuple": same_tuple,
    "ratio": same_ratio,
    "quantity": same_quantity,
    "compound": same_quantity,
}
"""Rules by operation, in order of precedence."""
