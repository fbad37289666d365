"""Problems drawn by program, and the choice of their families by level and name."""

import zlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from reasonenv.errors import UsageError
from reasonenv.problem import LazyProblems, Problem


@dataclass(frozen=True, kw_only=True)
class DrawnProblems(LazyProblems):
    """Problems of one split and level drawn by program, each a pure function of its id.

    Any index from 0 on is a problem; the length only says where one pass over them ends.

    Args:
        split: Name of the split.
        level: Number of the level, or its name.
        problem_seed: Chooses another sequence of problems.
        families: Families to draw from, which have names.
        is_whole_level: True if these are all that the level has.
    """

    split: str
    level: Any
    problem_seed: int
    families: tuple[Any, ...]
    is_whole_level: bool

    is_drawn: ClassVar = True
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

    def make(self, index: int, with_images: bool) -> Problem:
        """The problem at an index from 0 on."""
        if index < 0:
            raise IndexError(f"problem {index} of {type(self).__name__}: indices start at 0")
        return self.draw(f"{self.source}/{index}")


def checksum(*parts: object) -> int:
    """A checksum that is the same in every process and on every machine."""
    return zlib.crc32(repr(parts).encode())


def is_in_split(split: str, fact: object, problem: object) -> bool:
    """True if a problem is of a split, for all seeds: no problem is in two of them.

    Args:
        split: "train", "test" or "heldout".
        fact: What the problem rests on; one in ten, by a checksum, is for "heldout" alone.
        problem: All that is drawn; one in nine of the others is for "test".
    """
    if checksum(fact) % 10 == 0:
        return split == "heldout"
    return split == ("test" if checksum(problem) % 9 == 0 else "train")


def check_split(environment: str, splits: Sequence[str], split: str) -> None:
    """Raises UsageError where an environment does not have a split."""
    if split not in splits:
        raise UsageError(
            f"split {split!r} of {environment} is unknown: take one of {', '.join(splits)}"
        )


def choose(
    environment: str,
    splits: Sequence[str],
    levels: Mapping[int, Mapping[str, Any]],
    split: str,
    level: int,
    names: Sequence[str] | None,
) -> dict[str, Any]:
    """Split, level and families of drawn problems, as arguments of `DrawnProblems`.

    Args:
        environment: Its id, for messages.
        splits: Those that it has.
        levels: Families by level and name.
        split: Name of the split.
        level: Number of the level.
        names: Of the families; None for all of the level.

    Raises:
        UsageError: In one line, for an unknown split, level or name, a text instead of a list, or
            an empty list.
    """
    check_split(environment, splits, split)
    if level not in levels:
        choices = ", ".join(map(str, levels))
        raise UsageError(f"level {level!r} of {environment} is unknown: take one of {choices}")
    families = levels[level]
    if isinstance(names, str):
        raise UsageError(f"families is {names!r}: give a list of names")
    names = tuple(families) if names is None else tuple(names)
    for name in names:
        if name not in families:
            source = f"level {level} of {environment}"
            raise UsageError(f"family {name!r} is not in {source}: take of {', '.join(families)}")
    if not names:
        raise UsageError("families is empty: name at least one, or leave it out for all")
    return {
        "split": split,
        "level": level,
        "families": tuple(families[name] for name in names),
        "is_whole_level": names == tuple(families),
    }
