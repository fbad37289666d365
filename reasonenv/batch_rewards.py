"""Reward functions in the form of TRL's trainers, which read all responses of a step at once."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from reasonenv.errors import RewardError, UsageError
from reasonenv.grading import Grade
from reasonenv.messages import conversation
from reasonenv.problem import Problem

Answered = tuple[Problem, str, Grade]
"""A problem, a response to it, and its grade."""
_BY_NAME = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True)
class BatchReward:
    """A function `f(prompts, completions, **columns) -> list[float | None]` as a reward.

    It is called by keywords. `prompts` are the questions and `completions` the responses, each a
    list with one message, as of a data set of conversations. The columns, of which it gets those
    that it names, or all with `**columns`, are `answer`, `solution` (the worked one, else the
    answer), `options`, `kind`, `problem_id`, and the metadata of the problems.

    Source: docs/source/grpo_trainer.md of TRL 1.16, "Using a custom reward function".
    """

    function: Callable[..., Sequence[float | None]]

    bounds: ClassVar = (float("-inf"), float("inf"))

    def __call__(self, response: str, problem: Problem, grade: Grade) -> float | None:
        """The reward of one response alone."""
        return self.of([(problem, response, grade)])[0]

    def of(self, answered: Sequence[Answered]) -> list[float | None]:
        """The reward of each response.

        Raises:
            UsageError: The function needs a column that there is not.
            RewardError: It does not return a value for each response.
        """
        columns, name = _columns(answered), getattr(self.function, "__name__", str(self.function))
        parameters = inspect.signature(self.function).parameters.values()
        names = [each.name for each in parameters if each.kind in _BY_NAME]
        needed = {each.name for each in parameters if each.default is each.empty} & {*names}
        if missing := needed - columns.keys():
            raise UsageError(
                f"reward {name!r} needs the column {min(missing)!r}: there are "
                f"{', '.join(columns)}; a column of your own questions is named by "
                f"columns={{'metadata': [{min(missing)!r}]}}"
            )
        if not any(each.kind is each.VAR_KEYWORD for each in parameters):
            columns = {key: value for key, value in columns.items() if key in names}
        values = self.function(**columns)
        if not hasattr(values, "__len__") or len(values) != len(answered):
            raise RewardError(
                f"reward {name!r} gave {values!r:.60}: give a list of {len(answered)} numbers, one "
                "for each completion, or None where it does not apply"
            )
        return list(values)


def as_reward(name: str, function: Any) -> Any:
    """The function itself, or a `BatchReward` of one with a parameter `completions`.

    Raises:
        UsageError: It has neither form.
    """
    try:
        signature = inspect.signature(function)
        if "completions" in signature.parameters:
            return BatchReward(function)
        signature.bind("response", "problem", "grade")
    except ValueError:  # of C, without a signature
        return function
    except TypeError as error:
        raise UsageError(
            f"reward {name!r}: {error}: give a function of response, problem and grade that "
            "returns a number, or one of completions and columns that returns a list, as TRL's"
        ) from None
    return function


def _columns(answered: Sequence[Answered]) -> Mapping[str, list[Any]]:
    """What TRL gives a reward function, by keyword, for each response."""
    problems = [problem for problem, _, _ in answered]
    metadata = dict.fromkeys(name for problem in problems for name in problem.metadata)
    return {name: [problem.metadata.get(name) for problem in problems] for name in metadata} | {
        "prompts": [conversation("", problem.question) for problem in problems],
        "completions": [[{"role": "assistant", "content": text}] for _, text, _ in answered],
        "answer": [problem.answer for problem in problems],
        "solution": [problem.solution or problem.answer for problem in problems],
        "options": [list(problem.options) for problem in problems],
        "kind": [problem.kind for problem in problems],
        "problem_id": [problem.id for problem in problems],
    }
