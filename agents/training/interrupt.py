"""Ctrl-C and SIGTERM as a question that the loop asks between steps."""

import os
import signal
import threading
from types import FrameType
from typing import Any


class Interrupt:
    """A context that turns true at the first SIGINT or SIGTERM; a second SIGINT stops at once.

    The loop asks between steps, saves and leaves. Ranks are told at different moments: of several
    ranks each gathers the answers of all, so that they leave after the same step. Outside the main
    thread no signal arrives, and it stays False.
    """

    def __init__(self, rank: int = 0, what: str = "step") -> None:
        """Args: of this process, and what is brought to its end before the loop leaves."""
        self._rank, self._what = rank, what
        self._signal: int | None = None
        self._before: dict[int, Any] = {}

    def __bool__(self) -> bool:
        return self._signal is not None

    @property
    def name(self) -> str:
        """Of the signal that arrived, such as SIGTERM; empty before."""
        return "" if self._signal is None else signal.Signals(self._signal).name

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._arrived)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            # None stands for a handler that was not installed from Python and cannot be put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._before.clear()

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        if self and number == signal.SIGINT:
            raise KeyboardInterrupt
        if self._rank == 0 and not self:
            # Not print, whose buffer the signal may have found locked.
            said = f"\nsaving after this {self._what}; Ctrl-C once more stops at once\n"
            os.write(2, said.encode())
        self._signal = number
