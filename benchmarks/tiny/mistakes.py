"""Worked solutions of Sum-v0 and Zoom-v0 with mistakes, for reinforcement learning to unlearn."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from reasonenv.envs.zoom import Plan, call
from reasonenv.problem import LazyProblems, Problem


@dataclass(frozen=True)
class Mistaken(LazyProblems):
    """Problems with solutions some of which are wrong, each a function of the problem's id.

    Args:
        problems: Of Sum-v0 or Zoom-v0.
        slip: Probability of a mistake in a call: a number one too small, or the room beside. What
            follows is right for that call.
        guess: Probability of the right answer without a call, which the model may not be able to
            know.
        waste: Probability of a call where none is needed.
    """

    problems: Sequence[Problem]
    slip: float
    guess: float
    waste: float

    def __len__(self) -> int:
        return len(self.problems)

    def make(self, index: int, with_images: bool) -> Problem:
        """The problem at an index."""
        problem = self.problems[index]
        rng = random.Random(f"mistakes {problem.id}")
        if rng.random() < (self.guess if self._needs_tool(problem) else 1 - self.waste):
            return replace(problem, solution=problem.answer)
        solve = _of_plan if isinstance(problem.scene, Plan) else _of_sum
        return replace(problem, solution=solve(problem, rng, self.slip))

    def _needs_tool(self, problem: Problem) -> bool:
        return bool(problem.metadata.get("is_tool_needed", True))


def _of_sum(problem: Problem, rng: random.Random, slip: float) -> str:
    first, *rest = re.findall(r"[-+] [0-9]+|[0-9]+", problem.question)
    value, lines = int(first), []
    for part in rest:
        sign, term = part[0], int(part[2:]) - (rng.random() < slip)
        lines.append(f"calc({value} {sign} {term})")
        value += term if sign == "+" else -term
    return "\n".join([*lines, str(value)])


def _of_plan(problem: Problem, rng: random.Random, slip: float) -> str:
    plan = problem.scene
    assert isinstance(plan, Plan)
    colors = [room.color for room in plan.rooms]
    index = colors.index(str(problem.metadata["color"])) ^ (rng.random() < slip)
    return f"{call(plan, index)}\n{plan.rooms[index].number}"
