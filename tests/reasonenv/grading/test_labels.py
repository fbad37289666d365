r"""Left-hand sides: the name of the value that an answer gives."""

import pytest
from helpers.verdicts import PROPERTY, accepted, correct, rows
from hypothesis import given
from hypothesis import strategies as st

SAME = {
    "figures": [
        ("|AB|=1", "1"),
        ("AB=3", "3"),
        (r"\overline{AB}=3", "3"),
        (r"|\overrightarrow{AB}|=5", "5"),
        (r"|\vec{a}|=\sqrt{2}", r"\sqrt{2}"),
        (r"S_{\triangle ABC}=6", "6"),
        ("S△ABC=6", "6"),
        (r"\angle A=30^\circ", "30°"),
        ("∠A=30°", "30"),
        ("m∠ABC=40", "40"),
        (r"m\angle ABC=40^\circ", "40"),
        ("V_{ABCD}=12", "12"),
        ("AB:BC=2:3", "2:3"),
        (r"\frac{AB}{CD}=\frac{2}{3}", "2/3"),
        ("|PA|+|PB|=6", "6"),
        ("AB+BC=7", "7"),
        ("1", "|AB|=1"),
        ("6", r"S_{\triangle ABC}=6"),
    ],
    "functions": [
        ("f(2)=4", "4"),
        ("T(10)=2", "2"),
        ("T(10)=2, T(11)=4", "2,4"),
        ("P(A|B)=\\frac{1}{3}", "1/3"),
        (r"P(A \mid B)=0.5", "0.5"),
        ("P(X=3)=0.2", "0.2"),
        (r"P(X\le 2)=0.3", "0.3"),
        (r"P(A\cap B)=0.1", "0.1"),
        ("E(X)=3", "3"),
        ("D(X)=1.5", "1.5"),
        ("n(A∪B)=12", "12"),
        ("V(r)=5", "5"),
        ("f(g(2))=7", "7"),
        ("f(1)+f(2)=7", "7"),
        ("E(2X+1)=7", "7"),
        ("f'(2)=4", "4"),
        (r"\sin A=\frac{1}{2}", "1/2"),
        ("N(10)=5", "5"),
        ("1/3", "P(A|B)=1/3"),
        ("P(A|B)=1/3", "P(A|B)=\\frac13"),
    ],
    "sums and products of unknowns": [
        ("G+J=6", "6"),
        ("x_1+x_2=5", "5"),
        ("a+b=0", "0"),
        ("2a+b=7", "7"),
        ("pq=6", "6"),
        ("a^2+b^2=10", "10"),
        ("m+n=7", "7"),
        ("a-b=3", "3"),
        (r"\frac{a}{b}=2", "2"),
        ("m+n = -1", "-1"),
        ("|a+b|=3", "3"),
    ],
    "several": [
        ("x_1=5, x_2=1", "1, 5"),
        ("x_{1}=5，x_{2}=1", "1，5"),
        ("x_1=5或x_2=1", "x=1或x=5"),
        ("1, 5", "x_1=5, x_2=1"),
        ("a=3, b=4", "3, 4"),
        ("AB=3, BC=4", "3, 4"),
        ("f(1)=2, f(2)=5", "2, 5"),
        ("∠A=30°, ∠B=60°", "30°, 60°"),
    ],
    "names of two parts": [
        ("5", r"\Delta p \approx 5"),
        (r"\Delta p=5", r"\Delta p \approx 5"),
        ("Δp ≈ 5", "5"),
        ("Δp=5", "Δp≈5"),
        (r"\Delta x = 0.2", "0.2"),
        (r"dy/dx=3", "3"),
        ("面积=12", "12"),
        ("面积为12", "12"),
        ("Area = 12", "12"),
        (r"\bar{x}=5", "5"),
        (r"x_{\max}=5", "5"),
        ("a_{10}=5", "5"),
        ("S_n=n^2", "n^2"),
        (r"\lambda=\frac12", "0.5"),
        ("R^2=0.9", "0.9"),
    ],
}
DIFFERENT = {
    "values": [
        ("|AB|=2", "1"),
        ("AB:BC=3:2", "2:3"),
        ("P(A|B)=0.2", "0.3"),
        ("T(10)=4, T(11)=2", "2,4"),
        ("T(10)=2", "2,4"),
        ("G+J=7", "6"),
        ("x_1=5, x_2=2", "1, 5"),
        (r"S_{\triangle ABC}=3", "6"),
        ("m∠ABC=50", "40"),
        ("E(X)=4", "3"),
        (r"\Delta p=6", r"\Delta p \approx 5"),
        ("面积=13", "12"),
        ("∠A=60°, ∠B=30°", "30°, 60°"),
        ("AB=4, BC=3", "3, 4"),
        ("P(X=3)=0.2", "3"),
        ("T(10)=2", "10"),
        ("f(2)=4", "2"),
        ("E(2X+1)=7", "2"),
        ("n(A∪B)=12", "n"),
    ],
    "another label": [
        ("AB=5", "CD=5"),
        ("y=5", "x=5"),
        ("P(B|A)=1/3", "P(A|B)=1/3"),
        ("P(A)=1/3", "P(A|B)=1/3"),
        ("P(B)=0.3", "P(A)=0.3"),
        ("E(Y)=3", "E(X)=3"),
        (r"S_{\triangle ABD}=6", r"S_{\triangle ABC}=6"),
        (r"\angle B=30°", r"\angle A=30°"),
        ("f(3)=4", "f(2)=4"),
        ("E(X)=3", "D(X)=3"),
        ("x=5, y=2", "p=5, q=2"),
        ("体积=12", "面积=12"),
        ("b=2, a=3", "a=2, b=3"),
        ("AC:CB=2:3", "AB:BC=2:3"),
    ],
    "an equation in one unknown": [
        ("x+1=5", "5"),
        ("2x=8", "8"),
        ("2a=8", "8"),
        ("m+1=5", "5"),
        ("x-1=4", "4"),
        ("x^2=9", "9"),
        ("3x+2=5", "5"),
        ("2+2=5", "5"),
        (r"\frac{x}{2}=4", "4"),
        ("-x=5", "5"),
        (r"\sqrt{x}=4", "4"),
        ("2^x=8", "8"),
        ("x^2-5x+6=0", "0"),
    ],
    "a reference that is an equation": [
        ("5", "x+y=5"),
        ("6", "xy=6"),
        ("1", r"\frac{x^2}{4}+y^2=1"),
        ("0", "2x+y=0"),
        ("5", "2x+1=5"),
        ("x+y=5", "x-y=5"),
        ("x+y=0", "2x+y=0"),
    ],
    "an equation of a line or a curve": [
        ("x+y=5", "5"),
        ("xy=6", "6"),
        ("x+2y-z=0", "0"),
        (r"\frac{x^2}{4}+y^2=1", "1"),
    ],
    "no value": [
        ("x+y=2z", "2"),
        ("AB=CD", "CD=5"),
        ("x+y=5, x-y=1", "5"),
        ("x+y<5", "5"),
        ("5=6", "6"),
        ("a_1=1, a_2=5", "5, 1"),
    ],
}


@pytest.mark.parametrize(("answer", "reference"), rows(SAME))
def test_a_value_with_its_name_is_correct(answer, reference):
    assert accepted(answer, reference)


@pytest.mark.parametrize(("answer", "reference"), rows(DIFFERENT))
def test_other_values_and_other_statements_are_wrong(answer, reference):
    assert not accepted(answer, reference)


LABELS = [
    "|AB|", "AB", r"\overline{AB}", r"S_{\triangle ABC}", "P(A|B)", "f(2)", "T(10)", "n(A∪B)",
    r"m\angle ABC", "a+b", "2a+b", "E(X)", r"\Delta p", "a_{10}", "面积", r"\frac{AB}{CD}",
]  # fmt: skip


@PROPERTY
@given(st.sampled_from(LABELS), st.integers(-99, 99), st.integers(-99, 99))
def test_a_label_changes_no_verdict(label, value, other):
    assert correct(f"{label}={value}", str(value))
    assert correct(f"{label}={other}", str(value)) == (value == other)
