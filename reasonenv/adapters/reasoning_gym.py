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
import pickle
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from reasonenv.environment import Environment
from reasonenv.errors import UsageError
from reasonenv.grading import Grade
from reasonenv.problem import LazyProblems, Problem
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
_LONGEST = 10_000
"""Characters of an answer; a longer one scores 0."""


def register_task(task: str) -> None:
    """Registers a task of the library as "reasoning_gym/<task>".

    Raises:
        UsageError: The library is not installed.
        UnknownEnvironmentError: It has no such task; one line with the nearest names.
    """
    if find_spec("reasoning_gym") is None:
        raise UsageError(f"{PREFIX}{task} is a task of reasoning-gym: pip install reasoning-gym")
    from reasoning_gym.factory import DATASETS  # pyright: ignore

    if task not in DATASETS:
        near = difflib.get_close_matches(task, DATASETS, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(DATASETS)}"
        raise UnknownEnvironmentError(f"reasoning_gym has no task {task!r}: {hint}")

    def problems(split: str = "train", **settings: Any) -> TaskProblems:
        return TaskProblems(task, split, settings)

    # The parameters of an environment are those of this function.
    names = ("split", *(each.name for each in dataclasses.fields(DATASETS[task][1])))
    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    vars(problems)["__signature__"] = inspect.Signature(parameters)
    register(
        Environment(
            id=PREFIX + task,
            problems=problems,
            splits=SPLITS,
            rewards={"score": (1.0, score)},
            prompt=PROMPT,
            model="HuggingFaceTB/SmolLM2-135M-Instruct",
        )
    )


@dataclasses.dataclass(frozen=True, eq=False)
class TaskProblem(Problem):
    """A problem of a task.

    Args:
        job: What the library needs to score an answer, for `reasoning_gym_judge.judge`.
    """

    job: str = ""


class TaskProblems(LazyProblems):
    """The problems of a split of a task, made on access; pickled as its arguments.

    Args:
        task: Its name in the library.
        split: One of `SPLITS`.
        settings: Arguments of its configuration.

    Raises:
        UsageError: The configuration does not take them.
    """

    def __init__(self, task: str, split: str, settings: Mapping[str, Any]) -> None:
        from reasoning_gym import create_dataset  # pyright: ignore

        self._arguments = task, split, settings
        settings = {"seed": 0, "size": SIZE, **settings}
        for name, least in (("seed", 0), ("size", 1)):
            value = settings[name]
            if type(value) is not int or not least <= value < TEST_SEED:
                raise UsageError(f"{name}={value!r}: give an integer in [{least}, {TEST_SEED})")
        self._seed = settings["seed"] + TEST_SEED * (split == "test")
        settings["seed"] = self._seed
        self._source = pickle.dumps((task, settings))
        try:
            self._dataset: Any = create_dataset(task, **settings)
        # What the library raises for values that do not fit.
        except (AssertionError, TypeError, ValueError) as error:
            raise UsageError(f"{PREFIX}{task}: {error}") from error

    def __reduce__(self) -> tuple[Any, ...]:
        return TaskProblems, self._arguments

    def __len__(self) -> int:
        return len(self._dataset)

    def make(self, index: int, with_images: bool) -> TaskProblem:
        """The problem at an index."""
        index = self.wrap(index)
        entry, task = self._dataset[index], self._arguments[0]
        return TaskProblem(
            id=f"{task}-{self._seed + index}",
            question=entry["question"],
            answer="" if entry["answer"] is None else str(entry["answer"]),
            metadata={"task": task},
            job=base64.b64encode(pickle.dumps((self._source, entry))).decode(),
        )


def score(response: str, problem: Problem, grade: Grade) -> float:
    """The library's score of the answer, in [0, 1]; 0 without an answer, or beyond the limits."""
    if not isinstance(problem, TaskProblem):
        raise UsageError(f"problem {problem.id!r} is of no task of reasoning-gym")
    before, end, _ = response.rpartition("</answer>")
    _, start, block = before.rpartition("<answer>")
    is_block = start and end and "\\boxed" not in block
    answer = block.strip() if is_block else grade.answer
    if answer is None or len(answer) > _LONGEST:
        return 0.0
    return float(_pool().submit(answer, problem.job).result().correct)


@functools.cache
def _pool() -> WorkerPool:
    judge = "reasonenv.adapters.reasoning_gym_judge:judge"
    return WorkerPool(num_workers=1, timeout=5.0, judge=judge)
