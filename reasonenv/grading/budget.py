"""Budget of one grading in the caller's process: operations, counted and not timed.

An operation is about a microsecond of work: a node visited, a token parsed, eight characters read.
Whatever can grow with an answer spends here, in the loop or the recursion that grows. A cached
result costs what its computation did, so that no verdict depends on an earlier one.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from math import inf
from typing import TypeVar, TypeVarTuple

MAX_OPERATIONS = 50_000
"""Operations of one grading at most; ordinary answers take fewer than a tenth of them."""
_CHARACTERS = 8

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")


class OverBudget(Exception):  # noqa: N818 - a property of a pair, not a program's error
    """The grading of a pair takes more operations than its budget has."""


class Budget:
    """Operations that may be spent, and those spent so far."""

    __slots__ = ("limit", "spent")

    def __init__(self, limit: float) -> None:
        self.limit, self.spent = limit, 0


# Of the current thread or task; without one, nothing limits the operations.
_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def budgeted(limit: float) -> Iterator[Budget]:
    """A budget for the operations of the block, of this thread or task alone."""
    budget = Budget(limit)
    token = _budget.set(budget)
    try:
        yield budget
    finally:
        _budget.reset(token)


def spend(operations: int) -> None:
    """Counts operations.

    Raises:
        OverBudget: There are more than the budget has.
    """
    budget = _budget.get()
    if budget is not None:
        budget.spent += operations
        if budget.spent > budget.limit:
            raise OverBudget


def spend_on_text(text: str) -> None:
    """Counts the operations of reading a text once with each of a few dozen patterns."""
    spend(1 + len(text) // _CHARACTERS)


def counted_cache(maxsize: int) -> Callable[[Callable[[*_Ts], _T]], Callable[[*_Ts], _T]]:
    """An `lru_cache` that spends at each call what the result cost when it was computed."""

    def decorate(function: Callable[[*_Ts], _T]) -> Callable[[*_Ts], _T]:
        @lru_cache(maxsize)
        def computed(*args: *_Ts) -> tuple[_T, int]:
            outer = _budget.get()
            budget = Budget(inf if outer is None else outer.limit - outer.spent)
            token = _budget.set(budget)
            try:
                return function(*args), budget.spent
            finally:
                _budget.reset(token)

        @wraps(function)
        def cached(*args: *_Ts) -> _T:
            value, cost = computed(*args)
            spend(cost)
            return value

        return cached

    return decorate
