"""The prompts of an environment, for the data sets of other trainers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from PIL import Image

import reasonenv
from reasonenv.messages import split_at_images
from reasonenv.problem import LazySequence, Problem
from reasonenv.prompts import PromptTemplate
from reasonenv.registration import find


@dataclass(frozen=True)
class ProblemPrompt:
    """The prompt of a problem."""

    problem: Problem
    system: str
    texts: list[str]
    """The texts before, between and after the images."""
    images: list[Image.Image]
    """In their order between the texts."""


@dataclass(frozen=True)
class EnvPrompts(LazySequence[ProblemPrompt]):
    """The prompts of an environment's problems, made on access.

    Pickled as a name and arguments.

    Args:
        id: A registered name.
        split: Part of the data; None for the environment's own default.
        data: As in `reasonenv.make`: a folder with local files, or your questions.
        options: Further arguments of `reasonenv.make`.
    """

    id: str
    split: str | None
    data: Any
    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Raises the errors of `reasonenv.make` at once."""
        _ = self._content

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the arguments, without open files."""
        return EnvPrompts, (self.id, self.split, self.data, dict(self.options))

    @property
    def name(self) -> str:
        """Registered id of the environment."""
        return find(self.id).id

    def __len__(self) -> int:
        return len(self._content[0])

    def item(self, index: int) -> ProblemPrompt:
        """The prompt of the problem at an index."""
        problems, prompt = self._content
        problem = problems[index]
        system, question = prompt.ask(problem)
        texts, order = split_at_images(question, len(problem.images))
        images = [Image.fromarray(problem.images[number]) for number in order]
        return ProblemPrompt(problem, system, texts, images)

    @cached_property
    def _content(self) -> tuple[Sequence[Problem], PromptTemplate]:
        env = reasonenv.make(self.id, split=self.split, data=self.data, **self.options)
        content = env.get_wrapper_attr("problems"), env.get_wrapper_attr("instruction")
        env.close()
        return content
