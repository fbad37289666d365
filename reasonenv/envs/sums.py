r"""Sum-v0: long sums and a calculator of two numbers, in episodes of several turns.

Description:
    Each problem is a sum such as "47 - 12 + 6 = ?", in words alone, drawn on access. The tool
    `calc(47 - 12)` adds or subtracts two whole numbers, exactly. So a sum of n terms takes n - 1
    calls and no arithmetic, or arithmetic and no call.

Action Space: text; its last line is one call, or else it is the answer, a whole number.
Observation Space: a dict of `system`, which is empty with the prompt "plain", `question`, and
    `images`, which is empty. A reply is a number of at most 65 characters.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0; calls (weight 0).

Sizes: `terms` and `digits`, at most so many terms, from 2 on, and digits of a term, from 1 on,
    both drawn evenly; metadata has those of a problem, and its size, "3x2". 3 and 2, the default,
    are for a tiny model; 12 and 7 for real ones. An episode has as many calls as `terms`, one more
    than are needed.

Splits: "train", "test" (sums of its own) and "heldout" (whose first two terms, in this order, and
    the sign between them are of its own). No sum is in two.

Worked solutions: a line for each call and then the answer; `Toolbox.responses` divides them.

Version History:
    v0: Initial version.
"""

import operator
import random
from dataclasses import dataclass
from typing import ClassVar

from reasonenv.environment import Environment
from reasonenv.envs.families import DrawnProblems, check_split, is_in_split
from reasonenv.errors import UsageError
from reasonenv.problem import Problem
from reasonenv.tools import BadCall, Expression, Reply, Toolbox

SPLITS = ("train", "test", "heldout")
_OPERATIONS = {"+": operator.add, "-": operator.sub}


class Calculator:
    """The sum or the difference of two whole numbers."""

    name = "calc"
    usage = "calc(a + b): the sum; also a - b"

    def __call__(self, scene: object, expression: Expression) -> Reply:
        """The value of an expression of two numbers; there is no scene."""
        numbers, signs = expression
        if signs not in _OPERATIONS or float in map(type, numbers):
            raise BadCall("Two whole numbers, + or -.")
        return Reply(str(_OPERATIONS[signs](*numbers)))


@dataclass(frozen=True, kw_only=True)
class Sums(DrawnProblems):
    """Sums of one split; each a pure function of its id."""

    terms: int
    digits: int

    version: ClassVar = "sum-v0"

    def draw(self, id: str) -> Problem:
        """The problem of an id."""
        rng = random.Random(id)
        while True:
            terms, signs = self._draw(rng)
            words = _join(terms, signs)
            if is_in_split(self.split, (terms[:2], signs[:1]), words):
                break
        calls, value, digits = [], terms[0], max(len(str(term)) for term in terms)
        for sign, term in zip(signs, terms[1:], strict=True):
            calls.append(f"calc({value} {sign} {term})")
            value = _OPERATIONS[sign](value, term)
        return Problem(
            id=id,
            question=f"{words} = ?",
            answer=str(value),
            solution="\n".join([*calls, str(value)]),
            metadata={"size": f"{len(terms)}x{digits}", "terms": len(terms), "digits": digits},
        )

    def _draw(self, rng: random.Random) -> tuple[tuple[int, ...], str]:
        """Terms and the signs between them, of which no partial sum is negative."""
        count, digits = rng.randint(2, self.terms), rng.randint(1, self.digits)
        terms = tuple(rng.randrange(1, 10**digits) for _ in range(count))
        signs, value = "", terms[0]
        for term in terms[1:]:
            signs += "-" if term <= value and rng.random() < 0.5 else "+"
            value = _OPERATIONS[signs[-1]](value, term)
        return terms, signs


def _join(terms: tuple[int, ...], signs: str) -> str:
    pairs = zip(signs, terms[1:], strict=True)
    return " ".join([str(terms[0]), *(f"{sign} {term}" for sign, term in pairs)])


def problems(split: str = "train", terms: int = 3, digits: int = 2, problem_seed: int = 0) -> Sums:
    """The problems of a split of Sum-v0.

    Args:
        split: "train", "test" or "heldout".
        terms: Terms of a sum at most, from 2 to 40.
        digits: Digits of a term at most, from 1 to 20.
        problem_seed: Chooses another sequence of problems.

    Raises:
        UsageError: An argument is out of range.
    """
    for name, value, low, high in (("terms", terms, 2, 40), ("digits", digits, 1, 20)):
        if not isinstance(value, int) or not low <= value <= high:
            raise UsageError(f"{name} is {value!r}: give a whole number from {low} to {high}")
    check_split("Sum-v0", SPLITS, split)
    return Sums(
        split=split,
        level=f"{terms}x{digits}",
        problem_seed=problem_seed,
        families=(),
        is_whole_level=True,
        terms=terms,
        digits=digits,
    )


def tools(terms: int = 3) -> Toolbox:
    """The calculator, with a call more than the longest sum needs."""
    return Toolbox(tools=[Calculator()], max_calls=terms, max_characters=100)


def model(terms: int = 3) -> str:
    """The tiny model for short sums, a small text model for long ones."""
    return "tiny-tools" if terms <= 3 else "Qwen/Qwen2.5-0.5B-Instruct"


ENVIRONMENT = Environment(id="Sum-v0", problems=problems, splits=SPLITS, tools=tools, model=model)
