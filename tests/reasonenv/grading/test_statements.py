r"""Logic, relations between sets, equations that hold always, and products of vectors."""

import pytest
from helpers.verdicts import PROPERTY, accepted, correct, rows
from hypothesis import given
from hypothesis import strategies as st

SAME = {
    "equations": [
        ("2x-8=0", "x=4"),
        (r"\frac{x-4}{3}=0", "x=4"),
        ("4=x", "x=4"),
        ("-(x-4)=0", "x=4"),
        ("y-2x-1=0", "y=2x+1"),
        ("3y=6x+3", "y=2x+1"),
        ("2x-y+1=0", "y=2x+1"),
        ("xy=1", "y=\\frac{1}{x}"),
        ("y=1/x", "xy=1"),
        ("x=2+2=4", "4"),
        ("S=ab=12", "S=12"),
        ("y=f(x)=2x+1", "y=2x+1"),
        (r"\pi(x-4)=0", "x=4"),
        ("0=2x+1-y", "y=2x+1"),
    ],
    "and, or": [
        ("x=2 or x=3", "x=2, x=3"),
        ("x=2 and x=3", "x=3 or x=2"),
        ("2 or 3", "2, 3"),
        ("x=2或x=3", "x=2或3"),
        ("x=2或x=3", "2, 3"),
        ("a=2 and b=3", "a=2, b=3"),
        (r"a=2 \text{ and } b=3", "a=2,b=3"),
        ("a=2且b=3", "a=2，b=3"),
        ("a=2, b=3", "b=3, a=2"),
        ("a=2 or b=3", "a=2 or b=3"),
        ("b=3 or a=2", "a=2 or b=3"),
        (r"a=2 \lor b=3", "a=2 or b=3"),
        ("a=2或b=3", "a=2 or b=3"),
        (r"a=2 \land b=3", "a=2, b=3"),
        (r"x=2 \lor x=3", "x=2 or x=3"),
        ("x_1=2 or x_2=3", "x_1=2, x_2=3"),
        ("x<1 or x>5", "x>5 or x<1"),
        ("x>1 and x<5", "1<x<5"),
        ("x>1且x<5", "1<x<5"),
        ("p=5,q=2 and p=7,q=2", "p=5,q=2; p=7,q=2"),
        ("p=5,q=2 or p=7,q=2", "p=5,q=2; p=7,q=2"),
        ("p=7,q=2; p=5,q=2", "p=5,q=2 and p=7,q=2"),
        ("p=5，q=2或p=7，q=2", "p=5,q=2; p=7,q=2"),
        ("x=1,y=2,x=3,y=4", "x=1,y=2; x=3,y=4"),
    ],
    "logic": [
        (r"p \land q", r"p \land q"),
        (r"q \land p", r"p \land q"),
        ("p∧q", r"p \wedge q"),
        ("q∨p", r"p \vee q"),
        (r"\neg p", "¬p"),
        (r"\lnot p", r"\neg p"),
        (r"\forall x, x^2>0", r"\forall x, x^2>0"),
        ("∀x∈R, x^2≥0", r"\forall x \in R, x^2 \geq 0"),
        (r"\exists x \in \mathbb{R}, x^2 < 0", "∃x∈R, x^2<0"),
        (r"p \Rightarrow q", "p ⇒ q"),
        (r"q \Leftarrow p", r"p \Rightarrow q"),
        (r"p \implies q", r"p \Rightarrow q"),
        (r"q \Leftrightarrow p", r"p \iff q"),
    ],
    "sets": [
        (r"A \cup B", "A∪B"),
        (r"B \cup A", r"A \cup B"),
        (r"B \cap A", r"A \cap B"),
        (r"A \subset B", "A⊂B"),
        (r"B \supset A", r"A \subset B"),
        (r"B \supseteq A", "A⊆B"),
        (r"a \in A", "a∈A"),
        (r"a \notin A", "a∉A"),
        ("A⫋B", r"A \subsetneqq B"),
    ],
    "geometry": [
        ("AB∥CD", r"AB \parallel CD"),
        (r"CD \parallel AB", "AB∥CD"),
        (r"BA \perp CD", r"CD \perp AB"),
        ("AB//CD", "CD∥AB"),
        (r"l \perp \alpha", "l⊥α"),
    ],
    "vectors": [
        (r"\vec{a}\times\vec{b}", r"\vec{a}\times\vec{b}"),
        (r"\mathbf{a}\times\mathbf{b}", r"\mathbf{a}\times\mathbf{b}"),
        (r"\vec{b}\cdot\vec{a}", r"\vec{a}\cdot\vec{b}"),
        (r"-\vec{b}\times\vec{a}", r"\vec{a}\times\vec{b}"),
        (r"\vec{b}+\vec{a}", r"\vec{a}+\vec{b}"),
        (r"3 \times 2", r"2 \times 3"),
        (r"a\times b", r"b\times a"),
        (r"2\times\vec{a}", r"2\vec{a}"),
    ],
}
DIFFERENT = {
    "equations": [
        (r"(x-4)\cdot 0=0", "x=4"),
        (r"0\cdot x=0\cdot 4", "x=4"),
        ("0=0", "x=4"),
        (r"0\cdot(y-2x-1)=0", "y=2x+1"),
        (r"0=0\cdot(y-2x-1)", "y=2x+1"),
        ("(y-2x-1)(x-x)=0", "y=2x+1"),
        ("(y-2x-1)(1-1)=0", "y=2x+1"),
        (r"(x-4)\sin\pi=0", "x=4"),
        (r"(x-4)\ln 1=0", "x=4"),
        ("x-x=0", "x=4"),
        ("x=x", "x=4"),
        ("x=4=x+1", "x=4"),
        ("x=4=2x", "x=4"),
        ("x(x-4)=0", "x=4"),
        ("2x=4", "x=4"),
        (r"\frac{x-4}{x}\cdot 0=0", "x=4"),
        (r"0\cdot xy=0", "xy=1"),
        ("y-y=0", "y=\\frac{1}{x}"),
        (r"0\cdot x>0\cdot 4", "x>4"),
        ("(x-4)(2-1-1)=0", "x=4"),
        ("1=1", "x=1"),
        ("0x=0", "x=0"),
    ],
    "and, or": [
        ("a=2 or b=3", "a=2, b=3"),
        (r"a=2 \text{ or } b=3", "a=2,b=3"),
        (r"a=2 \lor b=3", "a=2,b=3"),
        ("a=2或b=3", "a=2，b=3"),
        ("a=2或者b=3", "a=2且b=3"),
        ("a=2或b=3", "a=2且b=3"),
        ("a=2 or b=3", "a=2 and b=3"),
        ("a=2 and b=3", "a=2 or b=3"),
        ("a=2, b=3", "a=2 or b=3"),
        ("a=2且b=3", "a=2或b=3"),
        ("x=1 or y=2", "(1, 2)"),
        ("x=1 or y=2", "x=1, y=2"),
        ("2 or 3", "a=2, b=3"),
        ("2或3", "a=2，b=3"),
        ("x=1,y=4 or x=3,y=2", "x=1,y=2 or x=3,y=4"),
        ("x=1,y=4; x=3,y=2", "x=1,y=2 and x=3,y=4"),
        ("x=1 or y=2, x=3 or y=4", "x=1,y=2; x=3,y=4"),
        ("x=1，y=4或x=3，y=2", "x=1，y=2或x=3，y=4"),
        ("p=5,q=2", "p=5,q=2; p=7,q=2"),
        ("x>1 or x<5", "1<x<5"),
        ("x>1或x<5", "1<x<5"),
        ("a=2 or b=3 or c=4", "a=2, b=3, c=4"),
        ("x=2 or y=3", "x=3 or y=2"),
    ],
    "logic": [
        (r"p \lor q", r"p \land q"),
        ("p∧q", "p∨q"),
        ("p∨q", "p∧q"),
        (r"p \vee q", r"p \wedge q"),
        ("p", r"\neg p"),
        (r"\neg p", "p"),
        (r"\neg p \land q", r"p \land q"),
        (r"p \land q", r"\neg p \land q"),
        (r"\exists x, x^2>0", r"\forall x, x^2>0"),
        ("∀x∈R, x^2<0", "∃x∈R, x^2<0"),
        (r"\exists x \in \mathbb{R}, x^2 \ge 0", r"\exists x \in \mathbb{R}, x^2 < 0"),
        (r"q \Rightarrow p", r"p \Rightarrow q"),
        ("p⇐q", "p⇒q"),
        (r"p \Leftrightarrow q", r"p \Rightarrow q"),
        (r"p \Rightarrow q", r"p \Leftrightarrow q"),
        (r"p \to q", r"q \to p"),
        ("p, q", r"p \lor q"),
    ],
    "sets": [
        (r"A \cap B", r"A \cup B"),
        ("A∪B", "A∩B"),
        (r"A \supset B", r"A \subset B"),
        ("B⊆A", "A⊆B"),
        (r"A \subset B", r"A \subseteq B"),
        (r"a \notin A", r"a \in A"),
        ("a∈A", "a∉A"),
        (r"A \in B", r"A \subset B"),
        (r"B \setminus A", r"A \setminus B"),
        ("AB", r"A \cap B"),
        ("x<3", r"x \le 3"),
        ("x≥3", "x>3"),
    ],
    "geometry": [
        (r"AB \perp CD", r"AB \parallel CD"),
        ("AB∥CE", "AB∥CD"),
        ("AB=CD", "AB∥CD"),
        (r"\triangle ABC \sim \triangle DEF", r"\triangle ABC \cong \triangle DEF"),
    ],
    "vectors": [
        (r"\vec{b}\times\vec{a}", r"\vec{a}\times\vec{b}"),
        (r"\mathbf{b}\times\mathbf{a}", r"\mathbf{a}\times\mathbf{b}"),
        (r"\boldsymbol{b}\times\boldsymbol{a}", r"\boldsymbol{a}\times\boldsymbol{b}"),
        (
            r"\overrightarrow{AC}\times\overrightarrow{AB}",
            r"\overrightarrow{AB}\times\overrightarrow{AC}",
        ),
        (r"\vec{a}\cdot\vec{b}", r"\vec{a}\times\vec{b}"),
        (r"\vec b \times \vec a", r"\vec a \times \vec b"),
    ],
}


@pytest.mark.parametrize(("answer", "reference"), rows(SAME))
def test_equal_statements_are_correct(answer, reference):
    assert accepted(answer, reference)


@pytest.mark.parametrize(("answer", "reference"), rows(DIFFERENT))
def test_other_statements_are_wrong(answer, reference):
    assert not accepted(answer, reference)


@PROPERTY
@given(st.integers(1, 9), st.integers(-9, 9), st.integers(-9, 9))
def test_an_equation_may_have_a_factor_other_than_zero(slope, offset, factor):
    line = f"({slope}x-y+{offset})"
    assert correct(rf"{factor}\cdot {line}=0", f"y={slope}x+{offset}") == (factor != 0)
    assert correct(rf"({factor})(x-({offset}))=0", f"x={offset}") == (factor != 0)
