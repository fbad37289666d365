"""Pictures of data: scatter plots, box plots, histograms, stems and leaves, pictographs."""

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise, product

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import Family, Operands, Solution, asking, register, text_of
from reasonenv.envs.diagrams.scene import Scene, arc_points


@register
class _Scatter(Family):
    """Marks of pupils in two tests as points; how many points fulfil a condition.

    Levels: above a number; left of one and above another; better in the second test; better by
    at least two; a sum above a number. Up to 19, 20, 21, 22, 23 points.
    """

    name = "scatter"
    questions = asking("the number of points for pupils with {0}")
    asks = (
        "more than {2} marks in test 2",
        "fewer than {1} marks in test 1 and more than {2} in test 2",
        "more marks in test 2 than in test 1",
        "at least 2 marks more in test 2 than in test 1",
        "more than {2} marks in both tests together",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        a, b = rng.randint(4, 7) if level == 2 else 0, rng.randint(3, 6)
        limits = level, a, (b, b, 0, 0, 2 * b + 1)[level - 1]
        cells = list(product(range(1, 11), repeat=2))
        good = [cell for cell in cells if _is_good(*limits, *cell)]
        rest = rng.sample(sorted({*cells} - {*good}), rng.randint(4, 7 + level))
        return *limits, *sorted([*rng.sample(good, rng.randint(2, 11)), *rest])

    def draw(self, scene: Scene, operands: Operands) -> None:
        axes = Axes(scene, (0, 10), (0, 10), 62 + 30j, 360 + 346j)
        axes.grid(range(11), ())
        axes.frame(range(11))
        for x in range(1, 11):
            scene.label(str(x), axes.at(x, 0), 1j, size=17)
        scene.label("marks in test 1", 242 + 424j, size=18)
        scene.label("marks in test 2", 130 + 14j, size=18)
        for point in operands[3:]:
            scene.dot(axes.at(*point), scene.accent())

    def solve(self, operands: Operands) -> Solution:
        good = [point for point in operands[3:] if _is_good(*operands[:3], *point)]
        text = ", ".join(map(str, good))
        return Solution(len(good), f"The points {text} fulfil the condition: {len(good)} pupils.")


def _is_good(level: int, a: int, b: int, x: int, y: int) -> bool:
    return (y > b, x < a and y > b, y > x, y >= x + 2, x + y > b)[level - 1]


# Among the five numbers of a box plot, the first less the second if there are two.
_PLACES = {"median": (2,), "lower quartile": (1,), "upper quartile": (3,)}
_PLACES |= {"range": (4, 0), "interquartile range": (3, 1)}


class _Measure(Family):
    """A measure of one set of data, or the difference of two sets' measures."""

    questions = asking()

    def words(self, operands: Operands) -> Operands:
        ask, *sets = operands
        both = f"the difference between the {ask}s of A and B"
        return (both if sets[1:] else f"the {ask} of the data",)

    def solve(self, operands: Operands) -> Solution:
        ask, *sets = operands
        values = sorted((self.value(ask, data) for data in sets), reverse=True)
        texts = [text_of(value) for value in values]
        if len(values) == 1:
            return Solution(values[0], f"The {ask} of the data is {texts[0]}.")
        answer = values[0] - values[1]
        steps = f"The {ask}s are {' and '.join(texts)}: {' - '.join(texts)} = {text_of(answer)}."
        return Solution(answer, steps)

    def value(self, ask: str, data: Sequence[int]) -> Fraction:
        """The measure by the five numbers of a box plot."""
        place, *less = _PLACES[ask]
        return Fraction(data[place] - sum(data[i] for i in less))


@register
class _BoxPlot(_Measure):
    """One or two box plots on a scale; a quartile, a range or a difference.

    Levels: the median or a quartile; the range or the interquartile range; the same on a finer
    scale; the difference of two medians; of two interquartile ranges on a finer scale.
    """

    name = "box_plot"
    height = 308

    def sample(self, rng: random.Random, level: int) -> Operands:
        ask = list(_PLACES)[(rng.randrange(3), *[rng.choice((3, 4))] * 2, 0, 4)[level - 1]]
        tick = 1 if level in (3, 5) else rng.choice((2, 4, 5, 10))
        places = range(1, 40 if tick == 1 else 20)
        sets = [sorted(rng.sample(places, 5)) for _ in range(1 + level // 4)]
        return ask, *(tuple(tick * place for place in data) for data in sets)

    def draw(self, scene: Scene, operands: Operands) -> None:
        _, *sets = operands
        # The ticks are the coarsest that all numbers lie on.
        tick = next(tick for tick in (10, 5, 4, 2, 1) if all(x % tick == 0 for x in sum(sets, ())))
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


@register
class _Histogram(Family):
    """A histogram of ages; how many people are in some classes.

    Levels: one class; two; all from an age on; classes of several widths with the density of
    people a year; all from an age on by density.
    """

    name = "histogram"
    questions = asking("the number of members who are {0}")
    height = 392

    def sample(self, rng: random.Random, level: int) -> Operands:
        widths = [10] * 5 if level < 4 else rng.sample((5, 10, 10, 20, 20), 4)
        heights = tuple(rng.randint(1, 10) for _ in widths)
        first, unit = rng.randrange(len(widths) - 1), 1 if level > 3 else rng.choice((1, 2, 5))
        last = (first + 1, first + 2, len(widths), first + 1, len(widths))[level - 1]
        return level > 3, unit, tuple(accumulate(widths, initial=10)), heights, (first, last)

    def words(self, operands: Operands) -> Operands:
        *_, edges, heights, (first, last) = operands
        end = " or older" if last == len(heights) else f" or older, but below {edges[last]}"
        return (f"{edges[first]} years old{end}",)

    def draw(self, scene: Scene, operands: Operands) -> None:
        is_density, unit, edges, heights, _ = operands
        axes = Axes(scene, (edges[0] - 4, edges[-1]), (0, 10 * unit), 62 + 46j, 366 + 276j)
        axes.frame(range(0, 10 * unit + 1, unit))
        scene.label("members per year of age" if is_density else "members", 150 + 20j, size=17)
        for start, end, height in zip(edges, edges[1:], heights, strict=False):
            corner = axes.at(start, unit * height)
            scene.rectangle(corner, axes.at(end, 0) - corner, fill=scene.accent(), width=0.7)
        for edge in edges:
            scene.label(str(edge), axes.at(edge, 0), 1j, size=17)
        scene.label("age in years", 245 + 372j, size=17)

    def solve(self, operands: Operands) -> Solution:
        is_density, unit, edges, heights, (first, last) = operands
        widths = [end - start if is_density else 1 for start, end in pairwise(edges)]
        pairs = list(zip(widths, heights, strict=True))[first:last]
        answer = sum(width * unit * height for width, height in pairs)
        terms = [f"{width} * {unit * height}" for width, height in pairs]
        rule = "Width times height" if is_density else "The heights"
        return Solution(answer, f"{rule} of the bars, added up: {' + '.join(terms)} = {answer}.")


@register
class _StemAndLeaf(_Measure):
    """A stem-and-leaf diagram; the range, the median, or the difference of two medians.

    Levels: the range; the median of an odd number of data; of an even one; the difference of two
    medians of odd and of even numbers of data.
    """

    name = "stem_and_leaf"
    height = 364

    def sample(self, rng: random.Random, level: int) -> Operands:
        count = rng.choice(((8, 9, 10), (9, 11, 13), (8, 10, 12), (7, 9), (6, 8))[level - 1])
        sets = [sorted(rng.choices(range(10, 60), k=count)) for _ in range(1 + level // 4)]
        return "range" if level == 1 else "median", *map(tuple, sets)

    def value(self, ask: str, data: Sequence[int]) -> Fraction:
        """The measure of all data in order."""
        if ask == "range":
            return Fraction(data[-1] - data[0])
        return Fraction(data[len(data) // 2] + data[~(len(data) // 2)], 2)

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


_NAMES = ("Ana", "Ben", "Cleo", "Dan")


@register
class _Pictograph(Family):
    """Rows of symbols, each for the same number; the number of a row or of all.

    Levels: a row of whole symbols; all rows; all with half symbols; with quarters; a row, where
    the number of another row is known in place of a symbol's.
    """

    name = "pictograph"
    questions = asking()
    asks = (
        "the number of {1} for {4}",
        *["the total number of {1}"] * 3,
        "the number of {1} for {4}",
    )
    height = 336

    def sample(self, rng: random.Random, level: int) -> Operands:
        part, key = (4, 4, 2, 1, 2)[level - 1], 4 * rng.randint(1, 6)
        quarters = [part * number for number in rng.sample(range(1, 28 // part), 4)]
        thing, one, other = rng.choice(("apples", "books", "goals")), *rng.sample(_NAMES, 2)
        names = one if level in (1, 5) else "", other if level == 5 else ""
        return level, thing, key, tuple(quarters), *names

    def draw(self, scene: Scene, operands: Operands) -> None:
        level, thing, key, quarters, _, other = operands
        for row, (name, count) in enumerate(zip(_NAMES, quarters, strict=True)):
            y = 34 + 62 * row
            scene.label(name, complex(44, y), size=19)
            for place in range(0, count, 4):
                _symbol(scene, complex(112 + 12 * place, y), min(4, count - place))
        scene.line(84 + 8j, 84 + 250j)
        if level == 5:
            number = key * quarters[_NAMES.index(other)] // 4
            scene.label(f"{other} has {number} {thing}.", 224 + 296j)
        else:
            _symbol(scene, 130 + 296j, 4)
            scene.label(f"stands for {key} {thing}", 156 + 296j, 1)

    def solve(self, operands: Operands) -> Solution:
        level, _, key, quarters, *names = operands
        rows = dict(zip(_NAMES, (Fraction(count, 4) for count in quarters), strict=True))
        used = [rows[name] for name in (_NAMES if level in (2, 3, 4) else names[:1])]
        known = rows.get(names[1], Fraction(1))
        terms, answer = " + ".join(map(text_of, used)), int(key * sum(used))
        text = f"{text_of(known)} of a symbol is {text_of(key * known)}, so one is {key}"
        return Solution(answer, f"{text}: {key} * ({terms}) = {answer}.")


def _symbol(scene: Scene, center: complex, quarters: int) -> None:
    """A disc, or some of its quarters."""
    rim = arc_points(center, 20, 90, 90 * quarters)
    scene.polygon(*rim, *([center] if quarters < 4 else []), fill=scene.accent(), width=0.7)
