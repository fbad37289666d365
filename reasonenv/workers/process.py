"""Worker processes as their caller sees them: started, asked, killed, replaced."""

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

# The wall clock stands behind the worker's CPU clock, for a worker that sleeps or is stopped.
# Nothing that an answer says makes a worker sleep; a crowded machine must not reach it.
_PATIENCE = 30.0
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
    """A fresh interpreter that forks workers on request, and ends with its caller.

    It starts with the first request. Its caller never forks, so that it may have threads, a GPU,
    and a main module that nobody imports a second time. It is the parent of the workers: with it
    they end, and it ends when the thread that started it does.

    Args:
        timeout: CPU seconds of one pair, after which the kernel ends its worker.
        judge: "module:function" of reasonenv, from two texts to a verdict and its status.
    """

    def __init__(self, timeout: float, judge: str = "reasonenv.grading:symbolic_verdict") -> None:
        self.timeout, self.judge = timeout, judge
        self._talk = threading.Lock()
        # Collecting garbage may call `stop` at any line, in a thread that holds the lock.
        self._birth = threading.RLock()
        self.stopped = False
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def fork(self) -> tuple[int, socket.socket]:
        """A new worker: its process id, and the caller's end of its pipe.

        Raises:
            GraderError: When there can be none, or after `stop`.
        """
        ours, theirs = socket.socketpair()
        with self._talk, theirs:
            if self._process is None or self._process.poll() is not None:
                self._start()
            reply = self._ask(b"fork", [theirs.fileno()])
        if reply is None:
            ours.close()
            reason = f"{sys.executable} ended before it could grade: what it says stands above"
            raise GraderError(_CLOSED if self.stopped else reason)
        return reply, ours

    def reap(self, worker: int) -> int | None:
        """Ends a worker; the code that it ended with, or None when the server has gone as well."""
        with self._talk:
            return self._ask(b"%d" % worker)

    def stop(self) -> None:
        """Ends the server and its workers for good; from any thread."""
        self.stopped = True
        self._end()

    def _ask(self, message: bytes, fds: Sequence[int] = ()) -> int | None:
        """The reply to a request; None, and the server's end, when there is none."""
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
        with self._birth:
            if self.stopped:
                return
            self._control, theirs = socket.socketpair()
            self._control.settimeout(_REPLY_S)
            words = theirs.fileno(), os.getpid(), self.timeout, self.judge
            folders = json.dumps([str(folder) for folder in sys.path])
            arguments = [folders, str(Path(__file__).parents[2]), *map(str, words)]
            self._process = subprocess.Popen(
                # Warnings of sympy would concern nobody but the author of an answer.
                [sys.executable, "-W", "ignore", "-c", _MAIN, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                # sympy's order of terms hangs on hashes: an answer is judged alike in every run.
                env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
                # Ctrl-C is for the caller, who then ends the workers.
                start_new_session=True,
            )
            theirs.close()
        if self.stopped:
            self._end()

    def _end(self) -> None:
        """Ends what is there: gently, so that it reaps its workers, or else all at once."""
        with self._birth:
            process, control = self._process, self._control
            if process is None or control is None:
                return
            with contextlib.suppress(OSError):
                # Unlike close, it reaches beyond copies that a fork of the caller has.
                control.shutdown(socket.SHUT_RDWR)
            try:
                process.wait(1.0)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            control.close()
            self._process = self._control = None


class GradingProcess:
    """A worker that judges one pair at a time, and is replaced when it does not come back.

    For one thread at a time.

    Args:
        server: Forks the worker, and each that replaces it.
    """

    def __init__(self, server: ForkServer) -> None:
        self._server = server
        self._worker: int | None = None
        self._pipe: socket.socket | None = None

    def judge(self, answer: str, reference: str) -> tuple[bool, str]:
        """The verdict and its status.

        Raises:
            GraderError: When no process can start, or after the server was stopped.
        """
        if self._pipe is None:
            self._worker, self._pipe = self._server.fork()
            self._pipe.settimeout(self._server.timeout * _PATIENCE)
        try:
            self._pipe.sendall(json.dumps([answer, reference]).encode() + b"\n")
            # One short line, written at once; nothing but its end comes in its place.
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
            # What it still holds would count against the answers after this one.
            self.end()
        return correct, status

    def end(self) -> int | None:
        """Ends the worker, if there is one; the code that it ended with."""
        code = None
        if self._worker is not None and self._pipe is not None:
            self._pipe.close()
            code = self._server.reap(self._worker)
        self._worker = self._pipe = None
        return code
