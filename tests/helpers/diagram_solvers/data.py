"""Second solvers of charts, tables, chance, time, graphs and patterns."""

from fractions import Fraction
from itertools import pairwise, permutations, product

import networkx
import numpy as np
import sympy


def chart(title, scale, rows, ask, cells):
    """By numpy, with the sign that a difference has not."""
    numbers = np.array(rows)
    values = [numbers[thing, ... if place is None else place] for thing, place in cells]
    if ask == "mean":
        return Fraction(int(values[0].sum()), values[0].size)
    return abs(values[0].sum() - (values[1].sum() if len(values) > 1 else 0))


def pie_chart(level, group, names, total, shares):
    """By counting the members of a population, one or more for each part of the pie."""
    owners = [place for place, share in enumerate(shares) for _ in range(share)]
    size = Fraction(100 if level == 1 else total, len(owners))
    return size * (len(owners) if level == 5 else owners.count(0))


def scatter(level, first, second, *points):
    """By comparing arrays."""
    x, y = np.array(points).T
    return {
        1: y > second,
        2: (x < first) & (y > second),
        3: x < y,
        4: y - x > 1,
        5: x + y > second,
    }[level].sum()


def box_plot(ask, tick, *sets):
    """By numpy's quantiles of the five numbers."""
    shares = {"lower quartile": [0.25], "upper quartile": [0.75], "median": [0.5]}
    pairs = {"range": [0, 1], "interquartile range": [0.25, 0.75]}
    values = [np.quantile(data, (shares | pairs)[ask]) for data in sets]
    measures = [value[-1] - (value[0] if ask in pairs else 0) for value in values]
    return int(abs(measures[0] - (measures[1] if len(measures) > 1 else 0)))


def histogram(is_density, unit, edges, heights, classes):
    """By counting year after year, or class after class."""
    numbers = dict(zip(pairwise(edges), heights, strict=True))
    low, high = edges[classes[0]], edges[classes[1]]
    step = 1 if is_density else 10
    return sum(
        unit * height
        for year in range(low, high, step)
        for (start, end), height in numbers.items()
        if start <= year < end
    )


def stem_and_leaf(ask, *sets):
    if ask == "range":
        return int(np.ptp(sets[0]))
    medians = [Fraction(float(np.median(data))) for data in sets]
    return abs(medians[0] - (medians[1] if len(medians) > 1 else 0))


def pictograph(is_total, thing, key, quarters, one, other):
    """By adding the quarters of symbols one by one."""
    rows = [sum(Fraction(key, 4) for _ in range(count)) for count in quarters]
    return sum(rows) if is_total else rows[one]


def spinner(level, *wheels):
    """By the rules of each event on arrays."""
    x, *y = np.ix_(*wheels)
    good = {
        1: lambda: x % 2 == 0,
        2: lambda: x >= 6,
        3: lambda: np.isin(x, list(sympy.primerange(10))),
        4: lambda: (x % 2 == 1) & (y[0] % 2 == 1),
        5: lambda: x + y[0] >= 10,
    }[level]()
    return Fraction(int(good.sum()), good.size)


def marbles(level, names, counts):
    """By enumeration of all pairs of single marbles."""
    box = [name for name, count in zip(names, counts, strict=True) for _ in range(count)]
    first, second, _ = names
    pairs = product(box, box) if level < 4 else permutations(box, 2)
    good = [
        {
            1: one == first,
            2: one != first,
            3: one == other == first,
            4: one == other == first,
            5: {one, other} == {first, second},
        }[level]
        for one, other in pairs
    ]
    return Fraction(sum(good), len(good))


def probability_tree(level, p, q, r):
    """By a table of the four results of two games."""
    chance = {
        (first, second): (p if first else 1 - p)
        * ((q if first else r) if second else 1 - (q if first else r))
        for first, second in product((True, False), repeat=2)
    }
    won = chance[True, True] + chance[False, True]
    exactly_one = chance[True, False] + chance[False, True]
    answers = chance[True, True], chance[False, False], won, exactly_one, chance[True, True] / won
    return answers[level - 1]


def venn(level, numbers):
    """By listing the clubs of each pupil."""
    pupils = [
        {club for club in range(3) if part & 2**club}
        for part, number in enumerate(numbers)
        for _ in range(number)
    ]
    return sum(
        (0 in clubs, len(clubs) == 1, bool({0, 1} & clubs), len(clubs) == 2, len(clubs) == 3)[
            level - 1
        ]
        for clubs in pupils
    )


