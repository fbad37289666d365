"""Second solvers of charts, tables, chance, time, graphs and patterns."""

from fractions import Fraction
from itertools import pairwise
from statistics import median

import numpy as np


def chart(theme, scale, table, ask, things, places):
    """By numpy, with the sign that a difference has not."""
    numbers = scale[0] * np.array(table)
    first, last = numbers[things[0]], numbers[things[-1]]
    here, there = places
    answer = {
        "value": first[here],
        "total": first.sum(),
        "mean": Fraction(int(first.sum()), first.size),
        "change": abs(first[here] - first[there]),
        "gap": abs(first[here] - last[here]),
        "total gap": abs((first - last).sum()),
    }[ask]
    return answer


def pie_chart(theme, ask, total, shares):
    """By counting the members of a population of twenty equal parts."""
    owners = [place for place, share in enumerate(shares) for _ in range(share)]
    weight = Fraction(total, len(owners))
    count = owners.count(0)
    return {"share": Fraction(100 * count, len(owners)), "whole": len(owners) * weight}.get(
        ask, count * weight
    )


def scatter(condition, points):
    """By comparing arrays."""
    level, first, second = condition
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
        return max(sets[0]) - min(sets[0])
    medians = [Fraction(median(data)) for data in sets]
    return abs(medians[0] - (medians[1] if len(medians) > 1 else 0))


def pictograph(ask, thing, key, quarters, picks):
    """By adding the quarters of symbols one by one."""
    numbers = [sum(Fraction(key, 4) for _ in range(count)) for count in quarters]
    one, other = (numbers[pick] for pick in picks)
    return {"total": sum(numbers), "difference": abs(one - other)}.get(ask, one)


SOLVERS = {
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
