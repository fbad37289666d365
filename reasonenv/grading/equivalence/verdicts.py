"""Three-valued verdicts: True, False, and None for undecided."""

from collections.abc import Callable, Iterable

from reasonenv.grading.parsing.nodes import Node

Verdict = bool | None
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
