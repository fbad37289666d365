"""A problem: words, images and the reference answer."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

_EMPTY: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Problem:
    """One mathematics problem and all that is known about it.

    Only `question` or `query`, and `images`, ever reach an observation.

    Args:
        id: Its name, the same in every run: the data set's own where there is one.
        question: The question in words, without any instruction about the form of the response.
            "<image 1>" marks where the first image stands; without a mark it stands before them.
        answer: The reference answer; a letter when `options` are given.
        images: Figures in the order of the question, each [height, width, 3] uint8, RGB.
        options: Texts of a multiple choice in the order A, B, C, ..., without their letters.
        query: The question in the words of its benchmark, with their instruction, where it has any.
        solution: A worked solution to learn from, where there is one.
        metadata: Whatever else the source says: subject, level, family, ...
    """

    id: str
    question: str
    answer: str
    images: tuple[np.ndarray, ...] = ()
    options: tuple[str, ...] = ()
    query: str | None = None
    solution: str | None = None
    metadata: Mapping[str, object] = field(default_factory=lambda: _EMPTY)


Problems = Sequence[Problem]


def answer_text(value: object) -> str:
    """A data set's answer as text: 27.0 and "027" are "27", other texts are unchanged."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).strip()
    return str(int(text)) if re.fullmatch(r"[0-9]+", text) else text
