"""A correct answer in another notation stays correct; one of another value is wrong."""

from fractions import Fraction

from helpers.answer_forms import AROUND, CHANGES, FORMS, FULL_WIDTH, VALUES, percentage
from helpers.verdicts import PROPERTY, correct
from hypothesis import given
from hypothesis import strategies as st


@PROPERTY
@given(VALUES, FORMS, FORMS, AROUND)
def test_a_number_is_correct_in_any_form_and_context(value, form, other, context):
    assert correct(context.format(form(value)), other(value))


@PROPERTY
@given(VALUES, FORMS, FORMS)
def test_full_width_digits_are_digits(value, form, other):
    assert correct(form(value).translate(FULL_WIDTH), other(value))


@PROPERTY
@given(VALUES, CHANGES, FORMS, FORMS, AROUND)
def test_a_number_that_is_changed_is_wrong(value, change, form, other, context):
    assert not correct(context.format(form(value + change)), other(value))


@PROPERTY
@given(VALUES.filter(bool), FORMS, FORMS)
def test_a_sign_that_is_changed_is_wrong(value, form, other):
    assert not correct(form(-value), other(value))


@PROPERTY
@given(VALUES, FORMS)
def test_a_percentage_is_a_hundredth_of_its_number(value, form):
    assert correct(percentage(value), form(value))


SEPARATORS = st.sampled_from([",", " ", r"\,", "{,}", r"\ ", r",\!"])


@PROPERTY
@given(st.integers(10**3, 10**12), SEPARATORS, st.integers(1, 999))
def test_separators_of_thousands_are_no_part_of_a_number(n, separator, change):
    text = f"{n:,}".replace(",", separator)
    assert correct(text, str(n))
    assert correct(str(n), text)
    assert correct(f"-{text}.50", f"-{n}.5")
    assert not correct(text, str(n + change))


@PROPERTY
@given(st.integers(100, 999), st.integers(-25, 25))
def test_scientific_notation_is_a_number(digits, exponent):
    value = Fraction(digits, 100) * Fraction(10) ** exponent
    text = rf"{digits / 100}\times 10^{{{exponent}}}"
    assert correct(text, str(value))
    assert correct(f"{digits / 100}e{exponent}", text)
    assert not correct(text, str(value * 10))
    assert not correct(text, rf"{digits / 100}\times 10^{{{-exponent - 1}}}")


@PROPERTY
@given(st.integers(2, 500).filter(lambda n: round(n**0.5) ** 2 != n), st.integers(2, 12))
def test_squares_may_leave_a_root(n, k):
    assert correct(rf"\sqrt{{{n * k * k}}}", rf"{k}\sqrt{{{n}}}")
    assert correct(rf"\frac{{{k}}}{{\sqrt{{{n}}}}}", rf"\frac{{{k}\sqrt{{{n}}}}}{{{n}}}")
    assert correct(f"{n**0.5:.12f}", rf"\sqrt{{{n}}}")
    assert not correct(rf"\sqrt{{{n * k}}}", rf"{k}\sqrt{{{n}}}")
    assert not correct(f"{n**0.5:.3f}", rf"\sqrt{{{n}}}")


# --- sums and products

TERMS = ["x", "y", "2z", "7", r"\frac{a}{3}", r"\sqrt{5}", r"\pi", "ab", "x^2", r"\sin t", "k_1"]
SOME_TERMS = st.lists(st.sampled_from(TERMS), min_size=2, max_size=5, unique=True)


@PROPERTY
@given(SOME_TERMS, st.randoms(use_true_random=False))
def test_the_order_of_a_sum_does_not_matter(terms, rng):
    shuffled = rng.sample(terms, len(terms))
    assert correct(" + ".join(shuffled), "+".join(terms))
    assert correct(" + ".join(shuffled[:-1]) + f" - {shuffled[-1]}", "+".join(terms)) is False


@PROPERTY
@given(SOME_TERMS, st.randoms(use_true_random=False), st.sampled_from(["", "*", r" \cdot ", " "]))
def test_the_order_of_a_product_does_not_matter(terms, rng, sign):
    factors = [f"({term})" for term in terms]
    shuffled = rng.sample(factors, len(factors))
    assert correct(sign.join(shuffled), r"\times ".join(factors))
    assert not correct(sign.join(shuffled[1:]), r"\times ".join(factors))


# --- quantities

CENTIMETRES = {
    "mm": Fraction(1, 10),
    "cm": Fraction(1),
    "m": Fraction(100),
    "inches": Fraction("2.54"),
}
UNITS = st.sampled_from(list(CENTIMETRES))


@PROPERTY
@given(VALUES.filter(bool), UNITS, UNITS, st.sampled_from([1, 2, 3]))
def test_a_unit_is_converted_and_may_be_missing(value, unit, other, power):
    factor = (CENTIMETRES[other] / CENTIMETRES[unit]) ** power
    reference = rf"{value}\text{{ {other}}}^{power}"
    assert correct(f"{value * factor} {unit}^{power}", reference)
    assert correct(str(value), reference)
    assert not correct(f"{value} {unit}^{power % 3 + 1}", reference)
    assert correct(f"{value} {unit}^{power}", reference) == (unit == other)
