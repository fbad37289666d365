"""Stories of two steps."""

import random

from reasonenv.envs.word_problems.family import Family, Operands
from reasonenv.envs.word_problems.numbers import (
    TWO_DIGITS,
    addends,
    digit_and_factor,
    factors_and_addend,
)


def gain_and_loss(rng: random.Random, level: int) -> Operands:
    """Two addends, and a number that is smaller than their sum."""
    a, b = addends(rng, level)
    return a, b, rng.randint(11, a + b - 5)


def price_count_and_note(rng: random.Random, level: int) -> Operands:
    """A price, a number of goods, and a multiple of ten dollars that suffices for them."""
    price, count = rng.randint(2, 15), rng.randint(3, 25)
    note = 10 * rng.randint(price * count // 10 + 1, price * count // 10 + 6)
    return price, count, note


def rate_days_and_goal(rng: random.Random, level: int) -> Operands:
    """A number a day, a number of days, and a larger number than their product."""
    rate, days = digit_and_factor(rng, 2)
    return rate, days, rate * days + rng.randint(11, 199)


def total_part_and_share(rng: random.Random, level: int) -> Operands:
    """A number, a part to take off, and a divisor of the rest."""
    share, divisor, part = rng.randint(4, 25), rng.randint(3, 9), rng.randint(11, 99)
    return share * divisor + part, part, divisor


def multiplier_and_number(rng: random.Random, level: int) -> Operands:
    """A factor up to 12 and a number of two digits."""
    return rng.randint(2, 12), rng.randint(*TWO_DIGITS)


GAIN_LOSS = Family(
    name="gain_loss",
    levels=(3,),
    sample=gain_and_loss,
    solve=lambda work, a, b, c: work.subtract(work.add(a, b), c),
    reasons=("In all", "What is left"),
    phrasings=(
        "{Ada} has {a} {beads}. {She} gets {b} more and then gives {c} to {Ben}. "
        "How many {beads} does {Ada} have now?",
        "There are {a} {beads} in {a_box}. {Ada} puts {b} more into it, and {Ben} takes {c} out. "
        "How many {beads} are in the {box} now?",
        "{Ada} collects {a} {beads} on Monday and {b} on Tuesday. On Wednesday {she} loses {c} "
        "of them. How many {beads} does {she} have left?",
        "{Ada} and {Ben} put {a} and {b} {beads} together, and {Cleo} takes {c} of them away. "
        "How many {beads} are left?",
    ),
    heldout_phrasings=(
        "How many {beads} does {Ada} have if {she} started with {a}, got {b} and sold {c}?",
        "{Cleo} takes {c} {beads} from a table on which {Ada} put {a} and {Ben} put {b}. "
        "How many {beads} stay on the table?",
    ),
)
LOOSE = Family(
    name="loose",
    levels=(3,),
    sample=factors_and_addend,
    solve=lambda work, a, b, c: work.add(work.multiply(a, b), c),
    reasons=("In the groups", "With the others"),
    phrasings=(
        "{Ada} has {a} {boxes} with {b} {beads} in each, and {c} more {beads} on the table. "
        "How many {beads} does {she} have in all?",
        "Each of {a} children has {b} {beads}, and their teacher has {c}. "
        "How many {beads} do they all have together?",
        "{Ada} fills {a} {boxes} with {b} {beads} each and has {c} {beads} left. "
        "How many {beads} did {she} have at first?",
        "{Ada} already has {c} {beads} and then gets {a} {boxes} of {b} {beads} each. "
        "How many {beads} does {she} have now?",
    ),
    heldout_phrasings=(
        "How many {beads} does {Ada} have if {she} owns {a} {boxes} of {b} and {c} single ones?",
        "There are {c} {beads} in {a_box}, and {a} rows of {b} {beads} next to it. "
        "How many {beads} are there altogether?",
    ),
)
CHANGE = Family(
    name="change",
    levels=(3,),
    sample=price_count_and_note,
    solve=lambda work, a, b, c: work.subtract(c, work.multiply(a, b)),
    reasons=("The price in dollars", "What is left"),
    phrasings=(
        "{Ada} buys {b} {pens} at {a} dollars each and pays with {c} dollars. "
        "How many dollars does {she} get back?",
        "{A_pen} costs {a} dollars. {Ada} has {c} dollars and buys {b} {pens}. "
        "How many dollars does {she} have left?",
        "{Ada} has {c} dollars. {She} pays {a} dollars for each of {b} {pens}. "
        "How many dollars are left?",
        "{Ada} takes {c} dollars to a shop and buys {b} {pens} that cost {a} dollars each. "
        "How many dollars does {she} take home?",
    ),
    heldout_phrasings=(
        "How many of {c} dollars are left after {Ada} buys {b} {pens} for {a} dollars each?",
        "How much money, in dollars, does {Ada} keep of {c} dollars if {she} buys {b} {pens} "
        "and {a_pen} costs {a} dollars?",
    ),
)
MORE_THAN = Family(
    name="more_than",
    levels=(3,),
    sample=lambda rng, level: addends(rng, 2),
    solve=lambda work, a, b: work.add(a, work.add(a, b)),
    reasons=("The larger number", "Together"),
    phrasings=(
        "{Ada} has {a} {beads}. {Ben} has {b} more than {Ada}. "
        "How many {beads} do they have together?",
        "There are {a} {beads} in one {box}. Another {box} holds {b} more than that. "
        "How many {beads} do both {boxes} hold?",
        "{Ada} collects {a} {beads} on Monday and {b} more than that on Tuesday. "
        "How many {beads} does {she} collect on the two days?",
        "{Ben} has {b} {beads} more than {Ada}, who has {a}. "
        "How many {beads} do the two of them have?",
    ),
    heldout_phrasings=(
        "How many {beads} do {Ada} and {Ben} have in all if {Ada} has {a} and {Ben} has {b} "
        "more than that?",
        "{Ada} owns {a} {beads}, which is {b} fewer than {Ben} owns. "
        "How many {beads} do both own together?",
    ),
)
TIMES_AS_MANY = Family(
    name="times_as_many",
    levels=(3,),
    sample=multiplier_and_number,
    solve=lambda work, a, b: work.add(work.multiply(a, b), b),
    reasons=("The larger number", "Together"),
    phrasings=(
        "{Ada} has {b} {beads}. {Ben} has {a} times as many. "
        "How many {beads} do they have together?",
        "One {box} holds {b} {beads}, and another {box} holds {a} times as many. "
        "How many {beads} do the two {boxes} hold?",
        "{Ada} collects {b} {beads} on Saturday and {a} times as many on Sunday. "
        "How many {beads} does {she} collect on the two days?",
        "{Ben} has {a} times as many {beads} as {Ada}, who has {b}. "
        "How many {beads} do the two have in total?",
    ),
    heldout_phrasings=(
        "How many {beads} do {Ada} and {Ben} have in all if {Ada} has {b} and {Ben} has "
        "{a} times that number?",
        "For each of the {b} {beads} that {Ada} owns, {Ben} owns {a}. "
        "How many {beads} do the two own together?",
    ),
)
GOAL = Family(
    name="goal",
    levels=(3,),
    sample=rate_days_and_goal,
    solve=lambda work, a, b, c: work.subtract(c, work.multiply(a, b)),
    reasons=("In these days", "What is left"),
    phrasings=(
        "{Ada} wants to {read} {c} {pages}. {She} {reads} {a} {pages} every day. "
        "How many {pages} are left to {read} after {b} days?",
        "{Ada} {reads} {a} {pages} a day for {b} days. {Her} goal is {c} {pages}. "
        "How many {pages} are left to {read}?",
        "To {read} {c} {pages}, {Ada} {reads} {a} {pages} a day. "
        "How many {pages} does {she} still have to {read} after {b} days?",
    ),
    heldout_phrasings=(
        "How many of {c} {pages} are left to {read} after {b} days if {Ada} {reads} {a} a day?",
        "{Ada} {reads} {a} {pages} a day. How many {pages} is {she} short of {c} after {b} days?",
    ),
)
SHARE_REST = Family(
    name="share_rest",
    levels=(3,),
    sample=total_part_and_share,
    solve=lambda work, a, b, c: work.divide(work.subtract(a, b), c),
    reasons=("The rest", "For each"),
    phrasings=(
        "{Ada} has {a} {beads}. {She} keeps {b} of them and shares the rest equally among "
        "{c} friends. How many {beads} does each friend get?",
        "Of {a} {beads}, {Ada} loses {b} and puts the others into {c} {boxes}, the same number "
        "into each. How many {beads} are in each {box}?",
        "There are {a} {beads} for a class. The teacher takes {b} away, and {c} children share "
        "the rest equally. How many {beads} does each child get?",
    ),
    heldout_phrasings=(
        "How many {beads} does each of {c} children get if {Ada} has {a}, keeps {b} and shares "
        "the rest equally among them?",
        "After {Ben} takes {b} of {a} {beads}, {Ada} lays out the rest in {c} equal rows. "
        "How many {beads} are in each row?",
    ),
)

FAMILIES = (GAIN_LOSS, LOOSE, CHANGE, MORE_THAN, TIMES_AS_MANY, GOAL, SHARE_REST)
