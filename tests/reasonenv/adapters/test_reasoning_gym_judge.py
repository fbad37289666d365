import sys

import pytest

import reasonenv
from reasonenv.adapters.reasoning_gym_judge import evaluate, parse
from reasonenv.errors import UsageError


@pytest.mark.parametrize("text", ["print(1)", "a", "[k for k in (1, 2)]", "(1).real", "f'{1}'"])
def test_only_literals_and_arithmetic_have_a_value(text):
    with pytest.raises(ValueError, match="is no literal"):
        evaluate(text)


def test_literals_and_arithmetic_have_their_value():
    assert evaluate("[(0x1F << 2) - 4, 'a']") == [120, "a"]


@pytest.mark.parametrize(
    "text",
    [
        *("preview(x)", "lambdify(x, x)", "open(1)", "print(x)", "S(x)", "f(x)(2)", "sin(x)(open)"),
        *("x.__class__", "__builtins__", "sin('x')", "x[0]", "[x]", "lambda: x", "x if x else 1"),
        *("sin(*x)", "sin(x, evaluate=1)", "(y := 2)", "True + 1", "b'x' + x", "sympify", "..."),
    ],
)
def test_only_formulas_are_parsed(text):
    with pytest.raises(ValueError, match="is no part of a formula"):
        parse(text)


def test_formulas_are_parsed_as_by_sympy():
    assert str(parse("2*y*sin(y) + C + pi - exp(-1)*Rational(1, 2)")) == str(
        parse("C + pi + y*sin(y)*2 - exp(-1)/2")
    )


def test_a_library_that_is_not_installed_is_one_line(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "reasoning_gym"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(UsageError, match="is a task of reasoning-gym: pip install reasoning-gym"):
        reasonenv.make("reasoning_gym/ab")
