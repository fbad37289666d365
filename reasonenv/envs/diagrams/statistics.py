"""Pictures of data: scatter plots, box plots, histograms, stems and leaves, pictographs."""

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import ClassVar

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import (
    Family,
    Operands,
    Solution,
    asking,
    register,
    text_of,
)
from reasonenv.envs.diagrams.scene import Scene, arc_points


@register
class _Scatter(Family):
    """Marks of pupils in two tests as points; how many points fulfil a condition.

    Levels: above a number; left of one and above another; better in the second test; better by
    more than two; so good in both that the sum is larger than a number. Up to 20, 22, 24, 26, 28
    points.
    """

    name = "scatter"
    questions = (
        "Each point is a pupil with the marks of two tests. How many pupils {0}?",
        "The points show the marks of some pupils in two tests. How many of them {0}?",
        "Every point stands for one pupil. Count the pupils who {0}.",
        "The diagram has one point for each pupil. What is the number of pupils who {0}?",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        first, second = (0, rng.randint(4, 7))[level == 2], rng.randint(3, 6)
        condition = level, first, (second, second, 0, 0, 2 * second + 1)[level - 1]
        cells = list(product(range(1, 11), repeat=2))
        good = [cell for cell in cells if _is_counted(condition, *cell)]
        others = [cell for cell in cells if not _is_counted(condition, *cell)]
        points = rng.sample(good, rng.randint(2, 11)) + rng.sample(
            others, rng.randint(4, 7 + level)
        )
        return condition, tuple(sorted(points))

    def words(self, operands: Operands) -> Operands:
        (level, first, second), _ = operands
        return (
            (
                f"got more than {second} marks in test 2",
                f"got fewer than {first} marks in test 1 and more than {second} in test 2",
                "got more marks in test 2 than in test 1",
                "got at least 2 marks more in test 2 than in test 1",
                f"got more than {second} marks in both tests together",
            )[level - 1],
        )

    def draw(self, scene: Scene, operands: Operands) -> None:
        axes = Axes(scene, (0, 10), (0, 10), 62 + 26j, 360 + 350j)
        axes.grid(range(11), ())
        axes.frame(range(11))
        for x in range(1, 11):
            scene.label(str(x), axes.at(x, 0), 1j, size=17)
        scene.label("marks in test 1", 242 + 424j, size=18)
        scene.label("test 2", axes.at(0, 10) - 6j, -1j, size=16)
        color = scene.accent()
        for point in operands[1]:
            scene.dot(axes.at(*point), color)

    def solve(self, operands: Operands) -> Solution:
        condition, points = operands
        counted = [point for point in points if _is_counted(condition, *point)]
        text = ", ".join(f"({x}, {y})" for x, y in counted)
        return Solution(len(counted), f"The points in question are {text}: {len(counted)} pupils.")


def _is_counted(condition: tuple[int, int, int], x: int, y: int) -> bool:
    level, first, second = condition
    return (y > second, x < first and y > second, y > x, y >= x + 2, x + y > second)[level - 1]


def _name(ask: str, sets: Sequence[object]) -> str:
    """A measure of one set of data, or how far apart it is in two."""
    return f"the difference between the {ask}s of A and B" if sets[1:] else f"the {ask} of the data"


def _measured(ask: str, *values: Fraction) -> Solution:
    """The value of a measure, or the difference of two."""
    texts = [text_of(value) for value in sorted(values, reverse=True)]
    if len(values) == 1:
        return Solution(values[0], f"The {ask} of the data is {texts[0]}.")
    answer = abs(values[0] - values[1])
    steps = f"The {ask}s are {' and '.join(texts)}: {' - '.join(texts)} = {text_of(answer)}."
    return Solution(answer, steps)


@register
class _BoxPlot(Family):
    """One or two box plots on a scale; a quartile, a range or a difference.

    Levels: the median or a quartile; the range or the interquartile range; the same on a finer
    scale; the difference of two medians; of two interquartile ranges on a finer scale.
    """

    name = "box_plot"
    questions = asking()
    height = 308
    _PLACES: ClassVar = {
        "median": (2,),
        "lower quartile": (1,),
        "upper quartile": (3,),
        "range": (4, 0),
        "interquartile range": (3, 1),
    }

    def sample(self, rng: random.Random, level: int) -> Operands:
        ask = list(self._PLACES)[(rng.randrange(3), *[rng.choice((3, 4))] * 2, 0, 4)[level - 1]]
        tick = 1 if level in (3, 5) else rng.choice((2, 4, 5, 10))
        places = range(1, 40 if tick == 1 else 20)
        sets = [sorted(rng.sample(places, 5)) for _ in range(1 + level // 4)]
        return ask, tick, *(tuple(tick * place for place in data) for data in sets)

    def words(self, operands: Operands) -> Operands:
        return (_name(operands[0], operands[2:]),)

    def draw(self, scene: Scene, operands: Operands) -> None:
        _, tick, *sets = operands
        top = 40 if tick == 1 else 20 * tick
        axes = Axes(scene, (0, top), (0, len(sets)), 44 + 24j, 378 + 236j)
        axes.grid(range(0, top + 1, tick), ())
        axes.horizontal(0)
        for number in range(0, top + 1, 5 * tick):
            axes.vertical(number, width=0.7, is_ground=True)
            scene.label(str(number), axes.at(number, 0), 1j, size=17)
        for row, (low, first, middle, third, high) in enumerate(reversed(sets)):
            y = row + 0.5
            for start, end in ((low, first), (third, high)):
                scene.line(axes.at(start, y), axes.at(end, y))
            corner = axes.at(first, y) - 30j
            scene.rectangle(corner, axes.at(third, y) + 30j - corner, fill=scene.tint(row))
            for number, half in ((low, 14j), (middle, 30j), (high, 14j)):
                scene.line(axes.at(number, y) - half, axes.at(number, y) + half, width=1.3)
            if len(sets) > 1:
                scene.label("BA"[row], complex(20, axes.at(0, y).imag))

    def solve(self, operands: Operands) -> Solution:
        ask, _, *sets = operands
        place, *less = self._PLACES[ask]
        return _measured(
            ask, *(Fraction(data[place] - sum(data[i] for i in less)) for data in sets)
        )


@register
class _Histogram(Family):
    """A histogram of ages; how many people are in some classes.

    Levels: one class; a sum of two; all from an age on; classes of two widths with the density of
    people a year; all from an age on by density.
    """

    name = "histogram"
    questions = (
        "The histogram shows the ages of the members of a club. How many are {0}?",
        "A club's members are shown by age. How many of them are {0}?",
        "Read the histogram of the members' ages. Find the number of members who are {0}.",
        "Ages of members are grouped in a histogram. What is the number of those who are {0}?",
    )
    height = 392

    def sample(self, rng: random.Random, level: int) -> Operands:
        widths = [10] * 5 if level < 4 else rng.sample((5, 10, 10, 20, 20), 4)
        edges = [10]
        for width in widths:
            edges.append(edges[-1] + width)
        heights = tuple(rng.randint(1, 12 if level < 4 else 8) for _ in widths)
        first = rng.randrange(len(widths) - 1)
        last = first + (1, 2)[level == 2] if level in (1, 2, 4) else len(widths)
        unit = 1 if level > 3 else rng.choice((1, 2, 5))
        return level > 3, unit, tuple(edges), heights, (first, last)

    def words(self, operands: Operands) -> Operands:
        *_, edges, heights, (first, last) = operands
        if last == len(heights):
            return (f"{edges[first]} years old or older",)
        return (f"at least {edges[first]} and less than {edges[last]} years old",)

    def draw(self, scene: Scene, operands: Operands) -> None:
        is_density, unit, edges, heights, _ = operands
        top = 8 if is_density else 12
        axes = Axes(scene, (edges[0] - 4, edges[-1]), (0, top * unit), 62 + 46j, 366 + 276j)
        axes.frame(range(0, top * unit + 1, unit))
        scene.label("members per year of age" if is_density else "members", 150 + 20j, size=17)
        for start, end, height in zip(edges, edges[1:], heights, strict=False):
            corner = axes.at(start, unit * height)
            scene.rectangle(corner, axes.at(end, 0) - corner, fill=scene.accent(), width=0.7)
        for edge in edges:
            scene.label(str(edge), axes.at(edge, 0), 1j, size=17)
        scene.label("age in years", 245 + 372j, size=17)

    def solve(self, operands: Operands) -> Solution:
        is_density, unit, edges, heights, (first, last) = operands
        terms, answer = [], 0
        for place in range(first, last):
            width = edges[place + 1] - edges[place] if is_density else 1
            terms.append(
                f"{width} * {heights[place]}" if is_density else f"{unit * heights[place]}"
            )
            answer += width * unit * heights[place]
        rule = "A class has its width times its height" if is_density else "The bars stand for"
        return Solution(answer, f"{rule}: {' + '.join(terms)} = {answer}.")


@register
class _StemAndLeaf(Family):
    """A stem-and-leaf diagram; the range, the median, or the difference of two medians.

    Levels: the range; the median of an odd number of data; of an even one; the difference of two
    medians of odd and of even numbers of data.
    """

    name = "stem_and_leaf"
    questions = asking()
    height = 364

    def sample(self, rng: random.Random, level: int) -> Operands:
        count = rng.choice(((8, 9, 10), (9, 11, 13), (8, 10, 12), (7, 9), (6, 8))[level - 1])
        groups = 1 if level < 4 else 2
        sets = [tuple(sorted(rng.choices(range(10, 60), k=count))) for _ in range(groups)]
        return ("range" if level == 1 else "median"), *sets

    def words(self, operands: Operands) -> Operands:
        return (_name(operands[0], operands[1:]),)

    def draw(self, scene: Scene, operands: Operands) -> None:
        _, *sets = operands
        x = 100 if len(sets) == 1 else 224
        for place in range(len(sets)):
            side = (1, -1)[place]
            scene.line(complex(x + 18 * side, 44), complex(x + 18 * side, 312))
            if len(sets) > 1:
                scene.label("BA"[place], complex(x + 40 * side, 24))
        for stem in range(1, 6):
            y = 12 + 54 * stem
            scene.label(str(stem), complex(x, y), color=scene.accent())
            for side, data in zip((1, -1), reversed(sets), strict=False):
                leaves = [number % 10 for number in data if number // 10 == stem]
                for place, leaf in enumerate(leaves):
                    scene.label(str(leaf), complex(x + side * (38 + 21 * place), y))
        scene.label("Key: 2 | 7 means 27", 224 + 340j, size=18)

    def solve(self, operands: Operands) -> Solution:
        ask, *sets = operands
        if ask == "range":
            return _measured(ask, Fraction(sets[0][-1] - sets[0][0]))
        half = len(sets[0]) // 2
        return _measured(ask, *(Fraction(data[half] + data[~half], 2) for data in sets))


@register
class _Pictograph(Family):
    """Rows of symbols, each for the same number; the number of a row, a difference, a total.

    Levels: a row of whole symbols; a difference; a total with half symbols; a difference with
    quarters; a row where the number of another row is known in place of a symbol's.
    """

    name = "pictograph"
    questions = asking()
    height = 336
    _NAMES = ("Ana", "Ben", "Cleo", "Dan")

    def sample(self, rng: random.Random, level: int) -> Operands:
        part = (4, 4, 2, 1, 2)[level - 1]
        key = rng.choice((2, 3, 4, 5, 10) if part == 4 else (4, 8, 12, 20))
        quarters = tuple(
            part * number for number in rng.sample(range(1 + (part < 4), 28 // part), 4)
        )
        picks = sorted(rng.sample(range(4), 2))
        if level in (1, 5):
            rng.shuffle(picks)
        ask = ("row", "difference", "total", "difference", "other")[level - 1]
        return ask, rng.randrange(3), key, quarters, tuple(picks)

    def words(self, operands: Operands) -> Operands:
        ask, thing, *_, picks = operands
        name = ("apples", "books", "goals")[thing]
        one, other = (self._NAMES[pick] for pick in picks)
        if ask == "difference":
            return (f"the difference between the numbers of {name} for {one} and {other}",)
        return (
            f"the total number of {name}" if ask == "total" else f"the number of {name} for {one}",
        )

    def draw(self, scene: Scene, operands: Operands) -> None:
        ask, thing, key, quarters, (_, other) = operands
        for row, count in enumerate(quarters):
            y = 34 + 62 * row
            scene.label(self._NAMES[row], complex(44, y), size=19)
            for place in range(0, count, 4):
                self._symbol(scene, complex(112 + 12 * place, y), min(4, count - place))
        scene.line(84 + 8j, 84 + 250j)
        name = ("apples", "books", "goals")[thing]
        if ask == "other":
            text = f"{self._NAMES[other]} has {key * quarters[other] // 4} {name}."
            scene.label(text, 224 + 296j)
        else:
            self._symbol(scene, 130 + 296j, 4)
            scene.label(f"stands for {key} {name}", 156 + 296j, 1)

    def _symbol(self, scene: Scene, center: complex, quarters: int) -> None:
        rim = arc_points(center, 20, 90, 90 * quarters)
        scene.polygon(*rim, *([center] if quarters < 4 else []), fill=scene.accent(), width=0.7)

    def solve(self, operands: Operands) -> Solution:
        ask, _, key, quarters, (one, other) = operands
        symbols = [text_of(Fraction(count, 4)) for count in quarters]
        first, second = key * quarters[one] // 4, key * quarters[other] // 4
        total, high, low = key * sum(quarters) // 4, max(first, second), min(first, second)
        answer, steps = {
            "row": (first, f"{symbols[one]} symbols stand for {symbols[one]} * {key}"),
            "difference": (high - low, f"A symbol stands for {key}: {high} - {low}"),
            "total": (total, f"A symbol stands for {key}: ({' + '.join(symbols)}) * {key}"),
            "other": (
                first,
                f"{symbols[other]} symbols are {second}, so one is {key}: {symbols[one]} * {key}",
            ),
        }[ask]
        return Solution(answer, f"{steps} = {answer}.")

    def canonical(self, operands: Operands) -> Operands:
        ask, thing, key, quarters, picks = operands
        return ask, thing, key, quarters, () if ask == "total" else picks
