"""Tables of prices, of two features and of trains; clocks and calendars."""

import random
from collections.abc import Sequence
from fractions import Fraction

from reasonenv.envs.diagrams.family import QUANTITY, Family, Operands, Solution, register, text_of
from reasonenv.envs.diagrams.scene import Scene, arc_points


def _table(scene: Scene, rows: Sequence[Sequence[str]], top: float, height: float) -> None:
    """Rows of texts between lines, the first row and the first column on a tint."""
    width = 408 / len(rows[0])
    scene.rectangle(complex(20, top), complex(408, height), fill=scene.tint(), width=0)
    scene.rectangle(
        complex(20, top), complex(width, height * len(rows)), fill=scene.tint(), width=0
    )
    for row, texts in enumerate(rows):
        for column, text in enumerate(texts):
            corner = complex(20 + width * column, top + height * row)
            scene.rectangle(corner, complex(width, height), width=0.6)
            scene.label(text, corner + complex(width, height) / 2, size=18)


@register
class _Bill(Family):
    """A list of goods with prices and numbers; the sum, the change or a price.

    Levels: the sum of two goods; of three; with prices in halves; the change from an amount; a
    price from the sum; from level 4 on prices in steps of 0.05.
    """

    name = "bill"
    questions = QUANTITY
    height = 308
    _GOODS = ("bread", "milk", "tea", "rice", "soap")

    def sample(self, rng: random.Random, level: int) -> Operands:
        step, count = (100, 100, 50, 5, 5)[level - 1], 2 if level == 1 else 3
        goods = tuple(
            (good, step * rng.randint(200 // step, 900 // step), rng.randint(2, 6))
            for good in rng.sample(self._GOODS, count)
        )
        ask = ("sum", "sum", "sum", "change", "price")[level - 1]
        total = sum(price * number for _, price, number in goods)
        return ask, goods, -(-total // 1000) * 1000 if ask == "change" else total

    def words(self, operands: Operands) -> Operands:
        ask, goods, _ = operands
        return (
            {
                "sum": "the cost of the whole list, in euros",
                "change": "the change that is given back for the amount paid, in euros",
                "price": f"the price of one {goods[0][0]}, in euros",
            }[ask],
        )

    def draw(self, scene: Scene, operands: Operands) -> None:
        ask, goods, paid = operands
        rows = [("item", "price (€)", "number")]
        for place, (good, price, number) in enumerate(goods):
            text = "?" if ask == "price" and place == 0 else f"{price / 100:.2f}"
            rows.append((good, text, str(number)))
        _table(scene, [*rows[:1], *scene.rng.sample(rows[1:], len(goods))], 24, 52)
        if ask != "sum":
            text = "paid" if ask == "change" else "cost of the whole list"
            scene.label(f"{text}: {paid / 100:.2f} €", 224 + 270j, size=20)

    def solve(self, operands: Operands) -> Solution:
        ask, goods, paid = operands
        sums = [f"{number} * {price / 100:g}" for _, price, number in goods]
        cost = sum(price * number for _, price, number in goods)
        amount = Fraction(paid, 100)
        answer, steps = {
            "sum": (amount, " + ".join(sums)),
            "change": (Fraction(paid - cost, 100), f"{text_of(amount)} - ({' + '.join(sums)})"),
            "price": (
                Fraction(goods[0][1], 100),
                f"({text_of(amount)} - ({' + '.join(sums[1:])})) / {goods[0][2]}",
            ),
        }[ask]
        return Solution(answer, f"Price times number, added up: {steps} = {text_of(answer)}.")

    def canonical(self, operands: Operands) -> Operands:
        ask, goods, paid = operands
        return ask, goods[:1] if ask == "price" else (), tuple(sorted(goods)), paid


@register
class _TwoWayTable(Family):
    """Numbers of pupils by two features; a sum, a percentage or a probability.

    Levels: the sum of a row; of a column of three; the probability of a cell; of a column; of a
    cell within a row. Tables have 2 rows at level 1, else 3.
    """

    name = "two_way_table"
    questions = QUANTITY
    height = 280

    def sample(self, rng: random.Random, level: int) -> Operands:
        rows = 2 if level == 1 else 3
        table = tuple(tuple(rng.randint(2, 18) for _ in range(3)) for _ in range(rows))
        return level, table, rng.randrange(rows), rng.randrange(3)

    def words(self, operands: Operands) -> Operands:
        level, _, row, column = operands
        group, sport = f"class {'ABC'[row]}", ("chess", "judo", "dance")[column]
        return (
            (
                f"the number of pupils of {group}",
                f"the number of pupils who do {sport}",
                f"the exact probability that a random pupil is in {group} and does {sport}",
                f"the exact probability that a random pupil does {sport}",
                f"the exact probability that a random pupil of {group} does {sport}",
            )[level - 1],
        )

    def draw(self, scene: Scene, operands: Operands) -> None:
        _, table, *_ = operands
        rows = [(f"class {name}", *map(str, row)) for name, row in zip("ABC", table, strict=False)]
        _table(scene, [("", "chess", "judo", "dance"), *rows], 30, 54)

    def solve(self, operands: Operands) -> Solution:
        level, table, row, column = operands
        whole = [number for numbers in table for number in numbers]
        down = [numbers[column] for numbers in table]
        part, of = (
            (table[row], None),
            (down, None),
            ([table[row][column]], whole),
            (down, whole),
            ([table[row][column]], table[row]),
        )[level - 1]
        steps = " + ".join(map(str, part))
        if of is None:
            return Solution(sum(part), f"{steps} = {sum(part)}.")
        answer = Fraction(sum(part), sum(of))
        below = " + ".join(map(str, of))
        return Solution(answer, f"({steps}) / ({below}) = {text_of(answer)}.")

    def canonical(self, operands: Operands) -> Operands:
        level, table, row, column = operands
        return level, table, None if level in (2, 4) else row, None if level == 1 else column


@register
class _Clocks(Family):
    """Two clocks; the minutes from the first to the second.

    Levels: quarters of an hour; five minutes; minutes; without numbers; three clocks, whose two
    spans are added. A span is shorter than 12 hours, at levels 1 and 2 than 4.
    """

    name = "clocks"
    questions = (
        "A film starts at the time on the first clock and ends, less than twelve hours later, at "
        "the time on the last one. How many minutes does it last?",
        "How many minutes pass from the first clock's time to the last clock's, in less than "
        "twelve hours?",
        "The clocks show the start and the end of a trip of less than 12 hours. Find its length in "
        "minutes.",
        "Work out the time from the first clock to the last one in minutes; it is below 12 hours.",
    )
    height = 280

    def sample(self, rng: random.Random, level: int) -> Operands:
        step, longest = ((15, 240), (5, 240), (1, 300), (1, 719), (1, 719))[level - 1]
        start = step * rng.randrange(720 // step)
        return start, start + step * rng.randint(1, longest // step), level

    def draw(self, scene: Scene, operands: Operands) -> None:
        *times, level = operands
        for time, x in zip(times, (120, 328), strict=True):
            center = complex(x, 130)
            scene.circle(center, 96, width=1.3, fill=scene.tint())
            for minute in range(60):
                length = 10 if minute % 5 == 0 else 5
                self._hand(scene, center, 96 - length, 96, minute, 0.8)
                hour = minute // 5 or 12
                if minute % 5 == 0 and (level < 4 or (hour % 3 == 0 and level < 5)):
                    at = arc_points(center, 72, 90 - 6 * minute, 0)[0]
                    scene.label(str(hour), at, size=17)
            self._hand(scene, center, 0, 42, time / 12, 2.6)
            self._hand(scene, center, 0, 84, time, 1.4)
            scene.dot(center)
        scene.label("start", 120 + 254j)
        scene.label("end", 328 + 254j)
