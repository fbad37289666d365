"""Families of figures, each a function that draws an exercise, and the problems they pose."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.resources import files
from typing import Any, ClassVar

from reasonenv.envs.diagrams.scene import WIDTH, Scene
from reasonenv.envs.diagrams.style import Style, draw_style
from reasonenv.envs.families import DrawnProblems, checksum
from reasonenv.problem import LazyProblems, Problem

Answer = int | Fraction | str
_WORDING = json.loads(
    files("reasonenv.envs.diagrams").joinpath("wording.json").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Exercise:
    """An exercise: what a figure shows and asks for, up to its style and wording.

    Args:
        operands: Numbers, words, or tuples of them, that determine it.
        answer: By exact arithmetic; a fraction that terminates is shown as a decimal.
        steps: A worked solution in a few sentences, which contains the answer.
        draw: Adds strokes and labels to an empty scene; called again where labels collide.
        words: What the question names; without the figure it must not tell the answer.
        key: The same for exercises of one split, those with the same solution at least; None for
            the operands.
    """

    operands: tuple[Any, ...]
    answer: Answer
    steps: str
    draw: Callable[[Scene], None]
    words: tuple[object, ...] = ()
    key: object = None


@dataclass(frozen=True)
class Family:
    """One kind of figure with one kind of question.

    Args:
        name: Of the function.
        sample: Function of a source of randomness and a level from 1 to 5 to an exercise.
        questions: Wordings, in which {0} is the first of the words; the last is for "heldout".
        height: Of its pictures in points, of which they are 448 wide; a multiple of 28.
        needs_options: True if the question is always a multiple choice.
    """

    name: str
    sample: Callable[[random.Random, int], Exercise]
    questions: Sequence[str]
    height: int
    needs_options: bool

    def split_of(self, exercise: Exercise) -> str:
        """The one split that poses it: a tenth of the keys is for "test", another for "heldout"."""
        key = exercise.operands if exercise.key is None else exercise.key
        return {0: "test", 1: "heldout"}.get(checksum(self.name, key) % 10, "train")

    def draw(self, split: str, level: int, rng: random.Random) -> Exercise:
        """An exercise of a split.

        Raises:
            ValueError: When the family seems to have none for the split.
        """
        for _ in range(10_000):
            if self.split_of(exercise := self.sample(rng, level)) == split:
                return exercise
        raise ValueError(f"family {self.name!r} has too few operands for a split {split!r}")

    def choice(
        self, split: str, level: int, rng: random.Random
    ) -> tuple[Exercise, tuple[Answer, ...]]:
        """An exercise of a multiple choice, and its four options in any order.

        The options are neighbours among the answers of many exercises, and any of these four
        is the one that is posed: without the figure each option is as likely as the others,
        where four answers are found to one question.
        """
        draws = [self.draw(split, level, rng) for _ in range(200)]
        same = {each.answer: each for each in draws if each.words == draws[0].words}
        by_answer = same if len(same) > 3 else {each.answer: each for each in draws[:40]}
        ordered = sorted(by_answer, key=lambda answer: (isinstance(answer, str), answer))
        first = rng.randint(0, max(0, len(ordered) - 4))
        options = ordered[first : first + 4]
        rng.shuffle(options)
        return by_answer[rng.choice(options)], tuple(options)

    def scene(self, exercise: Exercise, style: Style, rng: random.Random) -> Scene:
        """The first scene whose labels are clear; after some attempts they become smaller.

        Raises:
            ValueError: When there is none.
        """
        for attempt in range(60):
            scene = Scene(style, rng, self.height, zoom=1 - max(0, attempt - 20) / 100)
            exercise.draw(scene)
            if scene.is_clear():
                return scene
        raise ValueError(f"family {self.name!r} has no clear figure for {exercise.operands}")


FAMILIES: dict[str, Family] = {}
"""Every registered family by its name."""


def family(
    questions: Sequence[str] | None = None, height: int = WIDTH, needs_options: bool = False
) -> Callable[[Callable[[random.Random, int], Exercise]], Callable[..., Exercise]]:
    """Registers a function of rng and level to an exercise, under its own name: a decorator.

    Args:
        questions: Wordings; None for those of this package, in wording.json.
        height: Of its pictures in points.
        needs_options: True if the question is always a multiple choice.
    """

    def register(sample: Callable[[random.Random, int], Exercise]) -> Callable[..., Exercise]:
        name = sample.__name__
        wordings = tuple(questions or _WORDING[name]["questions"])
        FAMILIES[name] = Family(name, sample, wordings, height, needs_options)
        return sample

    return register


def text_of(answer: Answer) -> str:
    """An answer in words: a terminating decimal as one, any other fraction as 2/3."""
    if isinstance(answer, Fraction) and 1000 % answer.denominator == 0:
        return f"{float(answer):.15g}"
    return str(answer)


def linear(factor: int | Fraction, rest: int, term: str = "x") -> str:
    """Factor times term plus rest in the usual notation, such as "2x - 3", "-x" or "5"."""
    if factor == 0:
        return str(rest)
    scale = f"({factor})" if "/" in str(factor) else str(factor)
    scale = {"1": "", "-1": "-"}.get(scale, scale)
    tail = f" {'+' if rest > 0 else '-'} {abs(rest)}" if rest else ""
    return f"{scale}{term}{tail}"


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
        *usual, held_out = family.questions
        wording = held_out if self.split == "heldout" else rng.choice(usual)
        problem = Problem(
            id=id,
            question=" ".join((wording.format(*exercise.words), *lettered)),
            answer=answer,
            options=options,
            solution=f"<think>{exercise.steps}</think><answer>\\boxed{{{answer}}}</answer>",
            metadata={"family": family.name, "level": self.level, "operands": exercise.operands},
        )
        return problem, family.scene(exercise, draw_style(self.split, rng), rng)


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
