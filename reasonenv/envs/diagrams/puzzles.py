"""Unknown numbers in pyramids and on balances, and patterns that grow."""

import random
from math import comb

from reasonenv.envs.diagrams.family import Family, Operands, Solution, asking, register
from reasonenv.envs.diagrams.scene import Scene, signed


@register
class _NumberPyramid(Family):
    """Bricks, each the sum of the two below it; the top, or a brick of the lowest row.

    Levels: the top of 3 rows; of 4; a brick of the lowest row, of 3, 4 and 5 rows; at level 5
    numbers may be negative.
    """

    name = "number_pyramid"
    questions = asking("the number marked ?, if each brick is the sum of the two below it")
    height = 336

    def sample(self, rng: random.Random, level: int) -> Operands:
        rows, low, high = ((3, 2, 25), (4, 2, 20), (3, 2, 40), (4, 2, 30), (5, -20, 20))[level - 1]
        base = tuple(rng.randint(low, high) for _ in range(rows))
        return base, (None, None, 1, rng.choice((1, 2)), 2)[level - 1]

    def draw(self, scene: Scene, operands: Operands) -> None:
        base, place = operands
        rows, width, height = len(base), 400 / len(base), 290 / len(base)
        texts = {(0, i): signed(number) for i, number in enumerate(base)}
        texts[rows - 1, 0] = signed(_top(base))
        texts[(rows - 1, 0) if place is None else (0, place)] = "?"
        for row in range(rows):
            for brick in range(rows - row):
                corner = complex(24 + (brick + row / 2) * width, 310 - height * (row + 1))
                size, text = complex(width, height), texts.get((row, brick), "")
                scene.rectangle(corner, size, fill=scene.tint() if text == "?" else None)
                if text:
                    scene.label(text, corner + size / 2)

    def solve(self, operands: Operands) -> Solution:
        base, place = operands
        names = ["x" if i == place else f"({number})" for i, number in enumerate(base)]
        terms = [f"{comb(len(base) - 1, i)} * {name}" for i, name in enumerate(names)]
        answer, top = _top(base) if place is None else base[place], _top(base)
        steps = f"From the lowest row up, the top is {' + '.join(terms)} = {top}"
        return Solution(answer, steps + ("." if place is None else f", so x = {answer}."))


def _top(base: tuple[int, ...]) -> int:
    return sum(comb(len(base) - 1, place) * number for place, number in enumerate(base))


@register
class _Balance(Family):
    """One or two balances with discs, blocks and weights; the weight of a disc.

    Levels: discs alone; discs and a weight; discs on both sides; a second balance tells the weight
    of a block; two balances with discs and blocks on each.
    """

    name = "balance"
    questions = asking("the weight of a disc in kg, if the scales balance and numbers are kg")
    height = 364

    def sample(self, rng: random.Random, level: int) -> Operands:
        disc, block = rng.randint(2, 24), rng.randint(2, 12)
        few, many, weight = rng.randint(1, 2), rng.randint(3, 4), rng.randint(2, 20)
        lefts = (
            [(rng.randint(2, 4), 0, 0)],
            [(rng.randint(2, 3), 0, weight)],
            [(many, 0, weight)],
            [(0, rng.randint(2, 4), 0), (few, rng.randint(1, 2), 0)],
            [(2, 1, 0), (1, rng.randint(2, 3), 0)],
        )[level - 1]
        few = few if level == 3 else 0
        sums = [(left[0] - few) * disc + left[1] * block + left[2] for left in lefts]
        return tuple((left, (few, 0, total)) for left, total in zip(lefts, sums, strict=True))

    def draw(self, scene: Scene, operands: Operands) -> None:
        for place, pans in enumerate(operands):
            y = (240, 140, 310)[place + len(operands) - 1]
            scene.line(complex(20, y), complex(428, y), width=1.6)
            foot = complex(204, y + 40), complex(244, y + 40)
            scene.polygon(complex(224, y), *foot, fill=scene.pale)
            for middle, (discs, blocks, weight) in zip((116, 332), pans, strict=True):
                things = ["o"] * discs + ["#"] * blocks + [str(weight)] * (weight > 0)
                for spot, thing in enumerate(things):
                    at = complex(middle + 38 * (spot - (len(things) - 1) / 2), y - 18)
                    if thing == "o":
                        scene.circle(at, 16, fill=scene.accent(0))
                    else:
                        fill = scene.accent(1) if thing == "#" else None
                        scene.rectangle(at - 17 - 15j, 34 + 31j, fill=fill)
                    if thing.isdigit():
                        scene.label(thing, at, size=18)

    def solve(self, operands: Operands) -> Solution:
        rows = [[a - b for a, b in zip(*pans, strict=True)] for pans in operands]
        (discs, blocks, rest), *others = rows
        for other, factor, weight in others:
            discs, rest = blocks * other - factor * discs, blocks * weight - factor * rest
        discs, rest = abs(discs), abs(rest)
        answer = rest // discs
        rule = "Blocks cancel" if others else "Equal weights cancel"
        return Solution(
            answer, f"{rule}: {discs} discs are {rest} kg, {rest} / {discs} = {answer}."
        )


@register
class _GrowingPattern(Family):
    """The first three figures of a pattern of dots; how many dots a later figure has.

    Levels: equal columns and a row; a corner; a rectangle; a stair with equal columns; a square
    with a stair. The question names the figure: number 5 to 9 at level 1, to 21 at level 5.
    """

    name = "growing_pattern"
    questions = asking("the number of dots of figure {0}, where the pattern goes on like this")
    height = 280

    def sample(self, rng: random.Random, level: int) -> Operands:
        return rng.randint(5, 6 + 3 * level), level, rng.randint(1, 4), rng.randint(0, 3)

    def draw(self, scene: Scene, operands: Operands) -> None:
        _, *kind = operands
        x = 30
        for figure in (1, 2, 3):
            columns = _columns(figure, *kind)
            for column, row in ((i, j) for i, height in enumerate(columns) for j in range(height)):
                scene.dot(complex(x + 19 * column, 226 - 19 * row), scene.accent(), radius=7)
            scene.label(str(figure), complex(x + 19 * (len(columns) - 1) / 2, 256))
            x += 19 * len(columns) + 30

    def solve(self, operands: Operands) -> Solution:
        figure, *kind = operands
        a, b, c, answer = (sum(_columns(number, *kind)) for number in (1, 2, 3, figure))
        n, step, change = figure - 1, b - a, c - 2 * b + a
        steps = f"{a} + {n} * {step} + {n * (n - 1) // 2} * {change} = {answer}"
        return Solution(answer, f"From {a}, {b}, {c} dots the steps grow by {change}: {steps}.")


def _columns(figure: int, level: int, more: int, rest: int) -> list[int]:
    """Heights of the columns of dots of a figure."""
    stair = range(1, figure + 1)
    return (
        [rest] * (rest > 0) + [more + 1] * figure,
        [figure + more] + [1] * (figure + rest - 1),
        [figure + rest] * (figure + more),
        [rest] * (rest > 0) + [more + step for step in stair],
        [rest] * (rest > 0) + [figure + more + step for step in stair],
    )[level - 1]
