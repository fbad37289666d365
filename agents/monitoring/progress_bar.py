"""Progress of a run: a bar on a terminal, otherwise a line every few seconds."""

import os
import sys
import time
from collections.abc import Mapping
from typing import Any

from tqdm import tqdm

from reasonenv.terminal import print_line, printable

DISPLAYED = {
    "reward": ("reward/mean", ".3f"),
    "accuracy": ("reward/accuracy", ".3f"),
    "length": ("response/length_mean", ".1f"),
    "clipped": ("policy/clip_fraction", ".4f"),
}
"""Metric and number format of each name on the display."""


class ProgressBar:
    """Progress display of one run, on standard error."""

    def __init__(
        self, num_steps: int, start: int = 0, every: float = 10.0, unit: str = "step", of: str = ""
    ) -> None:
        """Args: number of steps, completed steps, seconds between lines, and names for the line."""
        self._num_steps, self._start, self._every = num_steps, start, every
        self._unit, self._of = unit, of
        self._file = sys.stderr
        self._start_time = time.monotonic()
        self._last_line = float("-inf")
        self._bar = None
        if self._file.isatty():
            # A terminal of unknown size reports 0 columns, and tqdm would show nothing.
            width = os.get_terminal_size(self._file.fileno()).columns or 80
            self._bar = tqdm(
                desc=of or None,
                total=num_steps,
                initial=start,
                file=self._file,
                unit=unit,
                ncols=width,
                nrows=20,
            )

    def show(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Updates the display; omits metrics that are missing or not finite."""
        numbers = {name: metrics.get(metric) for name, (metric, _) in DISPLAYED.items()}
        words = {k: format(v, DISPLAYED[k][1]) for k, v in numbers.items() if v is not None}
        if self._bar is not None:
            self._bar.set_postfix(words, refresh=False)
            self._bar.update(step - self._bar.n)
            return
        now = time.monotonic()
        if now - self._last_line >= self._every or step == self._num_steps:
            self._last_line = now
            values = "  ".join(f"{name} {value}" for name, value in words.items())
            pace = (now - self._start_time) / max(1, step - self._start)
            title = f"{self._of} {self._unit}".strip()
            eta = tqdm.format_interval((self._num_steps - step) * pace)
            self.say(f"{title} {step}/{self._num_steps}  {values}  ETA {eta}")

    def say(self, text: str) -> None:
        """Prints a line without breaking the bar."""
        if self._bar is not None:
            self._bar.write(printable(text), file=self._file)
        else:
            print_line(text, self._file)

    def close(self) -> None:
        """Closes the bar, if there is one."""
        if self._bar is not None:
            self._bar.close()
