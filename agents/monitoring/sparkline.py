"""Curve of numbers between 0 and 1 as a line of characters."""

from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII = "_.:-=+*#"


def sparkline(values: Sequence[float], width: int, levels: str = BLOCKS) -> str:
    """The curve in at most `width` characters, each the mean of equally many consecutive values.

    Args:
        values: Values outside of [0, 1] count as the nearest bound.
        width: Characters; none are returned below 1.
        levels: Characters of equal parts of [0, 1], the lowest first.
    """
    if width < 1:
        return ""
    size = -(-len(values) // width)
    bounded = [min(1.0, max(0.0, value)) for value in values]
    parts = [bounded[i : i + size] for i in range(0, len(values), max(1, size))]
    means = [sum(part) / len(part) for part in parts]
    return "".join(levels[min(len(levels) - 1, int(mean * len(levels)))] for mean in means)


def levels_of(encoding: str) -> str:
    """The block characters, or ASCII where an encoding lacks them."""
    try:
        BLOCKS.encode(encoding)
    except UnicodeEncodeError:
        return ASCII
    return BLOCKS
