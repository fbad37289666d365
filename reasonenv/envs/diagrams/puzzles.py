"""Pyramids of numbers, balances, growing patterns, networks, gates and flow charts."""

import random
from functools import reduce
from itertools import product
from math import comb
from operator import add, and_, mul, or_, sub, xor

from reasonenv.envs.diagrams.family import Exercise, family
from reasonenv.envs.diagrams.scene import Scene, signed


@family(height=336)
def number_pyramid(rng: random.Random, level: int) -> Exercise:
    """Bricks, each the sum of the two below it; the top, or a brick of the lowest row."""
    rows, low, high = ((3, 2, 25), (4, 2, 20), (3, 2, 40), (4, 2, 30), (5, -20, 20))[level - 1]
    base = [rng.randint(low, high) for _ in range(rows)]
    unknown = (rows - 1, 0) if level < 3 else (0, rng.randint(1, rows - 2))
    factors = [comb(rows - 1, place) for place in range(rows)]
    top = sum(factor * number for factor, number in zip(factors, base, strict=True))
    answer = top if level < 3 else base[unknown[1]]

    def draw(scene: Scene) -> None:
        texts = {(0, place): signed(number) for place, number in enumerate(base)}
        texts |= {(rows - 1, 0): signed(top), unknown: "?"}
        size = complex(400, 290) / rows
        for row in range(rows):
            for brick in range(rows - row):
                x, y = 24 + (brick + row / 2) * size.real, 310 - size.imag * (row + 1)
                text = texts.get((row, brick), "")
                scene.rectangle(complex(x, y), size, fill=scene.tint() if text == "?" else None)
                if text:
                    scene.label(text, complex(x, y) + size / 2)

    names = ["x" if (0, place) == unknown else f"({number})" for place, number in enumerate(base)]
    terms = " + ".join(f"{factor} * {name}" for factor, name in zip(factors, names, strict=True))
    steps = f"From the lowest row up, the top is {terms} = {top}. The unknown number is {answer}."
    return Exercise((tuple(base), unknown), answer, steps, draw)


@family(height=364)
def balance(rng: random.Random, level: int) -> Exercise:
    """One or two balances with discs, blocks and weights; the weight of a disc."""
    disc, block = rng.randint(2, 24), rng.randint(2, 12)
    few, many, weight = rng.randint(1, 2), rng.randint(3, 4), rng.randint(2, 20)
    lefts = (
        [(rng.randint(2, 4), 0, 0)],
        [(rng.randint(2, 3), 0, weight)],
        [(many, 0, weight)],
        [(few, rng.randint(1, 2), 0), (0, rng.randint(2, 4), 0)],
        [(2, 1, 0), (1, rng.randint(2, 3), 0)],
    )[level - 1]
    few = few if level == 3 else 0
    sums = [(left[0] - few) * disc + left[1] * block + left[2] for left in lefts]
    scales = [(left, (few, 0, total)) for left, total in zip(lefts, sums, strict=True)]
    discs, rest = lefts[0][0] - few, sums[0] - lefts[0][2]
    if level > 3:
        (discs, blocks, _), (other, factor, _) = lefts
        discs, rest = discs * factor - other * blocks, sums[0] * factor - sums[1] * blocks

    def draw(scene: Scene) -> None:
        for y, pans in zip((140, 310) if level > 3 else (240,), scales, strict=True):
            scene.line(complex(20, y), complex(428, y), width=1.6)
            foot = complex(204, y + 40), complex(244, y + 40)
            scene.polygon(complex(224, y), *foot, fill=scene.pale)
            for middle, (discs, blocks, weight) in zip((116, 332), pans, strict=True):
                things = ["o"] * discs + ["#"] * blocks + [str(weight)] * (weight > 0)
                for spot, thing in enumerate(things):
                    at = complex(middle + 38 * (spot - (len(things) - 1) / 2), y - 18)
                    if thing == "o":
                        scene.circle(at, 16, fill=scene.accent(0))
                        continue
                    fill = scene.accent(1) if thing == "#" else None
                    scene.rectangle(at - 17 - 15j, 34 + 31j, fill=fill)
                    if not fill:
                        scene.label(thing, at, size=18)

    rule = "Without the blocks" if level > 3 else "Without equal weights on both sides"
    steps = f"{rule}, {discs} discs weigh {rest} kg: {rest} / {discs} = {disc}."
    return Exercise(tuple(scales), disc, steps, draw)


