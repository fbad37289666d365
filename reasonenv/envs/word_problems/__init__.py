r"""WordProblems-v0: arithmetic in words, drawn by program, from 3 + 8 to stories of four steps.

Description:
    Each problem is a question in English whose answer is a positive whole number: bare
    arithmetic, or a story with names and things. It is drawn on access: no data set, no download.
    SmolLM2-135M-Instruct begins with 6 of 160 right at level 1, and 0 of 64 at level 2 (temperature
    1, at most 40 tokens); the higher levels are meant for larger models.
    `python -m reasonenv.envs.word_problems --level 3` prints examples.

Action Space: text whose final answer is a number; no tags, no box.
Observation Space: a dict of `system`, which is empty with the prompt "plain", `question`, and
    `images`, which is empty.
Prompts: "plain" (default), the question alone in the model's own chat template; "boxed", "dapo",
    "cpgd"; see `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0.

Levels:
    A level poses its families equally often; 1 is the default.

    ===== ================================================ =====================================
    level families                                         numbers
    ===== ================================================ =====================================
    1     sum, difference, product; gain, loss, together,  addends and factors from 2 to 9
          compare, groups, price, days
    2     those of level 1; quotient, missing; share,      addends from 11 to 99; one factor from
          pack, before                                     2 to 9, one from 11 to 99; divisors up
                                                           to 12
    3     product_sum, sum_product; gain_loss, loose,      two steps with numbers of two digits
          change, more_than, times_as_many, goal,
          share_rest
    4     two_goods, two_sales, team_goal, repack,         three steps, or four in two_goods and
          working_back, three_people                       three_people; numbers up to 2,100
    ===== ================================================ =====================================

    Without a story are sum, difference, product, quotient, missing, product_sum and sum_product; at
    level 1 these have about 310 questions each to train on and 40 to test on, where a story has
    thousands. A family has three to seven phrasings, and two or three held-out ones; stories vary
    in 50 names and 17 things, 7 boxes, 13 goods or 10 daily activities.

Splits:
    ================= ===================================================== ===================
    split             operands                                              phrasings
    ================= ===================================================== ===================
    train             of facts that are not held out                        the usual ones
    test              as in train; no question occurs in both               the usual ones
    heldout           of held-out facts in every step                       the usual ones
    heldout_phrasings as in train                                           held-out ones
    ================= ===================================================== ===================

    A fact is an unordered pair of addends or of factors: 7 + 8, 8 + 7, 15 - 7 and 15 - 8 rest on
    one, 6 * 7, 7 * 6 and 42 / 6 on another. A fifth of all facts, by a checksum, is held out of
    every family: "train", "test" and "heldout_phrasings" never compute one. At level 1 these are 9
    of the 36 pairs of addends and 7 of the 36 pairs of factors, so that accuracy there is an
    average over few facts, however many problems are posed.

Worked solutions:
    `Problem.solution` has one equation for each step, in a story with a phrase before it, and
    ends with "The answer is 15."; for supervised learning.

Version History:
    v0: Initial version.
"""

from collections.abc import Sequence

from reasonenv.environment import Environment
from reasonenv.envs.families import choose
from reasonenv.envs.word_problems.family import WordProblems
from reasonenv.envs.word_problems.table import FAMILIES

__all__ = ["ENVIRONMENT", "FAMILIES", "SPLITS", "WordProblems", "problems"]

SPLITS = ("train", "test", "heldout", "heldout_phrasings")
LEVELS = (1, 2, 3, 4)
_BY_LEVEL = {
    level: {name: family for name, family in FAMILIES.items() if level in family.levels}
    for level in LEVELS
}


def problems(
    split: str = "train",
    level: int = 1,
    problem_seed: int = 0,
    families: Sequence[str] | None = None,
) -> WordProblems:
    """The problems of a split and level of WordProblems-v0.

    Problem i depends on split, level, problem_seed, families and i alone.

    Args:
        split: "train", "test" (questions of its own), "heldout" (operands of its own) or
            "heldout_phrasings" (phrasings of its own).
        level: 1 to 4; see the table of the module.
        problem_seed: Chooses another sequence of problems.
        families: Names of the families to draw from; None for all of the level.

    Raises:
        UsageError: For an unknown split, level or family.
    """
    choice = choose("WordProblems-v0", SPLITS, _BY_LEVEL, split, level, families)
    return WordProblems(problem_seed=problem_seed, **choice)


ENVIRONMENT = Environment(
    id="WordProblems-v0",
    problems=problems,
    splits=SPLITS,
    cluster="fact",
    model="HuggingFaceTB/SmolLM2-135M-Instruct",
)
