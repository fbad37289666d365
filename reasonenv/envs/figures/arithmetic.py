"""Numbers in rows, on lines and on clocks."""

import random
from math import cos, pi, sin

from reasonenv.envs.figures.canvas import RED, Canvas, Point, Style, middle
from reasonenv.envs.figures.family import Family, Operands, Steps

_CENTER: Point = (42, 42)
"""Of a dial."""


class _Sum(Family):
    name, level = "sum", 1
    question = "What is the sum?"
    ranges, large_ranges = ((1, 99),) * 2, ((1, 99),) * 3
    is_commutative = True

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = Canvas(3 * len(operands) - 1, 1, style)
        for place, number in enumerate(operands):
            canvas.number(3 * place + 1, 0, number)
            if place:
                canvas.text(3 * place - 1, 0, "+")
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> int:
        total, *others = operands
        for number in others:
            total = steps.add(total, number)
        return total


class _NumberLine(Family):
    name, level = "number_line", 1
    question = "Which number is marked?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        distance = rng.randint(1, 12 if level < 3 else 25)
        return rng.randint(0, 99 - distance), distance, rng.randint(2, 3)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        start, distance, marked = operands
        canvas = Canvas(11, 2, style)
        ticks = [middle(3 * tick + 1, 0) for tick in range(4)]
        canvas.line((14, 14), (304, 14))
        for x, y in ticks:
            canvas.line((x, y - 7), (x, y + 7))
        canvas.number(1, 1, start)
        canvas.number(4, 1, start + distance)
        canvas.disc(ticks[marked], 6, RED)
        return canvas

    def canonical(self, operands: Operands) -> Operands:
        return operands[:2]

    def solve(self, operands: Operands, steps: Steps) -> int:
        start, distance, marked = operands
        value = start + distance
        distance = steps.fact(f"{value}-{start}", distance)
        for _ in range(marked - 1):
            value = steps.fact(f"{value}+{distance}", value + distance)
        return value


class _Missing(Family):
    name, level = "missing", 2
    question = "Which number is missing?"
    ranges, large_ranges = ((1, 99), (1, 99)), ((1, 99), (1, 499))
    is_commutative = True

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = Canvas(8, 1, style)
        canvas.number(1, 0, operands[0])
        for column, sign in enumerate("+?=", 2):
            canvas.text(column, 0, sign)
        canvas.number(7, 0, sum(operands))
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> int:
        return steps.subtract(sum(operands), operands[0])


class _HourHand(Family):
    name, level = "clock", 1
    question = "What hour is it in {1} hours?"
    ranges = (1, 12), (1, 99)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = _draw_dial(style)
        canvas.line(_CENTER, _on_dial(operands[0], 26), width=4)
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> int:
        hour, later = operands
        total = steps.add(steps.fact("hour", hour), later)
        turns = (total - 1) // 12 * 12
        return steps.fact(f"{total}-{turns}", total - turns) if turns > 0 else total


class _BothHands(Family):
    name, level = "minutes", 3
    question = "How many minutes past 12 is it?"
    heldout_period = 5

    def sample(self, rng: random.Random, level: int) -> Operands:
        return rng.randint(1, 11), 5 * rng.randint(0, 11)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        hour, minute = operands
        canvas = _draw_dial(style)
        canvas.line(_CENTER, _on_dial(hour + minute / 60, 18), width=5)
        canvas.line(_CENTER, _on_dial(minute / 5, 31), width=2)
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> int:
        hour, minute = operands
        hour, minute = steps.fact("hour", hour), steps.fact("minute", minute)
        return steps.add(steps.fact(f"60*{hour}", 60 * hour), minute)


def _draw_dial(style: Style) -> Canvas:
    """A clock without hands: a tick for each hour, a longer one at 12."""
    canvas = Canvas(3, 3, style)
    canvas.circle(_CENTER, 39)
    for hour in range(1, 13):
        canvas.line(_on_dial(hour, 28 if hour == 12 else 33), _on_dial(hour, 38))
    return canvas


def _on_dial(hour: float, radius: float) -> Point:
    """The pixel on a dial at an hour and a distance from its center."""
    turn = 2 * pi * hour / 12
    return _CENTER[0] + radius * sin(turn), _CENTER[1] - radius * cos(turn)


FAMILIES = _Sum(), _NumberLine(), _Missing(), _HourHand(), _BothHands()
