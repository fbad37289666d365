"""Worker processes from the caller's side: start, requests, kill, replacement."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from reasonenv.errors import GraderError

# Limit on the wall clock, in multiples of the CPU time, for a worker that sleeps or is stopped. No
# answer makes a worker sleep, and a busy machine must not reach the limit.
_WALL_CLOCK_FACTOR = 30.0
_REPLY_S = 60.0
# A server that was killed is started again so often; one that fails by itself is not.
_SERVER_STARTS = 10
_LINE = 4096
_CLOSED = "the Grader was closed"

# Packages without their __init__: a worker needs neither environments nor the Grader, and their
# imports take time. A judge that imports `reasonenv.workers` gets the real one.
_MAIN = """
import json, sys, types
sys.path[:] = json.loads(sys.argv[1])
for name in ("reasonenv", "reasonenv.workers"):
    package = sys.modules[name] = types.ModuleType(name)
    package.__path__ = [f"{sys.argv[2]}/{name.replace('.', '/')}"]
from reasonenv.workers.forkserver import serve
del sys.modules["reasonenv.workers"]
serve(int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]), sys.argv[6])
"""


class Judgement(NamedTuple):
    """A verdict on a pair.

    Args:
        correct: True for equal values.
        status: As of a `Grade`.
        is_lost: True if there is none, since the worker ended or stopped. The pair need not be the
            cause: a worker can be killed from outside.
    """

    correct: bool
    status: str
    is_lost: bool = False


class ForkServer:
    """A new interpreter that forks workers on request and ends with its caller.

    It starts with the first request. The caller never forks, so it may have threads and a GPU, and
    its main module is not imported again. The server is the parent of the workers: they end with
    it, and it ends with the thread that started it.

    Args:
        timeout: CPU seconds of one pair, after which the kernel ends its worker.
        judge: "module:function" of reasonenv that maps two texts to a verdict and its status.
    """

    def __init__(self, timeout: float, judge: str = "reasonenv.grading:worker_verdict") -> None:
        self.timeout, self.judge = timeout, judge
        self._request_lock = threading.Lock()
        # Garbage collection may call `stop` at any line, in a thread that holds the lock.
        self._process_lock = threading.RLock()
        self.stopped = False
        self._process: subprocess.Popen[bytes] | None = None
        self._exit_code = 0  # of the last process
        self._control: socket.socket | None = None

    def fork(self) -> tuple[int, socket.socket]:
        """A new worker: its process id, and the caller's end of its pipe.

        Raises:
            GraderError: No worker can start, or the server was stopped.
        """
        for _ in range(_SERVER_STARTS):
            ours, theirs = socket.socketpair()
            with self._request_lock, theirs:
                if self._process is None or self._process.poll() is not None:
                    self._start()
                worker = self._request(b"fork", [theirs.fileno()])
            if worker is not None:
                return worker, ours
            ours.close()
            if self.stopped:
                raise GraderError(_CLOSED)
            if self._exit_code >= 0:
                reason = "ended before it could grade: its error is printed above"
                raise GraderError(f"{sys.executable} {reason}")
        raise GraderError(f"the server of grading processes was killed {_SERVER_STARTS} times")

    def reap(self, worker: int) -> int | None:
        """Ends a worker; its exit code, or None if its server has ended, and it with the server."""
        with self._request_lock:
            return self._request(b"%d" % worker)

    def stop(self) -> None:
        """Ends the server and its workers for good; from any thread."""
        self.stopped = True
        self._end()

    def _request(self, message: bytes, fds: Sequence[int] = ()) -> int | None:
        """The reply to a request; without one, ends the server and returns None."""
        control = self._control
        with contextlib.suppress(OSError):
            if control is not None:
                socket.send_fds(control, [message], fds)
                if reply := control.recv(32):
                    return json.loads(reply)
        self._end()
        return None

    def _start(self) -> None:
        self._end()
        with self._process_lock:
            if self.stopped:
                return
            self._control, theirs = socket.socketpair()
            self._control.settimeout(_REPLY_S)
            parameters = theirs.fileno(), os.getpid(), self.timeout, self.judge
            folders = json.dumps([str(folder) for folder in sys.path])
            arguments = [folders, str(Path(__file__).parents[2]), *map(str, parameters)]
            self._process = subprocess.Popen(
                # Warnings of sympy concern the answer, not the user.
                [sys.executable, "-W", "ignore", "-c", _MAIN, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                # sympy's order of terms depends on hashes: the same verdict in every run.
                env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
                # Ctrl-C goes to the caller, which then ends the workers.
                start_new_session=True,
            )
            theirs.close()
        if self.stopped:
            self._end()

    def _end(self) -> None:
        """Ends the server: first by request, so that it reaps its workers, then by SIGKILL."""
        with self._process_lock:
            process, control = self._process, self._control
            if process is None or control is None:
                return
            with contextlib.suppress(OSError):
                # Unlike close, it takes effect even if a fork of the caller has a copy.
                control.shutdown(socket.SHUT_RDWR)
            try:
                process.wait(1.0)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            control.close()
            self._exit_code = process.returncode
            self._process = self._control = None


class GradingProcess:
    """A worker that compares one pair at a time, and is replaced when it fails.

    Not thread-safe.

    Args:
        server: Server that forks the worker and its replacements.
    """

    def __init__(self, server: ForkServer) -> None:
        self._server = server
        self._worker: int | None = None
        self._pipe: socket.socket | None = None

    def judge(self, *request: str | Sequence[str]) -> Judgement:
        """The judgement of a pair; made again in a new worker, once, if the first one is lost.

        Args:
            request: Arguments of the judge: answer, reference, and what else it takes.

        Raises:
            GraderError: No process can start, or the server was stopped.
        """
        judgement = self._served(request)
        return self._served(request) if judgement.is_lost else judgement

    def _served(self, request: Sequence[str | Sequence[str]]) -> Judgement:
        """A judgement; a worker that ends with its server costs none, since no pair ends both."""
        for _ in range(_SERVER_STARTS):
            if (judgement := self._judge(request)) is not None:
                return judgement
        return Judgement(False, "error", is_lost=True)

    def _judge(self, request: Sequence[str | Sequence[str]]) -> Judgement | None:
        """The judgement by one worker; None if its server ended meanwhile."""
        if self._pipe is not None and _is_readable(self._pipe):
            self.end()  # killed while it was idle
        if self._pipe is None:
            self._worker, self._pipe = self._server.fork()
            self._pipe.settimeout(self._server.timeout * _WALL_CLOCK_FACTOR)
        try:
            self._pipe.sendall(json.dumps(request).encode() + b"\n")
            # One short line, written at once, or the end of the pipe.
            judgement = Judgement(*json.loads(self._pipe.recv(_LINE)))
        except TimeoutError:
            self.end()
            return Judgement(False, "timeout", is_lost=True)
        except (OSError, ValueError):
            return self._after_end()
        if judgement.status == "memory":
            # Memory that it still holds would count against the next answers.
            self.end()
        return judgement

    def _after_end(self) -> Judgement | None:
        """The judgement by a worker that ended; None if it ended with its server."""
        code = self.end()
        if self._server.stopped:
            raise GraderError(_CLOSED) from None
        if code is None:
            return None
        if code == -signal.SIGPROF:
            return Judgement(False, "timeout")
        return Judgement(False, "error", is_lost=True)

    def end(self) -> int | None:
        """Ends the worker, if there is one; its exit code."""
        code = None
        if self._worker is not None and self._pipe is not None:
            self._pipe.close()
            code = self._server.reap(self._worker)
        self._worker = self._pipe = None
        return code


def _is_readable(pipe: socket.socket) -> bool:
    """True if there is something to read, or the other end is closed."""
    poll = select.poll()  # unlike select, for any number of open files
    poll.register(pipe, select.POLLIN)
    return bool(poll.poll(0))
