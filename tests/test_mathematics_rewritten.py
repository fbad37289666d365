"""An answer that is rewritten stays what it was; one whose value is changed does not."""

import random
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from verdicts import PROPERTY, correct

from reasonenv.grading import grade, settle
from reasonenv.workers import Grader

# --- numbers, and the ways to write them

DENOMINATORS = st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 12, 20, 25])
VALUES = st.builds(Fraction, st.integers(-400, 400), DENOMINATORS)
CHANGES = st.sampled_from([Fraction(n, 4) for n in (-40, -8, -4, -1, 1, 3, 4, 36)])


def slash(value: Fraction) -> str:
    return str(value)


def quotient(value: Fraction) -> str:
    sign = "-" if value < 0 else ""
    return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def expanded(value: Fraction) -> str:
    return rf"\dfrac{{{6 * value.numerator}}}{{{6 * value.denominator}}}"


def small(value: Fraction) -> str:
    return quotient(value).replace("frac", "tfrac")


def mixed(value: Fraction) -> str:
    whole, rest = divmod(abs(value), 1)
    if not whole or not rest:
        return slash(value)
    return f"{'-' if value < 0 else ''}{whole} {rest}"


def mixed_in_latex(value: Fraction) -> str:
    whole, rest = divmod(abs(value), 1)
    if not whole or not rest:
        return quotient(value)
    return f"{'-' if value < 0 else ''}{whole}{quotient(rest)}"


def decimal(value: Fraction) -> str:
    exact = (10**6 * value) % 1 == 0
    return f"{float(value):.6f}".rstrip("0").rstrip(".") if exact else slash(value)


def percentage(value: Fraction) -> str:
    return rf"{decimal(100 * value)}\%" if "/" not in decimal(100 * value) else slash(value)


FORMS = st.sampled_from([slash, quotient, expanded, small, mixed, mixed_in_latex, decimal])

FULL_WIDTH = str.maketrans("0123456789-/,.()", "０１２３４５６７８９－／，．（）")
DRESSES = {
    "as it is": "{}",
    "spaces": "  {}  ",
    "dollars": "${}$",
    "two dollars": "$${}$$",
    "round": r"\( {} \)",
    "square": r"\[ {} \]",
    "full stop": "{}.",
    "full stop after dollars": "${}$.",
    "bold": "**{}**",
    "brackets": "({})",
    "large brackets": r"\left( {} \right)",
    "box": r"\boxed{{{}}}",
}
AROUND = st.sampled_from(list(DRESSES.values()))


@PROPERTY
@given(VALUES, FORMS, FORMS, AROUND)
def test_a_number_is_correct_in_whatever_form_and_dress(value, form, other, dress):
    assert correct(dress.format(form(value)), other(value))


@PROPERTY
@given(VALUES, FORMS, FORMS)
def test_full_width_digits_are_digits(value, form, other):
    assert correct(form(value).translate(FULL_WIDTH), other(value))


@PROPERTY
@given(VALUES, CHANGES, FORMS, FORMS, AROUND)
def test_a_number_that_is_changed_is_wrong(value, change, form, other, dress):
    assert not correct(dress.format(form(value + change)), other(value))


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
    written = f"{n:,}".replace(",", separator)
    assert correct(written, str(n))
    assert correct(str(n), written)
    assert correct(f"-{written}.50", f"-{n}.5")
    assert not correct(written, str(n + change))


@PROPERTY
@given(st.integers(100, 999), st.integers(-25, 25))
def test_scientific_notation_is_a_number(digits, exponent):
    value = Fraction(digits, 100) * Fraction(10) ** exponent
    written = rf"{digits / 100}\times 10^{{{exponent}}}"
    assert correct(written, str(value))
    assert correct(f"{digits / 100}e{exponent}", written)
    assert not correct(written, str(value * 10))
    assert not correct(written, rf"{digits / 100}\times 10^{{{-exponent - 1}}}")


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


# --- collections

ITEMS = st.lists(VALUES, min_size=2, max_size=4, unique=True)
BRACKETS = {"set": (r"\{", r"\}"), "point": ("(", ")"), "list": ("", "")}


def written(items, kind: str, form=slash) -> str:
    opening, closing = BRACKETS[kind]
    return opening + ", ".join(map(form, items)) + closing


@PROPERTY
@given(ITEMS, FORMS, FORMS, st.sampled_from(["set", "list"]), st.randoms(use_true_random=False))
def test_the_order_of_a_set_or_a_list_never_matters(items, form, other, kind, rng):
    shuffled = rng.sample(items, len(items))
    assert correct(written(shuffled, kind, form), written(items, kind, other))


@PROPERTY
@given(ITEMS, FORMS, FORMS, st.permutations(range(4)))
def test_the_order_of_a_point_does(items, form, other, order):
    permuted = [items[index] for index in order if index < len(items)]
    answer, reference = written(permuted, "point", form), written(items, "point", other)
    assert correct(answer, reference) == (permuted == items)


@PROPERTY
@given(ITEMS, CHANGES, st.sampled_from(list(BRACKETS)), st.data())
def test_a_member_that_is_changed_dropped_or_added_is_wrong(items, change, kind, data):
    index = data.draw(st.integers(0, len(items) - 1))
    changed = [*items[:index], items[index] + change, *items[index + 1 :]]
    assume(set(changed) != set(items))
    assert not correct(written(changed, kind), written(items, kind))
    assert not correct(written(items[:-1], kind), written(items, kind))
    assert not correct(written(items, kind), written(items[:-1], kind))


