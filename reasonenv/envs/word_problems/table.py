"""The families of word problems; their words stand in `phrasings.json`."""

import json
import random
from collections.abc import Callable
from operator import add, mul, sub, truediv
from pathlib import Path

from reasonenv.envs.word_problems.family import Family, Number, Operands

_ONE_DIGIT, _TWO_DIGITS = (2, 9), (11, 99)


def _addends(rng: random.Random, level: int) -> Operands:
    span = _ONE_DIGIT if level == 1 else _TWO_DIGITS
    return rng.randint(*span), rng.randint(*span)


def _total_and_part(rng: random.Random, level: int) -> Operands:
    """The sum of two addends, and one of them."""
    a, b = _addends(rng, level)
    return a + b, b


def _digit_and_factor(rng: random.Random, level: int) -> Operands:
    return rng.randint(*_ONE_DIGIT), rng.randint(*(_ONE_DIGIT if level == 1 else _TWO_DIGITS))


def _factors(rng: random.Random, level: int) -> Operands:
    """Two numbers to multiply, at least one of them of one digit, in any order."""
    a, b = _digit_and_factor(rng, level)
    return (a, b) if rng.random() < 0.5 else (b, a)


def _multiple_and_divisor(rng: random.Random, level: int) -> Operands:
    a, b = rng.randint(6, 30), rng.randint(3, 12)
    return a * b, b


def _factors_and_addend(rng: random.Random, level: int) -> Operands:
    return *_factors(rng, level), rng.randint(*_TWO_DIGITS)


def _addends_and_factor(rng: random.Random, level: int) -> Operands:
    return *_addends(rng, level), rng.randint(*_ONE_DIGIT)


def _gain_and_loss(rng: random.Random, level: int) -> Operands:
    a, b = _addends(rng, level)
    return a, b, rng.randint(11, a + b - 5)


def _price_count_and_note(rng: random.Random, level: int) -> Operands:
    price, count = rng.randint(2, 15), rng.randint(3, 25)
    return price, count, 10 * rng.randint(price * count // 10 + 1, price * count // 10 + 6)


def _multiplier_and_number(rng: random.Random, level: int) -> Operands:
    return rng.randint(2, 12), rng.randint(*_TWO_DIGITS)


def _rate_days_and_goal(rng: random.Random, level: int) -> Operands:
    rate, days = _digit_and_factor(rng, level)
    return rate, days, rate * days + rng.randint(11, 199)


def _total_part_and_share(rng: random.Random, level: int) -> Operands:
    share, divisor, part = rng.randint(4, 25), rng.randint(3, 9), rng.randint(11, 99)
    return share * divisor + part, part, divisor


def _two_goods_and_money(rng: random.Random, level: int) -> Operands:
    a, c = rng.randint(3, 30), rng.randint(3, 30)
    b, d = rng.randint(2, 15), rng.randint(2, 15)
    price = a * b + c * d
    return a, b, c, d, 10 * rng.randint(price // 10 + 1, price // 10 + 10)


def _stock_and_two_sales(rng: random.Random, level: int) -> Operands:
    a, b = rng.randint(6, 40), rng.randint(12, 40)
    c = rng.randint(11, a * b // 2)
    return a, b, c, rng.randint(11, a * b - c - 5)


def _two_rates_days_and_goal(rng: random.Random, level: int) -> Operands:
    a, b, c = rng.randint(2, 19), rng.randint(2, 19), rng.randint(6, 40)
    return a, b, c, (a + b) * c + rng.randint(11, 499)


def _stock_and_boxes(rng: random.Random, level: int) -> Operands:
    while True:
        a, b, divisor = rng.randint(3, 20), rng.randint(6, 30), rng.randint(4, 15)
        addend = divisor * rng.randint(10, 60) - a * b
        if addend >= 11:
            return a, b, addend, divisor


def _stock_sale_and_delivery(rng: random.Random, level: int) -> Operands:
    start, c, d = rng.randint(150, 900), rng.randint(3, 20), rng.randint(6, 30)
    sale = rng.randint(21, start - 20)
    return sale, c, d, start - sale + c * d


def _three_collections(rng: random.Random, level: int) -> Operands:
    a, b = rng.randint(21, 99), rng.randint(2, 9)
    return a, b, rng.randint(11, a * b - 5)


def _count_collections(a: Number, b: Number, c: Number) -> Number:
    """a, b times as many, and c fewer than that, together."""
    second = a * b
    third = second - c
    return a + second + third


_SMALL, _TWO, _THREE, _FOUR = (1, 2), (2,), (3,), (4,)
_ROWS: tuple[tuple[str, tuple[int, ...], Callable[..., Operands], Callable[..., Number]], ...] = (
    ("sum", _SMALL, _addends, add),
    ("difference", _SMALL, _total_and_part, sub),
    ("product", _SMALL, _factors, mul),
    ("quotient", _TWO, _multiple_and_divisor, truediv),
    ("missing", _TWO, _total_and_part, sub),
    ("product_sum", _THREE, _factors_and_addend, lambda a, b, c: a * b + c),
    ("sum_product", _THREE, _addends_and_factor, lambda a, b, c: (a + b) * c),
    ("gain", _SMALL, _addends, add),
    ("loss", _SMALL, _total_and_part, sub),
    ("together", _SMALL, _addends, add),
    ("compare", _SMALL, _total_and_part, sub),
    ("groups", _SMALL, _factors, mul),
    ("price", _SMALL, _digit_and_factor, mul),
    ("days", _SMALL, _digit_and_factor, mul),
    ("share", _TWO, _multiple_and_divisor, truediv),
    ("pack", _TWO, _multiple_and_divisor, truediv),
    ("before", _TWO, _total_and_part, sub),
    ("gain_loss", _THREE, _gain_and_loss, lambda a, b, c: a + b - c),
    ("loose", _THREE, _factors_and_addend, lambda a, b, c: a * b + c),
    ("change", _THREE, _price_count_and_note, lambda a, b, c: c - a * b),
    ("more_than", _THREE, _addends, lambda a, b: a + (a + b)),
    ("times_as_many", _THREE, _multiplier_and_number, lambda a, b: a * b + b),
    ("goal", _THREE, _rate_days_and_goal, lambda a, b, c: c - a * b),
    ("share_rest", _THREE, _total_part_and_share, lambda a, b, c: (a - b) / c),
    ("two_goods", _FOUR, _two_goods_and_money, lambda a, b, c, d, e: e - (a * b + c * d)),
    ("two_sales", _FOUR, _stock_and_two_sales, lambda a, b, c, d: a * b - c - d),
    ("team_goal", _FOUR, _two_rates_days_and_goal, lambda a, b, c, d: d - (a + b) * c),
    ("repack", _FOUR, _stock_and_boxes, lambda a, b, c, d: (a * b + c) / d),
    ("working_back", _FOUR, _stock_sale_and_delivery, lambda a, b, c, d: d - b * c + a),
    ("three_people", _FOUR, _three_collections, _count_collections),
)
_WORDS: dict[str, dict[str, list[str]]] = json.loads(
    Path(__file__).with_name("phrasings.json").read_text(encoding="utf-8")
)


def _words(name: str) -> dict[str, tuple[str, ...]]:
    return {field: tuple(texts) for field, texts in _WORDS[name].items()}


FAMILIES: dict[str, Family] = {
    name: Family(name=name, levels=levels, sample=sample, solve=solve, **_words(name))
    for name, levels, sample, solve in _ROWS
}