def number_pyramid(base, unknown):
    """By building the rows, with a symbol at the mark."""
    x = sympy.Symbol("x")

    def top(row):
        while len(row) > 1:
            row = [a + b for a, b in pairwise(row)]
        return row[0]

    if unknown[0]:
        return top(base)
    marked = [x if (0, place) == unknown else number for place, number in enumerate(base)]
    return sympy.solve(top(marked) - top(base), x)[0]


def balance(*scales):
    """By trying every pair of weights."""
    fits = {
        disc
        for disc, block in product(range(1, 40), repeat=2)
        if all(
            np.dot(left, (disc, block, 1)) == np.dot(right, (disc, block, 1))
            for left, right in scales
        )
    }
    assert len(fits) == 1
    return fits.pop()


def growing_pattern(number, level, columns):
    """By the polynomial through the numbers of dots of the three figures that are shown."""
    return sympy.interpolate([sum(heights) for heights in columns], number)


def shortest_way(count, roads):
    network = networkx.Graph()
    network.add_weighted_edges_from(roads)
    return networkx.dijkstra_path_length(network, 0, count - 1)


def logic_gates(lamps, rows):
    """By the number of inputs that are 1 at each gate."""
    ones = {"AND": {2}, "OR": {1, 2}, "XOR": {1}, "NAND": {0, 1}, "NOR": {0}}

    def output(first, gates):
        if not gates:
            return first
        *before, (gate, bit) = gates
        return int(output(first, before) + bit in ones[gate])

    return sum(lamp * output(*row) for lamp, row in zip(lamps, rows, strict=True))


def flow_chart(start, steps, limit):
    """By sympy's value of the composed expression, as often as it takes."""
    x = sympy.Symbol("x")
    expression = x
    for name, number in steps:
        expression = {
            "add": expression + number,
            "subtract": expression - number,
            "multiply by": expression * number,
        }[name]
    value = expression.subs(x, start)
    while limit is not None and value <= limit:
        value = expression.subs(x, value)
    return value


def two_way_table(level, numbers, row, sport):
    """By listing all pupils."""
    kinds = product("ABC", ("chess", "tennis", "football"))
    pupils = [kind for kind, number in zip(kinds, numbers, strict=True) for _ in range(number)]
    good = [pupil for pupil in pupils if pupil[0] in (row or "ABC") and sport in ("", pupil[1])]
    whole = [pupil for pupil in pupils if pupil[0] == row] if level == 5 else pupils
    return len(good) if level < 3 else Fraction(len(good), len(whole))


def clocks(numbers, start, passed):
    """By the angles of the hands, without the hours between."""
    hands = [(Fraction(time, 2) % 360, 6 * time % 360) for time in (start, start + passed)]
    hours, minutes = ((last - first) for first, last in zip(*hands, strict=True))
    assert minutes % 360 == 12 * hours % 360
    return 2 * hours % 720


def calendar(level, start, number):
    """By numpy's calendar of days or of business days."""
    day = np.datetime64("{:04}-{:02}-{:02}".format(*start))
    week = "1111111" if level in (1, 3) else "1111100"
    if level < 3:
        end = day.astype("M8[M]").astype("M8[D]") + number - 1
        return np.busday_count(day + 1, end + 1, weekmask=week)
    last = np.busday_offset(day, number - 1, weekmask=week)
    return int(str(last)[-2:])


SOLVERS = {
    "calendar": calendar,
    "shortest_way": shortest_way,
    "logic_gates": logic_gates,
    "flow_chart": flow_chart,
    "two_way_table": two_way_table,
    "clocks": clocks,
    "number_pyramid": number_pyramid,
    "balance": balance,
    "growing_pattern": growing_pattern,
    "spinner": spinner,
    "marbles": marbles,
    "probability_tree": probability_tree,
    "venn": venn,
    "scatter": scatter,
    "box_plot": box_plot,
    "histogram": histogram,
    "stem_and_leaf": stem_and_leaf,
    "pictograph": pictograph,
    "bars": chart,
    "grouped_bars": chart,
    "stacked_bars": chart,
    "line_chart": chart,
    "pie_chart": pie_chart,
}
