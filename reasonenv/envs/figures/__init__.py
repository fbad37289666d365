r"""Figures-v2: mathematics problems in pictures, drawn by program and exact by construction.

Description:
    Each problem is a figure and a question about it, drawn on access: no data set, no download,
    no last problem. The figure and the question determine the answer; the question
    alone does not. A figure is a sheet of 28x28-pixel tiles, one visual token of Qwen2.5-VL each;
    a digit has a tile of its own, and the points of a grid are the middles of tiles. A
    vision-language model of less than a million parameters can learn to read the first two levels.
    `python -m reasonenv.envs.figures --level 3` draws a sheet of examples.

Action Space: text whose final answer stands in `\boxed{}`: a whole number, a fraction, or the
    letter of an option.
Observation Space: a dict of `system` (empty with the prompt "plain"), `question`, and `images`: one
    array [28 rows scale, 28 columns scale, 3] of uint8, RGB, of at most 64 tiles.
Rewards: accuracy (weight 1), 1 for the right answer, else 0; format (weight 0.1), 1 for
    `<think>...</think><answer>...</answer>`, else 0.

Levels:
    A level poses its own families and those of the levels below it, each equally often; 2 is the
    default. At level 3 numbers are larger, grids are finer (half a tile a step), the ink varies in
    color, everything is shifted by up to a pixel, and a third of the problems are multiple choices
    of four options, but those of the families fraction, side and slope.

    ===== =========== ======================================== ================== =============
    level family      figure                                   question            combinations
    ===== =========== ======================================== ================== =============
    1     sum         two numbers, three at level 3            their sum                  4,950
    1     perimeter   a rectangle with two sides labelled      its perimeter              1,176
    1     clock       the hour hand of a clock                 the hour in k hours        1,188
    1     number_line four ticks, two labelled, one marked     the marked number          1,122
    1     angle       a triangle with two angles labelled      the third angle            2,485
    2     missing     a sum with a number missing              that number                4,950
    2     area        a rectangle with two sides labelled      its area                   1,040
    2     dots        dots in two rows                         how many                   4,094
    2     dice        three to seven dice                      how many pips              1,688
    2     fraction    two rows of boxes, some of them shaded   which fraction is          5,432
    2     bar         a bar chart                              one bar's height           5,184
    2     coordinates a red and a blue point in the plane      their distance along       1,176
                                                               the grid
    2     graph       points of a function, joined by lines    its value at some x       84,035
    3     minutes     a clock with both hands                  minutes past 12              132
    3     side        a rectangle with a side labelled, and    the other side             2,304
                      its perimeter
    3     shapes      a table of shapes in three colors        how many of one kind 7,450,102,512
    3     difference  a bar chart                              K's height minus M's     228,096
    3     slope       a line with two points marked            its slope                 11,154
    ===== =========== ======================================== ================== =============

    Combinations are those of operands that make another problem, at the family's first level; two
    numbers count in either order once where the order does not matter, and positions of a number
    line's mark count once together.

Splits:
    Disjoint by construction, for all seeds. "heldout" has a tenth of the combinations of
    operands of every family, by a checksum of them (an eighth for coordinates, a fifth for
    minutes): at least a hundred of each, 30 of minutes. "train" and "test" never pose one of
    these. No background color occurs in two splits, hence no image does. So "test" asks whether
    new images are read, and "heldout" whether new problems are solved.

    What is held out is the combination, never its parts: all digits, all sums, differences and
    products of two digits, all totals that a table is asked for (180-120, 2*34, 44-36, 4/6), and
    all single bars, points, rows and dice occur in training. So a held-out problem can be worked
    out by reading each part and computing column by column; it cannot be remembered. Number lines
    go further: their difference (37-28=9) and each step by it (37+9=46) are single lines, and some
    of a held-out one are in no training solution. At level 2 no other family asks for such a line;
    level 1 alone lacks 2*5=10, and level 3 some sums of a carry (152+6=158) and -12/12=-1.

Worked solutions:
    `Problem.solution` is a whole response in the rewarded format, which adds, subtracts and
    multiplies in columns, with carries, each number of two digits. With `slip` above 0 that many
    solutions have one line whose value is one too small, and go on from there: training on them
    teaches to read and to write, and leaves the rest to reinforcement learning.

Version History:
    v2: Levels 1 and 2 pose the problems of v1. At level 3 each option of a multiple choice is as
        likely as the others; in v1 the two in the middle were right in 89 % of the problems.
    v1, v0: Release 0.3.0 has them, and reproduces records made with them.
"""

from collections.abc import Sequence

from reasonenv.environment import Environment
from reasonenv.envs.families import choose
from reasonenv.envs.figures import arithmetic, charts, counting, geometry
from reasonenv.envs.figures.family import SPLITS, Family, Figures
from reasonenv.errors import UsageError
from reasonenv.rewards import accuracy, think_answer_format

__all__ = ["ENVIRONMENT", "FAMILIES", "LEVELS", "REWARDS", "SPLITS", "Figures", "problems"]

REWARDS = {"accuracy": (1.0, accuracy), "format": (0.1, think_answer_format)}
_NAMED = {
    family.name: family
    for module in (arithmetic, charts, counting, geometry)
    for family in module.FAMILIES
}
# Problems are drawn by place in this order.
_ORDER = (
    *("sum", "perimeter", "clock", "number_line", "angle"),
    *("missing", "area", "dots", "dice", "fraction", "bar", "coordinates", "graph"),
    *("minutes", "side", "shapes", "difference", "slope"),
)
FAMILIES: dict[str, Family] = {name: _NAMED[name] for name in _ORDER}
LEVELS = (1, 2, 3)
_BY_LEVEL = {
    level: {name: family for name, family in FAMILIES.items() if family.level <= level}
    for level in LEVELS
}


def problems(
    split: str = "train",
    level: int = 2,
    problem_seed: int = 0,
    slip: float = 0.0,
    scale: int = 1,
    families: Sequence[str] | None = None,
) -> Figures:
    """The problems of a split and level of Figures-v2.

    Problem i depends on split, level, problem_seed, families and i alone; slip changes nothing of
    it but the worked solution, scale nothing but the size of the image.

    Args:
        split: "train", "test" (images of its own) or "heldout" (operands of its own as well).
        level: 1 to 3; see the table of the module.
        problem_seed: Chooses another sequence of problems.
        slip: Probability in [0, 1] that a worked solution has a line that is one too small.
        scale: Factor >= 1 by which images are enlarged.
        families: Names of the families to draw from; None for all of the level.

    Raises:
        UsageError: For an unknown split, level or family, or a slip or scale out of range.
    """
    if not 0 <= slip <= 1:
        raise UsageError(f"slip is {slip}: give a probability in [0, 1]")
    if not isinstance(scale, int) or scale < 1:
        raise UsageError(f"scale is {scale!r}: give a whole number >= 1")
    choice = choose("Figures-v2", SPLITS, _BY_LEVEL, split, level, families)
    return Figures(problem_seed=problem_seed, slip=slip, scale=scale, **choice)


ENVIRONMENT = Environment(id="Figures-v2", problems=problems, splits=SPLITS, rewards=REWARDS)
