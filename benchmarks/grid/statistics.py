"""Statistics of few seeds; intervals and paired tests are those of `reasonenv`'s scores."""

from collections.abc import Sequence


def kaplan_meier(times: Sequence[float], observed: Sequence[bool]) -> list[tuple[float, float]]:
    """Estimated part of the runs that go on past each time at which one ended.

    Source: Kaplan and Meier, Nonparametric estimation from incomplete observations (Journal of the
    American Statistical Association 53, 1958).

    Args:
        times: Of the event of each run, or how long it was looked at without one.
        observed: Whether the event came.
    """
    alive, curve = 1.0, []
    for time in sorted({t for t, seen in zip(times, observed, strict=True) if seen}):
        at_risk = sum(t >= time for t in times)
        events = sum(t == time and seen for t, seen in zip(times, observed, strict=True))
        alive *= 1 - events / at_risk
        curve.append((time, alive))
    return curve


def restricted_mean(times: Sequence[float], observed: Sequence[bool], horizon: float) -> float:
    """Mean time before the event, counted up to a horizon: the area under `kaplan_meier`."""
    area, since, alive = 0.0, 0.0, 1.0
    for time, after in kaplan_meier(times, observed):
        if time >= horizon:
            break
        area += alive * (time - since)
        since, alive = time, after
    return area + alive * (horizon - since)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values, raised for there being several: each at least as large as a smaller one's.

    Source: Holm, A simple sequentially rejective multiple test procedure (Scandinavian Journal of
    Statistics 6, 1979).
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted
