"""Number lines, rulers, thermometers, maps with a scale, clocks and calendars."""

import random
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import Exercise, family, text_of
from reasonenv.envs.diagrams.scene import Scene, arc_points, signed


@family()
def thermometer(rng: random.Random, level: int) -> Exercise:
    """Two thermometers; by how many degrees the temperature rises from one to the other."""
    tick, step = ((5, 10), (2, 10), (1, 10), (2, 20), (1, 20))[level - 1]
    low = 0 if level < 3 else rng.choice((-10, -20, -30))
    marks = range(low, low + 51, tick)
    first, second = rng.sample(marks, 2)

    def draw(scene: Scene) -> None:
        height = {degrees: 330 - 5.8 * (degrees - low) for degrees in marks}
        for x, value, name in ((100, first, "morning"), (310, second, "noon")):
            scene.rectangle(complex(x - 9, 22), complex(18, 324))
            scene.circle(complex(x, 366), 26, fill=scene.accent())
            size = complex(10, 350 - height[value])
            scene.rectangle(complex(x - 5, height[value]), size, fill=scene.accent(), width=0)
            for degrees in marks:
                length = 24 if degrees % step == 0 else 15 if degrees % 5 == 0 else 9
                end = complex(x + 12 + length, height[degrees])
                scene.line(end - length, end, width=0.7)
                if degrees % step == 0:
                    scene.label(signed(degrees), end, 1)
            scene.label(name, complex(x, 420))

    change = second - first
    steps = f"It was {first}°C, and then {second}°C: {second} - ({first}) = {change}."
    return Exercise((tick, step, low, first, second), change, steps, draw)


@family(height=196)
def number_line(rng: random.Random, level: int) -> Exercise:
    """A number line with two numbers and an arrow; the number at the arrow."""
    parts = rng.randint(4, 8)
    whole, tens = rng.randint(2, 9), rng.choice((5, 10, 20, 25, 50, 100))
    tenths, part = Fraction(rng.randint(1, 5), 10), Fraction(1, parts)
    step = Fraction((whole, tens, tenths, part, part)[level - 1])
    first = rng.randint(-3, 6) * (1 if level > 3 else step * rng.randint(1, 4))
    beyond = -3, -2, -1, parts + 1, parts + 2
    arrow = rng.choice(range(1, parts) if level < 5 else beyond)
    value = first + arrow * step

    def draw(scene: Scene) -> None:
        low, high = min(0, arrow) - 1, max(parts, arrow) + 1
        scene.arrow(16 + 100j, 436 + 100j)
        for tick in range(low, high + 1):
            place = complex(40 + 368 * (tick - low) / (high - low), 100)
            length = 14 if tick in (0, parts) else 8
            scene.line(place - length * 1j, place + length * 1j)
            if tick in (0, parts):
                scene.label(signed(text_of(first + tick * step)), place + 14j, 1j)
            if tick == arrow:
                scene.arrow(place - 67j, place - 12j, color=scene.accent(), width=1.6)

    ends = f"({text_of(first + parts * step)} - ({text_of(Fraction(first))})) / {parts}"
    jump = f"{text_of(Fraction(first))} + ({arrow}) * {text_of(step)} = {text_of(value)}"
    steps = f"A step is {ends} = {text_of(step)}. The arrow is at {jump}."
    return Exercise((first, step, parts, arrow), value, steps, draw)


