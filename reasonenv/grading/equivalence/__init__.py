"""Equivalence of two trees: the verdict on an answer and a reference.

    normal_form    trees without intermediate steps, approximations and ±
    comparison     the rule for each pair of forms: equations, collections, intervals, quantities

Unordered collections compare at most 4096 pairs of elements; identical nodes are paired first. One
comparison takes 0.05 ms on average and 20 ms of CPU on texts made to be slow. Verdicts depend on
no clock and on no earlier comparison: equal pairs have equal verdicts.
"""

from collections.abc import Callable, Iterable

from reasonenv.grading.parsing.nodes import Node

Verdict = bool | None
"""True, False, or None for undecided."""
Match = Callable[[Node, Node], Verdict]
"""Comparison of an answer with a reference: `comparison.matches`, as an argument of its rules."""


def conjunction(verdicts: Iterable[Verdict]) -> Verdict:
    """Kleene conjunction: False if any is, else None if any is, else True; stops at a False."""
    is_undecided = False
    for verdict in verdicts:
        if verdict is False:
            return False
        is_undecided |= verdict is None
    return None if is_undecided else True