ENDS = st.lists(VALUES, min_size=2, max_size=2, unique=True).map(sorted)
SIDES = st.sampled_from([("(", ")"), ("(", "]"), ("[", ")"), ("[", "]")])
LESS = {"(": "<", "[": r"\le", ")": "<", "]": r"\le"}


def interval(ends, sides, form=slash) -> str:
    return f"{sides[0]}{form(ends[0])}, {form(ends[1])}{sides[1]}"


def inequality(ends, sides, form=slash) -> str:
    return f"{form(ends[0])} {LESS[sides[0]]} x {LESS[sides[1]]} {form(ends[1])}"


@PROPERTY
@given(ENDS, ENDS, SIDES, SIDES, FORMS)
def test_an_interval_is_its_ends_and_its_brackets(ends, others, sides, other_sides, form):
    for answer in (interval(ends, sides, form), inequality(ends, sides, form)):
        assert correct(answer, interval(ends, sides))
        assert correct(answer, inequality(ends, sides))
        assert correct(answer, interval(ends, other_sides)) == (sides == other_sides)
        assert correct(answer, interval(others, sides)) == (ends == others)


@PROPERTY
@given(st.lists(VALUES, min_size=4, max_size=4, unique=True).map(sorted), SIDES, SIDES)
def test_a_union_has_no_order(ends, sides, other_sides):
    low, high = interval(ends[:2], sides), interval(ends[2:], other_sides)
    assert correct(rf"{high} \cup {low}", rf"{low}\cup{high}")
    assert not correct(high, rf"{low}\cup{high}")
    assert not correct(rf"{high} \cap {low}", rf"{low}\cup{high}")


# --- equations

SLOPES = st.integers(2, 9)


@PROPERTY
@given(SLOPES, st.integers(1, 9), st.integers(-5, 5).filter(bool))
def test_an_equation_may_be_moved_and_multiplied(slope, offset, factor):
    reference = f"y = {slope}x + {offset}"
    assert correct(f"{slope}x - y + {offset} = 0", reference)
    assert correct(f"{factor}y = {factor * slope}x + {factor * offset}", reference)
    assert correct(f"{slope}x + {offset} = y", reference)
    assert not correct(f"{factor}y = {factor * slope}x + {factor * offset + 1}", reference)
    assert not correct(f"{slope}x + y + {offset} = 0", reference)


@PROPERTY
@given(VALUES, FORMS, st.sampled_from(["x", "y", "AB", "S", "a_1", r"\theta"]))
def test_a_name_before_a_value_may_be_left_out(value, form, name):
    assert correct(f"{name} = {form(value)}", slash(value))
    assert correct(slash(value), f"{name}={form(value)}")
    assert not correct(f"{name} = {form(value + 1)}", slash(value))


# --- symmetry

FEW = st.builds(Fraction, st.integers(-2, 2), st.sampled_from([1, 2]))
EXACT = st.sampled_from([slash, quotient, expanded, small, mixed])
NUMBERS = st.builds(lambda value, form: form(value), FEW, EXACT)
PAIRS = st.lists(FEW, min_size=2, max_size=2, unique=True)
POLYNOMIALS = st.builds(
    lambda a, b, form: form.format(a, b),
    st.integers(1, 2),
    st.integers(1, 2),
    st.sampled_from(["{0}x + {1}", "{1} + x*{0}", r"\frac{{{0}x+{1}}}{{1}}", "(x+{0})(x+{1})"]),
)
ANY = st.one_of(
    NUMBERS,
    POLYNOMIALS,
    POLYNOMIALS.map("y = {}".format),
    NUMBERS.map("x = {}".format),
    PAIRS.map(lambda pair: written(pair, "set")),
    PAIRS.map(lambda pair: written(pair, "point")),
    PAIRS.map(lambda pair: written(pair, "list")),
    st.builds(interval, PAIRS.map(sorted), SIDES),
    st.builds(inequality, PAIRS.map(sorted), SIDES),
)


@PROPERTY
@given(ANY, ANY)
def test_without_units_and_decimals_neither_side_is_privileged(left, right):
    assert correct(left, right) == correct(right, left)


@PROPERTY
@given(ANY)
def test_every_answer_equals_itself(text):
    assert settle(text, text)[0] == (True, "ok")


# --- batches


@pytest.fixture(scope="module")
def grader():
    with Grader(num_workers=1, timeout=3) as grader:
        yield grader


def test_the_order_of_a_batch_never_matters(grader):
    rng = random.Random(0)
    jobs = [(rf"\boxed{{{n}/7}}", str(Fraction(n + n % 2, 7))) for n in range(40)]
    jobs += [(rf"\boxed{{x^{n}+1}}", f"1 + x^{n - n % 3}") for n in range(2, 30)]
    jobs += [("hm", "7"), ("", "7"), (r"\boxed{9^{9^{9^9}}}", "7")]
    verdicts = dict(zip(jobs, grader.grade(*zip(*jobs, strict=True)), strict=True))
    assert len(jobs) // 3 < sum(grade.correct for grade in verdicts.values()) < len(jobs) // 2
    for _ in range(3):
        rng.shuffle(jobs)
        grades = grader.grade(*zip(*jobs, strict=True))
        assert grades == [verdicts[job] for job in jobs]
        assert grades == [grade(*job) for job in jobs]
