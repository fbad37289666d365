r"""Figures-v0: the first version of `reasonenv.envs.figures`, deprecated and unchanged.

Description:
    Each problem is a figure and a question about it, drawn on access: no data set, no download,
    no last problem. The figure and the question determine the answer; the question
    alone does not. A figure is a sheet of 28x28-pixel tiles, one visual token of Qwen2.5-VL each;
    labels stand at fixed pixels of a tile, in a bitmap font of this package. The smallest
    level is made so that a vision-language model of less than a million parameters learns to read
    it in minutes on two CPU cores.

Action Space: text whose final answer stands in `\boxed{}`: a whole number, a fraction, or the
    letter of an option.
Observation Space: a dict of `system` (empty with the prompt "plain"), `question`, and `images`: one
    array [28 rows scale, 28 columns scale, 3] of uint8, RGB, of at most 6x6 tiles or 9x2.
Rewards: accuracy (weight 1), 1 for the right answer, else 0; format (weight 0.1), 1 for
    `<think>...</think><answer>...</answer>`, else 0.

Levels:
    A level poses its own families and those of the levels below it, each equally often. Numbers
    are larger at level 3 where the family has any; there the ink varies in color and everything
    is shifted by up to a pixel. From level 2 on, a third of the problems with whole-number
    answers are multiple choices of four options.

    ===== =========== ======================================================= ==================
    level family      figure                                                  question
    ===== =========== ======================================================= ==================
    1     sum         two or three numbers                                    their sum
    1     perimeter   a rectangle with two sides labelled                     its perimeter
    1     clock       the hour hand of a clock                                the hour in k hours
    1     number_line five ticks, two labelled, one marked                    the marked number
    1     angle       a triangle with two angles labelled                     the third angle
    2     missing     a sum with a number missing                             that number
    2     area        a rectangle with two sides labelled                     its area
    2     dots        dots in some places of a row                            how many
    2     dice        two or three dice                                       how many pips
    2     fraction    boxes, some of them shaded                              which fraction is
    2     bar         a bar chart                                             one bar's height
    2     coordinates a point in the plane                                    x + y
    2     graph       the graph of a function                                 its value at some x
    3     minutes     a clock with both hands                                 minutes past 12
    3     side        a rectangle with a side labelled, and its perimeter     the other side
    3     shapes      a table of shapes in three colors                       how many of one kind
    3     difference  a bar chart                                             K's height minus M's
    3     slope       a line with two points marked                           its slope
    ===== =========== ======================================================= ==================

Splits:
    Disjoint by construction, for all seeds. "heldout" has a tenth of the combinations of
    operands of every family, by a checksum of them; "train" and "test" never pose one of
    these. No background color occurs in two splits, hence no image does. So "test" asks whether
    new images are read, and "heldout" whether new problems are solved.

Worked solutions:
    `Problem.solution` is a whole response in the rewarded format. With `slip` above 0 it is that
    of a teacher who makes each step one too small with that probability and goes on from there:
    a warm start on it teaches to read and to write, and leaves the rest to reinforcement learning.

Version History:
    v0: Initial version.
"""

from collections.abc import Sequence

from reasonenv.envs.figures.family import SPLITS, Family
from reasonenv.envs.figures.problems import Figures, Version, make_problems
from reasonenv.envs.figures_v0 import arithmetic, charts, clocks, counting, geometry
from reasonenv.envs.figures_v0.steps import work
from reasonenv.rewards import accuracy, think_answer_format

__all__ = ["FAMILIES", "PROMPT", "REWARDS", "SPLITS", "Figures", "problems"]

REWARDS = {"accuracy": (1.0, accuracy), "format": (0.1, think_answer_format)}
PROMPT = "plain"
FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        arithmetic.Sum(),
        geometry.Perimeter(),
        clocks.HourHand(),
        arithmetic.NumberLine(),
        geometry.Angle(),
        arithmetic.Missing(),
        geometry.Area(),
        counting.Dots(),
        counting.Dice(),
        counting.Fractions(),
        charts.Bar(),
        charts.Coordinates(),
        charts.Graph(),
        clocks.BothHands(),
        geometry.Side(),
        counting.Shapes(),
        charts.Difference(),
        charts.Slope(),
    )
}
VERSION = Version("Figures-v0", "figures", FAMILIES, 2, work)


def problems(
    split: str = "train",
    level: int = 1,
    problem_seed: int = 0,
    slip: float = 0.0,
    scale: int = 1,
    families: Sequence[str] | None = None,
) -> Figures:
    """The problems of a split and level of Figures-v0.

    Problem i depends on split, level, problem_seed, families and i alone; slip changes nothing of
    it but the worked solution, scale nothing but the size of the image.

    Args:
        split: "train", "test" (images of its own) or "heldout" (operands of its own as well).
        level: 1 to 3; see the table of the module.
        problem_seed: Chooses another sequence of problems.
        slip: Probability in [0, 1] that a step of a worked solution is one too small.
        scale: Factor >= 1 by which images are enlarged.
        families: Names of the families to draw from; None for all of the level.

    Raises:
        UsageError: For an unknown split, level or family, or a slip or scale out of range.
    """
    return make_problems(
        VERSION,
        split,
        level,
        problem_seed=problem_seed,
        slip=slip,
        scale=scale,
        families=families,
    )
