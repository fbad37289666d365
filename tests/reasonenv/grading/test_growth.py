"""Operations of a grading, counted, while each construct of the grammar grows to 10^5 characters.

An operation is a call of a Python function, a generator's next item or a call of a built-in one.
Steps within a regular expression are counted in `test_patterns`; arithmetic of large integers by
the budget, in `test_budget`.
"""

import gc
import math
import sys
from itertools import islice

import pytest
from helpers.constructs import KINDS, clear_caches, response

from reasonenv import grading
from reasonenv.grading import grade

# Texts of the second length have at most as many tokens as are parsed.
LENGTHS = (20, 380, 1000, 100_000)
MAX_EXPONENT = 1.3
MAX_OPERATIONS = 250_000
# Of an ordinary grading; a construct of more characters than the first length is not in its text.
MIN_OPERATIONS = 1000
CHUNK = 60
CHUNKS = [
    (kind, start)
    for kind, constructs in KINDS.items()
    for start in range(0, len(list(constructs())), CHUNK)
]


@pytest.fixture(autouse=True)
def _without_math_verify(monkeypatch):
    monkeypatch.setattr(grading, "symbolic_verdict", lambda answer, reference: (False, "ok"))


def operations(text: str, reference: str) -> int:
    """Calls during one grading."""
    count = 0

    def notice(frame, event, argument):
        nonlocal count
        count += 1

    gc.disable()  # a collection calls what others, such as hypothesis, have it call
    sys.setprofile(notice)
    try:
        grade(text, reference)
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def exponents(counts: list[int]) -> list[float]:
    """Powers of the length with which the operations grow, from the first length to each other."""
    (shortest, few), *others = zip(LENGTHS, counts, strict=True)
    few = max(few, MIN_OPERATIONS)
    return [math.log(many / few) / math.log(length / shortest) for length, many in others]


@pytest.mark.parametrize(
    ("kind", "start"),
    [
        pytest.param(*chunk, marks=pytest.mark.slow(reason="sixty constructs at four lengths each"))
        if number % 8
        else chunk
        for number, chunk in enumerate(CHUNKS)
    ],
)
def test_operations_grow_with_the_length_of_a_construct(kind, start):
    steep = {}
    for name, construct in islice(KINDS[kind](), start, start + CHUNK):
        counts = []
        for length in LENGTHS:
            clear_caches()
            counts.append(operations(response(kind, construct(length)), "7"))
        if max(exponents(counts)) > MAX_EXPONENT or max(counts) > MAX_OPERATIONS:
            steep[name] = counts
    assert steep == {}


def test_the_constructs_are_those_of_the_tables():
    names = {kind: {name for name, _ in constructs()} for kind, constructs in KINDS.items()}
    assert sum(map(len, names.values())) > 1000
    assert {r"atom \frac", "bracket (]", "atom nested |"} <= names["atoms"]
    assert {"' after 5 bare", "nested root '"} <= names["signs"]
    assert "environment rows cases" in names["environments"]
    texts = [construct(100_000) for make in KINDS.values() for _, construct in make()]
    assert sum(len(text) > 90_000 for text in texts) > 0.95 * len(texts)
