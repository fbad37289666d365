"""Progress of a run: a bar and a curve on a terminal, otherwise a line every few seconds."""

import os
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any

from tqdm import tqdm

from agents.monitoring.sparkline import levels_of, sparkline
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
        self,
        num_steps: int,
        start: int = 0,
        *,
        every: float = 10.0,
        unit: str = "step",
        of: str = "",
        curve: Iterable[tuple[int, float]] | None = None,
    ) -> None:
        """Starts the display.

        Args:
            num_steps: Total of the run.
            start: Completed steps.
            every: Seconds between lines, where there is no terminal.
            unit: Name of a step.
            of: Name of the run.
            curve: Earlier steps and their accuracies; None for no curve.
        """
        self._num_steps, self._start, self._every = num_steps, start, every
        self._unit, self._of = unit, of
        self._file = sys.stderr
        self._start_time = time.monotonic()
        self._last_line = float("-inf")
        self._bar = self._curve = None
        if self._file.isatty():
            self._bar = tqdm(
                desc=of or None,
                total=num_steps,
                initial=start,
                file=self._file,
                unit=unit,
                ncols=self._width(),
                nrows=20,
            )
            # A dumb terminal cannot move the cursor to a second line.
            if curve is not None and os.environ.get("TERM") != "dumb":
                self._curve = Curve(self._file, curve, self._width())

    def show(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Updates the display; omits metrics that are missing or not finite."""
        numbers = {name: metrics.get(metric) for name, (metric, _) in DISPLAYED.items()}
        words = {k: format(v, DISPLAYED[k][1]) for k, v in numbers.items() if v is not None}
        if self._bar is not None:
            self._bar.ncols = self._width()
            self._bar.set_postfix(words, refresh=False)
            self._bar.update(step - self._bar.n)
            if self._curve is not None:
                self._curve.show(step, numbers["accuracy"], self._width())
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
        """Closes the bar and the curve, if there are any."""
        if self._bar is not None:
            self._bar.close()
        if self._curve is not None:
            self._curve.close()

    def _width(self) -> int:
        """Columns of the terminal; one of unknown size reports 0, and tqdm would show nothing."""
        return os.get_terminal_size(self._file.fileno()).columns or 80


class Curve:
    """Accuracy of the training responses so far, in the line below a bar."""

    def __init__(self, file: Any, earlier: Iterable[tuple[int, float]], width: int) -> None:
        """Args: terminal, earlier steps and their accuracies, and columns of the terminal."""
        self._points = list(earlier)
        self._levels = levels_of(file.encoding)
        self._line = tqdm(file=file, bar_format="{desc}", position=1, leave=True)
        self._draw(width)

    def show(self, step: int, accuracy: float | None, width: int) -> None:
        """Adds a step in place of later ones, from which a run has rolled back."""
        while self._points and self._points[-1][0] >= step:
            self._points.pop()
        if accuracy is not None:
            self._points.append((step, accuracy))
        self._draw(width)

    def close(self) -> None:
        """Leaves the curve on the terminal."""
        self._line.close()

    def _draw(self, width: int) -> None:
        values = [accuracy for _, accuracy in self._points]
        if values:
            name, latest = "accuracy", f"{values[-1]:.3f}"
            # The last column stays free: some terminals wrap a line that fills it.
            room = width - 1 - len(f"{name}  {latest}")
            text = f"{name} {sparkline(values, room, self._levels)} {latest}"
            self._line.set_description_str(text[: max(0, width - 1)])
