"""Progress of a run: a bar and a curve on a terminal, otherwise a line every few seconds."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from reasonenv.console import print_line, printable

_DISPLAYED = {
    "reward": ("reward/mean", ".3f"),
    "accuracy": ("reward/accuracy", ".3f"),
    "length": ("response/length_mean", ".0f"),
    "entropy": ("policy/entropy", ".3f"),
}
"""Metric and number format of each name on the display; a curve shows the accuracy instead."""
_BAR = "{desc}: {n_fmt}/{total_fmt}|{bar}| ETA {remaining}{postfix}"
"""Format of a bar, whose numbers leave room for it in 80 columns."""
_WIDTH = 80
"""Columns of a terminal that does not tell them."""
_LINE_SECONDS, _QUIET_SECONDS = 10.0, 60.0
"""Without a terminal: seconds between lines, and without one before that of an activity."""
BLOCKS = "▁▂▃▄▅▆▇█"
"""Characters of a curve, the lowest first."""


class ProgressBar:
    """Progress display of one run, on standard error."""

    def __init__(
        self,
        num_steps: int,
        start: int = 0,
        *,
        unit: str = "step",
        of: str = "",
        displayed: Mapping[str, tuple[str, str]] = _DISPLAYED,
        curve: Mapping[int, float] | None = None,
    ) -> None:
        """Starts the display.

        Args:
            num_steps: Total of the run.
            start: Completed steps.
            unit: Name of a step.
            of: Name of the run.
            displayed: Metric and number format of each name on the display.
            curve: Accuracies by step so far, for a curve below the bar; None for none.
        """
        self._num_steps, self._start, self._displayed = num_steps, start, displayed
        self._title = f"{of} {unit}".strip()
        self._file, self._start_time = sys.stderr, time.monotonic()
        self._last_line = self._start_time - _LINE_SECONDS
        self._words: list[str] = []
        self._bar = self._curve = None
        if not self._file.isatty():
            return
        size: Any = {"total": num_steps, "initial": start, "ncols": self._width(), "nrows": 20}
        self._bar = tqdm(desc=of or None, file=self._file, smoothing=0, bar_format=_BAR, **size)
        # A dumb terminal cannot move the cursor to a second line.
        if curve is not None and os.environ.get("TERM") != "dumb":
            self._accuracies = dict(curve)
            self._curve = tqdm(file=self._file, bar_format="{desc}", position=1)
            self._draw_curve()

    def show(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Updates the display; omits metrics that are missing or not finite."""
        values = [(name, metrics.get(key), form) for name, (key, form) in self._displayed.items()]
        texts = {name: f"{value:{form}}" for name, value, form in values if value is not None}
        if self._bar is None:
            now = time.monotonic()
            if now - self._last_line >= _LINE_SECONDS or step == self._num_steps:
                pace = (now - self._start_time) / max(1, step - self._start)
                eta = tqdm.format_interval((self._num_steps - step) * pace)
                words = "  ".join(f"{name} {text}" for name, text in texts.items())
                self._last_line = now
                self.say(f"{self._title} {step}/{self._num_steps}  {words}  ETA {eta}")
            return
        if self._curve is not None:
            texts.pop("accuracy", None)
            # Steps after this one are those from which a run has rolled back.
            accuracies = {**self._accuracies, step: metrics.get("reward/accuracy")}
            kept = {k: v for k, v in accuracies.items() if k <= step and v is not None}
            self._accuracies = kept
            self._draw_curve()
        self._words = [f"{name}={text}" for name, text in texts.items()]
        self._bar.n = step
        self._draw("")

    def activity(self, name: str, done: int, total: int, quiet: float = _QUIET_SECONDS) -> None:
        """Shows an activity within a step, such as sampling, until the step is complete.

        Args:
            name: Of the activity.
            done: Completed parts.
            total: All parts; 0 for an activity without parts.
            quiet: Seconds without a line after which it has one, where there is no terminal.
        """
        now, text = time.monotonic(), f"{name} {done}/{total}" if total else name
        if self._bar is None:
            if now - self._last_line >= quiet:
                self._last_line = now
                self.say(text)
        elif time.time() - self._bar.last_print_t >= self._bar.mininterval or done in (0, total):
            self._draw(text)

    @contextmanager
    def pause(self, name: str) -> Iterator[Callable[[int, int], None]]:
        """Context of an activity between steps, whose time the ETA leaves out.

        Yields:
            Function of the completed parts and of all parts, to be called from 0 parts on.
        """
        start, self._last_line = time.monotonic(), float("-inf")
        try:
            yield lambda done, total: self.activity(name, done, total, _LINE_SECONDS)
        finally:
            duration = time.monotonic() - start
            self._start_time += duration
            self._last_line = time.monotonic() - _LINE_SECONDS
            if self._bar is not None:
                self._bar.start_t += duration
                self._draw("")

    def say(self, text: str) -> None:
        """Prints a line without breaking the bar."""
        if self._bar is not None:
            self._bar.write(printable(text), file=self._file)
        else:
            print_line(text, self._file)

    def close(self) -> None:
        """Closes the bar and the curve, if there are any."""
        for bar in (self._bar, self._curve):
            if bar is not None:
                bar.close()

    def _draw(self, activity: str) -> None:
        assert self._bar is not None
        self._bar.ncols, self._bar.last_print_t = self._width(), time.time()
        self._bar.set_postfix_str(", ".join([*self._words, *filter(None, [activity])]))

    def _draw_curve(self) -> None:
        """Shows the accuracies but in the last column, after which some terminals begin a line."""
        assert self._curve is not None
        if values := list(self._accuracies.values()):
            text = sparkline(values, self._width() - len("accuracy  0.000") - 1)
            line = f"accuracy {text} {values[-1]:.3f}"
            self._curve.set_description_str(line[: max(0, self._width() - 1)])

    def _width(self) -> int:
        """Columns of the terminal; of one that has closed or does not tell them, `_WIDTH`."""
        try:
            return os.get_terminal_size(self._file.fileno()).columns or _WIDTH
        except OSError:
            return _WIDTH


def sparkline(values: Sequence[float], width: int) -> str:
    """The curve in at most `width` characters, each the mean of equally many consecutive values.

    Args:
        values: Within [0, 1].
        width: Characters; none are returned below 1.
    """
    size = -(-len(values) // max(1, width))
    parts = [values[i : i + size] for i in range(0, len(values), size or 1)] if width > 0 else []
    places = [int(sum(part) / len(part) * len(BLOCKS)) for part in parts]
    return "".join(BLOCKS[min(place, len(BLOCKS) - 1)] for place in places)
