"""Charts with axes and legends, and pie charts."""

import random
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import ClassVar

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import Family, Operands, Solution, asking, register, text_of
from reasonenv.envs.diagrams.scene import Scene, arc_points

# Titles, what is counted, and where.
_THEMES = (
    ("Visitors", ("men", "women", "children"), "on", ("Mon", "Tue", "Wed", "Thu", "Fri")),
    ("Fruit", ("apples", "pears", "plums"), "for", ("Ana", "Ben", "Cleo", "Dan", "Eva")),
    ("Traffic", ("cars", "bikes", "buses"), "in", ("May", "June", "July", "Aug", "Sept")),
    ("Pets", ("cats", "dogs", "birds"), "in", ("Rome", "Oslo", "Lima", "Paris", "Delhi")),
)
_ASKS = {
    "number": "the number of {}",
    "difference": "the difference between the number of {} and that of {}",
    "total": "the total number of {}",
    "mean": "the mean of the numbers of {}",
    "gap": "the difference between the total numbers of {} and {}",
}


class _Chart(Family):
    """Numbers of one to three things in some places, on a scale whose lines are counted."""

    questions = asking()
    height = 364
    asks: ClassVar[tuple[str, ...]]
    """What each level asks for: a key of `_ASKS`."""
    num_things: ClassVar[tuple[int, ...]]
    """Of each level."""
    is_stacked: ClassVar[bool] = False

    def sample(self, rng: random.Random, level: int) -> Operands:
        lines, major = ((10, 1), (12, 1), (16, 2), (16, 2), (20, 5))[level - 1]
        count, things, ask = rng.choice((4, 5)), self.num_things[level - 1], self.asks[level - 1]
        highest = lines // things if self.is_stacked else lines
        columns = [rng.sample(range(1, highest + 1), things) for _ in range(count)]
        chosen = rng.sample(range(things), min(2, things)) * 2
        places = rng.sample(range(count), 2) if ask in ("number", "difference") else (None, None)
        cells = list(zip(chosen, places, strict=False))[: 2 if ask in ("difference", "gap") else 1]
        scale = rng.choice((1, 2, 4 if major == 5 else 5, 10)), major, lines
        table = tuple(zip(*columns, strict=True))
        return rng.randrange(len(_THEMES)), scale, table, ask, tuple(sorted(cells))

    def words(self, operands: Operands) -> Operands:
        theme, *_, ask, cells = operands
        _, things, preposition, places = _THEMES[theme]
        names = [
            things[thing] if place is None else f"{things[thing]} {preposition} {places[place]}"
            for thing, place in cells
        ]
        return (_ASKS[ask].format(*names),)

    def solve(self, operands: Operands) -> Solution:
        _, (unit, *_), table, ask, cells = operands
        rows = [[unit * number for number in row] for row in table]
        parts = [rows[thing] if place is None else [rows[thing][place]] for thing, place in cells]
        low, high = sorted(parts, key=sum)[0], sorted(parts, key=sum)[-1]
        terms, less = (" + ".join(map(str, part)) for part in (high, low))
        answer, steps = Fraction(sum(high)), terms
        if ask == "mean":
            answer, steps = answer / len(high), f"({terms}) / {len(high)}"
        elif ask in ("difference", "gap"):
            answer, steps = answer - sum(low), f"{terms} - ({less})"
        name = self.words(operands)[0].capitalize()
        return Solution(answer, f"{name} is {steps} = {text_of(answer)}.")


def _chart(scene: Scene, operands: Operands) -> Axes:
    """Axes with a title, a legend, and names of the places along x, in the middle of 1."""
    theme, (unit, major, lines), table, *_ = operands
    title, things, _, places = _THEMES[theme]
    axes = Axes(scene, (0, len(table[0])), (0, unit * lines), 62 + 64j, 370 + 256j)
    axes.grid((), range(0, unit * lines + 1, unit))
    axes.frame(range(0, unit * lines + 1, unit * major))
    scene.label(title if len(table) > 1 else things[0].capitalize(), 224 + 18j, size=19)
    for series, thing in enumerate(things[: len(table)] if len(table) > 1 else ()):
        corner = complex(80 + 120 * series, 38)
        scene.rectangle(corner, 14 + 14j, fill=scene.accent(series), width=0.5)
        scene.label(thing, corner + 14 + 7j, 1, size=17)
    for place, name in enumerate(places[: len(table[0])]):
        scene.label(name, axes.at(place + 0.5, 0), 1j, size=17)
    return axes


def _bar(axes: Axes, x: float, width: float, low: float, high: float, series: int) -> None:
    """A bar of a thing's color from one number to another."""
    corner = axes.at(x, high)
    size = axes.at(x + width, low) - corner
    axes.scene.rectangle(corner, size, fill=axes.scene.accent(series), width=0.6)


@register
class _Bars(_Chart):
    """Bars of one thing; the number of it, a difference, a total or a mean.

    Levels: a number; a difference; a total; a mean; a mean on a finer scale. Every line has its
    number at levels 1 and 2, every second at 3 and 4, every fifth at 5.
    """

    name = "bars"
    asks = ("number", "difference", "total", "mean", "mean")
    num_things = (1, 1, 1, 1, 1)

    def draw(self, scene: Scene, operands: Operands) -> None:
        axes = _chart(scene, operands)
        width, is_plain = scene.rng.choice((0.5, 0.7)), scene.rng.random() < 0.5
        for place, number in enumerate(operands[2][0]):
            color = 0 if is_plain else place
            _bar(axes, place + (1 - width) / 2, width, 0, operands[1][0] * number, color)


