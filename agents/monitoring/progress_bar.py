"""How far a run is: a bar on a terminal, a line now and then elsewhere."""

import os
import sys
import time
from collections.abc import Mapping
from typing import Any

from tqdm import tqdm

SHOWN = {
    "reward": ("reward/mean", ".3f"),
    "accuracy": ("reward/accuracy", ".3f"),
    "length": ("response/length_mean", ".1f"),
    "clipped": ("policy/clip_fraction", ".4f"),
}
"""Name on the display, metric, and how it is written."""


class ProgressBar:
    """The display of one run, on standard error."""

    def __init__(
        self, num_steps: int, start: int = 0, every: float = 10.0, unit: str = "step", of: str = ""
    ) -> None:
        """Args: the run's length, the steps it has done, seconds between lines, words for both."""
        self._num_steps, self._start, self._every = num_steps, start, every
        self._unit, self._of = unit, of
        self._file = sys.stderr
        self._began = time.monotonic()
        self._last_line = float("-inf")
        self._bar = None
        if self._file.isatty():
            # A terminal that does not know its size says 0, and tqdm would show nothing.
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
        """Brings the display to `step`; a metric that is missing or not finite is left out."""
        shown = {name: metrics.get(metric) for name, (metric, _) in SHOWN.items()}
        words = {k: format(v, SHOWN[k][1]) for k, v in shown.items() if v is not None}
        if self._bar is not None:
            self._bar.set_postfix(words, refresh=False)
            self._bar.update(step - self._bar.n)
            return
        now = time.monotonic()
        if now - self._last_line >= self._every or step == self._num_steps:
            self._last_line = now
            values = "  ".join(f"{name} {value}" for name, value in words.items())
            left = (self._num_steps - step) * (now - self._began) / max(1, step - self._start)
            where = f"{self._of} {self._unit}".strip()
            eta = tqdm.format_interval(left)
            self.say(f"{where} {step}/{self._num_steps}  {values}  ETA {eta}")

    def say(self, text: str) -> None:
        """Shows a line of words."""
        if self._bar is not None:
            self._bar.write(text, file=self._file)
        else:
            print(text, file=self._file, flush=True)

    def close(self) -> None:
        """Ends the bar, if there is one."""
        if self._bar is not None:
            self._bar.close()
