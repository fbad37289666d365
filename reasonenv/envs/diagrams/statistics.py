"""Pictures of data, and chance: plots, spinners, marbles, trees, sets and tables."""

import random
from fractions import Fraction
from itertools import accumulate, pairwise, product
from math import prod
from statistics import median

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import Exercise, family, text_of
from reasonenv.envs.diagrams.scene import Scene, arc_points


@family()
def scatter(rng: random.Random, level: int) -> Exercise:
    """Marks of pupils in two tests as points; how many points fulfil a condition."""
    a, b = rng.randint(4, 7) if level == 2 else 0, rng.randint(3, 6)
    b = (b, b, 0, 0, 2 * b + 1)[level - 1]
    quantity, is_good = (
        (f"more than {b} marks in test 2", lambda x, y: y > b),
        (f"below {a} marks in test 1 and above {b} in test 2", lambda x, y: x < a and y > b),
        ("more marks in test 2 than in test 1", lambda x, y: y > x),
        ("at least 2 marks more in test 2 than in test 1", lambda x, y: y >= x + 2),
        (f"more than {b} marks in both tests together", lambda x, y: x + y > b),
    )[level - 1]
    cells = list(product(range(1, 11), repeat=2))
    good = sorted(rng.sample([cell for cell in cells if is_good(*cell)], rng.randint(2, 11)))
    others = [cell for cell in cells if not is_good(*cell)]
    points = *good, *sorted(rng.sample(others, rng.randint(4, 7 + level)))

    def draw(scene: Scene) -> None:
        axes = Axes(scene, (0, 10), (0, 10), 62 + 30j, 360 + 346j)
        axes.grid(range(11), ())
        axes.frame(range(11))
        for x in range(1, 11):
            scene.label(str(x), axes.at(x, 0), 1j, size=17)
        scene.label("marks in test 1", 242 + 424j, size=18)
        scene.label("marks in test 2", 130 + 14j, size=18)
        for point in points:
            scene.dot(axes.at(*point), scene.accent())

    steps = f"The points {', '.join(map(str, good))} fulfil the condition: {len(good)} pupils."
    return Exercise((level, a, b, *points), len(good), steps, draw, (quantity,))


def _measure(ask: str, values: list[Fraction]) -> tuple[Fraction, str, str]:
    """A measure, or the difference of two; a worked solution, and what is quantity for."""
    ordered = sorted(values, reverse=True)
    texts = [text_of(value) for value in ordered]
    if len(values) == 1:
        return values[0], f"The {ask} is {texts[0]}.", f"the {ask} of the data"
    answer = ordered[0] - ordered[1]
    steps = f"The {ask}s are {' and '.join(texts)}: {' - '.join(texts)} = {text_of(answer)}."
    return answer, steps, f"the difference between the {ask}s of A and B"


# Among the five numbers of a box plot, the first less the second if there are two.
_PLACES = {"median": (2,), "lower quartile": (1,), "upper quartile": (3,)}
_PLACES |= {"range": (4, 0), "interquartile range": (3, 1)}