@family(height=224)
def ruler(rng: random.Random, level: int) -> Exercise:
    """A bar above a ruler, two bars at level 5; the length, or the difference of both."""
    unit, other = ((10, 5), (5, 5), (10, 1), (1, 1), (1, 1))[level - 1]
    bars, lengths, steps = [], [], ""
    for _ in range(1 + (level == 5)):
        length = rng.randrange(15, 81, other)
        start = rng.randrange(0, 81 - length, unit)
        end = start + length
        bars.append((start, end))
        lengths.append(Fraction(end - start, 10))
        steps += f"The bar is {end / 10} - {start / 10} = {text_of(lengths[-1])} cm long. "
    answer = abs(lengths[0] - sum(lengths[1:]))
    upper, lower = ("upper", "lower") if lengths[0] >= lengths[-1] else ("lower", "upper")
    question = f"By how many cm is the {upper} bar longer than the {lower} one?"
    question = question if level == 5 else "How long is the bar, in cm?"

    def draw(scene: Scene) -> None:
        scene.rectangle(8 + 120j, 432 + 84j, fill=scene.tint(), is_ground=True)
        for tick in range(81):
            length = 26 if tick % 10 == 0 else 19 if tick % 5 == 0 else 11
            top = complex(24 + 5 * tick, 120)
            scene.line(top, top + length * 1j, width=0.6)
            if tick % 10 == 0:
                scene.label(str(tick // 10), top + 26j, 1j)
        for place, (start, end) in enumerate(bars):
            corner = complex(24 + 5 * start, 118 - 42 * (len(bars) - place))
            size = complex(5 * (end - start), 30)
            scene.rectangle(corner, size, fill=scene.accent(place + 1))
            for top in (corner, corner + size.real):
                scene.line(top, complex(top.real, 118), width=0.6, is_dashed=True)

    steps = f"{steps}So the answer is {text_of(answer)} cm."
    return Exercise(tuple(bars), answer, steps, draw, (question,))


@family(height=504)
def map_scale(rng: random.Random, level: int) -> Exercise:
    """Two places on a squared map, the road between them and a bar with the scale; its length."""
    is_across = rng.random() < 0.5
    columns = sorted(rng.sample(range(9), (level + is_across) // 2 + 1))
    x, y = columns.pop(0), rng.randrange(9)
    nodes = [(x, y)]
    for _ in range(level):
        x = columns.pop(0) if is_across else x
        y = y if is_across else rng.choice([row for row in range(9) if row != y])
        nodes.append((x, y))
        is_across = not is_across
    squares, km = 1 if level == 1 else rng.randint(2, 4), rng.randint(2, 12)
    lengths = [abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in pairwise(nodes)]
    total = Fraction(sum(lengths) * km, squares)

    def draw(scene: Scene) -> None:
        axes = Axes(scene, (0, 8), (0, 8), 36 + 30j, 376 + 376j)
        for place in range(3):
            spot = axes.at(scene.rng.randint(1, 7), scene.rng.randint(1, 7))
            scene.circle(spot, scene.rng.randint(20, 44), fill=scene.tint(place), width=0)
        axes.grid(range(9), range(9))
        points = [axes.at(*node) for node in nodes]
        scene.line(*points, color=scene.accent(3), width=2.2)
        start, end = (complex(axes.at(x, 0).real, 440) for x in (2, 2 + squares))
        scene.line(start - 7j, start + 7j, start, end, end - 7j, end + 7j)
        scene.label(f"{km} km", (start + end) / 2 + 8j, 1j)
        for name, point in (("A", points[0]), ("B", points[-1])):
            scene.dot(point)
            scene.name(name, point)

    road = f"{' + '.join(map(str, lengths))} = {sum(lengths)}"
    scale = f"{sum(lengths)} * {km} / {squares} = {text_of(total)}"
    steps = f"The road is {road} squares long, and {squares} are {km} km: {scale}."
    key = min(nodes, nodes[::-1]), squares, km
    return Exercise((tuple(nodes), squares, km), total, steps, draw, key=key)


@family()
def grid_paths(rng: random.Random, level: int) -> Exercise:
    """A grid of streets with barriers; the number of shortest ways between two corners."""
    columns, rows = ((4, 3), (5, 4), (5, 4), (5, 5), (6, 6))[level - 1]
    columns, rows = rng.randint(columns - 1, columns), rng.randint(rows - 1, rows)
    crossings = [(x, y) for y in range(rows + 1) for x in range(columns + 1)]
    inner = [place for place in crossings if 2 <= sum(place) <= columns + rows - 2]
    barriers, ways = (), {}
    while not ways.get((columns, rows)):  # else a longer way may be the shortest one
        barriers = tuple(sorted(rng.sample(inner, level + 1)))
        for x, y in crossings:
            arriving = ways.get((x - 1, y), 0) + ways.get((x, y - 1), 0)
            ways[x, y] = 0 if (x, y) in barriers else arriving if x or y else 1

    def draw(scene: Scene) -> None:
        size = 320 / max(columns, rows) * complex(columns, rows)
        axes = Axes(scene, (0, columns), (0, rows), scene.center - size / 2, size)
        axes.grid(range(columns + 1), range(rows + 1), width=0.8)
        paper, red = scene.style.background, scene.style.color("red")
        for place in (axes.at(*barrier) for barrier in barriers):
            scene.circle(place, 13, fill=paper, color=paper)
            for way in (9 + 9j, 9 - 9j):
                scene.line(place - way, place + way, color=red, width=1.8)
        for name, place, way in (("A", (0, 0), -1 + 1j), ("B", (columns, rows), 1 - 1j)):
            scene.dot(axes.at(*place), scene.accent())
            scene.label(name, axes.at(*place), way)

    lines = [", ".join(str(ways[x, y]) for x in range(columns + 1)) for y in range(rows + 1)]
    rule = "The ways to a crossing are those to the one on its left and to the one below it"
    steps = f"{rule}. Row by row from below: {'; '.join(lines)}."
    return Exercise((columns, rows, barriers), ways[columns, rows], steps, draw)


@family(height=280)
def clocks(rng: random.Random, level: int) -> Exercise:
    """Two clocks; the minutes from the first to the second."""
    step, longest = ((15, 300), (5, 300), (1, 300), (1, 719), (1, 719))[level - 1]
    start = step * rng.randrange(720 // step)
    minutes = step * rng.randint(1, longest // step)
    hours = range(3, 13, 3) if level == 4 else range(1, 13)

    def draw(scene: Scene) -> None:
        def hand(center: complex, ends: tuple[int, int], minute: float, width: float) -> None:
            way = arc_points(0, 1, 90 - 6 * minute, 0)[0]
            points = (center + end * way for end in ends)
            scene.line(*points, width=width, is_ground=True)

        for time, x, name in ((start, 118, "start"), (start + minutes, 330, "end")):
            center = complex(x, 124)
            scene.circle(center, 100, width=1.3, fill=scene.tint(), is_ground=True)
            for minute in range(60):
                hand(center, (96 if minute % 5 else 89, 100), minute, 0.9)
            for hour in hours if level < 5 else ():
                scene.label(str(hour), center + 77 * arc_points(0, 1, 90 - 30 * hour, 0)[0])
            hand(center, (0, 42), time / 12, 2.6)
            hand(center, (0, 84), time, 1.4)
            scene.dot(center)
            scene.label(name, complex(x, 252))

    first, last = (f"{t // 60 % 12 or 12}:{t % 60:02}" for t in (start, start + minutes))
    steps = f"From {first} to {last}: {minutes // 60} * 60 + {minutes % 60} = {minutes} minutes."
    return Exercise((len(hours) * (level < 5), start, minutes), minutes, steps, draw)


_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_WEEK = "MonTueWedThuFriSatSun"


def _spot(day: date) -> complex:
    """The place of a day on the page of its month."""
    row, column = divmod(day.replace(day=1).weekday() + day.day - 1, 7)
    return complex(50 + 58 * column, 100 + 48 * row)


@family(height=420)
def calendar(rng: random.Random, level: int) -> Exercise:
    """A month with marked days; the days between them, or the date after a number of days."""
    first = date(rng.randint(2020, 2035), rng.randint(1, 12), 1)
    days = [first + timedelta(place) for place in range(80)]
    month = [day for day in days if day.month == first.month]
    schedule = [day for day in days if day.weekday() < (7 if level in (1, 3) else 5)]
    start, end = sorted(rng.sample([day for day in schedule if day in month], 2))
    span, distance = rng.randint(12, 30), schedule.index(end) - schedule.index(start)
    school = "" if level in (1, 3) else " from Monday to Friday"
    if level < 3:
        quantity = f"the number of days{school} after the circled day, the boxed one included"
        answer = distance
        steps = f"Counted from the day after the circled one, it is day {distance}."
    else:
        quantity = f"the day of the month on which the course ends, held every day{school}"
        last = schedule[schedule.index(start) + span - 1]
        answer, steps = last.day, f"Day {span} of the course is number {last.day} of its month."

    def draw(scene: Scene) -> None:
        scene.label(f"{_MONTHS[3 * first.month - 3 : 3 * first.month]} {first.year}", 224 + 24j)
        for day in days[:7]:
            place, name = _spot(day).real, _WEEK[3 * day.weekday() : 3 * day.weekday() + 3]
            scene.label(name, complex(place, 62), size=17)
        for day in month:
            scene.rectangle(_spot(day) - 29 - 24j, 58 + 48j, width=0.5, color=scene.pale)
            if level < 5 or day.day < 8:
                scene.label(str(day.day), _spot(day), size=18)
        scene.circle(_spot(start), 20, color=scene.accent(), width=1.5)
        if level < 3:
            scene.rectangle(_spot(end) - 20 - 18j, 40 + 36j, color=scene.accent(1), width=1.5)
        else:
            scene.label(f"Course of {span} days from the circled day on", 224 + 392j, size=18)

    operands = level, (start.year, start.month, start.day), end.day if level < 3 else span
    return Exercise(operands, answer, steps, draw, (quantity,))