@register
class _GroupedBars(_Chart):
    """Groups of two or three bars with a legend; a number, a difference or a total.

    Levels: a number; a difference within a group; a total; a difference of totals; and of three
    things. Every line has its number at levels 1 and 2, every second at 3 and 4, every fifth at 5.
    """

    name = "grouped_bars"
    asks = ("number", "difference", "total", "gap", "gap")
    num_things = (2, 2, 2, 2, 3)

    def draw(self, scene: Scene, operands: Operands) -> None:
        axes = _chart(scene, operands)
        width = 0.8 / len(operands[2])
        for series, row in enumerate(operands[2]):
            for place, number in enumerate(row):
                _bar(axes, place + 0.1 + width * series, width, 0, operands[1][0] * number, series)


@register
class _StackedBars(_Chart):
    """Bars of two or three parts one on the other; a number, a difference or a total.

    Levels: a number; a difference within a bar; of three parts a number, a difference between
    bars, a total. Lines have numbers as for bars.
    """

    name = "stacked_bars"
    asks = ("number", "difference", "number", "difference", "total")
    num_things = (2, 2, 3, 3, 3)
    is_stacked = True

    def draw(self, scene: Scene, operands: Operands) -> None:
        axes = _chart(scene, operands)
        for place, column in enumerate(zip(*operands[2], strict=True)):
            ends = [operands[1][0] * end for end in accumulate(column, initial=0)]
            for series, (low, high) in enumerate(pairwise(ends)):
                _bar(axes, place + 0.2, 0.6, low, high, series)


@register
class _LineChart(_Chart):
    """One to three broken lines; a number, a difference, or a mean.

    Levels: a number; a difference along a line; between two lines; the mean of one of two; the
    difference of totals of two of three. Lines have numbers as for bars.
    """

    name = "line_chart"
    asks = ("number", "difference", "difference", "mean", "gap")
    num_things = (1, 1, 2, 2, 3)

    def draw(self, scene: Scene, operands: Operands) -> None:
        axes = _chart(scene, operands)
        for series, row in enumerate(operands[2]):
            points = [axes.at(x + 0.5, operands[1][0] * number) for x, number in enumerate(row)]
            scene.line(*points, color=scene.accent(series), width=1.2)
            for point in points:
                scene.dot(point, scene.accent(series))


_CHOICES = {
    "pupils": ("football", "tennis", "chess", "dance", "judo"),
    "guests": ("tea", "coffee", "juice", "water", "milk"),
}


@register
class _PieChart(Family):
    """A pie chart with percentages or angles, one of which is missing; a share, a number or all.

    Levels: the missing percentage; the number for it, from the number of all; from angles; from
    angles and another number; the number of all from another number.
    """

    name = "pie_chart"
    questions = asking()
    asks = (
        "the percentage of {1} who chose {2[0]}",
        *["the number of {1} who chose {2[0]}"] * 3,
        "the number of all {1}",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        rest, shares, group = 100 if level == 1 else 20, [], rng.choice(list(_CHOICES))
        least, names = rest // 10, rng.sample(_CHOICES[group], rng.choice((4, 5)))
        for left in range(len(names) - 1, 0, -1):
            shares.append(rng.randint(least, min(4 * least, rest - least * left)))
            rest -= shares[-1]
        shares = rng.sample([*shares, rest], len(names))
        total = 20 * rng.randint(2, 18) if level > 1 else 0
        return level, group, tuple(names), total, tuple(shares)

    def draw(self, scene: Scene, operands: Operands) -> None:
        level, group, names, total, shares = operands
        whole, start = sum(shares), scene.rng.randrange(360)
        known = f"{names[1]}: {total * shares[1] // whole} {group}"
        title = (group.capitalize(), *[f"{total} {group}"] * 2, known, known)[level - 1]
        scene.label(title, 224 + 24j, size=20)
        for place, share in enumerate(shares):
            turn, center = 360 * share / whole, 224 + 244j
            middle = arc_points(0, 1, start + turn / 2, 0)[0]
            rim = arc_points(center, 140, start, turn)
            scene.polygon(center, *rim, fill=scene.tint(place), width=0.8)
            scene.label(names[place], center + 142 * middle, middle, size=18)
            text = f"{100 * share // whole}%" if level < 3 else f"{18 * share}°"
            scene.label(text if place else "?", center + 95 * middle, size=18)
            start += turn

    def solve(self, operands: Operands) -> Solution:
        level, *_, total, shares = operands
        full = 100 if level < 3 else 360
        missing, other, *_ = parts = [full * share // sum(shares) for share in shares]
        known, part = total * other // full, full if level == 5 else missing
        wholes = (100, full), (total, full), (total, full), (known, other), (known, other)
        amount, whole = wholes[level - 1]
        answer = amount * part // whole
        text = f"The missing part is {full} - {' - '.join(map(str, parts[1:]))} = {missing}"
        return Solution(answer, f"{text}. {amount} * {part} / {whole} = {answer}.")
