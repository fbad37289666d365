"""Tables of two features, and clocks."""

import random
from fractions import Fraction
from itertools import product

from reasonenv.envs.diagrams.family import Family, Operands, Solution, asking, register, text_of
from reasonenv.envs.diagrams.scene import Scene, arc_points


@register
class _TwoWayTable(Family):
    """Numbers of pupils by class and sport; a sum or a probability.

    Levels: the sum of a row; of a column; the probability of a cell; of a column; of a cell within
    a row.
    """

    name = "two_way_table"
    questions = asking()
    asks = (
        "the number of pupils of class {2}",
        "the number of pupils who play {3}",
        "the exact probability that a random pupil is in class {2} and plays {3}",
        "the exact probability that a random pupil plays {3}",
        "the exact probability that a random pupil of class {2} plays {3}",
    )
    height = 280
    _SPORTS = ("chess", "tennis", "football")

    def sample(self, rng: random.Random, level: int) -> Operands:
        table = tuple(tuple(rng.randint(2, 18) for _ in range(3)) for _ in range(3))
        row = "" if level in (2, 4) else rng.choice("ABC")
        return level, table, row, "" if level == 1 else rng.choice(self._SPORTS)

    def draw(self, scene: Scene, operands: Operands) -> None:
        rows = [(name, *row) for name, row in zip("ABC", operands[1], strict=True)]
        for y, texts in enumerate((("class", *self._SPORTS), *rows)):
            for x, text in enumerate(texts):
                corner = complex(22 + 101 * x, 28 + 56 * y)
                fill = None if x and y else scene.tint()
                scene.rectangle(corner, 101 + 56j, fill=fill, width=0.7)
                scene.label(str(text), corner + 50 + 28j, size=19)

    def solve(self, operands: Operands) -> Solution:
        level, table, row, sport = operands
        cells = list(zip(product("ABC", self._SPORTS), sum(table, ()), strict=True))
        part = [n for (name, what), n in cells if row in ("", name) and sport in ("", what)]
        whole = [n for (name, _), n in cells if level < 5 or name == row] if level > 2 else [1]
        answer = Fraction(sum(part), sum(whole))
        terms = [" + ".join(map(str, numbers)) for numbers in (part, whole)]
        return Solution(answer, f"({terms[0]}) / ({terms[1]}) = {text_of(answer)}.")


@register
class _Clocks(Family):
    """Two clocks; the minutes from the first to the second.

    Levels: quarters of an hour; five minutes; minutes; up to 12 hours, with four numbers; without
    numbers. Up to level 3 the time is at most 5 hours.
    """

    name = "clocks"
    questions = asking("the time from start to end in minutes, if it is less than 12 hours")
    height = 280

    def sample(self, rng: random.Random, level: int) -> Operands:
        step, longest = ((15, 300), (5, 300), (1, 300), (1, 719), (1, 719))[level - 1]
        start = step * rng.randrange(720 // step)
        return (12, 12, 12, 4, 0)[level - 1], start, start + step * rng.randint(1, longest // step)

    def draw(self, scene: Scene, operands: Operands) -> None:
        numbers, *times = operands
        for time, x, name in zip(times, (118, 330), ("start", "end"), strict=True):
            scene.circle(complex(x, 124), 100, width=1.3, fill=scene.tint(), is_ground=True)
            for minute in range(60):
                _hand(scene, x, (89, 96)[minute % 5 > 0], 100, minute, 0.9)
            for hour in range(12 // numbers, 13, 12 // numbers) if numbers else ():
                scene.label(str(hour), complex(x, 124) + arc_points(0, 77, 90 - 30 * hour, 0)[0])
            _hand(scene, x, 0, 42, time / 12, 2.6)
            _hand(scene, x, 0, 84, time, 1.4)
            scene.dot(complex(x, 124))
            scene.label(name, complex(x, 252))

    def solve(self, operands: Operands) -> Solution:
        _, start, end = operands
        first, last = (f"{time // 60 % 12 or 12}:{time % 60:02}" for time in (start, end))
        text = f"From {first} to {last} it takes {(end - start) // 60} * 60 + {(end - start) % 60}"
        return Solution(end - start, f"{text} = {end - start} minutes.")


def _hand(scene: Scene, x: float, start: float, end: float, minute: float, width: float) -> None:
    """A line on a clock's face, as a hand at a minute."""
    way = arc_points(0, 1, 90 - 6 * minute, 0)[0]
    scene.line(
        complex(x, 124) + start * way, complex(x, 124) + end * way, width=width, is_ground=True
    )
