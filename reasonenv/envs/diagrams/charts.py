"""Charts with axes and legends, and pie charts."""

import random
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import ClassVar, NamedTuple

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import (
    QUANTITY,
    Family,
    Operands,
    Solution,
    register,
    text_of,
)
from reasonenv.envs.diagrams.scene import Scene, arc_points


class _Theme(NamedTuple):
    """What a chart is about: a title, what is counted, and where."""

    title: str
    things: tuple[str, ...]
    preposition: str
    places: tuple[str, ...]


_THEMES = (
    _Theme(
        "Visitors", ("adults", "children", "seniors"), "on", ("Mon", "Tue", "Wed", "Thu", "Fri")
    ),
    _Theme("Fruit", ("apples", "pears", "plums"), "for", ("Ana", "Ben", "Cleo", "Dan", "Eva")),
    _Theme("Traffic", ("cars", "bikes", "buses"), "in", ("May", "June", "July", "Aug", "Sept")),
    _Theme("Pets", ("cats", "dogs", "birds"), "in", ("Rome", "Oslo", "Lima", "Paris", "Delhi")),
)


class _Chart(Family):
    """Numbers of one to three things in some places, on a scale whose lines are counted."""

    questions = QUANTITY
    height = 364
    asks: ClassVar[tuple[str, ...]]
    """What each level asks for: a key of `_quantity`."""
    num_things: ClassVar[tuple[int, ...]]
    is_stacked: ClassVar[bool] = False

    def sample(self, rng: random.Random, level: int) -> Operands:
        lines, major = ((10, 1), (12, 1), (16, 2), (16, 2), (20, 5))[level - 1]
        count, things = rng.choice((4, 5)), self.num_things[level - 1]
        highest = lines // things if self.is_stacked else lines
        columns = [rng.sample(range(1, highest + 1), things) for _ in range(count)]
        unit = rng.choice((1, 2, 4, 10) if major == 5 else (1, 2, 5, 10))
        chosen, place = rng.sample(range(things), min(2, things)), rng.sample(range(count), 2)
        theme = rng.randrange(len(_THEMES))
        ask, table = self.asks[level - 1], tuple(zip(*columns, strict=True))
        return theme, (unit, major, lines), table, ask, tuple(chosen), tuple(place)

    def words(self, operands: Operands) -> Operands:
        return (self._quantity(operands)[0],)

    def canonical(self, operands: Operands) -> Operands:
        # What is asked for in words, whichever of two is named first.
        return *operands[:3], *sorted(self.words(operands)[0].split())

    def solve(self, operands: Operands) -> Solution:
        name, answer, steps = self._quantity(operands)
        return Solution(answer, f"{name[0].upper()}{name[1:]} is {steps} = {text_of(answer)}.")

    def _quantity(self, operands: Operands) -> tuple[str, int | Fraction, str]:
        """What is asked for in words, its value, and how it is computed."""
        theme, (unit, *_), table, ask, chosen, (here, there) = operands
        _, things, preposition, places = _THEMES[theme]
        row, other = ([unit * number for number in table[i]] for i in (chosen[0], chosen[-1]))
        name, second = things[chosen[0]], things[chosen[-1]]
        at, to = (f"{preposition} {places[place]}" for place in (here, there))
        if ask == "value":
            return f"the number of {name} {at}", row[here], f"{unit} * {row[here] // unit}"
        if ask == "total":
            return f"the total number of {name}", sum(row), _sum(row)
        if ask == "mean":
            text, mean = f"the mean of the numbers of {name}", Fraction(sum(row), len(row))
            return text, mean, f"({_sum(row)}) / {len(row)}"
        text, *parts = {
            "change": (f"numbers of {name} {at} and {to}", [row[here]], [row[there]]),
            "gap": (f"numbers of {name} and {second} {at}", [row[here]], [other[here]]),
            "total gap": (f"total numbers of {name} and {second}", row, other),
        }[ask]
        low, high = sorted(parts, key=sum)
        steps = f"({_sum(high)}) - ({_sum(low)})"
        return f"the difference between the {text}", sum(high) - sum(low), steps


def _sum(numbers: list[int]) -> str:
    return " + ".join(map(str, numbers))


