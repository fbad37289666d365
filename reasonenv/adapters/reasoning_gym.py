"""Tasks of reasoning-gym as environments; the library itself poses and scores them.

    reasonenv.make("reasoning_gym/chain_sum", min_terms=3, max_terms=5)

The arguments are those of the task's configuration in the library, `seed` and `size` included. The
library draws the problem at an index from `seed + index`; the split "test" has the same
configuration from the seed `seed + TEST_SEED` on. A finite task, or one with few different
questions, poses some of them in both splits.

`score`, the library's `score_answer` in [0, 1], is the reward; it takes any right answer where
there are several, and gives partial credit as the library does. `accuracy` is by the grader of this
package, against the one answer that the library names. The answer is the last answer block of the
response; without one, or with a box in it, it is the answer that the grader finds.

The scorers run in a worker process with limits on time and memory, see `reasoning_gym_judge`.

    https://github.com/open-thought/reasoning-gym, Apache-2.0, version 0.1.25
"""

import base64
import dataclasses
import difflib
import functools
import inspect
import os
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from reasonenv.environment import Environment
from reasonenv.errors import UsageError
from reasonenv.grading import Grade
from reasonenv.problem import LazySequence, Problem
from reasonenv.prompts import Instruction
from reasonenv.registration import UnknownEnvironmentError, register
from reasonenv.workers import WorkerPool

PREFIX = "reasoning_gym/"
SPLITS = ("train", "test")
SIZE = 10_000
"""Problems of a split, unless the argument `size` says otherwise; `word_ladder` has few more."""
TEST_SEED = 1_000_000_000
"""Distance of the seeds of the two splits."""
PROMPT = Instruction(
    system="Think first, between <think> and </think>. Then give the answer alone, in the form "
    "that the question asks for, between <answer> and </answer>."
)
_MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"
_LONGEST = 10_000
"""Characters of an answer; a longer one scores 0."""


def register_task(task: str) -> None:
    """Registers a task of the library as "reasoning_gym/<task>".

    Raises:
        UsageError: The library is not installed.
        UnknownEnvironmentError: It has no such task; one line with the nearest names.
    """
    tasks = _tasks(task)
    if task not in tasks:
        near = difflib.get_close_matches(task, tasks, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(tasks)}"
        raise UnknownEnvironmentError(f"reasoning_gym has no task {task!r}: {hint}")
    register(
        Environment(
            id=PREFIX + task,
            problems=_loader(task, tasks[task][1]),
            splits=SPLITS,
            rewards={"score": (1.0, score)},
            prompt=PROMPT,
            model=_MODEL,
        )
    )


def _tasks(task: str) -> Mapping[str, Any]:
    """The library's tasks: name -> classes of data set and configuration."""
    try:
        from reasoning_gym.factory import DATASETS  # pyright: ignore
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "reasoning_gym":
            raise
        raise UsageError(
            f"{PREFIX}{task} is a task of reasoning-gym: pip install reasoning-gym"
        ) from None
    return DATASETS


def _loader(task: str, config: type) -> Callable[..., "TaskProblems"]:
    """The function `problems` of a task, whose parameters are the fields of its configuration."""

    def problems(split: str = "train", **settings: Any) -> TaskProblems:
        return TaskProblems(task, split, settings)

    names = ("split", *(each.name for each in dataclasses.fields(config)))
    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    vars(problems)["__signature__"] = inspect.Signature(parameters)
    return problems


@dataclass(frozen=True, eq=False)
class TaskProblem(Problem):
    """A problem of a task, with what the library needs to score an answer.

    Args:
        settings: Name of the task and its configuration, pickled.
        entry: The library's own problem.
    """

    settings: bytes = b""
    entry: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TaskProblems(LazySequence[TaskProblem]):
    """The problems of a split of a task, made on access.

    Args:
        task: Its name in the library.
        split: One of `SPLITS`.
        settings: Arguments of its configuration.

    Raises:
        UsageError: The configuration does not take them.
    """

    task: str
    split: str
    settings: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Raises the errors of the configuration at once."""
        _ = self._dataset

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the arguments alone."""
        return TaskProblems, (self.task, self.split, self.settings)

    def __len__(self) -> int:
        return len(self._dataset)

    def item(self, index: int) -> TaskProblem:
        """The problem at an index."""
        index = self.wrap(index)
        entry = self._dataset[index]
        answer = entry["answer"]
        return TaskProblem(
            id=f"{self.task}-{self._arguments['seed'] + index}",
            question=entry["question"],
            answer="" if answer is None else str(answer),
            metadata={"task": self.task},
            settings=pickle.dumps((self.task, self._arguments)),
            entry=entry,
        )

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        """The settings, with the seed of the split."""
        arguments = {"seed": 0, "size": SIZE, **self.settings}
        for name, least in (("seed", 0), ("size", 1)):
            value = arguments[name]
            if type(value) is not int or not least <= value < TEST_SEED:
                raise UsageError(f"{name}={value!r}: give an integer in [{least}, {TEST_SEED})")
        return {**arguments, "seed": arguments["seed"] + TEST_SEED * (self.split == "test")}

    @cached_property
    def _dataset(self) -> Any:
        from reasoning_gym import create_dataset  # pyright: ignore

        try:
            return create_dataset(self.task, **self._arguments)
        # What the library raises for values that do not fit.
        except (AssertionError, TypeError, ValueError) as error:
            raise UsageError(f"{PREFIX}{self.task}: {error}") from error


def score(response: str, problem: Problem, grade: Grade) -> float:
    """The library's score of the answer, in [0, 1]; 0 without an answer, or beyond the limits."""
    if not isinstance(problem, TaskProblem):
        raise UsageError(f"problem {problem.id!r} is of no task of reasoning-gym")
    answer = _answer(response, grade)
    if answer is None or len(answer) > _LONGEST:
        return 0.0
    job = base64.b64encode(pickle.dumps((problem.settings, problem.entry))).decode()
    return float(_pool().submit(answer, job).result().correct)


def _answer(response: str, grade: Grade) -> str | None:
    before, end, _ = response.rpartition("</answer>")
    _, start, block = before.rpartition("<answer>")
    return block.strip() if start and end and "\\boxed" not in block else grade.answer


@functools.cache
def _pool() -> WorkerPool:
    judge = "reasonenv.adapters.reasoning_gym_judge:judge"
    return WorkerPool(num_workers=1, timeout=5.0, judge=judge)


# A forked child has none of the pool's threads.
os.register_at_fork(after_in_child=_pool.cache_clear)
