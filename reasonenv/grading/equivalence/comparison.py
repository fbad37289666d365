"""Comparison of two trees: one rule for each pair of forms that answers take.

The comparison is not symmetric: the answer may lack the unit of the reference, and a decimal
reference counts as a rounded number.
"""

from collections.abc import Callable

from reasonenv.grading.budget import spend
from reasonenv.grading.equivalence import Match, Verdict
from reasonenv.grading.equivalence.collections import (
    same_collection,
    same_ordered,
    same_rows,
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
from reasonenv.grading.equivalence.normal_form import (
    normal_form,
    splits_alternatives,
    with_shared_names,
)
from reasonenv.grading.equivalence.quantities import same_quantity
from reasonenv.grading.numeric.equality import same_value
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
    if splits_alternatives(answer, reference) or _is_empty(answer, reference):
        return False
    a, r = map(normal_form, with_shared_names(_listed(answer), _listed(reference)))
    if a is None or r is None or "false" in a.kinds:
        return False
    if _is_solution_set(a) or _is_solution_set(r):
        return same_solution_set(a, r, matches)
    rule = next((rule for op, rule in _RULES.items() if op in (a.op, r.op)), _same_values)
    return rule(a, r, matches)


def _is_empty(answer: Node, reference: Node) -> bool:
    """True for inequalities that hold together for no number, below 1 and above 4."""
    if answer.op != "intersection" or reference.op in ("list", "intersection"):
        return False
    solutions = solution_set(answer)
    return solutions is not None and not solutions[0]


def _is_solution_set(node: Node) -> bool:
    return is_interval_set(node) or (node.op == "list" and any(map(is_interval_set, node.args)))


def _listed(node: Node) -> Node:
    """Alternatives, and inequalities that hold together, as a list; other nodes unchanged."""
    is_listed = node.op == "either" or (node.op == "intersection" and is_inequality(node.args[0]))
    return Node("list", node.args) if is_listed else node


def _same_values(a: Node, r: Node, _: Match) -> Verdict:
    """Values of expressions; infinite ones are equal if written identically."""
    if a.op not in EXPRESSIONS or r.op not in EXPRESSIONS:
        return False
    if "infty" in a.kinds or "infty" in r.kinds:
        return a == r
    if (a.op, r.op) == ("num", "sym"):  # 4210 for 4210_7
        digits, _, base = r.args[0].partition("_")
        is_number = digits.isdecimal() and base.isdecimal() and max(map(int, digits)) < int(base)
        return is_number and a.args == (int(digits), 0)
    return same_value(a, r)


_RULES: dict[str, _Rule] = {
    "false": lambda a, r, _: False,
    "congruence": same_congruence,
    **dict.fromkeys(
        ["and", "or", "not"],
        lambda a, r, matches: a.op == r.op and same_unordered(a.args, r.args, matches),
    ),
    "list": same_collection,
    "set": same_collection,
    "case": lambda a, r, matches: a.op == r.op and same_ordered(a.args, r.args, matches),
    "intersection": lambda a, r, matches: a.op == r.op and same_unordered(a.args, r.args, matches),
    "relation": same_equation,
    "matrix": same_rows,
    "tuple": same_rows,
    "ratio": same_ratio,
    "quantity": same_quantity,
}
"""Rules by operation, in order of precedence."""
