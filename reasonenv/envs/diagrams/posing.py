"""The problems of Diagrams-v0: exercises of its families, in words and pixels."""

import random
from dataclasses import dataclass, replace
from typing import ClassVar

from reasonenv.envs.diagrams.family import Exercise, Family, text_of
from reasonenv.envs.diagrams.scene import Scene
from reasonenv.envs.diagrams.style import draw_style
from reasonenv.envs.families import DrawnProblems
from reasonenv.problem import LazyProblems, Problem


@dataclass(frozen=True, kw_only=True)
class Diagrams(DrawnProblems):
    """Problems of one split and level; each a pure function of its id, but for its size.

    Args:
        weights: How often each family is posed, relative to the others.
        size: Pixels from the left to the right of an image.
        multiple_choice: True for four options each.
    """

    families: tuple[Family, ...]
    weights: tuple[float, ...]
    size: int
    multiple_choice: bool

    version: ClassVar = "diagrams-v0"

    @property
    def source(self) -> str:
        """The ids up to the index, with all that chooses the problem."""
        pairs = zip(self.families, self.weights, strict=True)
        names = "+".join(each.name if by == 1 else f"{by:g}*{each.name}" for each, by in pairs)
        names = "" if self.is_whole_level else f":{names}"
        choice = "/choice" if self.multiple_choice else ""
        return f"{self.version}/{self.level}{names}{choice}/{self.split}/{self.problem_seed}"

    def draw(self, id: str) -> Problem:
        """The problem of an id."""
        problem, scene = self.compose(id)
        return replace(problem, images=(scene.pixels(self.size),))

    def compose(self, id: str) -> tuple[Problem, Scene]:
        """The problem of an id without its image, and the scene that becomes the image."""
        rng = random.Random(id)
        family = rng.choices(self.families, self.weights)[0]
        draw = self.split, self.level, rng
        if self.multiple_choice or family.needs_options:
            exercise, answers = family.choice(*draw)
        else:
            exercise, answers = family.draw(*draw), ()
        right = exercise.answer
        answer = "ABCD"[answers.index(right)] if answers else text_of(right)
        options = tuple(map(text_of, answers))
        lettered = (f"({letter}) {text}" for letter, text in zip("ABCD", options, strict=False))
        problem = Problem(
            id=id,
            question=" ".join((self._ask(family, exercise, rng), *lettered)),
            answer=answer,
            options=options,
            solution=f"<think>{exercise.steps}</think><answer>\\boxed{{{answer}}}</answer>",
            metadata={"family": family.name, "level": self.level, "operands": exercise.operands},
        )
        return problem, family.scene(exercise, draw_style(self.split, rng), rng)

    def _ask(self, family: Family, exercise: Exercise, rng: random.Random) -> str:
        *usual, held_out = family.questions
        wording = held_out if self.split == "heldout" else rng.choice(usual)
        return wording.format(*exercise.words)


@dataclass(frozen=True)
class Levels(LazyProblems):
    """Problems of several levels in turn: number i is of the level i mod n of n.

    A curriculum draws those of a level by their numbers.
    """

    parts: tuple[LazyProblems, ...]

    is_drawn: ClassVar = True

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def make(self, index: int, with_images: bool) -> Problem:
        """The problem at an index from 0 on."""
        place, part = divmod(index, len(self.parts))
        return self.parts[part].make(place, with_images)