@family(height=280)
def growing_pattern(rng: random.Random, level: int) -> Exercise:
    """The first three figures of a pattern of dots; how many dots a later figure has."""
    number, more, rest = rng.randint(5, 6 + 3 * level), rng.randint(1, 4), rng.randint(0, 3)

    def columns(n: int) -> list[int]:
        """Heights of the columns of dots of a figure."""
        return (
            [rest] * (rest > 0) + [more + 1] * n,
            [n + more] + [1] * (n + rest - 1),
            [n + rest] * (n + more),
            [rest] * (rest > 0) + [more + step for step in range(1, n + 1)],
            [rest] * (rest > 0) + [n + more + step for step in range(1, n + 1)],
        )[level - 1]

    a, b, c, answer = (sum(columns(n)) for n in (1, 2, 3, number))

    def draw(scene: Scene) -> None:
        x = 30
        for figure in (1, 2, 3):
            for column, height in enumerate(heights := columns(figure)):
                for row in range(height):
                    place = complex(x + 19 * column, 226 - 19 * row)
                    scene.dot(place, scene.accent(), radius=7)
            scene.label(str(figure), complex(x + 19 * (len(heights) - 1) / 2, 256))
            x += 19 * len(heights) + 30

    n, change = number - 1, c - 2 * b + a
    terms = f"{a} + {n} * {b - a} + {n * (n - 1) // 2} * {change} = {answer}"
    steps = f"From {a}, {b}, {c} dots the steps grow by {change}: {terms}."
    operands = number, level, tuple(tuple(columns(n)) for n in (1, 2, 3))
    return Exercise(operands, answer, steps, draw, (number,))


_LETTERS = "ABCDEFGHIJKL"


def _shortest(roads: list[tuple[int, int, int]], count: int) -> tuple[int, str]:
    """Length and towns of the shortest way from the first to the last town, by Bellman and Ford."""
    best = {0: (0, "A")}
    for start, end, more in roads * count:
        for here, there in ((start, end), (end, start)):
            length, towns = best.get(here, (10**6, ""))
            way = length + more, towns + _LETTERS[there]
            best[there] = min(best.get(there, way), way)
    return best[count - 1]


@family()
def shortest_way(rng: random.Random, level: int) -> Exercise:
    """Towns and roads with lengths; the length of the shortest way between two corners."""
    columns, rows, pairs = 3 + level // 5, 2 + (level > 2), []
    places = list(product(range(columns), range(rows)))
    for town, (column, row) in enumerate(places):
        right, down = column + 1 < columns, row + 1 < rows
        pairs += [(town, town + rows)] * right + [(town, town + 1)] * down
        if right and down and level in (2, 4, 5):
            pairs.append(rng.choice([(town, town + rows + 1), (town + 1, town + rows)]))
    roads = [(*pair, rng.randint(3, 25)) for pair in pairs]
    length, towns = _shortest(roads, len(places))

    def draw(scene: Scene) -> None:
        spots = []
        for column, row in places:
            shift = complex(scene.rng.randrange(-20, 21), scene.rng.randrange(-20, 21))
            x, y = 340 / (columns - 1) * column, 340 / (rows - 1) * row
            spots.append(complex(54 + x, 54 + y) + shift)
        for start, end, number in roads:
            scene.line(spots[start], spots[end], is_ground=True)
            middle = (spots[start] + spots[end]) / 2
            scene.circle(middle, 15, fill=scene.style.background, width=0)
            scene.label(str(number), middle, size=18)
        for spot, letter in zip(spots, _LETTERS, strict=False):
            scene.circle(spot, 17, fill=scene.tint())
            scene.label(letter, spot, size=19)

    steps = f"The shortest way is {towns}, of length {length}."
    operands = len(places), tuple(roads)
    return Exercise(operands, length, steps, draw, (_LETTERS[len(places) - 1],))


