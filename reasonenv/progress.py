"""Progress of a loop: a bar on a terminal, occasional lines elsewhere."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

from reasonenv.terminal import print_line

Item = TypeVar("Item")


def track(items: Sequence[Item], title: str, unit: int = 1, every: float = 10.0) -> Iterator[Item]:
    """Iterates over items and shows the progress on standard error.

    A bar on a terminal with tqdm; else a line every few seconds.

    Args:
        items: Items of the loop.
        title: Name of the loop.
        unit: Number of things in one item.
        every: Seconds between lines.
    """
    if sys.stderr.isatty():
        try:
            from tqdm import tqdm
        except ImportError:
            pass
        else:
            # A terminal of unknown size reports 0, and tqdm would show nothing.
            width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
            yield from tqdm(
                items, title, False, file=sys.stderr, ncols=width, nrows=20, unit_scale=unit
            )
            return
    last_line = start = time.monotonic()
    for count, item in enumerate(items):
        now = time.monotonic()
        if now - last_line >= every:
            last_line = now
            remaining = (now - start) * (len(items) - count) / max(1, count)
            fraction = f"{count * unit}/{len(items) * unit}"
            print_line(f"{title} {fraction}  ETA {remaining:.0f} s", sys.stderr)
        yield item
