"""Random expressions in three notations, against sympy as an independent judge."""

from dataclasses import dataclass
from itertools import pairwise

import sympy
from helpers.verdicts import PROPERTY, correct
from hypothesis import assume, given
from hypothesis import strategies as st

from reasonenv.grading.reading.formulas import is_not_carried_out
from reasonenv.grading.reading.literals import ranges

SYMBOLS = {"x": sympy.Symbol("x"), "y": sympy.Symbol("y")}
SUM, PRODUCT, POWER, ATOM = range(4)


@dataclass(frozen=True)
class Tree:
    """A leaf, or an operation on two trees."""

    op: str
    left: "Tree | None" = None
    right: "Tree | None" = None

    def meaning(self) -> sympy.Expr:
        """A rational function in lowest terms, by sympy's own constructors.

        Raises:
            ZeroDivisionError: There is none.
        """
        if self.left is None or self.right is None:
            return SYMBOLS.get(self.op) or sympy.Integer(self.op)
        a, b = self.left.meaning(), self.right.meaning()
        if (self.op == "/" and b == 0) or (self.op == "^" and a == 0 and b.is_nonpositive):
            raise ZeroDivisionError
        rule = {
            "+": sympy.Add,
            "-": lambda a, b: sympy.Add(a, sympy.Mul(-1, b)),
            "*": sympy.Mul,
            "/": lambda a, b: sympy.Mul(a, sympy.Pow(b, -1)),
            "^": sympy.Pow,
        }[self.op]
        return sympy.cancel(rule(a, b))

    @property
    def binding(self) -> int:
        if self.left is None:
            return ATOM
        return {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "^": POWER}[self.op]

    def plain(self) -> str:
        """Brackets only where they are needed, stars for products."""
        if self.left is None or self.right is None:
            return self.op
        if self.op == "^":
            base = bracketed(self.left.plain(), self.left.binding < ATOM)
            return f"{base}^({self.right.plain()})"
        tightest = {"-": PRODUCT, "/": POWER}.get(self.op, self.binding)
        left = bracketed(self.left.plain(), self.left.binding < self.binding)
        return f"{left}{self.op}{bracketed(self.right.plain(), self.right.binding < tightest)}"

    def latex(self) -> str:
        r"""Fractions, \cdot, and brackets around every operand that is no atom."""
        if self.left is None or self.right is None:
            return self.op
        if self.op == "/":
            return rf"\dfrac{{{self.left.latex()}}}{{{self.right.latex()}}}"
        left, right = (
            rf"\left({part.latex()}\right)" if part.left else part.latex()
            for part in (self.left, self.right)
        )
        if self.op == "^":
            return f"{left}^{{{self.right.latex()}}}"
        return rf"{left} \cdot {right}" if self.op == "*" else f"{left} {self.op} {right}"


def bracketed(text: str, is_required: bool) -> str:
    return f"({text})" if is_required else text


LEAVES = st.sampled_from([*"1234579", "10", "12", *"xxxyyy"]).map(Tree)
EXPONENTS = st.one_of(
    st.sampled_from("0123").map(Tree),
    st.sampled_from("123").map(lambda k: Tree("-", Tree("0"), Tree(k))),
)


def grown(children):
    return st.one_of(
        st.builds(Tree, st.sampled_from("+-*/"), children, children),
        st.builds(Tree, st.just("^"), children, EXPONENTS),
    )


TREES = st.recursive(LEAVES, grown, max_leaves=7)


def meaning(tree: Tree) -> sympy.Expr:
    """Value of a tree; an example without one, and a range such as 2-1, is discarded."""
    assume(ranges(tree.plain()) is None)
    try:
        return tree.meaning()
    except ZeroDivisionError:
        assume(False)
        raise


def variants(tree: Tree):
    """The tree with one leaf, one operation or one order changed; the same tree among them."""
    yield tree
    if tree.left is None or tree.right is None:
        yield Tree({"x": "y", "y": "x"}.get(tree.op) or str(int(tree.op) + 1))
        return
    if tree.op in "+-*/":
        yield Tree(tree.op, tree.right, tree.left)
        yield Tree({"+": "-", "-": "+", "*": "/", "/": "*"}[tree.op], tree.left, tree.right)
    yield from (Tree(tree.op, left, tree.right) for left in variants(tree.left))
    yield from (Tree(tree.op, tree.left, right) for right in variants(tree.right))


def assert_paid(answer: str, reference: str, equal: bool):
    """Equal answers are right, save 1 + 1 in place of the number 2, which is not carried out."""
    expected = equal and not is_not_carried_out(answer, reference)
    assert correct(answer, reference) == expected, f"{answer} for {reference}"


@PROPERTY
@given(TREES)
def test_an_expression_is_the_same_in_any_notation(tree):
    value = meaning(tree)
    others = (sympy.latex(value), sympy.latex(sympy.factor(value)), str(value))
    for left, right in pairwise([tree.plain(), tree.latex(), *others, tree.plain()]):
        assert_paid(left, right, equal=True)


@PROPERTY
@given(TREES, st.data())
def test_expressions_are_equal_where_sympy_says_so(tree, data):
    other = data.draw(st.sampled_from(list(variants(tree))))
    equal = sympy.cancel(meaning(tree) - meaning(other)) == 0
    assert_paid(other.latex(), tree.plain(), equal)
    assert_paid(tree.plain(), other.plain(), equal)


def line(tree: Tree) -> Tree:
    """tree * x + y: something that can be set to zero."""
    return Tree("+", Tree("*", tree, Tree("x")), Tree("y"))


@PROPERTY
@given(TREES, st.data())
def test_equations_are_equal_where_sympy_finds_a_constant_factor(tree, data):
    first, other = line(tree), line(data.draw(st.sampled_from(list(variants(tree)))))
    value, other_value = meaning(first), meaning(other)
    assume(value.has(SYMBOLS["x"]) and value != SYMBOLS["x"] and other_value != 0)
    equal = sympy.cancel(value / other_value).is_number
    assert correct(f"{first.latex()} = 0", f"{other.plain()} = 0") == equal
    assert correct(f"0 = 6 * ({first.plain()})", f"{first.latex()} = 0")


# --- numbers with roots

ROOTS = st.sampled_from("23568").map(lambda n: (rf"\sqrt{{{n}}}", sympy.sqrt(int(n))))
WHOLE = st.sampled_from("12347").map(lambda n: (n, sympy.Integer(int(n))))


def combined(children):
    return st.one_of(
        st.builds(lambda a, b: (f"({a[0]})+({b[0]})", a[1] + b[1]), children, children),
        st.builds(lambda a, b: (f"({a[0]})-({b[0]})", a[1] - b[1]), children, children),
        st.builds(lambda a, b: (rf"({a[0]}) \cdot ({b[0]})", a[1] * b[1]), children, children),
        st.builds(lambda a: (rf"\frac{{1}}{{1+\sqrt{{{a}}}}}", 1 / (1 + sympy.sqrt(a))), WHOLES),
    )


WHOLES = st.integers(2, 9)
RADICALS = st.recursive(st.one_of(ROOTS, WHOLE), combined, max_leaves=5)


@PROPERTY
@given(RADICALS, RADICALS)
def test_roots_are_equal_where_sympy_says_so(left, right):
    (text, value), (other, other_value) = left, right
    equal = bool(sympy.radsimp(sympy.expand(value - other_value)) == 0)
    assert_paid(text, other, equal)
    assert correct(sympy.latex(sympy.radsimp(value)), text)
