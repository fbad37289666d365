"""Number lines, rulers and thermometers."""

import random
from fractions import Fraction

from reasonenv.envs.diagrams.family import Family, Operands, Solution, register, text_of
from reasonenv.envs.diagrams.scene import Scene, signed


@register
class _Thermometer(Family):
    """Two thermometers; by how many degrees the temperature rises from the first to the second.

    Levels: a tick is 5, 2, 1, 2 and 1 degrees; below zero from level 3 on; the numbers stand ten
    degrees apart, at levels 4 and 5 twenty.
    """

    name = "thermometer"
    questions = (
        "The thermometers show the temperature in the morning and at noon. By how many °C did it "
        "rise? Give a negative number if it fell.",
        "How many degrees is the noon temperature above that of the morning? Give a negative "
        "number if it is below.",
        "What is the temperature at noon minus the temperature in the morning, in °C?",
        "By how many degrees Celsius did the temperature change from morning to noon? A fall is "
        "a negative change.",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        tick, step = ((5, 10), (2, 10), (1, 10), (2, 20), (1, 20))[level - 1]
        low = 0 if level < 3 else rng.choice((-10, -20, -30))
        first, second = rng.sample(range(low, low + 51, tick), 2)
        return tick, step, low, first, second

    def draw(self, scene: Scene, operands: Operands) -> None:
        tick, step, low, *values = operands
        for x, value, name in zip((100, 310), values, ("morning", "noon"), strict=True):
            marks = range(low, low + 51, tick)
            height = {degrees: 330 - 5.8 * (degrees - low) for degrees in marks}
            mercury = {"fill": scene.accent(), "width": 0}
            scene.rectangle(complex(x - 9, 22), complex(18, 324))
            scene.circle(complex(x, 366), 26, fill=scene.accent())
            scene.rectangle(
                complex(x - 5, height[value]), complex(10, 350 - height[value]), **mercury
            )
            for degrees in marks:
                length = 24 if degrees % step == 0 else 15 if degrees % 5 == 0 else 9
                end = complex(x + 12 + length, height[degrees])
                scene.line(end - length, end, width=0.7)
                if degrees % step == 0:
                    scene.label(signed(degrees), end, 1)
            scene.label(name, complex(x, 420))

    def solve(self, operands: Operands) -> Solution:
        *_, first, second = operands
        change = second - first
        text = f"It was {first}°C in the morning and {second}°C at noon: {second} - ({first}) = "
        return Solution(change, f"{text}{change}.")


@register
class _NumberLine(Family):
    """A number line with two numbers and an arrow; the number at the arrow.

    Levels: steps of whole numbers; of tens and hundreds; of tenths; of fractions; of fractions,
    with the arrow outside the two numbers.
    """

    name = "number_line"
    height = 196
    questions = (
        "Which number does the arrow point at?",
        "What is the number at the arrow?",
        "Give the number that is marked on the number line.",
        "Read off the number below the arrow.",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        parts = rng.randint(4, 8)
        step = (
            Fraction(rng.randint(2, 9)),
            Fraction(rng.choice((5, 10, 20, 25, 50, 100))),
            Fraction(rng.randint(1, 5), 10),
            Fraction(1, parts),
            Fraction(1, parts),
        )[level - 1]
        first = rng.randint(-3, 6) * (1 if level > 3 else step * rng.randint(1, 4))
        beyond = -3, -2, -1, parts + 1, parts + 2
        arrow = rng.choice(range(1, parts) if level < 5 else beyond)
        return first, step, parts, arrow

    def draw(self, scene: Scene, operands: Operands) -> None:
        first, step, parts, arrow = operands
        low, high = min(0, arrow) - 1, max(parts, arrow) + 1
        x = {tick: 40 + 368 * (tick - low) / (high - low) for tick in range(low, high + 1)}
        scene.arrow(complex(16, 100), complex(436, 100))
        for tick in range(low, high + 1):
            length = 14 if tick in (0, parts) else 8
            scene.line(complex(x[tick], 100 - length), complex(x[tick], 100 + length))
            if tick in (0, parts):
                text = signed(text_of(first + tick * step))
                scene.label(text, complex(x[tick], 114), 1j)
        tip = complex(x[arrow], 88)
        scene.arrow(tip - 55j, tip, color=scene.accent(), width=1.6)

    def solve(self, operands: Operands) -> Solution:
        first, step, parts, arrow = operands
        last, value = first + parts * step, first + arrow * step
        gap = f"({text_of(last)} - ({text_of(first)})) / {parts} = {text_of(step)}"
        steps = f"A step is {gap}. The arrow is at {text_of(first)} + ({arrow}) * {text_of(step)}"
        return Solution(value, f"{steps} = {text_of(value)}.")


@register
class _Ruler(Family):
    """A bar beside a ruler of eight centimeters; the length of the bar.

    Levels: from a whole to a whole or half centimeter; between halves; from a whole one to any
    millimeter; between any; two bars, and how much longer the upper one is.
    """

    name = "ruler"
    height = 224
    questions = (
        "The ruler is in centimeters. {0}",
        "Read the ruler, whose numbers are centimeters. {0}",
        "Measure with the ruler in the figure, in cm. {0}",
        "Use the centimeter ruler. {0}",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        unit, other = ((10, 5), (5, 5), (10, 1), (1, 1), (1, 1))[level - 1]
        bars = []
        for _ in range(1 + (level == 5)):
            start = rng.randrange(0, 51, unit)
            bars.append((start, rng.randrange(start + 15, 81, other)))
        return tuple(bars)

    def words(self, operands: Operands) -> Operands:
        if len(operands) == 1:
            return ("How long is the bar, in cm?",)
        upper, lower = (end - start for start, end in operands)
        longer = ("upper", "lower") if upper >= lower else ("lower", "upper")
        return (f"By how many cm is the {longer[0]} bar longer than the {longer[1]} one?",)

    def draw(self, scene: Scene, operands: Operands) -> None:
        x = [24 + 5 * tick for tick in range(81)]
        scene.rectangle(complex(8, 120), complex(432, 84), fill=scene.tint(), is_ground=True)
        for tick in range(81):
            length = 26 if tick % 10 == 0 else 19 if tick % 5 == 0 else 11
            scene.line(complex(x[tick], 120), complex(x[tick], 120 + length), width=0.6)
            if tick % 10 == 0:
                scene.label(str(tick // 10), complex(x[tick], 146), 1j)
        for place, (start, end) in enumerate(operands):
            top = complex(x[start], 118 - 42 * (len(operands) - place))
            scene.rectangle(top, complex(x[end] - x[start], 30), fill=scene.accent(place + 1))
            for tick in (start, end):
                low = complex(x[tick], 118)
                scene.line(complex(x[tick], top.imag), low, width=0.6, is_dashed=True)

    def solve(self, operands: Operands) -> Solution:
        lengths, steps = [], ""
        for start, end in operands:
            lengths.append(Fraction(end - start, 10))
            ends = f"{text_of(Fraction(end, 10))} - {text_of(Fraction(start, 10))}"
            steps += f"The bar is {ends} = {text_of(lengths[-1])} cm long. "
        difference = abs(lengths[0] - sum(lengths[1:]))
        return Solution(difference, f"{steps}So it is {text_of(difference)} cm.")
