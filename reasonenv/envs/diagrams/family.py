"""Families of figures, their registry, and the problems drawn from them."""

import random
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from reasonenv.envs.diagrams.scene import WIDTH, Scene
from reasonenv.envs.diagrams.style import Style, draw_style
from reasonenv.envs.families import DrawnProblems, checksum
from reasonenv.problem import LazyProblems, Problem

LEVELS = (1, 2, 3, 4, 5)
SPLITS = ("train", "test", "heldout")

Operands = tuple[Any, ...]
"""What determines a problem up to its style and wording: numbers, words, or tuples of them."""
Answer = int | Fraction | str


class Solution(NamedTuple):
    """The answer of a problem, and the way to it in a few sentences."""

    answer: Answer
    steps: str


class Family(ABC):
    """One kind of figure with one kind of question; its instances hold no state.

    The first line of its docstring says what is drawn and asked, the rest what each level changes.
    """

    name: ClassVar[str]
    questions: ClassVar[tuple[str, ...]]
    """Wordings, in which {0} is the first of `words`; the last one is for "heldout" alone."""
    asks: ClassVar[tuple[str, ...]] = ()
    """What each level asks for, if the operands begin with the level: {1} is the operand after."""
    height: ClassVar[int] = WIDTH
    """Of the picture in points, of which it is 448 wide; a multiple of 28."""
    needs_options: ClassVar[bool] = False
    """True if the question is always a multiple choice."""

    @abstractmethod
    def sample(self, rng: random.Random, level: int) -> Operands:
        """Operands of a new problem of a level from 1 to 5."""

    @abstractmethod
    def draw(self, scene: Scene, operands: Operands) -> None:
        """Adds strokes and labels to an empty scene, which is drawn again if labels collide."""

    @abstractmethod
    def solve(self, operands: Operands) -> Solution:
        """The answer, by exact arithmetic, with a worked solution."""

    def words(self, operands: Operands) -> Operands:
        """What the question names; without its figure it must not tell the answer."""
        return (self.asks[operands[0] - 1].format(*operands),) if self.asks else operands

    def canonical(self, operands: Operands) -> Operands:
        """The same for operands that belong to one split: those of the same problem at least."""
        return operands


FAMILIES: dict[str, Family] = {}
"""Every registered family by its name."""


def register(kind: type[Family]) -> type[Family]:
    """Registers a family by its name: a decorator of the class."""
    FAMILIES[kind.name] = kind()
    return kind


def split_of(family: Family, operands: Operands) -> str:
    """The one split that poses these operands: a tenth is for "test", a tenth for "heldout"."""
    place = checksum(family.name, family.canonical(operands)) % 10
    return {0: "test", 1: "heldout"}.get(place, "train")


def draw_operands(family: Family, split: str, level: int, rng: random.Random) -> Operands:
    """Operands of a split.

    Raises:
        ValueError: When the family seems to have no operands for the split.
    """
    for _ in range(10_000):
        operands = family.sample(rng, level)
        if split_of(family, operands) == split:
            return operands
    raise ValueError(f"family {family.name!r} has too few operands for a split {split!r}")


def compose(family: Family, operands: Operands, style: Style, rng: random.Random) -> Scene:
    """The first scene whose labels are clear; after some attempts they become smaller.

    Raises:
        ValueError: When there is none.
    """
    for attempt in range(60):
        scene = Scene(style, rng, family.height, zoom=1 - 0.02 * max(0, attempt - 20) / 2)
        family.draw(scene, operands)
        if scene.is_clear():
            return scene
    raise ValueError(f"family {family.name!r} has no clear figure for {operands}")


def draw_choice(
    family: Family, split: str, level: int, rng: random.Random
) -> tuple[Operands, tuple[Answer, ...]]:
    """Operands of a multiple choice, and its four options in any order.

    The options are neighbours among the answers of many problems, and any of these four problems
    is the one that is posed: without the figure each option is as likely as the others.
    """
    candidates = [draw_operands(family, split, level, rng) for _ in range(40)]
    by_answer = {family.solve(operands).answer: operands for operands in candidates}
    ordered = sorted(by_answer, key=lambda answer: (isinstance(answer, str), answer))
    first = rng.randint(0, max(0, len(ordered) - 4))
    options = ordered[first : first + 4]
    rng.shuffle(options)
    return by_answer[rng.choice(options)], tuple(options)


def asking(quantity: str = "{0}") -> tuple[str, ...]:
    """Wordings of a family that asks for a quantity, or for one of its `words`."""
    return (
        f"What is {quantity}?",
        f"Find {quantity}.",
        f"Look at the figure and work out {quantity}.",
        f"Use the figure to determine {quantity}.",
    )


def text_of(answer: Answer) -> str:
    """An answer in words: a terminating decimal as one, any other fraction as 2/3."""
    if isinstance(answer, Fraction) and 1000 % answer.denominator == 0:
        return f"{float(answer):g}"
    return str(answer)


@dataclass(frozen=True, kw_only=True)
class Diagrams(DrawnProblems):
    """Problems of one split and level; each a pure function of its id, the rest sizes alone.

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
        names = "+".join(
            family.name if weight == 1 else f"{weight:g}*{family.name}"
            for family, weight in zip(self.families, self.weights, strict=True)
        )
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
        if self.multiple_choice or family.needs_options:
            operands, options = draw_choice(family, self.split, self.level, rng)
        else:
            operands, options = draw_operands(family, self.split, self.level, rng), ()
        answer, steps = family.solve(operands)
        result = "ABCD"[options.index(answer)] if options else text_of(answer)
        texts = tuple(map(text_of, options))
        lettered = (f"({letter}) {text}" for letter, text in zip("ABCD", texts, strict=False))
        problem = Problem(
            id=id,
            question=" ".join((self._ask(family, operands, rng), *lettered)),
            answer=result,
            options=texts,
            solution=f"<think>{steps}</think><answer>\\boxed{{{result}}}</answer>",
            metadata={"family": family.name, "level": self.level, "operands": operands},
        )
        return problem, compose(family, operands, draw_style(self.split, rng), rng)

    def _ask(self, family: Family, operands: Operands, rng: random.Random) -> str:
        *usual, held_out = family.questions
        wording = held_out if self.split == "heldout" else rng.choice(usual)
        return wording.format(*family.words(operands))


@dataclass(frozen=True)
class Levels(LazyProblems):
    """Problems of several levels in turn: number i is of the level i mod n of n.

    A curriculum draws those of a level by their numbers.
    """

    parts: tuple[LazyProblems, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def make(self, index: int, with_images: bool) -> Problem:
        """The problem at an index from 0 on."""
        place, part = divmod(index, len(self.parts))
        return self.parts[part].make(place, with_images)
