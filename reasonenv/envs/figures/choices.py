"""Multiple choice: four options, one of them right, or none where an answer is open."""

import random
from fractions import Fraction

LETTERS = "ABCD"


def sample_options(answer: int, unit: int, rng: random.Random) -> tuple[int, ...]:
    """The answer among three other values within three units of it, none of them negative."""
    near = [answer + unit * distance for distance in (-3, -2, -1, 1, 2, 3)]
    options = [answer, *rng.sample([value for value in near if value >= 0], 3)]
    rng.shuffle(options)
    return tuple(options)


def written(answer: int | Fraction, options: tuple[int, ...]) -> str:
    """The answer, or the letter of the nearest option where there are any."""
    lettered = zip(LETTERS, options, strict=False)
    return min(lettered, key=lambda option: abs(option[1] - answer), default=(str(answer),))[0]


def with_options(question: str, options: tuple[int, ...]) -> str:
    """The question, followed by its lettered options where there are any."""
    lettered = (f"({letter}) {value}" for letter, value in zip(LETTERS, options, strict=False))
    return " ".join((question, *lettered))
