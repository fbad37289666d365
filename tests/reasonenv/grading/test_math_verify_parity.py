"""Bounded rules against math-verify, on pairs without its known faults.

Excluded are inputs that it misreads: units, percent signs, mixed numbers, thousands, Unicode,
letters after a number, values that differ by less than 1e-9, roundings, and definitions.
"""

import logging
from fractions import Fraction

import pytest
from helpers.verdicts import PROPERTY
from hypothesis import given
from hypothesis import strategies as st

from reasonenv.grading import rule_verdict

math_verify = pytest.importorskip("math_verify")


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.ERROR, logger="math_verify")


def peer(answer: str, reference: str) -> bool:
    """Verdict of math-verify, without its timeouts, which are signals."""
    config = [math_verify.LatexExtractionConfig(boxed_match_priority=0)]
    gold, prediction = (
        math_verify.parse(rf"$\boxed{{{text}}}$", config, parsing_timeout=None, raise_on_error=True)
        for text in (reference, answer)
    )
    return math_verify.verify(gold, prediction, timeout_seconds=None, raise_on_error=True)


def quotient(value: Fraction) -> str:
    return rf"{'-' if value < 0 else ''}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def decimal(value: Fraction) -> str:
    return f"{float(value):.3f}".rstrip("0").rstrip(".")


# Eighths have three decimals, and differ by more than any rounding accepts.
EIGHTHS = st.builds(Fraction, st.integers(-60, 60), st.just(8))
FRACTIONS = st.builds(Fraction, st.integers(-9, 9), st.integers(1, 9))
DECIMALS = EIGHTHS.flatmap(lambda v: st.sampled_from([decimal(v), quotient(v), str(v)]))
QUOTIENTS = FRACTIONS.flatmap(
    lambda v: st.sampled_from(
        [quotient(v), str(v), rf"\frac{{{6 * v.numerator}}}{{{6 * v.denominator}}}"]
    )
)
RADICALS = st.builds(
    lambda a, b, form: form.format(a, b),
    st.integers(1, 4),
    st.sampled_from([2, 3, 8, 12, 18, 27]),
    st.sampled_from(
        [r"{0}\sqrt{{{1}}}", r"\sqrt{{{1}}}", r"{0}+\sqrt{{{1}}}", r"\frac{{{0}}}{{\sqrt{{{1}}}}}"]
    ),
)
ENDS = st.lists(st.integers(-3, 3), min_size=2, max_size=2, unique=True).map(sorted)
INTERVALS = st.builds(
    lambda ends, opening, closing: f"{opening}{ends[0]}, {ends[1]}{closing}",
    ENDS,
    st.sampled_from("(["),
    st.sampled_from(")]"),
)
UNIONS = st.builds(r"{} \cup {}".format, INTERVALS, INTERVALS)
POLYNOMIALS = st.builds(
    lambda a, b, form: form.format(a, b, a + b, a * b),
    st.integers(2, 4),
    st.integers(2, 4),
    st.sampled_from(["(x+{0})(x+{1})", "x^2+{2}x+{3}", "{3}+{2}x+x^2", "{0}(x+{1})", "{0}x+{3}"]),
)


def pairs(texts) -> st.SearchStrategy:
    return st.tuples(texts, texts)


@PROPERTY
@given(
    st.one_of(
        pairs(DECIMALS), pairs(QUOTIENTS), pairs(RADICALS), pairs(INTERVALS), pairs(POLYNOMIALS)
    )
)
def test_the_rules_never_contradict_math_verify(pair):
    verdict = rule_verdict(*pair)
    assert verdict is not None, "simple pairs need no worker"
    assert verdict == peer(*pair)


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("0.125", r"\frac{1}{8}"),
        (r"\frac{4}{6}", r"\frac{2}{3}"),
        (r"\sqrt{12}", r"2\sqrt{3}"),
        (r"\frac{1}{\sqrt{2}}", r"\frac{\sqrt{2}}{2}"),
        ("[1, 2)", "[1,2)"),
        (r"(1,2)\cup[3,4]", r"[3,4]\cup(1,2)"),
        ("(x+2)(x+3)", "x^2+5x+6"),
    ],
)
def test_both_accept_what_is_equal(answer, reference):
    assert rule_verdict(answer, reference) is True
    assert peer(answer, reference) is True
