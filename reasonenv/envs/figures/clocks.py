"""Clocks."""

import random
from math import cos, pi, sin

from reasonenv.envs.figures.canvas import Canvas, Point, Style
from reasonenv.envs.figures.family import Family, Operands
from reasonenv.envs.figures.steps import Steps

CENTER: Point = (42, 42)


class HourHand(Family):
    """The hour hand of a clock; the question adds some hours."""

    name, level = "clock", 1
    question = "What hour is it in {1} hours?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        return rng.randint(1, 12), rng.randint(1, 99)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = draw_dial(style)
        canvas.line(CENTER, on_dial(operands[0], 26), width=4)
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> int:
        hour, later = operands
        total = steps.add(steps.read("hour", hour), later)
        turns = (total - 1) // 12 * 12
        return steps.fact(f"{total}-{turns}", total - turns) if turns > 0 else total


class BothHands(Family):
    """Both hands of a clock."""

    name, level = "minutes", 3
    question = "How many minutes past 12 is it?"
    heldout_period = 5

    def sample(self, rng: random.Random, level: int) -> Operands:
        return rng.randint(1, 11), 5 * rng.randint(0, 11)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        hour, minute = operands
        canvas = draw_dial(style)
        canvas.line(CENTER, on_dial(hour + minute / 60, 18), width=5)
        canvas.line(CENTER, on_dial(minute / 5, 31), width=2)
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> int:
        hour, minute = operands
        hour, minute = steps.read("hour", hour), steps.read("minute", minute)
        return steps.add(steps.fact(f"60*{hour}", 60 * hour), minute)


def draw_dial(style: Style) -> Canvas:
    """A clock without hands: a tick for each hour, a longer one at 12."""
    canvas = Canvas(3, 3, style)
    canvas.circle(CENTER, 39)
    for hour in range(1, 13):
        canvas.line(on_dial(hour, 28 if hour == 12 else 33), on_dial(hour, 38))
    return canvas


def on_dial(hour: float, radius: float) -> Point:
    """The pixel on a dial at an hour and a distance from its center."""
    turn = 2 * pi * hour / 12
    return CENTER[0] + radius * sin(turn), CENTER[1] - radius * cos(turn)
