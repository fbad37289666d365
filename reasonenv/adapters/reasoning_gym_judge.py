"""The scorers of reasoning-gym in a worker process, without the code of an answer.

Some scorers pass the answer to `eval`, or to sympy's `parse_expr`, which calls it: answers are code
there. Here `eval` computes literals and arithmetic alone, and `parse_expr` reads formulas of
numbers, symbols and well-known functions alone; anything else is an error, which the scorers count
as a wrong answer. Time and memory are those of the worker.
"""

import ast
import base64
import builtins
import contextlib
import functools
import importlib
import pickle
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import sympy
from sympy.parsing import sympy_parser

with contextlib.suppress(ModuleNotFoundError):  # before the first fork, where it is installed
    importlib.import_module("reasoning_gym")

WARM_UP = ()
"""No pairs of answers warm this judge up."""

_ARITHMETIC = (ast.Expression, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
_LITERALS = (*_ARITHMETIC, ast.List, ast.Tuple, ast.Load)
_FORMULA = (*_ARITHMETIC, ast.Name, ast.Call, ast.Load)
_CONSTANTS = frozenset({"E", "I", "pi"})
_FUNCTIONS = frozenset(
    {
        *("sin", "cos", "tan", "sec", "csc", "cot", "asin", "acos", "atan"),
        *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
        *("exp", "log", "ln", "sqrt", "Abs", "erf", "Rational", "Integer"),
    }
)


def judge(answer: str, job: str) -> tuple[float, str]:
    """The library's score of an answer and its status.

    Args:
        answer: Text of a model.
        job: Pickled settings and entry of a `TaskProblem`, in base64; from this package alone.
    """
    settings, entry = pickle.loads(base64.b64decode(job))
    dataset = _dataset(settings)
    try:
        return float(dataset.score_answer(answer, entry)), "ok"
    except MemoryError:
        return 0.0, "memory"
    # Some scorers raise for an answer that they cannot read.
    except Exception:
        return 0.0, "unparseable"


@functools.lru_cache(maxsize=16)
def _dataset(settings: bytes) -> Any:
    from reasoning_gym import create_dataset  # pyright: ignore

    task, arguments = pickle.loads(settings)
    dataset = create_dataset(task, **arguments)
    _guard(sys.modules[type(dataset).__module__])
    return dataset


def _guard(module: ModuleType) -> None:
    """Replaces `eval` and `parse_expr` as a module of the library sees them."""
    names = {name: parse for name, value in vars(module).items() if value is _parse_expr}
    vars(module).update(names, eval=evaluate)
    for package in (sympy, sympy_parser):
        vars(package)["parse_expr"] = parse


def evaluate(text: str) -> Any:
    """The value of literals and arithmetic on them; ValueError or SyntaxError for anything else."""
    tree = ast.parse(text.strip(), mode="eval")
    for node in ast.walk(tree):
        if not isinstance(node, _LITERALS):
            raise ValueError(f"{type(node).__name__} is no literal")
    return eval(compile(tree, "<answer>", "eval"), {"__builtins__": {}})


_parse_expr = sympy_parser.parse_expr


def parse(text: str, local_dict: dict[str, Any] | None = None, **arguments: Any) -> Any:
    """A formula by sympy's `parse_expr`; ValueError or SyntaxError for anything else."""
    for node in ast.walk(ast.parse(text.strip(), mode="eval")):
        _check_formula(node, local_dict or {})
    return _parse_expr(text, local_dict=local_dict, **arguments)


def _check_formula(node: ast.AST, symbols: Mapping[str, Any]) -> None:
    is_allowed = isinstance(node, _FORMULA)
    if isinstance(node, ast.Constant):
        is_allowed = type(node.value) in (int, float)
    elif isinstance(node, ast.Call):
        is_allowed = isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
    elif isinstance(node, ast.Name):
        is_known = hasattr(sympy, node.id) or hasattr(builtins, node.id) or "__" in node.id
        is_allowed = node.id in (*symbols, *_CONSTANTS, *_FUNCTIONS) or not is_known
    if not is_allowed:
        raise ValueError(f"{ast.unparse(node):.60} is no part of a formula")
