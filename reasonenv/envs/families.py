"""Problems drawn by program, and the choice of their families by level and name."""

import zlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from reasonenv.errors import UsageError
from reasonenv.problem import LazySequence, Problem

AnyFamily = TypeVar("AnyFamily")


@dataclass(frozen=True, kw_only=True)
class DrawnProblems(LazySequence[Problem]):
    """Problems of one split and level drawn by program, each a pure function of its id.

    Any index from 0 on is a problem; the length only says where one pass over them ends.

    Args:
        split: Name of the split.
        level: Number of the level.
        problem_seed: Chooses another sequence of problems.
        families: Families to draw from, which have names.
        is_whole_level: True if these are all that the level has.
    """

    split: str
    level: int
    problem_seed: int
    families: tuple[Any, ...]
    is_whole_level: bool

    version: ClassVar[str]
    """First part of the ids, such as "figures-v2"."""

    @property
    def source(self) -> str:
        """The ids up to the index; they name the families where these are not all of the level."""
        names = "" if self.is_whole_level else ":" + "+".join(each.name for each in self.families)
        return f"{self.version}/{self.level}{names}/{self.split}/{self.problem_seed}"

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


def choose_families(
    environment: str,
    families: Mapping[int, Mapping[str, AnyFamily]],
    level: int,
    names: Sequence[str] | None,
) -> dict[str, Any]:
    """The level, the families of some names, or all of them for None, and whether these are all.

    Args:
        environment: Its id, for messages.
        families: By level and name.
        level: Number of the level.
        names: Names to choose.

    Returns:
        Arguments of `DrawnProblems`.

    Raises:
        UsageError: In one line, for an unknown level or name, a text instead of a list, or an
            empty list.
    """
    if level not in families:
        *others, last = map(str, families)
        raise UsageError(
            f"level {level!r} of {environment} is unknown: take {', '.join(others)} or {last}"
        )
    of_level = families[level]
    if isinstance(names, str):
        raise UsageError(f"families is {names!r}: give a list of names")
    names = tuple(of_level) if names is None else tuple(names)
    for name in names:
        if name not in of_level:
            source = f"level {level} of {environment}"
            raise UsageError(f"family {name!r} is not in {source}: take of {', '.join(of_level)}")
    if not names:
        raise UsageError("families is empty: name at least one, or leave it out for all")
    chosen = tuple(of_level[name] for name in names)
    return {"level": level, "families": chosen, "is_whole_level": names == tuple(of_level)}


def check_split(environment: str, split: str, splits: Sequence[str]) -> str:
    """The split itself.

    Raises:
        UsageError: The environment does not have it.
    """
    if split not in splits:
        raise UsageError(
            f"split {split!r} of {environment} is unknown: take one of {', '.join(splits)}"
        )
    return split
