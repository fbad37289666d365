"""Verdicts: True, False, and None for what stays open."""

from collections.abc import Callable, Iterable

from reasonenv.grading.parsing.nodes import Node

Verdict = bool | None
Match = Callable[[Node, Node], Verdict]
"""Whether an answer is what a reference says: `comparison.matches`, given to rules for parts."""


def conjunction(verdicts: Iterable[Verdict]) -> Verdict:
    """False when one is, else None when one is open, else True; stops at the first False."""
    is_open = False
    for verdict in verdicts:
        if verdict is False:
            return False
        is_open |= verdict is None
    return None if is_open else True
