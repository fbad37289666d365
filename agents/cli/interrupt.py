"""Graceful interruption by SIGINT, SIGTERM and SIGHUP, at the end of a step."""

import errno
import os
import signal
import threading
from types import FrameType
from typing import Any

from agents.cli.lasting_output import silence, write

TORCHRUN = "TORCHELASTIC_RUN_ID"
"""Variable of a process that torchrun has started, and kills some time after it has a signal."""


def _signals() -> list[signal.Signals]:
    """Signals that end a run; under nohup, SIGHUP is ignored at the start and stays so."""
    signals = [signal.SIGINT, signal.SIGTERM]
    if os.name == "posix" and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signals.append(signal.SIGHUP)
    return signals


class Interrupt:
    """A context that becomes true at the first of these signals; a second SIGINT stops at once.

    The loop checks it between steps, saves and ends. Signals reach ranks at different times, so
    the loop combines the flags of all ranks, and all end after the same step. Outside the main
    thread there are no signals, and it stays False.
    """

    def __init__(self, rank: int = 0, what: str = "step") -> None:
        """Args: rank of this process, and the name of the unit of work to complete."""
        self._rank, self._what = rank, what
        self._signal: int | None = None
        self._handlers: dict[int, Any] = {}

    def __bool__(self) -> bool:
        return self._signal is not None

    @property
    def name(self) -> str:
        """Name of the received signal, such as SIGTERM; empty if none."""
        return "" if self._signal is None else signal.Signals(self._signal).name

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():
            for number in _signals():
                self._handlers[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            # None is a handler that was not installed from Python and cannot be restored.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._handlers.clear()

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self and number == signal.SIGINT:
            raise KeyboardInterrupt
        first, self._signal = not self, number
        if number not in (signal.SIGINT, signal.SIGTERM):
            _leave_closed_terminal()
        if self._rank == 0 and first:
            advice = "Ctrl-C once more stops at once"
            if TORCHRUN in os.environ:
                advice = "torchrun kills it after 30 seconds unless --shutdown-timeout gives more"
            # Not print: the signal may have interrupted it with its buffer locked.
            write(2, f"\nsaving after this {self._what}; {advice}\n".encode())


def _leave_closed_terminal() -> None:
    """Redirects output to a terminal that is gone, since printing would end the run."""
    for stream in (1, 2):
        try:
            os.get_terminal_size(stream)
        except OSError as error:
            if error.errno == errno.EIO:  # of a file or a pipe: ENOTTY
                silence(stream)
