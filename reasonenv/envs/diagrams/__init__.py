r"""Diagrams-v0: drawn mathematics for vision-language models, exact by construction.

Description:
    Each problem is a figure as in a school book and a question about it, drawn on access: no data
    set, no download, no last problem, and no overlap with any benchmark. The figure determines the
    answer; the question alone does not. docs/diagrams.md lists the families and what each level
    asks for, and shows how to add one; `python -m reasonenv.envs.diagrams` draws all of them.

Action Space: text whose final answer stands in `\boxed{}`: a whole number, a fraction, a decimal, a
    multiple of π, a pair of coordinates, or the letter of an option.
Observation Space: a dict of `system`, `question`, and `images`: one array [height, width, 3] of
    uint8, RGB, as wide as `size` says, 224 to 896 pixels; the height depends on the family.
Prompts: "cpgd" (default); see `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 for the right answer, else 0; format (weight 0.1), 1 for
    `<think>...</think><answer>...</answer>`, else 0.

Splits:
    Disjoint by operands, for all seeds: each combination of operands of a family belongs to one
    split, by a checksum of it. "test" has a tenth of them, drawn and worded as those of "train".
    "heldout" has another tenth, with wordings of its own and chalk on a board in place of ink on
    paper.

Worked solutions: `Problem.solution` is a response in the rewarded format, a few sentences that
    name the rule and compute the answer.

Version History:
    v0: Initial version.
"""

import importlib
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from reasonenv.environment import Environment
from reasonenv.envs.diagrams.family import FAMILIES, Diagrams, Exercise, Levels, family
from reasonenv.envs.families import choose
from reasonenv.errors import UsageError
from reasonenv.rewards import accuracy, think_answer_format

__all__ = ["BUILT_IN", "ENVIRONMENT", "FAMILIES", "REWARDS", "Exercise", "family", "problems"]

LEVELS = (1, 2, 3, 4, 5)
SPLITS = ("train", "test", "heldout")
REWARDS = {"accuracy": (1.0, accuracy), "format": (0.1, think_answer_format)}
for _name in ("plane", "shapes", "coordinates", "measures", "charts", "statistics", "puzzles"):
    importlib.import_module(f"{__name__}.{_name}")
BUILT_IN = tuple(FAMILIES)
"""Names of the families of this package, in the order in which they were registered."""


def problems(
    split: str = "train",
    level: int | Sequence[int] = 3,
    problem_seed: int = 0,
    families: Sequence[str] | Mapping[str, float] | None = None,
    size: int = 448,
    multiple_choice: bool = False,
) -> Diagrams | Levels:
    """The problems of a split of Diagrams-v0.

    Problem i depends on all arguments but size, and on i alone.

    Args:
        split: "train", "test" (operands of its own) or "heldout" (wordings and styles as well).
        level: 1 to 5, or several, which are posed in turn.
        problem_seed: Chooses another sequence of problems.
        families: Names of the families to draw from, or how often each is posed by name; None for
            all of this package, equally often.
        size: Width of an image in pixels, from 224 to 896.
        multiple_choice: True for problems of four options each.

    Raises:
        UsageError: For an unknown split, level or family, a weight or size out of range, or where
            matplotlib is not installed, whose fonts are written with.
    """
    if find_spec("matplotlib") is None:
        raise UsageError(
            "Diagrams-v0 writes with the fonts of matplotlib: run pip install 'reasonenv[diagrams]'"
        )
    if not isinstance(size, int) or not 224 <= size <= 896:
        raise UsageError(f"size is {size!r}: give a whole number of pixels from 224 to 896")
    if not isinstance(level, int):
        if not level:
            raise UsageError("level is empty: give a number from 1 to 5, or several")
        rest = problem_seed, families, size, multiple_choice
        return Levels(tuple(problems(split, each, *rest) for each in level))
    names = BUILT_IN if families is None else families
    weights = _weights(names)
    names = names if isinstance(names, str) else tuple(names)
    choice = choose("Diagrams-v0", SPLITS, dict.fromkeys(LEVELS, FAMILIES), split, level, names)
    choice["is_whole_level"] = names == BUILT_IN and len({*weights}) == 1
    return Diagrams(
        problem_seed=problem_seed,
        weights=weights,
        size=size,
        multiple_choice=multiple_choice,
        **choice,
    )


def _weights(families: Sequence[str] | Mapping[str, float]) -> tuple[float, ...]:
    if not isinstance(families, Mapping):
        return (1.0,) * len(families)
    for name, weight in families.items():
        if not isinstance(weight, int | float) or not 0 < weight < float("inf"):
            raise UsageError(f"the weight of {name!r} is {weight!r}: give a number above 0")
    return tuple(map(float, families.values()))


ENVIRONMENT = Environment(
    id="Diagrams-v0",
    problems=problems,
    splits=SPLITS,
    rewards=REWARDS,
    prompt="cpgd",
    model="Qwen/Qwen2.5-VL-3B-Instruct",
)