_GATES = {"AND": and_, "OR": or_, "XOR": xor}
_GATES |= {"NAND": lambda x, y: 1 - (x & y), "NOR": lambda x, y: 1 - (x | y)}


@family(height=392)
def logic_gates(rng: random.Random, level: int) -> Exercise:
    """Rows of gates with their inputs, each to a lamp; the sum of the numbers on lit lamps."""
    count, kinds = ((1, 2), (1, 3), (2, 3), (2, 5), (3, 5))[level - 1]
    rows, outputs = [], []
    for _ in range(4):
        first, *bits = rng.choices((0, 1), k=count + 1)
        gates = rng.choices(list(_GATES)[:kinds], k=count)
        row = first, tuple(zip(gates, bits, strict=True))
        rows.append(row)
        outputs.append(reduce(lambda x, step: _GATES[step[0]](x, step[1]), row[1], first))
    lamps = rng.sample(range(2, 30), 4)
    lit = [lamp for lamp, output in zip(lamps, outputs, strict=True) if output]

    def draw(scene: Scene) -> None:
        for place, (lamp, (first, gates)) in enumerate(zip(lamps, rows, strict=True)):
            y = 36 + 96 * place
            scene.label(str(first), complex(24, y))
            scene.line(complex(36, y), complex(376, y), is_ground=True)
            for column, (gate, bit) in enumerate(gates):
                center = complex(100 + 108 * column, y)
                scene.line(center, center + 36j, is_ground=True)
                scene.label(str(bit), center + 36j, 1j, size=20)
                scene.rectangle(center - 34 - 20j, 68 + 40j, fill=scene.tint(column))
                scene.label(gate, center, size=18)
            scene.circle(complex(400, y), 24, fill=scene.style.background)
            scene.label(str(lamp), complex(400, y), size=20)

    total = f"{' + '.join(map(str, lit)) or 0} = {sum(lit)}"
    steps = f"The last gates give {outputs}, so the sum is {total}."
    return Exercise((tuple(lamps), tuple(rows)), sum(lit), steps, draw)


_STEPS = {"add": add, "subtract": sub, "multiply by": mul}


@family()
def flow_chart(rng: random.Random, level: int) -> Exercise:
    """A flow chart that computes with a number; its result."""
    names = rng.choices(list(_STEPS), k=level + 1)
    limit = rng.randint(30, 300) if level > 3 else None
    if limit:
        names = ["multiply by", rng.choice(("add", "subtract"))][: level - 3]
    # The repeated steps make any number from 5 on larger.
    highest = {"multiply by": 3, "add": 12, "subtract": 4 if limit else 12}
    steps = [(name, rng.randint(2, highest[name])) for name in names]
    numbers = [rng.randint(5, 20)]
    while len(numbers) == 1 or (limit and numbers[-1] <= limit):
        for name, number in steps:
            numbers.append(_STEPS[name](numbers[-1], number))
    texts = [f"start with {numbers[0]}", *(f"{name} {number}" for name, number in steps)]

    def draw(scene: Scene) -> None:
        boxes = [*texts, *([f"above {limit}?"] if limit else []), "result"]
        gap, foot = 392 / (len(boxes) - 1), 0
        for place, text in enumerate(boxes):
            at, half = complex(200, 28 + gap * place), 30j if "?" in text else 22j
            if place:
                scene.arrow(complex(200, foot), at - half)
            foot = (at + half).imag
            if "?" in text:
                scene.polygon(at - 100, at - half, at + 100, at + half, fill=scene.tint(1))
                back = complex(360, 28 + gap / 2)
                scene.line(at + 100, complex(360, at.imag), back)
                scene.arrow(back, back - 160)
                scene.label("no", at + 120, -1j)
                scene.label("yes", at + half + 14j, 1)
            else:
                scene.rectangle(at - 92 - half, 184 + 2 * half, fill=scene.tint())
            scene.label(text, at, size=19)

    text = f"The numbers are {', '.join(map(str, numbers))}: the result is {numbers[-1]}."
    return Exercise((numbers[0], tuple(steps), limit), numbers[-1], text, draw)
