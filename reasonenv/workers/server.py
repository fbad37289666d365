"""The server: a warm interpreter that forks workers and passes requests and replies on.

A fork takes milliseconds, a new interpreter with its imports a quarter of a second; and this
process, unlike its caller, has no threads and no GPU that a fork could break.
"""

import contextlib
import ctypes
import gc
import json
import logging
import os
import resource
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from pkgutil import resolve_name
from typing import Any

_MEMORY = 2 << 30

# The parser fills tables for new kinds of text; warmed up here, they cost no worker time.
_WARM_UP = [
    ("x+1", "1+x"),
    (r"\frac{x}{2}-\sqrt{2}", r"\frac{x-2\sqrt{2}}{2}"),
    ("y=2x+1", "2x-y+1=0"),
    (r"[1,\infty)", r"[1,2)"),
    (r"\{1,2\}", r"\{2,1\}"),
    (r"x\le\pi\text{ or }x>3^{2}", r"(-\infty,\pi]\cup(9,\infty)"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}1\\x\end{pmatrix}"),
]


def serve(control_fd: int, parent: int, judge: str, arguments: list[str], *limits: float) -> None:
    """Serves requests until the caller ends; then the workers end, too.

    Args:
        control_fd: Pipe to the caller. A message is a number and the arguments of the judge as
            JSON, a reply the number and what the judge returns; an empty one is the end.
        parent: Process id of the caller.
        judge: "module:function" that maps its arguments to a verdict, or a score in [0, 1], and its
            status. Pairs to warm it up are its module's `WARM_UP`, if there is one.
        arguments: Where there are some, the function makes the judge of them.
        *limits: Number of workers, seconds of CPU time and of the wall clock for one request.
    """
    _die_with(parent)
    _import_once()
    function: Callable[..., Any] = resolve_name(judge)
    warm_up = getattr(resolve_name(judge.partition(":")[0]), "WARM_UP", _WARM_UP)
    _limit(resource.RLIMIT_CORE, 0)
    function = function(*arguments) if arguments else function
    server = _Server(Connection(control_fd), function, limits)
    with contextlib.suppress(EOFError, ConnectionError):
        server.run([*warm_up])
    for pipe in [*server.workers]:
        server.reap(pipe)


@dataclass
class _Worker:
    pid: int
    number: bytes = b""
    """Of its request; empty while it is idle."""
    deadline: float = float("inf")


class _Server:
    def __init__(self, control: Connection, judge: Callable, limits: Sequence[Any]) -> None:
        self._control, self._judge = control, judge
        self._num_workers, self._cpu, self._wall = limits
        self._waiting: deque[tuple[bytes, bytes]] = deque()
        self.workers: dict[Any, _Worker] = {}

    def run(self, warm_up: list[Sequence[str]]) -> None:
        """Serves requests until the caller ends."""
        while True:
            soonest = min((worker.deadline for worker in self.workers.values()), default=1e9)
            seconds = 0 if warm_up else min(1000.0, max(0.0, soonest - time.monotonic()))
            ready = wait([self._control, *self.workers], seconds)
            # Between requests, so that the first worker does not wait for it.
            if warm_up and not ready:
                self._judge(*warm_up.pop(0))
            for pipe in self.workers.keys() & ready:
                self._receive(pipe)
            for pipe, worker in [*self.workers.items()]:
                if worker.deadline <= time.monotonic():
                    self._end(pipe, "timeout")
            if self._control in ready:
                number, _, request = self._control.recv_bytes().partition(b" ")
                if not number:
                    return
                self._waiting.append((number, request))
            self._assign()

    def _assign(self) -> None:
        """Gives waiting requests to idle workers, and to new ones."""
        while self._waiting:
            idle = (pipe for pipe, worker in self.workers.items() if not worker.number)
            pipe = next(idle, None)
            if pipe is None and len(self.workers) == self._num_workers:
                return
            worker = self.workers[pipe := pipe or self._fork()]
            worker.number, request = self._waiting.popleft()
            worker.deadline = time.monotonic() + self._wall
            with contextlib.suppress(ConnectionError):  # it was killed, as the next wait notices
                pipe.send_bytes(request)

    def _receive(self, pipe: Connection) -> None:
        """Passes a reply on, or notices the end of a worker."""
        worker = self.workers[pipe]
        try:
            reply = pipe.recv_bytes()
        except (EOFError, OSError):
            self._end(pipe, "error")
            return
        message, worker.number, worker.deadline = worker.number + b" " + reply, b"", float("inf")
        if json.loads(reply)[1] == "memory":
            # Memory that it still holds would count against the next answers.
            self.reap(pipe)
        self._assign()
        self._control.send_bytes(message)

    def _end(self, pipe: Connection, status: str) -> None:
        """Ends a worker; unless it was idle, the reply is a timeout or that it was lost."""
        number, code = self.workers[pipe].number, self.reap(pipe)
        reply = [False, "timeout"] if code == -signal.SIGPROF else [False, status, code]
        if number:
            self._control.send_bytes(number + b" " + json.dumps(reply).encode())

    def reap(self, pipe: Connection) -> int:
        """Kills a worker with its children, if it is alive; its exit code."""
        pid = self.workers.pop(pipe).pid
        pipe.close()
        # Only this process waits for it, so its id has not been reused.
        os.killpg(pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def _fork(self) -> Connection:
        ours, theirs = Pipe()
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            # The child must never continue as a second server.
            try:
                os.setpgid(0, 0)
                _die_with(server)
                for other in (self._control, ours, *self.workers):
                    other.close()
                self._answer(theirs)
            except (EOFError, ConnectionError):
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)  # whoever of the two comes first
        theirs.close()
        self.workers[ours] = _Worker(pid)
        return ours

    def _answer(self, pipe: Connection) -> None:
        """Answers requests, arguments of the judge, until the pipe closes."""
        # A Python handler would wait for C code to return; the kernel's default action does not.
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        # The signal mask of the thread that started the server is inherited.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _limit(resource.RLIMIT_DATA, _MEMORY)
        while True:
            arguments = json.loads(pipe.recv_bytes())
            signal.setitimer(signal.ITIMER_PROF, self._cpu)
            reply = self._judge(*arguments)
            signal.setitimer(signal.ITIMER_PROF, 0)
            pipe.send_bytes(json.dumps(reply).encode())


def _import_once() -> None:
    """Imports the modules that a judge imports on its first call."""
    import math_verify  # noqa: F401

    # It warns at each call that its own timeouts are disabled, as intended.
    logging.disable(logging.CRITICAL)
    # Frozen objects are not scanned, so a collection in a worker copies no pages.
    gc.freeze()


def _die_with(parent: int) -> None:
    """Asks the kernel to kill this process with its parent; other systems rely on the pipe."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _limit(what: int, value: int) -> None:
    # Some systems let no process lower its limits; the deadline holds there too.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(what, (value, resource.getrlimit(what)[1]))
