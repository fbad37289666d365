"""The families of word problems; their words stand in `phrasings.json`."""

import json
import random
from collections.abc import Callable
from pathlib import Path

from reasonenv.envs.word_problems.family import Family, Operands, Work

ONE_DIGIT, TWO_DIGITS = (2, 9), (11, 99)


def addends(rng: random.Random, level: int) -> Operands:
    """Two numbers to add, of one digit at level 1 and of two above."""
    span = ONE_DIGIT if level == 1 else TWO_DIGITS
    return rng.randint(*span), rng.randint(*span)


def total_and_part(rng: random.Random, level: int) -> Operands:
    """The sum of two addends, and one of them."""
    a, b = addends(rng, level)
    return a + b, b


def digit_and_factor(rng: random.Random, level: int) -> Operands:
    """A number of one digit, and one of one digit at level 1 and of two above."""
    return rng.randint(*ONE_DIGIT), rng.randint(*(ONE_DIGIT if level == 1 else TWO_DIGITS))


def factors(rng: random.Random, level: int) -> Operands:
    """Two numbers to multiply, at least one of them of one digit, in any order."""
    a, b = digit_and_factor(rng, level)
    return (a, b) if rng.random() < 0.5 else (b, a)


def multiple_and_divisor(rng: random.Random, level: int) -> Operands:
    """A product of a factor from 6 to 30 and one from 3 to 12, and the second factor."""
    a, b = rng.randint(6, 30), rng.randint(3, 12)
    return a * b, b


def factors_and_addend(rng: random.Random, level: int) -> Operands:
    """Two factors, and a number to add to their product."""
    return *factors(rng, level), rng.randint(*TWO_DIGITS)


def addends_and_factor(rng: random.Random, level: int) -> Operands:
    """Two addends, and a number to multiply their sum by."""
    return *addends(rng, level), rng.randint(*ONE_DIGIT)


def gain_and_loss(rng: random.Random, level: int) -> Operands:
    """Two addends, and a number that is smaller than their sum."""
    a, b = addends(rng, level)
    return a, b, rng.randint(11, a + b - 5)


def price_count_and_note(rng: random.Random, level: int) -> Operands:
    """A price, a number of goods, and a multiple of ten dollars that suffices for them."""
    price, count = rng.randint(2, 15), rng.randint(3, 25)
    return price, count, 10 * rng.randint(price * count // 10 + 1, price * count // 10 + 6)


def multiplier_and_number(rng: random.Random, level: int) -> Operands:
    """A factor up to 12 and a number of two digits."""
    return rng.randint(2, 12), rng.randint(*TWO_DIGITS)


def rate_days_and_goal(rng: random.Random, level: int) -> Operands:
    """A number a day, a number of days, and a larger number than their product."""
    rate, days = digit_and_factor(rng, level)
    return rate, days, rate * days + rng.randint(11, 199)


def total_part_and_share(rng: random.Random, level: int) -> Operands:
    """A number, a part to take off, and a divisor of the rest."""
    share, divisor, part = rng.randint(4, 25), rng.randint(3, 9), rng.randint(11, 99)
    return share * divisor + part, part, divisor


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


def count_collections(work: Work, a: int, b: int, c: int) -> int:
    """a, b times as many, and c fewer than that, together."""
    second = work.multiply(a, b)
    third = work.subtract(second, c)
    return work.add(work.add(a, second), third)


_WORDS: dict[str, dict[str, list[str]]] = json.loads(
    Path(__file__).with_name("phrasings.json").read_text(encoding="utf-8")
)


def _family(
    name: str,
    levels: tuple[int, ...],
    sample: Callable[[random.Random, int], Operands],
    solve: Callable[..., int],
) -> Family:
    words = {field: tuple(texts) for field, texts in _WORDS[name].items()}
    return Family(name=name, levels=levels, sample=sample, solve=solve, **words)


_SMALL = (1, 2)
FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        _family("sum", _SMALL, addends, Work.add),
        _family("difference", _SMALL, total_and_part, Work.subtract),
        _family("product", _SMALL, factors, Work.multiply),
        _family("quotient", (2,), multiple_and_divisor, Work.divide),
        _family("missing", (2,), total_and_part, Work.subtract),
        _family(
            "product_sum", (3,), factors_and_addend, lambda w, a, b, c: w.add(w.multiply(a, b), c)
        ),
        _family(
            "sum_product", (3,), addends_and_factor, lambda w, a, b, c: w.multiply(w.add(a, b), c)
        ),
        _family("gain", _SMALL, addends, Work.add),
        _family("loss", _SMALL, total_and_part, Work.subtract),
        _family("together", _SMALL, addends, Work.add),
        _family("compare", _SMALL, total_and_part, Work.subtract),
        _family("groups", _SMALL, factors, Work.multiply),
        _family("price", _SMALL, digit_and_factor, Work.multiply),
        _family("days", _SMALL, digit_and_factor, Work.multiply),
        _family("share", (2,), multiple_and_divisor, Work.divide),
        _family("pack", (2,), multiple_and_divisor, Work.divide),
        _family("before", (2,), total_and_part, Work.subtract),
        _family("gain_loss", (3,), gain_and_loss, lambda w, a, b, c: w.subtract(w.add(a, b), c)),
        _family("loose", (3,), factors_and_addend, lambda w, a, b, c: w.add(w.multiply(a, b), c)),
        _family(
            "change", (3,), price_count_and_note, lambda w, a, b, c: w.subtract(c, w.multiply(a, b))
        ),
        _family("more_than", (3,), addends, lambda w, a, b: w.add(a, w.add(a, b))),
        _family(
            "times_as_many", (3,), multiplier_and_number, lambda w, a, b: w.add(w.multiply(a, b), b)
        ),
        _family(
            "goal", (3,), rate_days_and_goal, lambda w, a, b, c: w.subtract(c, w.multiply(a, b))
        ),
        _family(
            "share_rest",
            (3,),
            total_part_and_share,
            lambda w, a, b, c: w.divide(w.subtract(a, b), c),
        ),
        _family(
            "two_goods",
            (4,),
            two_goods_and_money,
            lambda w, a, b, c, d, e: w.subtract(e, w.add(w.multiply(a, b), w.multiply(c, d))),
        ),
        _family(
            "two_sales",
            (4,),
            stock_and_two_sales,
            lambda w, a, b, c, d: w.subtract(w.subtract(w.multiply(a, b), c), d),
        ),
        _family(
            "team_goal",
            (4,),
            two_rates_days_and_goal,
            lambda w, a, b, c, d: w.subtract(d, w.multiply(w.add(a, b), c)),
        ),
        _family(
            "repack",
            (4,),
            stock_and_boxes,
            lambda w, a, b, c, d: w.divide(w.add(w.multiply(a, b), c), d),
        ),
        _family(
            "working_back",
            (4,),
            stock_sale_and_delivery,
            lambda w, a, b, c, d: w.add(w.subtract(d, w.multiply(b, c)), a),
        ),
        _family("three_people", (4,), three_collections, count_collections),
    )
}
