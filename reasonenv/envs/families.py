"""Problems drawn by program, and the choice of their families by level and name."""

import zlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TypeVar

from reasonenv.errors import UsageError
from reasonenv.problem import LazySequence, Problem

AnyFamily = TypeVar("AnyFamily")


class DrawnProblems(LazySequence[Problem]):
    """Problems drawn by program, each a pure function of its id.

    Any index from 0 on is a problem; the length only says where one pass over them ends.
    """

    @property
    @abstractmethod
    def source(self) -> str:
        """First part of the ids, with all that chooses problems but the index."""

    @abstractmethod
    def draw(self, id: str) -> Problem:
        """The problem of an id."""

    def __len__(self) -> int:
        return 1_000_000

    def item(self, index: int) -> Problem:
        """The problem at an index from 0 on."""
        if index < 0:
            raise IndexError(f"problem {index} of {type(self).__name__}: indices start at 0")
        return self.draw(f"{self.source}/{index}")


def checksum(*parts: object) -> int:
    """A checksum that is the same in every process and on every machine."""
    return zlib.crc32(repr(parts).encode())


def check_split_and_level(
    environment: str, split: str, splits: Sequence[str], level: int, levels: Sequence[int]
) -> None:
    """Raises UsageError for a split or a level that an environment does not have."""
    if split not in splits:
        raise UsageError(
            f"split {split!r} of {environment} is unknown: take one of {', '.join(splits)}"
        )
    if level not in levels:
        *others, last = map(str, levels)
        raise UsageError(
            f"level {level!r} of {environment} is unknown: take {', '.join(others)} or {last}"
        )


def choose_families(
    families: Mapping[str, AnyFamily], names: Sequence[str] | None, source: str
) -> tuple[AnyFamily, ...]:
    """The families of some names, or all of them for None.

    Args:
        families: Families of a level.
        names: Names to choose.
        source: Name of the level for messages, such as "level 1 of Figures-v2".

    Raises:
        UsageError: In one line, for an unknown name, a text instead of a list, or an empty list.
    """
    if isinstance(names, str):
        raise UsageError(f"families is {names!r}: give a list of names")
    names = tuple(families) if names is None else names
    for name in names:
        if name not in families:
            raise UsageError(f"family {name!r} is not in {source}: take of {', '.join(families)}")
    if not names:
        raise UsageError("families is empty: name at least one, or leave it out for all")
    return tuple(families[name] for name in names)
