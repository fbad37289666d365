"""Worker processes from the caller's side: start, requests, kill, replacement."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from reasonenv.errors import GraderError

# Limit on the wall clock, in multiples of the CPU time, for a worker that sleeps or is stopped. No
# answer makes a worker sleep, and a busy machine must not reach the limit.
_WALL_CLOCK_FACTOR = 30.0
_REPLY_S = 60.0
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


class ForkServer:
    """A new interpreter that forks workers on request and ends with its caller.

    It starts with the first request. The caller never forks, so it may have threads and a GPU, and
    its main module is not imported again. The server is the parent of the workers: they end with
    it, and it ends with the thread that started it.

    Args:
        timeout: CPU seconds of one pair, after which the kernel ends its worker.
        judge: "module:function" of reasonenv that maps two texts to a verdict and its status.
    """

    def __init__(self, timeout: float, judge: str = "reasonenv.grading:symbolic_verdict") -> None:
        self.timeout, self.judge = timeout, judge
        self._request_lock = threading.Lock()
        # Garbage collection may call `stop` at any line, in a thread that holds the lock.
        self._process_lock = threading.RLock()
        self.stopped = False
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def fork(self) -> tuple[int, socket.socket]:
        """A new worker: its process id, and the caller's end of its pipe.

        Raises:
            GraderError: No worker can start, or the server was stopped.
        """
        ours, theirs = socket.socketpair()
        with self._request_lock, theirs:
            if self._process is None or self._process.poll() is not None:
                self._start()
            reply = self._request(b"fork", [theirs.fileno()])
        if reply is None:
            ours.close()
            reason = f"{sys.executable} ended before it could grade: its error is printed above"
            raise GraderError(_CLOSED if self.stopped else reason)
        return reply, ours

    def reap(self, worker: int) -> int | None:
        """Ends a worker; its exit code, or None if the server has ended too."""
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
                    return int(reply)
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

    def judge(self, answer: str, reference: str) -> tuple[bool, str]:
        """The verdict and its status.

        Raises:
            GraderError: No process can start, or the server was stopped.
        """
        if self._pipe is None:
            self._worker, self._pipe = self._server.fork()
            self._pipe.settimeout(self._server.timeout * _WALL_CLOCK_FACTOR)
        try:
            self._pipe.sendall(json.dumps([answer, reference]).encode() + b"\n")
            # One short line, written at once, or the end of the pipe.
            correct, status = json.loads(self._pipe.recv(_LINE))
        except TimeoutError:
            self.end()
            return False, "timeout"
        except (OSError, ValueError):
            code = self.end()
            if self._server.stopped:
                raise GraderError(_CLOSED) from None
            return False, "timeout" if code == -signal.SIGPROF else "error"
        if status == "memory":
            # Memory that it still holds would count against the next answers.
            self.end()
        return correct, status

    def end(self) -> int | None:
        """Ends the worker, if there is one; its exit code."""
        code = None
        if self._worker is not None and self._pipe is not None:
            self._pipe.close()
            code = self._server.reap(self._worker)
        self._worker = self._pipe = None
        return code
