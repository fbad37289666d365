"""Spinners, marbles, probability trees, sets and tables of two features."""

import random
from fractions import Fraction
from itertools import product
from math import prod

from reasonenv.envs.diagrams.family import Exercise, family, text_of
from reasonenv.envs.diagrams.scene import Scene, arc_points


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
        (
            f"{chance} is in class {row} and plays {sport}",
            row,
            sport,
        ),
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
