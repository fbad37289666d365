"""Charts with axes and legends, and pie charts."""

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate, pairwise

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import Exercise, family, text_of
from reasonenv.envs.diagrams.scene import Scene, arc_points

# What is counted, in general and one by one, and where.
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
_Rows = list[list[int]]


def _chart(
    rng: random.Random,
    level: int,
    ask: str,
    count: int,
    paint: Callable[[Axes, _Rows], None],
    is_stacked: bool = False,
) -> Exercise:
    """Numbers of some things in four or five places, on a scale whose lines are counted."""
    lines, major = ((10, 1), (12, 1), (16, 2), (16, 2), (20, 5))[level - 1]
    unit, num_places = rng.choice((1, 2, 4 if major == 5 else 5, 10)), rng.choice((4, 5))
    numbers = range(unit, unit * (lines // count if is_stacked else lines) + 1, unit)
    columns = [rng.sample(numbers, count) for _ in range(num_places)]
    rows = [list(row) for row in zip(*columns, strict=True)]
    title, things, preposition, places = rng.choice(_THEMES)
    indices, spots = rng.sample(range(count), min(2, count)) * 2, rng.sample(range(num_places), 2)
    cells = sorted(zip(indices, spots, strict=False))[: 2 if ask in ("difference", "gap") else 1]
    if ask in ("number", "difference"):
        parts = [[rows[thing][spot]] for thing, spot in cells]
        names = [f"{things[thing]} {preposition} {places[spot]}" for thing, spot in cells]
    else:
        cells = [(thing, None) for thing, _ in cells]
        parts, names = [rows[i] for i, _ in cells], [things[i] for i, _ in cells]
    low, high = sorted(parts, key=sum)[0], sorted(parts, key=sum)[-1]
    terms, less = (" + ".join(map(str, part)) for part in (high, low))
    answer, steps = Fraction(sum(high)), terms
    if ask == "mean":
        answer, steps = answer / len(high), f"({terms}) / {len(high)}"
    elif len(parts) > 1:
        answer, steps = answer - sum(low), f"{terms} - ({less})"
    quantity = _ASKS[ask].format(*names)

    def draw(scene: Scene) -> None:
        axes = Axes(scene, (0, num_places), (0, unit * lines), 62 + 64j, 370 + 256j)
        axes.grid((), range(0, unit * lines + 1, unit))
        axes.frame(range(0, unit * lines + 1, unit * major))
        scene.label(title if count > 1 else things[0].capitalize(), 224 + 18j, size=19)
        for series, thing in enumerate(things[:count] if count > 1 else ()):
            corner = complex(80 + 120 * series, 38)
            scene.rectangle(corner, 14 + 14j, fill=scene.accent(series), width=0.5)
            scene.label(thing, corner + 14 + 7j, 1, size=17)
        for place, name in enumerate(places[:num_places]):
            scene.label(name, axes.at(place + 0.5, 0), 1j, size=17)
        paint(axes, rows)

    operands = title, (unit, major), tuple(map(tuple, rows)), ask, tuple(cells)
    steps = f"{quantity[0].upper()}{quantity[1:]} is {steps} = {text_of(answer)}."
    return Exercise(operands, answer, steps, draw, (quantity,))


def _bar(axes: Axes, x: float, width: float, ends: tuple[int, int], color: int) -> None:
    """A bar from one number to another."""
    start, end = (x, ends[0]), (x + width, ends[1])
    axes.bar(start, end, fill=axes.scene.accent(color), width=0.6)


@family(height=364)
def bars(rng: random.Random, level: int) -> Exercise:
    """Bars of one thing; the number of it, a difference, a total or a mean."""

    def paint(axes: Axes, rows: _Rows) -> None:
        width, is_plain = axes.scene.rng.choice((0.5, 0.7)), axes.scene.rng.random() < 0.5
        for place, number in enumerate(rows[0]):
            _bar(axes, place + (1 - width) / 2, width, (0, number), 0 if is_plain else place)

    ask = ("number", "difference", "total", "mean", "mean")[level - 1]
    return _chart(rng, level, ask, 1, paint)


@family(height=364)
def grouped_bars(rng: random.Random, level: int) -> Exercise:
    """Groups of two or three bars with a legend; a number, a difference or a total."""

    def paint(axes: Axes, rows: _Rows) -> None:
        width = 0.8 / len(rows)
        for series, row in enumerate(rows):
            for place, number in enumerate(row):
                _bar(axes, place + 0.1 + width * series, width, (0, number), series)

    ask = ("number", "difference", "total", "gap", "gap")[level - 1]
    return _chart(rng, level, ask, 2 + level // 5, paint)


@family(height=364)
def stacked_bars(rng: random.Random, level: int) -> Exercise:
    """Bars of two or three parts one on the other; a number, a difference or a total."""

    def paint(axes: Axes, rows: _Rows) -> None:
        for place, column in enumerate(zip(*rows, strict=True)):
            for series, ends in enumerate(pairwise(accumulate(column, initial=0))):
                _bar(axes, place + 0.2, 0.6, ends, series)

    ask = ("number", "difference", "number", "difference", "total")[level - 1]
    return _chart(rng, level, ask, 2 + (level > 2), paint, is_stacked=True)


@family(height=364)
def line_chart(rng: random.Random, level: int) -> Exercise:
    """One to three broken lines; a number, a difference, or a mean."""

    def paint(axes: Axes, rows: _Rows) -> None:
        for series, row in enumerate(rows):
            points = [axes.at(place + 0.5, number) for place, number in enumerate(row)]
            axes.scene.line(*points, color=axes.scene.accent(series), width=1.2)
            for point in points:
                axes.scene.dot(point, axes.scene.accent(series))

    ask = ("number", "difference", "difference", "mean", "gap")[level - 1]
    return _chart(rng, level, ask, (1, 1, 2, 2, 3)[level - 1], paint)


_CHOICES = {
    "pupils": ("football", "tennis", "chess", "dance", "judo"),
    "guests": ("tea", "coffee", "juice", "water", "milk"),
}


@family()
def pie_chart(rng: random.Random, level: int) -> Exercise:
    """A pie chart with percentages or angles, one of which is missing; a share, a number or all."""
    rest, shares, group = 100 if level == 1 else 20, [], rng.choice(list(_CHOICES))
    least, names = rest // 10, rng.sample(_CHOICES[group], rng.choice((4, 5)))
    for left in range(len(names) - 1, 0, -1):
        shares.append(rng.randint(least, min(4 * least, rest - least * left)))
        rest -= shares[-1]
    shares = rng.sample([*shares, rest], len(names))
    total, full, sign = 20 * rng.randint(2, 18), *((100, "%") if level < 3 else (360, "°"))
    missing, other, *_ = parts = [full * share // sum(shares) for share in shares]
    number, part = total * other // full, full if level == 5 else missing
    wholes = (100, full), (total, full), (total, full), (number, other), (number, other)
    amount, whole = wholes[level - 1]
    answer = amount * part // whole

    def draw(scene: Scene) -> None:
        start, center = scene.rng.randrange(360), 224 + 244j
        every, one = f"{total} {group}", f"{names[1]}: {number} {group}"
        scene.label((group.capitalize(), every, every, one, one)[level - 1], 224 + 24j, size=20)
        for place, (name, size) in enumerate(zip(names, parts, strict=True)):
            turn = 360 * size / full
            middle = arc_points(0, 1, start + turn / 2, 0)[0]
            rim = arc_points(center, 140, start, turn)
            scene.polygon(center, *rim, fill=scene.tint(place), width=0.8)
            scene.label(name, center + 142 * middle, middle, size=18)
            scene.label(f"{size}{sign}" if place else "?", center + 95 * middle, size=18)
            start += turn

    what = "percentage" if level == 1 else "number"
    quantity = f"number of all {group}" if level == 5 else f"{what} of {group} who chose {names[0]}"
    text = f"The missing part is {full} - {' - '.join(map(str, parts[1:]))} = {missing}"
    steps = f"{text}{sign}, so the {quantity} is {amount} * {part} / {whole} = {answer}."
    operands = level, group, tuple(names), total if level > 1 else 0, tuple(shares)
    return Exercise(operands, answer, steps, draw, (quantity,))
