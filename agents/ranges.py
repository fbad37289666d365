"""Ranges of the hyper-parameters of learners."""

import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from agents.errors import UsageError

Range = tuple[Callable[[float], bool], str]

_WEIGHT: Range = (lambda x: 0 <= x < math.inf, ">= 0")
_POSITIVE: Range = (lambda x: x > 0, "> 0")
RANGES: dict[str, Range] = {
    "clip_low": (lambda x: 0 <= x < 1, "in [0, 1)"),
    "clip_high": (lambda x: x >= 0, ">= 0"),
    "dual_clip": (lambda x: x > 1, "> 1"),
    "drift_coefficient": _WEIGHT,
    "drift_cap": _POSITIVE,
    "clip_schedule": (lambda x: 0 <= x <= 1, "in [0, 1]"),
    "beta": _WEIGHT,
    "z_old": (lambda x: 0 < x < math.inf, "> 0"),
    "sampler_correction": (lambda x: 0 < x < math.inf, "> 0"),
}
"""Ranges of hyper-parameters, by the names that learners share."""
LARGEST = 1e30
"""Largest finite hyper-parameter, which leaves room for products in float32."""


def check_ranges(learner: Any) -> None:
    """Raises UsageError for a number outside its range; those without a range may be anything."""
    for name in RANGES.keys() & {field.name for field in fields(learner)}:
        (valid, words), value = RANGES[name], getattr(learner, name)
        if value is None or callable(value):
            continue
        if not valid(value):
            raise UsageError(f"{name} is {value}: give a number {words}, or None for without")
        if LARGEST < value < math.inf:
            raise UsageError(f"{name} is {value}: give at most {LARGEST:g}")
