"""Spinners, marbles, probability trees and sets."""

import random
from fractions import Fraction
from itertools import product
from math import prod

from reasonenv.envs.diagrams.family import Family, Operands, Solution, asking, register, text_of
from reasonenv.envs.diagrams.scene import Scene, arc_points


@register
class _Spinner(Family):
    """One or two spinners of equal sectors with numbers; the probability of an event.

    Levels: an even number; a number above five; a prime; odd numbers on two; a sum of two above
    nine. One spinner has 7 to 12 sectors, two have 4 to 6 each.
    """

    name = "spinner"
    questions = asking("the exact probability of {0}, if sectors are equally likely")
    asks = ("an even number", "more than 5", "a prime number", "two odd numbers", "a sum above 9")
    height = 364

    def sample(self, rng: random.Random, level: int) -> Operands:
        count = rng.randint(7, 12) if level < 4 else rng.randint(4, 6)
        wheels = [sorted(rng.choices(range(1, 10), k=count)) for _ in range(1 + level // 4)]
        return level, *map(tuple, sorted(wheels))

    def draw(self, scene: Scene, operands: Operands) -> None:
        _, *wheels = operands
        radius = 150 / len(wheels) + 20 * (len(wheels) - 1)
        for place, numbers in enumerate(wheels):
            center = complex(448 * (2 * place + 1) / (2 * len(wheels)), 182)
            turn, start = 360 / len(numbers), scene.rng.randrange(360)
            for sector, number in enumerate(scene.rng.sample(numbers, len(numbers))):
                rim = arc_points(center, radius, start + turn * sector, turn)
                scene.polygon(center, *rim, fill=scene.tint(sector % 8))
                middle = (rim[0] + rim[-1]) / 2 - center
                scene.label(str(number), center + 0.74 * radius * middle / abs(middle))
            tip = arc_points(center, radius / 2, scene.rng.randrange(360), 0)[0]
            scene.arrow(2 * center - tip, tip, width=1.5)

    def solve(self, operands: Operands) -> Solution:
        level, *wheels = operands
        results = list(product(*wheels))
        good = sum(_is_good(level, *result) for result in results)
        answer = Fraction(good, len(results))
        text = f"Of all equally likely results {good}/{len(results)} = {text_of(answer)} are good."
        return Solution(answer, text)


def _is_good(level: int, x: int, y: int = 0) -> bool:
    return (x % 2 == 0, x > 5, x in (2, 3, 5, 7), x * y % 2 == 1, x + y > 9)[level - 1]


@register
class _Marbles(Family):
    """Marbles of three colors in a box; the probability of colors that are drawn blindly.

    Levels: one color; another color; twice a color with replacement; without; one of each of two
    colors without replacement.
    """

    name = "marbles"
    questions = asking("the exact probability of drawing {0} from the box, at random")
    asks = (
        "a {1[0]} marble",
        "a marble that is not {1[0]}",
        "a {1[0]} marble, putting it back, and drawing a {1[0]} one again",
        "two {1[0]} marbles at once",
        "a {1[0]} and a {1[1]} marble at once",
    )
    height = 308

    def sample(self, rng: random.Random, level: int) -> Operands:
        names, named = rng.sample(("red", "blue", "green", "gray"), 3), 1 + level // 5
        names = *sorted(names[:named]), *sorted(names[named:])
        return level, names, tuple(rng.randint(2, 7) for _ in names)

    def draw(self, scene: Scene, operands: Operands) -> None:
        _, names, counts = operands
        colors = [name for name, count in zip(names, counts, strict=True) for _ in range(count)]
        scene.rectangle(20 + 14j, 408 + 280j, width=1.4)
        cells = scene.rng.sample(list(product(range(7), range(4))), len(colors))
        for (column, row), name in zip(cells, colors, strict=True):
            center = complex(56 + 56 * column, 50 + 69 * row)
            shift = complex(scene.rng.randrange(-6, 7), scene.rng.randrange(-10, 11))
            scene.circle(center + shift, 20, fill=scene.style.color(name), width=0.7)

    def solve(self, operands: Operands) -> Solution:
        level, _, (first, second, _) = operands
        total = sum(operands[2])
        draws = (
            [(first, total)],
            [(total - first, total)],
            [(first, total)] * 2,
            [(first, total), (first - 1, total - 1)],
            [(2 * first, total), (second, total - 1)],
        )[level - 1]
        answer = prod(Fraction(*draw) for draw in draws)
        steps = " * ".join(f"{count}/{of}" for count, of in draws)
        order = ", in either order" if level == 5 else ""
        return Solution(answer, f"Of {total} marbles{order}: {steps} = {text_of(answer)}.")


@register
class _ProbabilityTree(Family):
    """A tree of two games with probabilities at its branches; the probability of an event.

    Levels: two wins; two losses, from the probabilities of winning; a win in the second game; just
    one win; a win in the first game if the second is won.
    """

    name = "probability_tree"
    questions = asking("the exact probability of {0}")
    asks = (
        "two wins",
        "two losses",
        "a win in game 2",
        "just one win",
        "winning game 1 if 2 is won",
    )
    height = 364

    def sample(self, rng: random.Random, level: int) -> Operands:
        bottoms = rng.choices((3, 4, 5, 6, 8)[: level + 2], k=3)
        return level, *(Fraction(rng.randint(1, bottom - 1), bottom) for bottom in bottoms)

    def draw(self, scene: Scene, operands: Operands) -> None:
        level, *chances = operands
        nodes = 24 + 182j, 200 + 94j, 200 + 270j
        leaves = [complex(406, y) for y in (46, 142, 222, 318)]
        pairs = nodes[1:], leaves[:2], leaves[2:]
        for game, x in ((1, 112), (2, 303)):
            scene.label(f"game {game}", complex(x, 18), size=17)
        for start, ends, chance in zip(nodes, pairs, chances, strict=True):
            for end, share, name in zip(ends, (chance, 1 - chance), ("win", "lose"), strict=True):
                scene.line(start, end, is_ground=True)
                scene.label(name, end, size=19, has_plate=True)
                if name == "win" or level == 1:
                    text = f"{share.numerator}/{share.denominator}"
                    scene.label(text, (start + end) / 2, size=19, has_plate=True)

    def solve(self, operands: Operands) -> Solution:
        level, p, q, r = operands
        wins = [(p, q), (1 - p, r)]
        paths = (wins[:1], [(1 - p, 1 - r)], wins, [(p, 1 - q), (1 - p, r)], wins)[level - 1]
        answer = sum(one * other for one, other in paths)
        steps = " + ".join(f"{one} * {other}" for one, other in paths)
        if level == 5:
            steps, answer = f"({p} * {q}) / ({steps})", p * q / answer
        return Solution(answer, f"Multiply along the branches: {steps} = {text_of(answer)}.")


@register
class _Venn(Family):
    """Two or three sets with the numbers of their parts; a number of members.

    Levels: one of two sets; exactly one of two; one or another of three; exactly two of three; all
    three, from the total.
    """

    name = "venn"
    questions = asking("the number of pupils who are in {0}")
    asks = ("chess", "exactly one club", "chess or choir", "exactly two clubs", "all three clubs")
    height = 392
    _PARTS = ((1, 3), (1, 2), (1, 2, 3, 5, 6, 7), (3, 5, 6), (7,))
    """Of each level; part 6, which is 110 in binary, is in the second and the third club alone."""

    def sample(self, rng: random.Random, level: int) -> Operands:
        return level, tuple(rng.randint(2, 19) for _ in range(4 if level < 3 else 8))

    def draw(self, scene: Scene, operands: Operands) -> None:
        level, numbers = operands
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

    def solve(self, operands: Operands) -> Solution:
        level, numbers = operands
        terms = [numbers[part] for part in self._PARTS[level - 1]]
        steps, answer = " + ".join(map(str, terms)), sum(terms)
        if level == 5:
            steps = " - ".join(map(str, (sum(numbers), *numbers[:-1])))
        return Solution(answer, f"By the numbers of the parts it is {steps} = {answer}.")
