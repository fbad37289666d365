"""What both sides share: a line to the benchmark, and a clock that knows phases and turns.

A side is a process that trains without end. After each step it tells the benchmark's clock; when
its turn is over it reports, and waits inside that call for the next one.
"""

import contextlib
import functools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import usage
from throughput.regimes import Regime


class Line:
    """JSON to and from the benchmark; what else is printed goes to standard error."""

    def __init__(self) -> None:
        self._answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)

    def tell(self, value: dict[str, Any]) -> None:
        """One line to the benchmark."""
        print(json.dumps(value), file=self._answers, flush=True)

    def ask(self) -> dict[str, Any]:
        """The next command; ends the process where there is none."""
        line = sys.stdin.readline()
        if not line:
            sys.exit()
        return json.loads(line)


class Phases:
    """Seconds of each phase; what runs inside another phase is not counted there."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open: list[list[Any]] = []

    def open(self, name: str) -> None:
        """Begins a phase inside the present one."""
        self._open.append([name, time.perf_counter(), 0.0])

    def close(self) -> None:
        """Ends the present phase."""
        name, began, inside = self._open.pop()
        spent = time.perf_counter() - began
        self.seconds[name] = self.seconds.get(name, 0.0) + spent - inside
        if self._open:
            self._open[-1][2] += spent

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """A phase."""
        self.open(name)
        try:
            yield
        finally:
            self.close()

    def wrap(self, owner: Any, method: str, name: str, only_without_grad: bool = False) -> None:
        """Counts the calls of an object's method as a phase."""
        inner = getattr(owner, method)

        @functools.wraps(inner)
        def timed(*args: Any, **kwargs: Any) -> Any:
            if only_without_grad and torch.is_grad_enabled():
                return inner(*args, **kwargs)
            with self(name):
                return inner(*args, **kwargs)

        setattr(owner, method, timed)

    def taken(self) -> dict[str, float]:
        """What was counted since the last call."""
        found, self.seconds = self.seconds, {}
        return found


class Turns:
    """Counts the steps of a side, and stops it where its turn is over."""

    def __init__(self, line: Line, regime: Regime, prove: Callable[[dict[str, Any]], bool]) -> None:
        """Args: to the benchmark, what a step brings, and what does a proof, if outside a step."""
        self.line, self.regime, self.prove = line, regime, prove
        self.command: dict[str, Any] = {}
        self.rows: list[dict[str, float]] = []

    def wait(self) -> None:
        """Waits for a turn; then the clock runs."""
        while True:
            self.command = self.line.ask()
            if self.command["do"] == "run" or not self.prove(self.command):
                break
        self.rows = []
        forget_peak()
        self.regime.begin(self.command["regime"], self.command["step"])
        self._cpu = usage.cpu_seconds()
        self._began = time.perf_counter()

    def stepped(self, row: dict[str, float]) -> None:
        """A step is done; its phases are in `row`."""
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        now = time.perf_counter()
        self.rows.append({"step": now - self._began, **row})
        if len(self.rows) < self.command["steps"]:
            self.regime.begin(self.regime.name, self.command["step"] + len(self.rows))
            self._began = time.perf_counter()
            return
        cpu = usage.cpu_seconds() - self._cpu
        self.line.tell({"rows": self.rows, "cpu_s": cpu, **memory()})
        self.wait()


def memory() -> dict[str, float]:
    """Peaks in MiB: of this process and its GPU in the turn, of those it started in their life."""
    found = {"peak_mib": usage.peak_mib([os.getpid()]), "peak_all_mib": usage.peak_mib()}
    if torch.cuda.is_available():
        found["peak_gpu_mib"] = torch.cuda.max_memory_allocated() / 2**20
        free, total = torch.cuda.mem_get_info()
        found["used_gpu_mib"] = (total - free) / 2**20
    return found


def forget_peak() -> None:
    """Counts peaks from here on."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
