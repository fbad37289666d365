"""Numbers of one-step problems, and arithmetic without a story."""

import random

from reasonenv.envs.word_problems.family import Family, Operands
from reasonenv.envs.word_problems.steps import Work

ONE_DIGIT, TWO_DIGITS = (2, 9), (11, 99)


def addends(rng: random.Random, level: int) -> Operands:
    """Two numbers to add, of one digit at level 1 and of two at level 2."""
    span = ONE_DIGIT if level == 1 else TWO_DIGITS
    return rng.randint(*span), rng.randint(*span)


def total_and_part(rng: random.Random, level: int) -> Operands:
    """The sum of two addends, and one of them."""
    a, b = addends(rng, level)
    return a + b, b


def digit_and_factor(rng: random.Random, level: int) -> Operands:
    """A number of one digit and one of as many digits as the level."""
    return rng.randint(*ONE_DIGIT), rng.randint(*(ONE_DIGIT if level == 1 else TWO_DIGITS))


def factors(rng: random.Random, level: int) -> Operands:
    """Two numbers to multiply, at least one of them of one digit, in any order."""
    a, b = digit_and_factor(rng, level)
    return (a, b) if rng.random() < 0.5 else (b, a)


def multiple_and_divisor(rng: random.Random, level: int) -> Operands:
    """A product of a factor from 6 to 30 and one from 3 to 12, and the second factor."""
    a, b = rng.randint(6, 30), rng.randint(3, 12)
    return a * b, b


SUM = Family(
    name="sum",
    levels=(1, 2),
    sample=addends,
    solve=Work.add,
    reasons=(),
    phrasings=(
        "What is {a} + {b}?",
        "What is {a} plus {b}?",
        "Add {a} and {b}.",
        "What is the sum of {a} and {b}?",
        "Calculate {a} + {b}.",
        "How much is {a} plus {b}?",
        "{a} + {b} = ?",
    ),
    heldout_phrasings=(
        "What do you get if you add {b} to {a}?",
        "Which number is {b} more than {a}?",
        "Find the total of {a} and {b}.",
    ),
)
DIFFERENCE = Family(
    name="difference",
    levels=(1, 2),
    sample=total_and_part,
    solve=Work.subtract,
    reasons=(),
    phrasings=(
        "What is {a} - {b}?",
        "What is {a} minus {b}?",
        "Subtract {b} from {a}.",
        "What is the difference between {a} and {b}?",
        "Calculate {a} - {b}.",
        "How much is {a} minus {b}?",
        "{a} - {b} = ?",
    ),
    heldout_phrasings=(
        "What is left if you take {b} away from {a}?",
        "Which number is {b} less than {a}?",
        "By how much is {a} greater than {b}?",
    ),
)
PRODUCT = Family(
    name="product",
    levels=(1, 2),
    sample=factors,
    solve=Work.multiply,
    reasons=(),
    phrasings=(
        "What is {a} * {b}?",
        "What is {a} times {b}?",
        "Multiply {a} by {b}.",
        "What is the product of {a} and {b}?",
        "Calculate {a} * {b}.",
        "How much is {a} times {b}?",
        "{a} * {b} = ?",
    ),
    heldout_phrasings=(
        "What do you get if you multiply {a} and {b}?",
        "Which number is {a} times as large as {b}?",
        "Find the result of {a} multiplied by {b}.",
    ),
)
QUOTIENT = Family(
    name="quotient",
    levels=(2,),
    sample=multiple_and_divisor,
    solve=Work.divide,
    reasons=(),
    phrasings=(
        "What is {a} / {b}?",
        "What is {a} divided by {b}?",
        "Divide {a} by {b}.",
        "Calculate {a} / {b}.",
        "How much is {a} divided by {b}?",
        "How many times does {b} go into {a}?",
        "{a} / {b} = ?",
    ),
    heldout_phrasings=(
        "What do you get if you divide {a} by {b}?",
        "Which number times {b} makes {a}?",
    ),
)
MISSING = Family(
    name="missing",
    levels=(2,),
    sample=total_and_part,
    solve=Work.subtract,
    reasons=(),
    phrasings=(
        "Which number plus {b} makes {a}?",
        "Which number must be added to {b} to get {a}?",
        "Two numbers add up to {a}. One of them is {b}. What is the other one?",
        "Find the missing number: {b} + ? = {a}.",
        "Find the missing number: ? + {b} = {a}.",
    ),
    heldout_phrasings=(
        "I think of a number and add {b}. The result is {a}. What is my number?",
        "If {b} is one part of {a}, how large is the other part?",
    ),
)


def factors_and_addend(rng: random.Random, level: int) -> Operands:
    """Two factors, and a number to add to their product."""
    return *factors(rng, 2), rng.randint(*TWO_DIGITS)


def addends_and_factor(rng: random.Random, level: int) -> Operands:
    """Two addends, and a number to multiply their sum by."""
    return *addends(rng, 2), rng.randint(*ONE_DIGIT)


PRODUCT_SUM = Family(
    name="product_sum",
    levels=(3,),
    sample=factors_and_addend,
    solve=lambda work, a, b, c: work.add(work.multiply(a, b), c),
    reasons=(),
    phrasings=(
        "What is {a} * {b} + {c}?",
        "Calculate {a} * {b} + {c}.",
        "Multiply {a} by {b}, then add {c}. What is the result?",
        "What is {c} more than {a} times {b}?",
        "Add {c} to the product of {a} and {b}.",
    ),
    heldout_phrasings=(
        "Take {a} times {b} and add {c} to it. Which number do you get?",
        "What is the sum of {c} and the product of {a} and {b}?",
    ),
)
SUM_PRODUCT = Family(
    name="sum_product",
    levels=(3,),
    sample=addends_and_factor,
    solve=lambda work, a, b, c: work.multiply(work.add(a, b), c),
    reasons=(),
    phrasings=(
        "What is ({a} + {b}) * {c}?",
        "Calculate ({a} + {b}) * {c}.",
        "Add {a} and {b}, then multiply the sum by {c}. What is the result?",
        "What is {c} times the sum of {a} and {b}?",
        "Multiply the sum of {a} and {b} by {c}.",
    ),
    heldout_phrasings=(
        "Take the sum of {a} and {b} and multiply it by {c}. Which number do you get?",
        "What is the product of {c} and the sum of {a} and {b}?",
    ),
)

FAMILIES = (SUM, DIFFERENCE, PRODUCT, QUOTIENT, MISSING, PRODUCT_SUM, SUM_PRODUCT)
