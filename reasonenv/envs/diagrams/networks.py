"""Ways in a network, circuits of gates and flow charts."""

import random
from functools import reduce
from itertools import product
from operator import add, and_, mul, or_, sub, xor

from reasonenv.envs.diagrams.family import Family, Operands, Solution, asking, register
from reasonenv.envs.diagrams.scene import Scene


@register
class _ShortestWay(Family):
    """Towns and roads with lengths; the length of the shortest way between two corners.

    Levels: 2 x 3 towns; with diagonal roads; 3 x 3 towns without and with them; 3 x 4 with them.
    """

    name = "shortest_way"
    questions = asking("the length of the shortest way from A to {0}")

    def sample(self, rng: random.Random, level: int) -> Operands:
        columns, rows, roads = 3 + level // 5, 2 + (level > 2), []
        for column, row in product(range(columns), range(rows)):
            town, right, down = rows * column + row, column + 1 < columns, row + 1 < rows
            roads += [(town, town + rows)] * right + [(town, town + 1)] * down
            if right and down and level in (2, 4, 5):
                roads.append(rng.choice([(town, town + rows + 1), (town + 1, town + rows)]))
        return columns, rows, tuple((*road, rng.randint(3, 25)) for road in roads)

    def words(self, operands: Operands) -> Operands:
        return (_LETTERS[operands[0] * operands[1] - 1],)

    def draw(self, scene: Scene, operands: Operands) -> None:
        columns, rows, roads = operands
        places = []
        for column, row in product(range(columns), range(rows)):
            shift = complex(scene.rng.randrange(-20, 21), scene.rng.randrange(-20, 21))
            at = complex(54 + 340 / (columns - 1) * column, 54 + 340 / (rows - 1) * row)
            places.append(at + shift)
        for start, end, length in roads:
            scene.line(places[start], places[end], is_ground=True)
            scene.label(str(length), (places[start] + places[end]) / 2, size=18, has_plate=True)
        for place, letter in zip(places, _LETTERS, strict=False):
            scene.circle(place, 17, fill=scene.tint())
            scene.label(letter, place, size=19)

    def solve(self, operands: Operands) -> Solution:
        columns, rows, roads = operands
        best = {0: (0, "A")}
        for start, end, more in roads * len(roads):
            for here, there in ((start, end), (end, start)):
                length, towns = best.get(here, (10**6, ""))
                way = length + more, towns + _LETTERS[there]
                best[there] = min(best.get(there, way), way)
        length, towns = best[columns * rows - 1]
        return Solution(length, f"The shortest way is {towns}, of length {length}.")


_LETTERS = "ABCDEFGHIJKL"
_GATES = {"AND": and_, "OR": or_, "XOR": xor}
_GATES |= {"NAND": lambda x, y: 1 - (x & y), "NOR": lambda x, y: 1 - (x | y)}


@register
class _LogicGates(Family):
    """Rows of gates with their inputs, each to a lamp; the sum of the numbers on lamps that are on.

    Levels: a gate in a row, AND or OR; or XOR; two gates; of all kinds; three gates.
    """

    name = "logic_gates"
    questions = asking("the sum of the numbers on the lamps that are on")
    height = 392

    def sample(self, rng: random.Random, level: int) -> Operands:
        count, kinds = ((1, 2), (1, 3), (2, 3), (2, 5), (3, 5))[level - 1]
        names = list(_GATES)[:kinds]
        return tuple(
            (lamp, tuple(rng.choices((0, 1), k=count + 1)), tuple(rng.choices(names, k=count)))
            for lamp in rng.sample(range(2, 30), 4)
        )

    def draw(self, scene: Scene, operands: Operands) -> None:
        for row, (lamp, (first, *bits), gates) in enumerate(operands):
            y = 36 + 96 * row
            scene.label(str(first), complex(24, y))
            scene.line(complex(36, y), complex(376, y), is_ground=True)
            for place, (bit, gate) in enumerate(zip(bits, gates, strict=True)):
                center = complex(100 + 108 * place, y)
                scene.line(center, center + 36j, is_ground=True)
                scene.label(str(bit), center + 36j, 1j, size=20)
                scene.rectangle(center - 34 - 20j, 68 + 40j, fill=scene.tint(place))
                scene.label(gate, center, size=18)
            scene.circle(complex(400, y), 24, fill=scene.style.background)
            scene.label(str(lamp), complex(400, y), size=20)

    def solve(self, operands: Operands) -> Solution:
        outputs = []
        for _, bits, gates in operands:
            steps = zip(gates, bits[1:], strict=True)
            output = reduce(lambda x, step: _GATES[step[0]](x, step[1]), steps, bits[0])
            outputs.append(output)
        lamps = [lamp for (lamp, *_), output in zip(operands, outputs, strict=True) if output]
        total = f"{' + '.join(map(str, lamps)) or 0} = {sum(lamps)}"
        return Solution(sum(lamps), f"The last gates give {outputs}, so the sum is {total}.")


_STEPS = {"add": add, "subtract": sub, "multiply by": mul}


@register
class _FlowChart(Family):
    """A flow chart that computes with a number; its result.

    Levels: two, three, four steps; a step that is repeated until the number is large; two steps.
    """

    name = "flow_chart"
    questions = asking("the result of the flow chart")

    def sample(self, rng: random.Random, level: int) -> Operands:
        start = rng.randint(5, 20)
        if level < 4:
            names = rng.choices(list(_STEPS), k=level + 1)
            steps = [(name, rng.randint(2, 3 if name[0] == "m" else 12)) for name in names]
            return start, tuple(steps), None
        last = rng.choice(("add", "subtract")), rng.randint(1, 4)
        steps = ("multiply by", rng.choice((2, 3))), last
        return start, steps[: level - 3], rng.randint(30, 300)

    def draw(self, scene: Scene, operands: Operands) -> None:
        start, steps, limit = operands
        texts = [f"start with {start}", *(f"{name} {number}" for name, number in steps)]
        question = [] if limit is None else [f"above {limit}?"]
        boxes = [*texts, *question, "result"]
        gap, foot = 392 / (len(boxes) - 1), 0
        for place, text in enumerate(boxes):
            at, half = complex(200, 28 + gap * place), 30j if text in question else 22j
            if place:
                scene.arrow(complex(200, foot), at - half)
            foot = (at + half).imag
            if text in question:
                scene.polygon(at - 100, at - half, at + 100, at + half, fill=scene.tint(1))
                scene.line(at + 100, complex(360, at.imag), complex(360, 28 + gap / 2))
                scene.arrow(complex(360, 28 + gap / 2), complex(200, 28 + gap / 2))
                scene.label("no", at + 120, -1j)
                scene.label("yes", at + half + 14j, 1)
            else:
                scene.rectangle(at - 92 - half, 184 + 2 * half, fill=scene.tint())
            scene.label(text, at, size=19)

    def solve(self, operands: Operands) -> Solution:
        number, steps, limit = operands
        numbers = [number]
        while len(numbers) == 1 or (limit is not None and numbers[-1] <= limit):
            for name, other in steps:
                numbers.append(_STEPS[name](numbers[-1], other))
        text = ", ".join(map(str, numbers))
        return Solution(numbers[-1], f"The numbers are {text}: the result is {numbers[-1]}.")
