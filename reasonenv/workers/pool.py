"""Worker processes from the caller's side: requests, replies, start and end of their server."""

import contextlib
import itertools
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, NamedTuple

from reasonenv.errors import GraderError
from reasonenv.grading import Grade

# Limit on the wall clock, in multiples of the CPU time, for a worker that sleeps or is stopped. No
# answer makes a worker sleep, and a busy machine must not reach the limit.
_WALL_CLOCK_FACTOR = 30.0
# A server that was killed is started again so often; one that fails by itself is not.
_SERVER_STARTS = 10
_LOST = (
    "answers without a verdict, which count as wrong: %d so far; for each of them two grading "
    "processes were killed, stopped or crashed"
)

# Packages without their __init__: a worker needs neither environments nor the Grader, and their
# imports take time. A judge that imports `reasonenv.workers` gets the real one.
_MAIN = """
import json, sys, types
sys.path[:], root, *parameters = json.loads(sys.argv[1])
for name in ("reasonenv", "reasonenv.workers"):
    package = sys.modules[name] = types.ModuleType(name)
    package.__path__ = [f"{root}/{name.replace('.', '/')}"]
from reasonenv.workers.server import serve
del sys.modules["reasonenv.workers"]
serve(*parameters)
"""


class Judgement(NamedTuple):
    """A verdict on a pair."""

    correct: bool
    """True for equal values."""
    status: str
    """As of a `Grade`."""
    exit_code: int | None = None
    """Of a worker that ended or stopped, so that there is no verdict. The pair need not be the
    cause: a worker can be killed from outside."""


@dataclass(eq=False)
class _Job:
    request: bytes
    finish: Callable[[Judgement], Any]
    attempts: int
    future: Future[Any]


