"""A problem: words, images and the reference answer."""

import operator
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, overload

import numpy as np

from reasonenv.errors import DataError
from reasonenv.pixels import is_rgb, rgb

LONGEST = 2**23
"""Characters of a question: more than any model reads, and tokenizers take all memory for more."""
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which UTF-8 cannot encode."""
_EMPTY: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Problem:
    """One mathematics problem with its reference answer and metadata.

    Of these, an observation holds `question` or `query`, and `images`, alone.

    Args:
        id: Its stable id: the data set's own where there is one.
        question: The question in words, without any instruction about the form of the response.
            `<image 1>` marks the place of the first image; unmarked images precede the text.
        answer: The reference answer; a letter when `options` are given.
        images: Figures in the order of the question, each [height, width, 3] uint8, RGB; PIL images
            and other arrays are converted, see `pixels.rgb`.
        options: Texts of a multiple choice in the order A, B, C, ..., without their letters.
        query: The benchmark's own prompt, question and instruction, where it has one.
        solution: A worked solution to learn from, where there is one.
        metadata: Further columns of the data set: subject, level, family, ...
        kind: Kind of the answer, one of `reasonenv.grading.KINDS`; None for the grader to guess.
        scene: What tools see of the problem, see `reasonenv.tools`; None for the images.

    Raises:
        DataError: Question or answer is no text, or an image is none.
    """

    id: str
    question: str
    answer: str
    images: tuple[np.ndarray, ...] = ()
    options: tuple[str, ...] = ()
    query: str | None = None
    solution: str | None = None
    metadata: Mapping[str, object] = field(default_factory=lambda: _EMPTY)
    kind: str | None = None
    scene: object = None

    def __post_init__(self) -> None:
        for name in ("question", "answer"):
            if not isinstance(value := getattr(self, name), str) or _SURROGATE.search(value):
                raise DataError(
                    f"problem {self.id!r}: {name} is {value!r:.40}: give a text of Unicode"
                )
        if len(self.question) > LONGEST:
            raise DataError(
                f"problem {self.id!r}: the question has more than {LONGEST:,} characters"
            )
        if isinstance(self.images, tuple) and all(map(is_rgb, self.images)):
            return  # the same tuple, by which equal prompts are recognised
        try:
            object.__setattr__(self, "images", tuple(map(rgb, self.images)))
        except (DataError, OSError, SyntaxError) as error:  # Pillow reads a file when it is needed
            raise DataError(f"problem {self.id!r}: {error}") from None


Problems = Sequence[Problem]


class LazyProblems(Sequence[Problem]):
    """Problems made on access: a subclass defines `__len__` and `make`."""

    is_drawn: ClassVar[bool] = False
    """True where each takes work and no file: those of a next step are made during sampling."""

    @abstractmethod
    def make(self, index: int, with_images: bool) -> Problem:
        """The problem at an index, which may be negative or out of range; see `wrap`.

        Args:
            index: Of the problem.
            with_images: False to leave images out that would have to be read.
        """

    @overload
    def __getitem__(self, index: int) -> Problem: ...
    @overload
    def __getitem__(self, index: slice) -> list[Problem]: ...
    def __getitem__(self, index: int | slice) -> Problem | list[Problem]:
        if isinstance(index, slice):
            return [self.make(i, True) for i in range(*index.indices(len(self)))]
        return self.make(operator.index(index), True)

    def __iter__(self) -> Iterator[Problem]:
        return (self.make(index, True) for index in range(len(self)))

    def without_images(self, index: int) -> Problem:
        """A problem without its images, where they need not be read."""
        return self.make(index, with_images=False)

    def wrap(self, index: int) -> int:
        """The index itself, or counted from the end where it is negative.

        Raises:
            IndexError: For an index out of range.
        """
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range: there are {len(self)}")
        return index % len(self)


def answer_text(value: object) -> str:
    """A data set's answer as text: 27.0 and "027" are "27", other texts are unchanged."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).strip()
    return text.lstrip("0") or "0" if re.fullmatch(r"[0-9]+", text) else text
