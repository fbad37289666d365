"""How far a long piece of work is: a bar on a terminal, a line now and then elsewhere."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def shown(items: Sequence[Item], title: str, unit: int = 1, every: float = 10.0) -> Iterator[Item]:
    """The items one by one, while standard error shows how many are done.

    On a terminal it is a bar, where tqdm is installed; else a line, none in the first seconds.

    Args:
        items: What is worked on.
        title: What the work is called.
        unit: How many things one item stands for.
        every: Seconds between lines.
    """
    if sys.stderr.isatty():
        try:
            from tqdm import tqdm
        except ImportError:
            pass
        else:
            # A terminal that does not know its size says 0, and tqdm would show nothing.
            width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
            yield from tqdm(
                items, title, False, file=sys.stderr, ncols=width, nrows=20, unit_scale=unit
            )
            return
    said = began = time.monotonic()
    for done, item in enumerate(items):
        now = time.monotonic()
        if now - said >= every:
            said = now
            left = (now - began) * (len(items) - done) / max(1, done)
            done_of = f"{done * unit}/{len(items) * unit}"
            print(f"{title} {done_of}  ETA {left:.0f} s", file=sys.stderr, flush=True)
        yield item