class WorkerPool:
    """Worker processes, forked by a server that ends with the caller.

    The server is a new interpreter, which starts with the first request. The caller never forks, so
    it may have threads and a GPU, and its main module is not imported again.

    Args:
        num_workers: Processes at most; None for the number of CPU cores, up to 8.
        timeout: CPU seconds for one pair, after which the kernel ends its worker.
        judge: "module:function" of reasonenv that maps two texts to a verdict and its status.
        arguments: Where there are some, the function makes the judge of them.
        wall_clock: Seconds for one pair; by default thirty times as many as those of the CPU.
        attempts: Workers that try a pair, if they end or stop; if several did, a warning says so.
    """

    def __init__(
        self,
        num_workers: int | None,
        timeout: float,
        judge: str = "reasonenv.grading:worker_verdict",
        *,
        arguments: Sequence[str] = (),
        wall_clock: float | None = None,
        attempts: int = 2,
    ) -> None:
        wall_clock = wall_clock or timeout * _WALL_CLOCK_FACTOR
        affinity = getattr(os, "sched_getaffinity", None)
        num_cores = len(affinity(0)) if affinity else os.cpu_count() or 1
        self.num_workers, self._attempts = num_workers or min(8, num_cores), attempts
        self._parameters = judge, arguments, self.num_workers, timeout, wall_clock
        self._closed, self._num_lost = False, 0
        self._jobs: dict[int, _Job] = {}
        self._start()
        _pools.add(self)

    def _start(self) -> None:
        # Garbage collection may call `close` at any line, in a thread that holds the lock.
        self._lock = threading.RLock()
        self._numbers = itertools.count()
        self._waiting: deque[int] = deque()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._control: Connection | None = None

    def submit(
        self,
        *request: str | Sequence[str | float],
        finish: Callable[[Judgement], Any] | None = None,
    ) -> Future[Any]:
        """Starts comparing a pair.

        Args:
            *request: Arguments of the judge: answer, reference, and what else it takes.
            finish: The result of a judgement, by default a `Grade` without how it came about.
        """
        future: Future[Any] = Future()
        # Equal requests share a future, so none of them may cancel it.
        future.set_running_or_notify_cancel()
        finish = finish or (lambda it: Grade(it.correct, str(request[0]), it.status))
        job = _Job(json.dumps(request).encode(), finish, self._attempts, future)
        with self._lock:
            if self._closed:
                raise ValueError("this Grader is closed: create a new one")
            self._jobs[number := next(self._numbers)] = job
            self._waiting.append(number)
            self._send()
            if self._thread is None:
                # A daemon, since an interpreter that exits must not wait for a grade.
                self._thread = threading.Thread(target=self._run, name="reasonenv", daemon=True)
                self._thread.start()
        return future

    def close(self) -> None:
        """Ends the server, which ends its workers; pending results raise GraderError."""
        with self._lock:
            self._closed = True
            if self._process is None or self._control is None:
                return
            with contextlib.suppress(OSError):
                # Unlike a close, it takes effect even if a fork of the caller has a copy.
                self._control.send_bytes(b"")
            try:
                self._process.wait(1.0)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    def _send(self) -> None:
        """Sends waiting requests, two for each worker: none waits for this process."""
        with self._lock, contextlib.suppress(OSError):
            num_free = 2 * self.num_workers - (len(self._jobs) - len(self._waiting))
            for _ in range(min(num_free, len(self._waiting))):
                if self._control is None:
                    return
                number = self._waiting.popleft()
                self._control.send_bytes(b"%d %s" % (number, self._jobs[number].request))

    def _run(self) -> None:
        """Runs a server, and others in place of one that is killed, while there are requests.

        The kernel ends a server with the thread that started it.
        """
        num_starts, fault = 0, ""
        while True:
            with self._lock:
                if self._closed or not self._jobs or fault:
                    jobs, self._jobs, self._thread = self._jobs, {}, None
                    break
            num_starts += 1
            try:
                for reply in self._replies():
                    num_starts = 0
                    self._finish(reply)
                code = -1 if self._process is None else self._process.wait()
                if code >= 0 or num_starts == _SERVER_STARTS:
                    fault = f"their server ended {num_starts} times, with status {code}"
            except OSError as error:  # no further process, or no further file
                fault = str(error)
        message = "the Grader was closed" if self._closed else f"no grading processes: {fault}"
        for job in jobs.values():
            job.future.set_exception(GraderError(message))

    def _replies(self) -> Iterator[bytes]:
        """Starts a server, and yields its replies until it has ended."""
        folders = [str(folder) for folder in sys.path], str(Path(__file__).parents[2])
        control, theirs = Pipe()
        with self._lock, theirs:
            parameters = *folders, theirs.fileno(), os.getpid(), *self._parameters
            self._process = subprocess.Popen(
                # Warnings of sympy concern the answer, not the user.
                [sys.executable, "-W", "ignore", "-c", _MAIN, json.dumps(parameters)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                # sympy's order of terms depends on hashes: the same verdict in every run.
                env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
                # Ctrl-C goes to the caller, which then ends the workers.
                start_new_session=True,
            )
            self._control, self._waiting = control, deque(self._jobs)
            self._send()
        if self._closed:
            self.close()
        with control, contextlib.suppress(EOFError, OSError):
            while True:
                yield control.recv_bytes()
        self._control = None

    def _finish(self, message: bytes) -> None:
        """Sets the result of a request by the reply to it, or repeats it if it was lost."""
        number, _, reply = message.partition(b" ")
        judgement = Judgement(*json.loads(reply))
        with self._lock:
            job = self._jobs.pop(int(number))
            job.attempts -= 1
            is_lost = judgement.exit_code is not None
            if is_repeated := is_lost and job.attempts > 0:
                self._jobs[int(number)] = job
                self._waiting.appendleft(int(number))
            self._send()
        if is_repeated:
            return
        if is_lost and self._attempts > 1:
            self._num_lost += 1
            warn_of_count(_LOST, self._num_lost)
        try:
            job.future.set_result(job.finish(judgement))
        # An error must not end this thread: other requests wait.
        except Exception as error:
            job.future.set_exception(error)


_pools: weakref.WeakSet[WorkerPool] = weakref.WeakSet()


def _start_in_child() -> None:
    """Gives a forked child, which has neither the threads nor the workers, some of its own."""
    for pool in _pools:
        jobs, pool._jobs = pool._jobs, {}
        pool._start()
        for job in jobs.values():
            error = "the process forked before this grade was ready: submit it again"
            job.future.set_exception(RuntimeError(error))


os.register_at_fork(after_in_child=_start_in_child)


def warn_of_count(message: str, count: int, error: Exception | None = None) -> None:
    """Warns of a number of events, whenever it is a power of two, with the last error."""
    if count & (count - 1) == 0:
        logging.getLogger("reasonenv").warning(message, count, exc_info=error)
