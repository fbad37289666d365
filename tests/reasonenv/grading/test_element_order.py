"""Order of elements, endpoints, sides of equations, and the batch."""

import random
from fractions import Fraction

import pytest
from helpers.answer_forms import CHANGES, FORMS, VALUES, expanded, mixed, quotient, slash, small
from helpers.verdicts import PROPERTY, correct
from hypothesis import assume, given
from hypothesis import strategies as st

from reasonenv.grading import grade, grade_by_rules
from reasonenv.workers import Grader

# --- collections

ITEMS = st.lists(VALUES, min_size=2, max_size=4, unique=True)
BRACKETS = {"set": (r"\{", r"\}"), "point": ("(", ")"), "list": ("", "")}


def collection(items, kind: str, form=slash) -> str:
    opening, closing = BRACKETS[kind]
    return opening + ", ".join(map(form, items)) + closing


@PROPERTY
@given(ITEMS, FORMS, FORMS, st.sampled_from(["set", "list"]), st.randoms(use_true_random=False))
def test_the_order_of_a_set_or_a_list_never_matters(items, form, other, kind, rng):
    shuffled = rng.sample(items, len(items))
    assert correct(collection(shuffled, kind, form), collection(items, kind, other))


@pytest.mark.parametrize("answer", ["127/6, 106/5", "106/5, 127/6"])
@pytest.mark.parametrize("reference", ["21.2, 127/6", "127/6, 21.2"])
def test_an_answer_that_matches_two_elements_leaves_the_other_the_only_one_that_it_has(
    answer, reference
):
    assert correct(answer, reference)
    assert not correct(answer.replace("106/5", "3"), reference)


@PROPERTY
@given(ITEMS, FORMS, FORMS, st.permutations(range(4)))
def test_the_order_of_a_point_matters(items, form, other, order):
    permuted = [items[index] for index in order if index < len(items)]
    answer, reference = collection(permuted, "point", form), collection(items, "point", other)
    assert correct(answer, reference) == (permuted == items)


@PROPERTY
@given(ITEMS, CHANGES, st.sampled_from(list(BRACKETS)), st.data())
def test_an_element_changed_dropped_or_added_is_wrong(items, change, kind, data):
    index = data.draw(st.integers(0, len(items) - 1))
    changed = [*items[:index], items[index] + change, *items[index + 1 :]]
    assume(set(changed) != set(items))
    assert not correct(collection(changed, kind), collection(items, kind))
    assert not correct(collection(items[:-1], kind), collection(items, kind))
    assert not correct(collection(items, kind), collection(items[:-1], kind))


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
    PAIRS.map(lambda pair: collection(pair, "set")),
    PAIRS.map(lambda pair: collection(pair, "point")),
    PAIRS.map(lambda pair: collection(pair, "list")),
    st.builds(interval, PAIRS.map(sorted), SIDES),
    st.builds(inequality, PAIRS.map(sorted), SIDES),
)


@PROPERTY
@given(ANY, ANY)
def test_without_units_and_decimals_the_comparison_is_symmetric(left, right):
    assert correct(left, right) == correct(right, left)


@PROPERTY
@given(ANY)
def test_every_answer_equals_itself(text):
    assert grade_by_rules(text, text)[0] == (True, "ok")


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
