"""Rewards: pure functions of a response, its problem and its grade, and their weighted sum.

They are selected by name, with weights, here as on the command line (`--env-options`):

    reasonenv.make("MMK12-v0", rewards={"accuracy": 1.0, "format": 0.5, "repetition": 0.1})
    reasonenv.make("MMK12-v0", rewards={"accuracy": 1.0, "repetition": {"weight": 0.1, "n": 4}})
    reasonenv.make("MMK12-v0", unjudged=-0.5)   # the environment's own, and this without a verdict
    reasonenv.make("MMK12-v0", rewards={"accuracy": 1.0, "mine:brief": 0.2})   # of your module
    reasonenv.make("MMK12-v0", rewards={"accuracy": 1.0, "brief": (0.2, brief)})

A function is called as f(response, problem, grade), or, if it has a parameter `completions`, in the
form of TRL's trainers, for all responses of a step at once; see `batch_rewards.BatchReward`.

A reward is a number in [0, 1], or in the `bounds` that the function has as an attribute. None means
that it does not apply to a response: it is left out of the sum, and NaN in `infos`.
"""

import difflib
import importlib
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, cast

from reasonenv.batch_rewards import Answered, BatchReward, as_reward
from reasonenv.console import warn
from reasonenv.errors import RewardError, UsageError
from reasonenv.grading import Grade
from reasonenv.mm_eureka import mm_eureka
from reasonenv.problem import Problem

Reward = Callable[[str, Problem, Grade], float | None]
Rewards = Mapping[str, tuple[float, Reward]]

# Largest reward in size: in float32, in which trainers compute, the squares of many are finite.
_LARGEST = 1e15
_WARNED: set[str] = set()
_TAGS = ("<think>", "</think>", "<answer>", "</answer>")
# Words between white space; of Chinese, which has none, single characters.
_WORD = re.compile(r"[\u4e00-\u9fff]|[^\s\u4e00-\u9fff]+")


def accuracy(response: str, problem: Problem, grade: Grade) -> float:
    """1 when the final answer is right, else 0."""
    return float(grade.correct)


def has_verdict(grade: Grade) -> bool:
    """True if an answer was compared, or there was no answer."""
    return grade.status in ("ok", "no_answer")


def unjudged(response: str, problem: Problem, grade: Grade) -> float:
    """1 when there is no verdict on the answer, else 0.

    Such an answer does not parse, or its comparison ran out of time or memory or ended in an
    error. Its accuracy is 0, so its reward is the weight of this component.
    """
    return float(not has_verdict(grade))


def calls(response: str, problem: Problem, grade: Grade) -> float:
    """Number of calls in an episode, bad ones counted; a negative weight makes it their price."""
    return float(cast("int", problem.metadata.get("calls", 0)))


calls.bounds = (0.0, math.inf)  # pyright: ignore[reportFunctionMemberAccess]


def think_answer_format(response: str, problem: Problem, grade: Grade) -> float:
    """1 when the response is one think block and then one answer block, else 0.

    Each of the four tags occurs exactly once, only white space stands between the blocks, and
    neither block is empty. Text before the first tag or after the last is allowed.

    The format reward of the code released with CPGD, unweighted.
    """
    return float(in_think_answer_format(response))


def in_think_answer_format(response: str) -> bool:
    """True if a response is one think block and then one answer block."""
    if any(response.count(tag) != 1 for tag in _TAGS):
        return False
    thoughts, _, rest = response.partition("<think>")[2].partition("</think>")
    gap, _, rest = rest.partition("<answer>")
    answer, end, _ = rest.partition("</answer>")
    return bool(end and thoughts.strip() and answer.strip()) and not gap.strip()


@dataclass(frozen=True)
class Penalty:
    """A reward of 0 or less, of the text of a response alone.

    Args:
        of: The penalty of a text, or of what `measure` gives; picklable, so that the reward is.
        measure: Of a text, such as its length.
    """

    of: Callable[[Any], float]
    measure: Callable[[str], Any] = str

    bounds: ClassVar = (-math.inf, 0.0)

    def __call__(self, response: str, problem: Problem, grade: Grade) -> float:
        """The penalty of the response."""
        return self.of(self.measure(response))


