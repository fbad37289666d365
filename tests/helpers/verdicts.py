"""Verdicts on pairs of answer and reference, and their tables as test parameters."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import settings

from reasonenv.grading import grade, grade_by_rules, symbolic_verdict

Pairs = Mapping[str, Sequence[tuple[str, str]]]


# No deadline for each example: the first may import sympy and math-verify.
PROPERTY = settings(max_examples=60, deadline=None)


def boxed(answer: str) -> str:
    return f"<think>It is known.</think><answer>\\boxed{{{answer}}}</answer>"


def accepted(answer: str, reference: str) -> bool:
    """True if a whole response with this answer in its box is correct."""
    return grade(boxed(answer), reference).correct


def correct(answer: str, reference: str) -> bool:
    """True if this answer, extracted already, is correct."""
    verdict, text = grade_by_rules(answer, reference)
    return (verdict or symbolic_verdict(answer, text))[0]


def rows(pairs: Pairs) -> list[object]:
    """One test for each pair (answer, reference), named after its kind."""
    return [
        pytest.param(answer, reference, id=ascii(f"{kind}: {answer} for {reference}"))
        for kind, members in pairs.items()
        for answer, reference in members
    ]
