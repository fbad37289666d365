"""Environments of reasonenv as a taskset of verifiers, which prime-rl trains and evaluates on.

verifiers finds a taskset by the name of a module of the top level, such as `my_maths.py`:

    from reasonenv.adapters.taskset import ReasonTaskset

    __all__ = ["ReasonTaskset"]

The API is that of verifiers 0.4, `verifiers.v1`: https://github.com/PrimeIntellect-ai/verifiers
"""

import asyncio
import functools
import json
from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf  # pyright: ignore[reportMissingImports] - installed by who uses it

from reasonenv.adapters.env_prompts import EnvPrompts
from reasonenv.env import make_observation
from reasonenv.messages import messages

__all__ = ["ReasonTaskset"]


@functools.lru_cache(maxsize=8)
def _prompts(arguments: str) -> EnvPrompts:
    """Those of an environment by its arguments, as which tasks travel between processes."""
    return EnvPrompts(**json.loads(arguments))


class ReasonData(vf.TaskData):
    """A problem: keywords of `reasonenv.make` as JSON, and its index."""

    arguments: str
    index: int


class ReasonTask(vf.Task[ReasonData]):
    """A problem with the rewards of its environment."""

    @vf.reward(weight=1.0)
    async def reward(self, trace: vf.Trace) -> float:
        """The reward of the environment."""
        return (await self._score(response(trace)))[0]

    @vf.metric
    async def components(self, trace: vf.Trace) -> dict[str, float]:
        """The components of the reward, unweighted."""
        return (await self._score(response(trace)))[1]

    async def validate(self, runtime: vf.Runtime) -> bool:
        """True if the reference is right against itself."""
        problem = _prompts(self.data.arguments).problems[self.data.index]
        _, components = await self._score(f"<answer>\\boxed{{{problem.answer}}}</answer>")
        return components["accuracy"] == 1.0

    async def _score(self, text: str) -> tuple[float, dict[str, float]]:
        score = _prompts(self.data.arguments).score
        # In a thread: grading waits for worker processes.
        return await asyncio.to_thread(score, self.data.index, text)


class ReasonConfig(vf.TasksetConfig):
    """The environment, in the command's options of the taskset."""

    env: str = "Figures-v2"
    """A registered name, "reasoning_gym/chain_sum" or "module:Mine-v0"."""
    split: str | None = None
    """Part of the data; the environment's own default without one."""
    data: str | None = None
    """Folder with local files; without one REASONENV_DATA, then the hub."""
    num_problems: int | None = None
    """The first ones of the split; all without one."""
    options: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it
    """Further arguments of `reasonenv.make`, such as level, prompt and rewards."""


class ReasonTaskset(vf.Taskset[ReasonTask, ReasonConfig]):
    """The problems of a split in order, each made when it is reached."""

    def load(self) -> Iterator[ReasonTask]:
        """Yields a task for each problem."""
        config = self.config
        keywords = {"id": config.env, "split": config.split, "data": config.data, **config.options}
        arguments = json.dumps(keywords)
        prompts = _prompts(arguments)
        for index in range(len(prompts.problems))[: config.num_problems]:
            problem = prompts.problems[index]
            *system, user = messages(make_observation(problem, prompts.prompt))
            data = ReasonData(
                id=problem.id,
                prompt=[vf.UserMessage(**user)],
                system_prompt=system[0]["content"] if system else None,
                arguments=arguments,
                index=index,
            )
            yield ReasonTask(data, config.task)


def response(trace: vf.Trace) -> str:
    """The last reply of the model, its reasoning in a think block where that came apart."""
    replies = [each for each in trace.messages if each.role == "assistant"]
    if not replies:
        return ""
    thoughts, text = replies[-1].reasoning_content, replies[-1].content or ""
    return f"<think>{thoughts}</think>{text}" if thoughts else text