def overlong_penalty(length: float, max_length: float, buffer: float) -> float:
    """0 up to max_length - buffer, -1 from max_length on, and a line in between.

    The unit of the three is the caller's. A trainer can add this penalty in tokens to the
    rewards of an environment, which has no tokens.

    Yu et al., DAPO (arXiv:2503.14476), eq. 13.

    Args:
        length: Length of the response.
        max_length: Length from which on the penalty is -1.
        buffer: Length over which it grows, in (0, max_length].

    Raises:
        UsageError: When the buffer is not within the length.
    """
    if not 0 < buffer <= max_length:
        raise UsageError(f"buffer={buffer} is not in (0, max_length={max_length}]")
    return -min(1.0, max(0.0, (length - (max_length - buffer)) / buffer))


def overlong(max_length: int, buffer: int, length: Callable[[str], int] = len) -> Penalty:
    """`overlong_penalty` of the text of a response.

    Args:
        max_length: In the unit of `length`, by default characters.
        buffer: In the same unit.
        length: Length of a text; with a tokenizer's, the penalty is the paper's.
    """
    overlong_penalty(0, max_length, buffer)
    return Penalty(partial(overlong_penalty, max_length=max_length, buffer=buffer), length)


def repetition_penalty(text: str, n: int = 3, max_penalty: float = -1.0) -> float:
    """max_penalty times the share of a text's n-grams of words that are repetitions.

    0 for a text of fewer than n words; linear in its length.

    Yeo et al., Demystifying Long Chain-of-Thought Reasoning in LLMs (arXiv:2502.03373),
    appendix C.2, in the form of TRL's get_repetition_penalty_reward, which counts tokens.

    Args:
        text: Words are separated by white space; every Chinese character is a word.
        n: Words of an n-gram, at least 1.
        max_penalty: At most 0.

    Raises:
        UsageError: When n or max_penalty is out of range.
    """
    if n < 1 or max_penalty > 0:
        raise UsageError(f"n={n}, max_penalty={max_penalty}: at least 1 and at most 0 are needed")
    words = _WORD.findall(text)
    total = len(words) - n + 1
    if total < 1:
        return 0.0
    num_distinct = len(set(zip(*(words[start:] for start in range(n)), strict=False)))
    return max_penalty * (1 - num_distinct / total) if num_distinct < total else 0.0


def repetition(n: int = 3, max_penalty: float = -1.0) -> Penalty:
    """`repetition_penalty` of a response, in [max_penalty, 0]."""
    repetition_penalty("", n, max_penalty)
    return Penalty(partial(repetition_penalty, n=n, max_penalty=max_penalty))


# Reported for every environment, also where they are no part of its reward.
_REPORTED: Mapping[str, Reward] = {"accuracy": accuracy, "format": think_answer_format}
_FUNCTIONS: Mapping[str, Reward] = {
    **_REPORTED,
    "think_answer_format": think_answer_format,
    "mm_eureka": mm_eureka,
    "unjudged": unjudged,
}
_WITH_ARGUMENTS = {"overlong": overlong, "repetition": repetition}


def total(
    rewards: Rewards, response: str, problem: Problem, grade: Grade
) -> tuple[float, dict[str, float]]:
    """The weighted sum of `rewards`, and every component unweighted; see `totals`."""
    return totals(rewards, [(problem, response, grade)])[0]


def totals(rewards: Rewards, answered: Sequence[Answered]) -> list[tuple[float, dict[str, float]]]:
    """The weighted sum of `rewards` for each response, and every component unweighted.

    Accuracy and format are among the components even where they carry no weight. A component that
    is None is NaN among them and left out of the sum, which is 0 where all are.

    Raises:
        RewardError: In one line, for a component that is no finite number.
    """
    functions = {**_REPORTED, **{name: reward for name, (_, reward) in rewards.items()}}
    columns = {name: _values(name, reward, answered) for name, reward in functions.items()}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [(_sum(rewards, parts), parts) for parts in rows]


def _values(name: str, reward: Reward, answered: Sequence[Answered]) -> list[float]:
    if isinstance(reward, BatchReward):
        values = reward.of(answered)
    else:
        values = (reward(response, problem, grade) for problem, response, grade in answered)
    pairs = zip(values, answered, strict=True)
    return [_number(name, reward, value, problem) for value, (problem, _, _) in pairs]


def _sum(rewards: Rewards, parts: Mapping[str, float]) -> float:
    pairs = ((weight, parts[name]) for name, (weight, _) in rewards.items())
    return sum((weight * part for weight, part in pairs if not math.isnan(part)), 0.0)


