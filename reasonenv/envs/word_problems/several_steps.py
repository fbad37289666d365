"""Stories of three and four steps."""

import random
from typing import Any

from reasonenv.envs.word_problems.family import Family, Operands


def two_goods_and_money(rng: random.Random, level: int) -> Operands:
    """Numbers and prices of two goods, and a multiple of ten dollars that suffices for them."""
    a, c = rng.randint(3, 30), rng.randint(3, 30)
    b, d = rng.randint(2, 15), rng.randint(2, 15)
    price = a * b + c * d
    return a, b, c, d, 10 * rng.randint(price // 10 + 1, price // 10 + 10)


def stock_and_two_sales(rng: random.Random, level: int) -> Operands:
    """Two factors, and two numbers whose sum is smaller than their product."""
    a, b = rng.randint(6, 40), rng.randint(12, 40)
    c = rng.randint(11, a * b // 2)
    return a, b, c, rng.randint(11, a * b - c - 5)


def two_rates_days_and_goal(rng: random.Random, level: int) -> Operands:
    """Two numbers a day, a number of days, and a larger number than both reach."""
    a, b, c = rng.randint(2, 19), rng.randint(2, 19), rng.randint(6, 40)
    return a, b, c, (a + b) * c + rng.randint(11, 499)


def stock_and_boxes(rng: random.Random, level: int) -> Operands:
    """Two factors, an addend, and a divisor of the total."""
    while True:
        a, b, divisor = rng.randint(3, 20), rng.randint(6, 30), rng.randint(4, 15)
        addend = divisor * rng.randint(10, 60) - a * b
        if addend >= 11:
            return a, b, addend, divisor


def stock_sale_and_delivery(rng: random.Random, level: int) -> Operands:
    """A number that is sold, two factors of a delivery, and the stock that results."""
    start, c, d = rng.randint(150, 900), rng.randint(3, 20), rng.randint(6, 30)
    sale = rng.randint(21, start - 20)
    return sale, c, d, start - sale + c * d


def three_collections(rng: random.Random, level: int) -> Operands:
    """A number, a factor, and a number that is smaller than their product."""
    a, b = rng.randint(21, 99), rng.randint(2, 9)
    return a, b, rng.randint(11, a * b - 5)


def count_goods(work: Any, a: int, b: int, c: int, d: int, e: int) -> int:
    """Dollars left of e after a goods at b and c goods at d dollars."""
    return work.subtract(e, work.add(work.multiply(a, b), work.multiply(c, d)))


def count_collections(work: Any, a: int, b: int, c: int) -> int:
    """a, b times as many, and c fewer than that, together."""
    second = work.multiply(a, b)
    third = work.subtract(second, c)
    return work.add(work.add(a, second), third)


TWO_GOODS = Family(
    name="two_goods",
    levels=(4,),
    sample=two_goods_and_money,
    solve=count_goods,
    reasons=("The first price in dollars", "The second one", "Together", "What is left"),
    phrasings=(
        "{Ada} buys {a} {pens} at {b} dollars each and {c} {mugs} at {d} dollars each. "
        "{She} pays with {e} dollars. How many dollars does {she} get back?",
        "{A_pen} costs {b} dollars and {a_mug} costs {d} dollars. {Ada} has {e} dollars and buys "
        "{a} {pens} and {c} {mugs}. How many dollars does {she} have left?",
        "A club has {e} dollars. It orders {a} {pens} for {b} dollars each and {c} {mugs} for "
        "{d} dollars each. How many dollars remain?",
    ),
    heldout_phrasings=(
        "How many dollars are left of {e} dollars after {Ada} buys {a} {pens} and {c} {mugs} if "
        "{a_pen} costs {b} dollars and {a_mug} {d} dollars?",
        "For a party {Ada} orders {a} {pens}, {b} dollars each, and {c} {mugs}, {d} dollars each. "
        "How many of {her} {e} dollars does {she} keep?",
    ),
)
TWO_SALES = Family(
    name="two_sales",
    levels=(4,),
    sample=stock_and_two_sales,
    solve=lambda work, a, b, c, d: work.subtract(work.subtract(work.multiply(a, b), c), d),
    reasons=("At first", "After the first day", "After the second day"),
    phrasings=(
        "A shop gets {a} {boxes} of {b} {beads} each. It sells {c} {beads} on Monday and {d} on "
        "Tuesday. How many {beads} are left?",
        "{Ada} has {a} {boxes} with {b} {beads} in each. {She} gives {c} {beads} away on Saturday "
        "and {d} on Sunday. How many {beads} does {she} have left?",
        "There were {a} rows of {b} {beads}. {Ben} took {c} {beads} yesterday, and {Cleo} took "
        "{d} today. How many {beads} are still there?",
    ),
    heldout_phrasings=(
        "How many {beads} remain of {a} {boxes} with {b} each if {c} {beads} are sold on Friday "
        "and {d} on Saturday?",
        "A shop sells {c} {beads} one day and {d} the next. Before that it had {a} full {boxes} "
        "of {b} {beads}. How many {beads} does it have now?",
    ),
)
TEAM_GOAL = Family(
    name="team_goal",
    levels=(4,),
    sample=two_rates_days_and_goal,
    solve=lambda work, a, b, c, d: work.subtract(d, work.multiply(work.add(a, b), c)),
    reasons=("Both on one day", "In all days", "What is left"),
    phrasings=(
        "{Ada} {reads} {a} {pages} a day, and {Ben} {reads} {b}. Together they want to {read} "
        "{d} {pages}. How many {pages} are left to {read} after {c} days?",
        "Every day, {Ada} {reads} {a} {pages} and {Ben} {reads} {b} {pages}. After {c} days, how "
        "many {pages} are they short of their common goal of {d} {pages}?",
        "The goal of {Ada} and {Ben} is {d} {pages} in all. For {c} days, {Ada} {reads} {a} and "
        "{Ben} {reads} {b} {pages} a day. How many {pages} are left to {read} then?",
    ),
    heldout_phrasings=(
        "How many of {d} {pages} are left to {read} if {Ada} {reads} {a} and {Ben} {reads} {b} "
        "{pages} a day for {c} days?",
        "{Ada} and {Ben} agree to {read} {d} {pages} between them, {Ada} {a} and {Ben} {b} a "
        "day. How many {pages} remain after {c} days?",
    ),
)
REPACK = Family(
    name="repack",
    levels=(4,),
    sample=stock_and_boxes,
    solve=lambda work, a, b, c, d: work.divide(work.add(work.multiply(a, b), c), d),
    reasons=("In the groups", "With the others", "How many times"),
    phrasings=(
        "{Ada} has {a} {boxes} of {b} {beads} and {c} more {beads}. {She} packs all of them "
        "into new {boxes} of {d}. How many new {boxes} does {she} fill?",
        "A shop gets {a} {boxes} with {b} {beads} each and already has {c} {beads}. It sells all "
        "of them in sets of {d}. How many sets are there?",
        "There are {a} rows of {b} {beads} and {c} single {beads}. A group of children shares "
        "them, and each child gets {d}. How many children are in the group?",
    ),
    heldout_phrasings=(
        "How many sets of {d} {beads} can {Ada} make of {a} {boxes} of {b} {beads} and {c} single "
        "{beads}?",
        "{Ada} empties {a} {boxes} of {b} {beads} each onto a table with {c} {beads} and sorts "
        "all of them into groups of {d}. How many groups are there?",
    ),
)
WORKING_BACK = Family(
    name="working_back",
    levels=(4,),
    sample=stock_sale_and_delivery,
    solve=lambda work, a, b, c, d: work.add(work.subtract(d, work.multiply(b, c)), a),
    reasons=("The delivery", "Before the delivery", "At first"),
    phrasings=(
        "A shop sold {a} {beads} and then got {b} {boxes} of {c} {beads} each. Now it has {d} "
        "{beads}. How many {beads} did it have at first?",
        "{Ada} had some {beads}. {She} gave {a} to {Ben} and then bought {b} {boxes} of {c} "
        "{beads} each. Now {she} has {d} {beads}. How many {beads} did {Ada} have at first?",
        "After selling {a} {beads} and receiving {b} {boxes} with {c} {beads} each, a shop has "
        "{d} {beads}. How many {beads} did it have before?",
    ),
    heldout_phrasings=(
        "A shop has {d} {beads} today. Yesterday it sold {a}, and in the evening {b} {boxes} of "
        "{c} {beads} arrived. How many {beads} were there before that?",
        "How many {beads} did {Ada} start with if losing {a} and then finding {b} {boxes} of {c} "
        "left {to_her} with {d}?",
    ),
)
THREE_PEOPLE = Family(
    name="three_people",
    levels=(4,),
    sample=three_collections,
    solve=count_collections,
    reasons=(
        "The second number",
        "The third number",
        "The first two together",
        "All three together",
    ),
    phrasings=(
        "{Ada} has {a} {beads}. {Ben} has {b} times as many as {Ada}, and {Cleo} has {c} fewer "
        "than {Ben}. How many {beads} do the three have together?",
        "One {box} holds {a} {beads}, a second one {b} times as many, and a third one {c} fewer "
        "than the second. How many {beads} do the three {boxes} hold?",
        "{Ada} collects {a} {beads} on Monday, {b} times as many on Tuesday, and on Wednesday "
        "{c} fewer than on Tuesday. How many {beads} does {she} collect on the three days?",
    ),
    heldout_phrasings=(
        "{Cleo} has {c} fewer {beads} than {Ben}, who has {b} times as many as {Ada}. {Ada} has "
        "{a}. How many {beads} do all three have?",
        "How many {beads} are there in all if {Ada} owns {a}, {Ben} owns {b} times that number, "
        "and {Cleo} owns {c} fewer than {Ben}?",
    ),
)

FAMILIES = (TWO_GOODS, TWO_SALES, TEAM_GOAL, REPACK, WORKING_BACK, THREE_PEOPLE)