@family(height=308)
def box_plot(rng: random.Random, level: int) -> Exercise:
    """One or two box plots on a scale; a quartile, a range or a difference."""
    ask = list(_PLACES)[(rng.randrange(3), *[rng.choice((3, 4))] * 2, 0, 4)[level - 1]]
    tick, ticks = (1, 40) if level in (3, 5) else (rng.choice((2, 4, 5, 10)), 20)
    numbers = range(tick, tick * ticks, tick)
    sets = [sorted(rng.sample(numbers, 5)) for _ in range(1 + level // 4)]
    place, *less = _PLACES[ask]
    values = [Fraction(data[place] - sum(data[i] for i in less)) for data in sets]
    answer, steps, quantity = _measure(ask, values)

    def draw(scene: Scene) -> None:
        axes = Axes(scene, (0, tick * ticks), (0, len(sets)), 44 + 24j, 378 + 236j)
        axes.grid(range(0, tick * ticks + 1, tick), ())
        axes.grid((), [0], width=1.0)
        axes.grid(range(0, tick * ticks + 1, 5 * tick), (), width=0.7, is_ground=True)
        for number in range(0, tick * ticks + 1, 5 * tick):
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

    return Exercise((ask, tick, *map(tuple, sets)), answer, steps, draw, (quantity,))


@family(height=392)
def histogram(rng: random.Random, level: int) -> Exercise:
    """A histogram of ages; how many people are in some classes."""
    widths = [10] * 5 if level < 4 else rng.sample((5, 10, 10, 20, 20), 4)
    edges, heights = list(accumulate(widths, initial=10)), [rng.randint(1, 10) for _ in widths]
    first, unit = rng.randrange(len(widths) - 1), 1 if level > 3 else rng.choice((1, 2, 5))
    last = (first + 1, first + 2, len(widths), first + 1, len(widths))[level - 1]
    end = " or older" if last == len(widths) else f" or older, but below {edges[last]}"
    weights = widths if level > 3 else [1] * 5
    terms = [(weights[i], unit * heights[i]) for i in range(first, last)]
    answer = sum(width * height for width, height in terms)

    def draw(scene: Scene) -> None:
        axes = Axes(scene, (6, edges[-1]), (0, 10 * unit), 62 + 46j, 366 + 276j)
        axes.frame(range(0, 10 * unit + 1, unit))
        scene.label("members per year of age" if level > 3 else "members", 150 + 20j, size=17)
        for (start, end), height in zip(pairwise(edges), heights, strict=True):
            axes.bar((start, 0), (end, unit * height), fill=scene.accent(), width=0.7)
        for edge in edges:
            scene.label(str(edge), axes.at(edge, 0), 1j, size=17)
        scene.label("age in years", 245 + 372j, size=17)

    rule = "Width times height" if level > 3 else "The heights"
    sums = " + ".join(f"{width} * {height}" for width, height in terms)
    steps = f"{rule} of the bars, added up: {sums} = {answer}."
    operands = level > 3, unit, tuple(edges), tuple(heights), (first, last)
    return Exercise(operands, answer, steps, draw, (f"{edges[first]} years old{end}",))


@family(height=364)
def stem_and_leaf(rng: random.Random, level: int) -> Exercise:
    """A stem-and-leaf diagram; the range, the median, or the difference of two medians."""
    count = rng.choice(((8, 9, 10), (9, 11, 13), (8, 10, 12), (7, 9), (6, 8))[level - 1])
    sets = [sorted(rng.choices(range(10, 60), k=count)) for _ in range(1 + level // 4)]
    ask = "range" if level == 1 else "median"
    values = [Fraction(data[-1] - data[0] if level == 1 else median(data)) for data in sets]
    answer, steps, quantity = _measure(ask, values)

    def draw(scene: Scene) -> None:
        x = 100 if len(sets) == 1 else 224
        for name, side in zip("BA"[: len(sets)], (1, -1), strict=False):
            scene.line(complex(x + 18 * side, 44), complex(x + 18 * side, 312))
            if len(sets) > 1:
                scene.label(name, complex(x + 40 * side, 24))
        for stem in range(1, 6):
            y = 12 + 54 * stem
            scene.label(str(stem), complex(x, y), color=scene.accent())
            for side, data in zip((1, -1), reversed(sets), strict=False):
                leaves = [number % 10 for number in data if number // 10 == stem]
                for place, leaf in enumerate(leaves):
                    scene.label(str(leaf), complex(x + side * (38 + 21 * place), y))
        scene.label("Key: 2 | 7 means 27", 224 + 340j, size=18)

    return Exercise((ask, *map(tuple, sets)), answer, steps, draw, (quantity,))


@family(height=336)
def pictograph(rng: random.Random, level: int) -> Exercise:
    """Rows of symbols, each for the same number; the number of a row or of all."""
    part, key = (4, 4, 2, 1, 2)[level - 1], 4 * rng.randint(1, 6)
    quarters = [part * number for number in rng.sample(range(1, 28 // part), 4)]
    thing, names = rng.choice(("apples", "books", "goals")), ("Ana", "Ben", "Cleo", "Dan")
    one, other = rng.sample(range(4), 2)
    rows, is_total = [Fraction(count, 4) for count in quarters], level in (2, 3, 4)
    used, symbols = rows if is_total else [rows[one]], rows[other] if level == 5 else Fraction(1)
    answer = int(key * sum(used))

    def draw(scene: Scene) -> None:
        def symbol(center: complex, count: int) -> None:
            rim = arc_points(center, 20, 90, 90 * count)
            scene.polygon(*rim, *[center][count // 4 :], fill=scene.accent(), width=0.7)

        for row, (name, count) in enumerate(zip(names, quarters, strict=True)):
            y = 34 + 62 * row
            scene.label(name, complex(44, y), size=19)
            for place in range(0, count, 4):
                symbol(complex(112 + 12 * place, y), min(4, count - place))
        scene.line(84 + 8j, 84 + 250j)
        if level == 5:
            scene.label(f"{names[other]} has {key * symbols} {thing}.", 224 + 296j)
        else:
            symbol(130 + 296j, 4)
            scene.label(f"stands for {key} {thing}", 156 + 296j, 1)

    sums = " + ".join(map(text_of, used))
    text = f"{text_of(symbols)} of a symbol is {text_of(key * symbols)}, so one is {key}"
    steps = f"{text}: {key} * ({sums}) = {answer}."
    quantity = f"the number of {thing} for {names[one]}"
    quantity = f"the total number of {thing}" if is_total else quantity
    operands = is_total, thing, key, tuple(quarters), 0 if is_total else one, level == 5 and other
    return Exercise(operands, answer, steps, draw, (quantity,))


@family(height=364)
def spinner(rng: random.Random, level: int) -> Exercise:
    """One or two spinners of equal sectors with numbers; the probability of an event."""
    event, is_good = (
        ("an even number", lambda x: x % 2 == 0),
        ("a number above 5", lambda x: x > 5),
        ("a prime number", lambda x: x in (2, 3, 5, 7)),
        ("two odd numbers", lambda x, y: x * y % 2 == 1),
        ("two numbers with a sum above 9", lambda x, y: x + y > 9),
    )[level - 1]
    count = rng.randint(7, 12) if level < 4 else rng.randint(4, 6)
    wheels = sorted(sorted(rng.choices(range(1, 10), k=count)) for _ in range(1 + level // 4))
    results = list(product(*wheels))
    good = sum(is_good(*result) for result in results)
    answer = Fraction(good, len(results))

    def draw(scene: Scene) -> None:
        radius = 150 if len(wheels) == 1 else 95
        for place, numbers in enumerate(wheels):
            center = complex(448 * (2 * place + 1) / (2 * len(wheels)), 182)
            turn, start = 360 / count, scene.rng.randrange(360)
            for sector, number in enumerate(scene.rng.sample(numbers, count)):
                rim = arc_points(center, radius, start + turn * sector, turn)
                scene.polygon(center, *rim, fill=scene.tint(sector % 8))
                middle = (rim[0] + rim[-1]) / 2 - center
                scene.label(str(number), center + 0.74 * radius * middle / abs(middle))
            tip = arc_points(center, radius / 2, scene.rng.randrange(360), 0)[0]
            scene.arrow(2 * center - tip, tip, width=1.5)

    steps = f"Of equally likely results {good}/{len(results)} = {text_of(answer)} are good."
    return Exercise((level, *map(tuple, wheels)), answer, steps, draw, (event,))


@family(height=308)
def marbles(rng: random.Random, level: int) -> Exercise:
    """Marbles of three colors in a box; the probability of colors that are drawn blindly."""
    names, num_named = rng.sample(("red", "blue", "green", "gray"), 3), 1 + level // 5
    names = *sorted(names[:num_named]), *sorted(names[num_named:])
    first, second, _ = counts = [rng.randint(2, 7) for _ in names]
    total, (one, other, _) = sum(counts), names
    event, draws = (
        (f"a {one} marble", [(first, total)]),
        (f"a marble that is not {one}", [(total - first, total)]),
        (f"a {one} marble, putting it back, and drawing a {one} one again", [(first, total)] * 2),
        (f"two {one} marbles at once", [(first, total), (first - 1, total - 1)]),
        (f"a {one} and a {other} marble at once", [(2 * first, total), (second, total - 1)]),
    )[level - 1]
    answer = prod(Fraction(*pair) for pair in draws)

    def draw(scene: Scene) -> None:
        colors = [name for name, count in zip(names, counts, strict=True) for _ in range(count)]
        scene.rectangle(20 + 14j, 408 + 280j, width=1.4)
        cells = scene.rng.sample(list(product(range(7), range(4))), len(colors))
        for (column, row), name in zip(cells, colors, strict=True):
            shift = complex(scene.rng.randrange(-6, 7), scene.rng.randrange(-10, 11))
            center = complex(56 + 56 * column, 50 + 69 * row) + shift
            scene.circle(center, 20, fill=scene.style.color(name), width=0.7)

    order = ", in either order" if level == 5 else ""
    terms = " * ".join(f"{count}/{of}" for count, of in draws)
    steps = f"Of {total} marbles{order}: {terms} = {text_of(answer)}."
    return Exercise((level, names, tuple(counts)), answer, steps, draw, (event,))


@family(height=364)
def probability_tree(rng: random.Random, level: int) -> Exercise:
    """A tree of two games with probabilities at its branches; the probability of an event."""
    bottoms = rng.choices((3, 4, 5, 6, 8)[: level + 2], k=3)
    p, q, r = chances = [Fraction(rng.randint(1, bottom - 1), bottom) for bottom in bottoms]
    wins, mixed = [(p, q), (1 - p, r)], [(p, 1 - q), (1 - p, r)]
    event, paths = (
        ("two wins", wins[:1]),
        ("two losses", [(1 - p, 1 - r)]),
        ("a win in game 2", wins),
        ("exactly one win", mixed),
        ("a win in game 1, given that game 2 is won", wins),
    )[level - 1]
    answer = Fraction(sum(one * other for one, other in paths))
    terms = " + ".join(f"{one} * {other}" for one, other in paths)
    if level == 5:
        terms, answer = f"({p} * {q}) / ({terms})", p * q / answer

    def draw(scene: Scene) -> None:
        nodes = 24 + 182j, 200 + 94j, 200 + 270j
        leaves = [complex(406, y) for y in (46, 142, 222, 318)]
        for game, x in ((1, 112), (2, 303)):
            scene.label(f"game {game}", complex(x, 18), size=17)
        pairs = nodes[1:], leaves[:2], leaves[2:]
        for start, ends, chance in zip(nodes, pairs, chances, strict=True):
            for end, share, name in zip(ends, (chance, 1 - chance), ("win", "lose"), strict=True):
                scene.line(start, end, is_ground=True)
                scene.label(name, end, size=19, has_plate=True)
                if name == "win" or level == 1:
                    scene.label(str(share), (start + end) / 2, size=19, has_plate=True)

    steps = f"Multiply along the branches: {terms} = {text_of(answer)}."
    return Exercise((level, *chances), answer, steps, draw, (event,))


@family(height=392)
def venn(rng: random.Random, level: int) -> Exercise:
    """Two or three sets with the numbers of their parts; a number of members."""
    numbers = [rng.randint(2, 19) for _ in range(4 if level < 3 else 8)]
    # Part 6, which is 110 in binary, is in the second and the third club alone.
    group, parts = (
        ("chess", (1, 3)),
        ("exactly one club", (1, 2)),
        ("chess or choir", (1, 2, 3, 5, 6, 7)),
        ("exactly two clubs", (3, 5, 6)),
        ("all three clubs", (7,)),
    )[level - 1]
    terms = [numbers[part] for part in parts]
    answer, text = sum(terms), " + ".join(map(str, terms))
    if level == 5:
        text = " - ".join(map(str, (sum(numbers), *numbers[:-1])))

    def draw(scene: Scene) -> None:
        clubs = ("chess", 84 + 48j, 170 + 160j), ("choir", 364 + 48j, 278 + 160j)
        spots = 66 + 344j, 126 + 160j, 322 + 160j, 224 + 160j
        if level > 2:
            clubs = *clubs, ("judo", 344 + 320j, 224 + 250j)
            spots = *spots[:1], 140 + 138j, 308 + 138j, 224 + 118j, 224 + 302j
            spots = *spots, 160 + 226j, 288 + 226j, 224 + 192j
        scene.rectangle(10 + 10j, 428 + 372j, width=0.8)
        for place, (name, at, center) in enumerate(clubs):
            scene.circle(center, 96, color=scene.accent(place), width=1.4)
            scene.label(name, at, color=scene.accent(place))
        for part, (spot, number) in enumerate(zip(spots, numbers, strict=True)):
            scene.label("?" if level == 5 and part == 7 else str(number), spot, size=20)
        if level == 5:
            scene.label(f"{sum(numbers)} pupils in all", 224 + 30j, size=19)

    steps = f"By the numbers of the parts it is {text} = {answer}."
    return Exercise((level, tuple(numbers)), answer, steps, draw, (group,))


_SPORTS = ("chess", "tennis", "football")


@family(height=280)
def two_way_table(rng: random.Random, level: int) -> Exercise:
    """Numbers of pupils by class and sport; a sum or a probability."""
    numbers = [rng.randint(2, 18) for _ in range(9)]
    row, sport = rng.choice("ABC"), rng.choice(_SPORTS)
    chance = "the exact probability that a random pupil"
    quantity, row, sport = (
        (f"the number of pupils of class {row}", row, ""),
        (f"the number of pupils who play {sport}", "", sport),
        (f"{chance} is in class {row} and plays {sport}", row, sport),
        (f"{chance} plays {sport}", "", sport),
        (f"{chance} of class {row} plays {sport}", row, sport),
    )[level - 1]
    cells = list(zip(product("ABC", _SPORTS), numbers, strict=True))
    part = [n for (name, what), n in cells if row in ("", name) and sport in ("", what)]
    whole = [n for (name, _), n in cells if level < 5 or name == row] if level > 2 else [1]
    answer = Fraction(sum(part), sum(whole))

    def draw(scene: Scene) -> None:
        texts = ["class", *_SPORTS]
        for place, name in enumerate("ABC"):
            texts += [name, *map(str, numbers[3 * place : 3 * place + 3])]
        for place, text in enumerate(texts):
            corner = complex(22 + 101 * (place % 4), 28 + 56 * (place // 4))
            fill = None if place > 3 and place % 4 else scene.tint()
            scene.rectangle(corner, 101 + 56j, fill=fill, width=0.7)
            scene.label(text, corner + 50 + 28j, size=19)

    terms = [" + ".join(map(str, values)) for values in (part, whole)]
    steps = f"({terms[0]}) / ({terms[1]}) = {text_of(answer)}."
    return Exercise((level, tuple(numbers), row, sport), answer, steps, draw, (quantity,))