def _number(name: str, reward: Reward, value: Any, problem: Problem) -> float:
    """The value of a reward as a float, NaN for None, with a warning of one out of bounds."""
    if value is None and name not in _REPORTED:
        return math.nan
    try:
        number = math.nan if isinstance(value, str | bytes) else float(cast("float", value))
    except OverflowError:  # of an integer, of which Python may refuse to write the digits
        number = value = math.inf
    except (TypeError, ValueError, RuntimeError):  # the last one of a tensor
        number = math.nan
    where = f"reward {name!r} of problem {problem.id!r} is"
    if not abs(number) <= _LARGEST:
        raise RewardError(
            f"{where} {value!r:.60}: give a finite number, or None where it does not apply"
        )
    low, high = getattr(reward, "bounds", (0.0, 1.0))
    if not low - 1e-6 <= number <= high + 1e-6 and name not in _WARNED:
        _WARNED.add(name)
        warn(f"{where} {number:g}, which is not in [{low:g}, {high:g}], its `bounds`")
    return number


def maximum(rewards: Rewards) -> float:
    """The total of a right answer with every other component at its maximum of 1.

    Penalties are 0 at best, and a right answer has a verdict.
    """
    return sum(
        max(weight, 0.0)
        for weight, reward in rewards.values()
        if not isinstance(reward, Penalty) and reward is not unjudged
    )


def by_name(choice: Mapping[str, Any], own: Rewards | None = None) -> Rewards:
    """Rewards by their names and weights.

    Args:
        choice: Name -> weight; or -> {"weight": 1.0, ...} with arguments of the reward; or
            -> (weight, function) for a reward of your own, in one of the forms of this module.
            "module:function" is one too, called by the name of the function.
        own: Rewards of an environment, which take precedence over those of this module.

    Raises:
        UsageError: In one line, for a name, a weight or an argument that does not fit.
    """
    if not isinstance(choice, Mapping) or not choice:
        raise UsageError(f"rewards={choice!r}: give names and weights, such as {{'accuracy': 1.0}}")
    rewards = {str(name): _weighted(name, value, own or {}) for name, value in choice.items()}
    names = [name.rpartition(":")[2] for name in rewards]
    if len(set(names)) < len(names):
        raise UsageError(f"rewards {', '.join(rewards)}: give functions different names")
    return dict(zip(names, rewards.values(), strict=True))


def _weighted(name: str, value: Any, own: Rewards) -> tuple[float, Reward]:
    if isinstance(value, tuple):
        weight, reward = value
    else:
        arguments = dict(value) if isinstance(value, Mapping) else {"weight": value}
        weight = arguments.pop("weight", 1.0)
        reward = _build(name, arguments, own)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
        raise UsageError(f"reward {name!r} has weight {weight!r}: a finite number is needed")
    if weight < 0 and isinstance(reward, Penalty):
        raise UsageError(f"reward {name!r} is 0 or less: weight {weight} would pay for it")
    return float(weight), as_reward(name, reward)


def _build(name: str, arguments: dict[str, Any], own: Rewards) -> Reward:
    functions = {**_FUNCTIONS, **{key: function for key, (_, function) in own.items()}}
    if ":" in name:
        functions[name] = _imported(name)
    if name in functions:
        if arguments:
            raise UsageError(f"reward {name!r} takes no argument {next(iter(arguments))!r}")
        return functions[name]
    if name not in _WITH_ARGUMENTS:
        names = {*functions, *_WITH_ARGUMENTS}
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(names))}"
        raise UsageError(f"no reward is called {name!r}: {hint}")
    try:
        inspect.signature(_WITH_ARGUMENTS[name]).bind(**arguments)
    except TypeError as error:
        raise UsageError(f"reward {name!r}: {error}") from error
    return _WITH_ARGUMENTS[name](**arguments)


def _imported(name: str) -> Any:
    module, _, function = name.rpartition(":")
    hint = "run in its folder, or add the folder to PYTHONPATH"
    if module.endswith(".py"):
        hint = f"write {module.removesuffix('.py')}:{function}"
    absent = UsageError(f"reward {name!r}: no module is called {module!r}: {hint}")
    if not all(part.isidentifier() for part in module.split(".")):
        raise absent
    try:
        reward = getattr(importlib.import_module(module), function, None)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise  # of a module that this one imports
        raise absent from None
    if not callable(reward):
        raise UsageError(f"reward {name!r}: module {module!r} has no function {function!r}")
    return reward
