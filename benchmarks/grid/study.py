"""What a study is: cells, each a command, and the seeds that each is run with."""

import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType

from agents.errors import UsageError

NAMES = (
    "stability/pilot",
    "stability/figure1",
    "stability/below",
    "ablations/table2",
    "ablations/form",
    "ablations/bounds",
    "rpg/rate",
    "rpg/divergences",
    "rpg/weighting",
    "rpg/clips",
    "rpg/references",
    "rpg/off_policy",
    "recent/figures",
    "mismatch/staleness",
    "tools/sums",
    "tools/zoom",
    "tools/price",
)
"""All studies, in the order in which `all` runs them: the first chooses numbers of the others."""
RATE = "RATE"
"""Stands in a study for the learning rate that `stability/pilot` chooses."""
BELOW = "BELOW"
"""Stands for the next smaller rate of that pilot."""
OPTIMIZER = """--optimizer-options '{"weight_decay": 0.01, "epsilon": 1e-8}'"""
"""What AdamW had when the records were made: flags of every run of theirs, which took steps without
a signal besides."""
BRIEF = "BRIEF"
"""Stands for a folder with a tiny model after a warm start of seconds."""
TEACHER = "TEACHER"
"""Stands for a model that is trained longer than those of the cells, by `TEACHING`."""
TEACHING = (
    *("agents.grpo", "--num-steps", "200", "--num-prompts", "16", "--minibatch-size", "8"),
    *("--learning-rate", "1e-4", "--num-test-problems", "200", "--seed", "100"),
)


@dataclass(frozen=True)
class Cell:
    """An algorithm with its hyper-parameters."""

    name: str
    """In tables and pictures."""
    command: str
    """What `python -m` runs, such as 'agents.grpo --beta None'."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """Cells that differ in what is asked about, and in nothing else."""

    name: str
    """That of its module, such as 'stability/figure1'."""
    question: str
    """What it asks, in a line."""
    cells: tuple[Cell, ...]
    common: str
    """Flags of every cell; those of a cell win."""
    seeds: tuple[int, ...]
    pairs: tuple[tuple[str, str], ...]
    """Names of cells that are compared, chosen before anything is run."""
    pilot: bool = False
    """Whether it chooses a number of others, and so has no seeds but its own."""


@dataclass(frozen=True)
class Task:
    """One run: a cell with a seed."""

    name: str
    """Of the cell."""
    seed: int
    words: tuple[str, ...]
    """What `python -m` runs, but for where it writes."""

    @property
    def key(self) -> str:
        """The same for equal commands but for the seed, in whatever order their flags stand."""
        flags = {flag: value for flag, value in _flags(self.words[1:]) if flag != "--seed"}
        if flags.pop("--optimizer-options", None):
            flags |= {"--weight-decay": "0.01", "--adam-epsilon": "1e-8"}
        flags["--step-without-signal"] = ""  # of the kept records, which release 0.2.0 made
        told = json.dumps([self.words[0], flags], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:10]

    @property
    def stem(self) -> str:
        """Of its files; the cell's name is for people alone."""
        slug = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")
        return f"{slug}-{self.key}-seed{self.seed}"

    @property
    def command(self) -> str:
        """As it may be typed."""
        return shlex.join(("python", "-m", *self.words))

    def flag(self, name: str, default: str) -> str:
        """The value of a flag."""
        return dict(_flags(self.words[1:])).get(name, default)


def against(name: str, cells: Iterable[Cell]) -> tuple[tuple[str, str], ...]:
    """Pairs of one cell with each of the others."""
    return tuple((name, cell.name) for cell in cells if cell.name != name)


def find(name: str) -> Study:
    """A study by its name.

    Raises:
        UsageError: There is none.
    """
    if name not in NAMES:
        raise UsageError(f"no study is called {name!r}: there are {', '.join(NAMES)}")
    return import_module(f"benchmarks.{name.replace('/', '.')}").STUDY


def tasks(
    study: Study,
    seeds: Sequence[int],
    extra: Sequence[str] = (),
    rates: Mapping[str, str] = MappingProxyType({}),
) -> list[Task]:
    """The runs of a study, seed by seed, so that what is done at any moment is balanced.

    Args:
        study: Whose cells.
        seeds: Of the runs.
        extra: Flags that win over those of the cells.
        rates: What stands in the places of `RATE` and `BELOW`, which stay where it is not given.
    """
    common = shlex.split(study.common)
    found = []
    for seed in seeds:
        for cell in study.cells:
            module, *own = shlex.split(cell.command)
            flags = dict(_flags([*common, *own, *extra, "--seed", str(seed)]))
            words = [module, *(word for pair in flags.items() for word in pair if word)]
            filled = tuple(rates.get(word, word) for word in words)
            found.append(Task(cell.name, seed, filled))
    return found


def _flags(words: Sequence[str]) -> list[tuple[str, str]]:
    """Flags and their values; a flag without a value has an empty one, and the last counts."""
    found: list[tuple[str, str]] = []
    for word in words:
        if word.startswith("--"):
            found.append((word, ""))
        else:
            found[-1] = (found[-1][0], word)
    return found
