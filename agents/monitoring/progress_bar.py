"""Progress of a run: a bar and a curve on a terminal, otherwise a line every few seconds."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from reasonenv.console import print_line, printable

DISPLAYED = {
    "reward": ("reward/mean", ".3f"),
    "accuracy": ("reward/accuracy", ".3f"),
    "length": ("response/length_mean", ".1f"),
    "clipped": ("policy/clip_fraction", ".4f"),
}
"""Metric and number format of each name on the display."""
REDRAW = 0.1
"""Seconds between two changes of an activity on a terminal."""
WIDTH = 80
"""Columns of a terminal that does not tell them."""
BLOCKS = "▁▂▃▄▅▆▇█"
ASCII = "_.:-=+*#"
"""Characters of a curve, the lowest first."""
QUIET = 60.0
"""Seconds without a line, where there is no terminal, after which an activity within a step has
one."""


class ProgressBar:
    """Progress display of one run, on standard error."""

    def __init__(  # noqa: PLR0913 - optional ones are keywords, and no caller needs all
        self,
        num_steps: int,
        start: int = 0,
        *,
        every: float = 10.0,
        unit: str = "step",
        of: str = "",
        curve: Iterable[tuple[int, float]] | None = None,
        displayed: Mapping[str, tuple[str, str]] = DISPLAYED,
    ) -> None:
        """Starts the display.

        Args:
            num_steps: Total of the run.
            start: Completed steps.
            every: Seconds between lines, where there is no terminal.
            unit: Name of a step.
            of: Name of the run.
            curve: Earlier steps and their accuracies; None for no curve.
            displayed: Metric and number format of each name on the display.
        """
        self._num_steps, self._start, self._every = num_steps, start, every
        self._unit, self._of, self._displayed = unit, of, displayed
        self._file = sys.stderr
        self._start_time = time.monotonic()
        self._last_line = self._start_time - every
        self._last_redraw = float("-inf")
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
        numbers = {name: metrics.get(metric) for name, (metric, _) in self._displayed.items()}
        words = {k: format(v, self._displayed[k][1]) for k, v in numbers.items() if v is not None}
        if self._bar is not None:
            self._bar.set_description_str(self._of, refresh=False)
            self._bar.ncols = self._width()
            self._bar.set_postfix(words, refresh=False)
            self._bar.update(step - self._bar.n)
            if self._curve is not None:
                self._curve.show(step, numbers.get("accuracy"), self._width())
            return
        now = time.monotonic()
        if now - self._last_line >= self._every or step == self._num_steps:
            self._last_line = now
            values = "  ".join(f"{name} {value}" for name, value in words.items())
            pace = (now - self._start_time) / max(1, step - self._start)
            title = f"{self._of} {self._unit}".strip()
            eta = tqdm.format_interval((self._num_steps - step) * pace)
            self.say(f"{title} {step}/{self._num_steps}  {values}  ETA {eta}")

    def activity(self, name: str, done: int, total: int, quiet: float = QUIET) -> None:
        """Shows an activity within a step, such as sampling, until the step is complete.

        Args:
            name: Of the activity.
            done: Completed parts.
            total: All parts; 0 for an activity without parts.
            quiet: Seconds without a line after which it has one, where there is no terminal.
        """
        now, text = time.monotonic(), f"{name} {done}/{total}" if total else name
        if self._bar is not None:
            if now - self._last_redraw >= REDRAW or done in (0, total):
                self._last_redraw = now
                self._bar.ncols = self._width()
                self._bar.set_description_str(text)
        elif now - self._last_line >= quiet:
            self._last_line = now
            self.say(text)

    @contextmanager
    def pause(self, name: str) -> Iterator[Callable[[int, int], None]]:
        """Context of an activity between steps, whose time the ETA leaves out.

        Yields:
            Function of the completed parts and of all parts, to be called from 0 parts on.
        """
        start = time.monotonic()
        self._last_line = float("-inf")
        try:
            yield lambda done, total: self.activity(name, done, total, self._every)
        finally:
            self._start_time += time.monotonic() - start
            self._last_line = time.monotonic() - self._every
            if self._bar is not None:
                self._bar.unpause()
                self._bar.set_description_str(self._of)

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
        """Columns of the terminal; of one that has closed or does not tell them, `WIDTH`."""
        try:
            return os.get_terminal_size(self._file.fileno()).columns or WIDTH
        except OSError:  # the terminal has closed, and standard error leads nowhere
            return WIDTH


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
