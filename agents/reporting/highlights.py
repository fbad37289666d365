"""Highlights of runs: groups with mixed outcomes and the largest advantages, from each third."""

from collections.abc import Sequence
from typing import Any

from agents.monitoring.traces import contrast

NUM_HIGHLIGHTS = (4, 3, 3)
"""Groups from the first, middle and last third of the steps."""


def highlights(groups: Sequence[dict[str, Any]], last_steps: Sequence[int]) -> list[list[int]]:
    """Positions of the highlights of each third, in the order of steps.

    Args:
        groups: Entries of `Rollouts.index`.
        last_steps: Of each run.
    """
    order = [contrast(group["right"], group["advantage"]) for group in groups]
    thirds: list[list[int]] = [[], [], []]
    for place, group in enumerate(groups):
        if order[place][0]:
            thirds[_third(group["step"], last_steps[group["run"]])].append(place)
    return [
        sorted(
            sorted(places, key=order.__getitem__, reverse=True)[:count],
            key=lambda place: groups[place]["step"],
        )
        for places, count in zip(thirds, NUM_HIGHLIGHTS, strict=True)
    ]


def _third(step: int, last_step: int) -> int:
    """0, 1 or 2; steps count from 1."""
    return min(2, 3 * max(0, step - 1) // max(1, last_step))
