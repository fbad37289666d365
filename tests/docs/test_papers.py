"""The index of papers: every name in it exists, and nothing public is missing."""

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

from agents.algorithms import ALGORITHMS, module_of
from agents.learner import Learner

ROOT = Path(__file__).parents[2]
FILES = {path.stem: path for path in (ROOT / "tests").rglob("test_*.py")}
TEXT = (ROOT / "docs/papers.md").read_text()
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ") and "`" in line]
FUNCTIONS = sorted({name for row in ROWS for name in re.findall(r"`(\w+\.\w+)`", row)})
PROOFS = sorted({name for row in ROWS for name in re.findall(r"`(\w+::\w+)`", row)})
MATHEMATICS = (
    *("advantages", "corrections", "distillation", "divergences", "losses", "reductions", "views"),
)


@cache
def functions_of(file):
    tree = ast.parse(FILES[file].read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def public(module):
    """Functions and classes of a module."""
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == module.__name__
    }


def learners():
    """The module and name of each learner of the package that can be trained."""
    for algorithm in ALGORITHMS:
        module = importlib.import_module(module_of(algorithm))
        for name in public(module):
            value = getattr(module, name)
            is_learner = inspect.isclass(value) and issubclass(value, Learner)
            if is_learner and not inspect.isabstract(value):
                yield f"{algorithm}.{name}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_the_index_exists(name):
    module, function = name.split(".")
    assert function in public(importlib.import_module(module_of(module)))


@pytest.mark.parametrize("name", PROOFS)
def test_a_proof_of_the_index_exists(name):
    file, test = name.split("::")
    assert test in functions_of(file)


def test_each_row_has_an_equation_a_function_and_a_proof():
    for row in ROWS:
        equation, functions, proofs = row.strip("|").split("|")
        assert equation.strip()
        assert re.fullmatch(r" `\w+\.\w+`(, `\w+\.\w+`)* ", functions)
        assert re.fullmatch(r" `\w+::\w+`(, `\w+::\w+`)* ", proofs)


@pytest.mark.parametrize("module", MATHEMATICS)
def test_no_public_function_of_the_mathematics_is_missing(module):
    names = public(importlib.import_module(f"agents.{module}"))
    assert {f"{module}.{name}" for name in names} <= set(FUNCTIONS)


def test_no_learner_is_missing():
    assert set(learners()) <= set(FUNCTIONS)
