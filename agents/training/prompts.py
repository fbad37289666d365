"""Prompts of a run's problems, of which too long ones are left out."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from agents.engines import RolloutEngine
from agents.engines.chat import Chat, split_at_images
from agents.engines.sampling import check_prompt_lengths
from agents.errors import PromptLengthError, UsageError
from agents.rollout import Prompt
from reasonenv.datasets.selection import Subset, listed, without_images
from reasonenv.errors import DataError

Observations = Mapping[str, Sequence[Any]]
ROUNDS = 20
"""Times that problems of a batch are replaced before too long prompts are an error."""
LARGEST = 100_000
"""Problems beyond which a split is drawn by program, and not looked through before training."""


def encode(
    envs: Any, sampler: RolloutEngine, observations: Observations, max_length: int | None = None
) -> tuple[Observations, tuple[Prompt, ...]]:
    """Observations of `envs` and their prompts, with others in place of those that are too long.

    Args:
        envs: Vector environment.
        sampler: Knows the context of the model.
        observations: Current ones of `envs`.
        max_length: Of a prompt, in tokens; None for the context alone.

    Raises:
        PromptLengthError: Most prompts are too long.
    """
    longest = math.inf if max_length is None else max_length
    for rounds in itertools.count():
        try:
            prompts = sampler.encode(observations)
            check_prompt_lengths(prompts, longest, f"exceeds --max-prompt-length {max_length}")
            break
        except PromptLengthError as error:
            if rounds == ROUNDS:
                raise
            observations = envs.leave_out(error.reasons)
    return observations, prompts


def keep_short_problems(envs: Any, chat: Chat, max_length: int | None) -> list[str]:
    """Takes problems whose words alone exceed `max_length` tokens from `envs`; lines on them."""
    problems, lines = envs.problems, {}
    for index in range(len(problems) if max_length and len(problems) <= LARGEST else 0):
        try:
            problem = without_images(problems, index)
            system, question = envs.instruction.ask(problem)
            words = "".join(split_at_images(question, LARGEST)[0])
            prompts = chat.encode({"system": [system], "question": [words], "images": [()]})
            limit = f"of problem {problem.id!r} exceeds --max-prompt-length {max_length}"
            check_prompt_lengths(prompts, max_length or math.inf, limit)
        except (DataError, PromptLengthError) as error:
            lines[index] = str(error)
    if not lines:
        return []
    if len(lines) == len(problems):
        raise UsageError(f"no problem is left: {lines[0]}")
    envs.problems = Subset(problems, [i for i in range(len(problems)) if i not in lines])
    title = f"left out: {len(lines)} of {len(problems)} problems"
    return [title, *listed(list(lines.values()))]
