"""The problems of an environment in the words in which it asks them, for other trainers' data."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from PIL import Image

import reasonenv
from reasonenv.messages import placed
from reasonenv.problem import Problem
from reasonenv.prompts import Asking
from reasonenv.registration import find


@dataclass(frozen=True)
class Said:
    """One problem as it is asked."""

    problem: Problem
    system: str
    texts: list[str]
    """The words before, between and after the images."""
    images: list[Image.Image]
    """In the order in which they stand between the words."""


@dataclass(frozen=True)
class Asked(Sequence[Said]):
    """Problems of an environment as they are asked; none is read before it is wanted.

    Travels to another process as a name and arguments.

    Args:
        id: A registered name.
        split: Part of the data; None for the environment's own default.
        data: Folder with local files; None for `REASONENV_DATA`, then the hub.
        options: Further arguments of `reasonenv.make`.
    """

    id: str
    split: str | None
    data: str | os.PathLike[str] | None
    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Raises what `reasonenv.make` raises, where the mistake is made."""
        _ = self._made

    def __reduce__(self) -> tuple[Any, ...]:
        """Leaves open files behind."""
        return Asked, (self.id, self.split, self.data, dict(self.options))

    @property
    def name(self) -> str:
        """Of the environment, as it is registered."""
        return find(self.id).id

    def __len__(self) -> int:
        return len(self._made[0])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        problems, prompt = self._made
        problem = problems[index]
        system, question = prompt.ask(problem)
        texts, order = placed(question, len(problem.images))
        images = [Image.fromarray(problem.images[number]) for number in order]
        return Said(problem, system, texts, images)

    @cached_property
    def _made(self) -> tuple[Sequence[Problem], Asking]:
        env = reasonenv.make(self.id, split=self.split, data=self.data, **self.options)
        made = env.get_wrapper_attr("problems"), env.get_wrapper_attr("instruction")
        env.close()
        return made
