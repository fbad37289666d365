"""Second solvers of charts, tables, chance, time, graphs and patterns."""

from fractions import Fraction

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


SOLVERS = {
    "bars": chart,
    "grouped_bars": chart,
    "stacked_bars": chart,
    "line_chart": chart,
    "pie_chart": pie_chart,
}