def _chart(scene: Scene, operands: Operands) -> tuple[Axes, list[complex]]:
    """Axes with a title and a legend, and the places of the categories on the axis."""
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
    middles = [axes.at(place + 0.5, 0) for place in range(len(table[0]))]
    for middle, name in zip(middles, places, strict=False):
        scene.label(name, middle, 1j, size=17)
    return axes, middles


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
    asks = ("value", "change", "total", "mean", "mean")
    num_things = (1, 1, 1, 1, 1)

    def draw(self, scene: Scene, operands: Operands) -> None:
        axes, _ = _chart(scene, operands)
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
    asks = ("value", "gap", "total", "total gap", "total gap")
    num_things = (2, 2, 2, 2, 3)

    def draw(self, scene: Scene, operands: Operands) -> None:
        axes, _ = _chart(scene, operands)
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
    asks = ("value", "gap", "value", "change", "total")
    num_things = (2, 2, 3, 3, 3)
    is_stacked = True

    def draw(self, scene: Scene, operands: Operands) -> None:
        axes, _ = _chart(scene, operands)
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
    asks = ("value", "change", "gap", "mean", "total gap")
    num_things = (1, 1, 2, 2, 3)

    def draw(self, scene: Scene, operands: Operands) -> None:
        axes, middles = _chart(scene, operands)
        for series, row in enumerate(operands[2]):
            heights = [axes.at(0, operands[1][0] * number).imag for number in row]
            points = [complex(m.real, y) for m, y in zip(middles, heights, strict=True)]
            scene.line(*points, color=scene.accent(series), width=1.2)
            for point in points:
                axes.scene.dot(point, scene.accent(series))


_CHOICES = (
    ("pupils", ("football", "tennis", "chess", "dance", "judo")),
    ("guests", ("tea", "coffee", "juice", "water", "milk")),
    ("voters", ("red", "blue", "green", "yellow", "white")),
)


@register
class _PieChart(Family):
    """A pie chart with percentages or angles; a share, a number or the whole.

    Levels: the missing percentage; a number from a percentage and the whole; from the missing angle
    and the whole; the whole from a number; a number by the missing angle and another number.
    """

    name = "pie_chart"
    questions = QUANTITY

    def sample(self, rng: random.Random, level: int) -> Operands:
        ask = ("share", "number", "angle", "whole", "other")[level - 1]
        count = rng.choice((4, 5) if level > 1 else (3, 4))
        rest, shares = 100 if level == 1 else 20, []
        least = rest // 10
        for left in range(count - 1, 0, -1):
            shares.append(rng.randint(least, min(4 * least, rest - least * left)))
            rest -= shares[-1]
        shares = [*shares, rest]
        rng.shuffle(shares)
        return rng.randrange(3), ask, 20 * rng.randint(2, 18), tuple(shares)

    def words(self, operands: Operands) -> Operands:
        theme, ask, *_ = operands
        group, names = _CHOICES[theme]
        return {
            "share": (f"the percentage of {group} who chose {names[0]}",),
            "whole": (f"the number of all {group}",),
        }.get(ask, (f"the number of {group} who chose {names[0]}",))

    def draw(self, scene: Scene, operands: Operands) -> None:
        theme, ask, total, shares = operands
        group, names = _CHOICES[theme]
        title = {"share": group.capitalize(), "number": f"{total} {group}"}.get(ask)
        known = f"{names[1]}: {total * shares[1] // 20} {group}"
        scene.label(title or (f"{total} {group}" if ask == "angle" else known), 224 + 24j, size=20)
        center, start = 224 + 244j, scene.rng.randrange(360)
        full, sign = (360, "°") if ask in ("angle", "other") else (100, "%")
        for place, share in enumerate(shares):
            turn = 360 * share / sum(shares)
            rim = arc_points(center, 140, start, turn)
            middle = arc_points(center, 1, start + turn / 2, 0)[0] - center
            scene.polygon(center, *rim, fill=scene.tint(place), width=0.8)
            scene.label(names[place], center + 142 * middle, middle, size=18)
            is_hidden = place == 0 and ask != "number"
            scene.label(
                "?" if is_hidden else f"{full * share // sum(shares)}{sign}",
                center + 95 * middle,
                size=18,
            )
            start += turn

    def solve(self, operands: Operands) -> Solution:
        _, ask, total, shares = operands
        percent, angle, part = 5 * shares[0], 18 * shares[0], total * shares[0] // 20
        number = total * shares[1] // 20
        rest = " - ".join(str(share if ask == "share" else 18 * share) for share in shares[1:])
        turn = f"The angle is 360 - {rest} = {angle} degrees. "
        answer, steps = {
            "share": (shares[0], f"The parts make 100%: 100 - {rest}"),
            "number": (part, f"The part is {percent}% of {total}: {total} * {percent} / 100"),
            "angle": (part, f"{turn}The part is {total} * {angle} / 360"),
            "whole": (
                total,
                f"As {5 * shares[1]}% are {number}, all are 20 / {shares[1]} * {number}",
            ),
            "other": (part, f"{turn}The part is {number} * {angle} / {18 * shares[1]}"),
        }[ask]
        return Solution(answer, f"{steps} = {answer}.")
