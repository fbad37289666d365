"""One worker process that judges pairs of answers, and is replaced when it does not come back."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from reasonenv.grading import evaluate

_MEMORY = 2 << 30
# The wall clock of the caller stands behind the worker's CPU clock, which load cannot hurry.
_PATIENCE = 5.0
_START_S = 120.0

_MAIN = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from reasonenv.process import serve; serve(int(sys.argv[2]), float(sys.argv[3]))"
)


class GradingProcess:
    """A process that judges one pair at a time, within a deadline that the kernel keeps.

    It starts with the first pair, as a fresh interpreter: no fork, so that threads of the caller
    may run beside it, and no second import of the caller's main module.

    Args:
        timeout: CPU seconds of one pair, after which the process is killed.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._lock = threading.Lock()
        self._stopped = False
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None

    def judge(self, answer: str, reference: str) -> tuple[bool, str]:
        """The verdict and its status; for one thread at a time.

        Raises:
            RuntimeError: When the process cannot start, or was stopped.
        """
        pipe = self._pipe if self._pipe is not None else self._start()
        try:
            pipe.send_bytes(json.dumps([answer, reference]).encode())
            if pipe.poll(self._timeout * _PATIENCE):
                correct, status = json.loads(pipe.recv_bytes())
                return correct, status
        except (EOFError, OSError):
            return False, "timeout" if self._end() == -signal.SIGPROF else "error"
        self._end()
        return False, "timeout"

    def stop(self) -> None:
        """Kills the process for good; from any thread."""
        with self._lock:
            self._stopped = True
            self._kill()

    def _start(self) -> Connection:
        """Starts a process and waits until its imports are done, which no answer pays for."""
        with self._lock:
            if self._stopped:
                raise RuntimeError("the Grader was closed")
            self._pipe, theirs = Pipe()
            arguments = [json.dumps(sys.path), str(theirs.fileno()), str(self._timeout)]
            self._process = subprocess.Popen(
                [sys.executable, "-c", _MAIN, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                # Ctrl-C is for the caller, who then ends the workers.
                start_new_session=True,
            )
            theirs.close()
        with contextlib.suppress(EOFError, OSError):
            if self._pipe.poll(_START_S):
                self._pipe.recv_bytes()
                return self._pipe
        code = self._end()
        raise RuntimeError(f"a grading process ended with code {code} before its first answer")

    def _end(self) -> int | None:
        """Ends what is left of the process; the code that it ended with."""
        with self._lock:
            code = self._kill()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None
        return code

    def _kill(self) -> int | None:
        if self._process is None:
            return None
        self._process.kill()
        return self._process.wait()


def serve(fd: int, timeout: float) -> None:
    """The life of a worker: judges what comes through its pipe until the pipe ends.

    Args:
        fd: The worker's end of the pipe.
        timeout: CPU seconds of one pair, after which the kernel ends the process.
    """
    import logging

    pipe = Connection(fd)
    logging.disable(logging.CRITICAL)
    evaluate("x+1", "1+x")  # imports sympy and fills the parser's tables
    _limit_memory()
    # A handler in Python would wait for C code to return; the kernel's default action does not.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    pipe.send_bytes(b"ready")
    with contextlib.suppress(EOFError, OSError):
        while True:
            answer, reference = json.loads(pipe.recv_bytes())
            signal.setitimer(signal.ITIMER_PROF, timeout)
            verdict = evaluate(answer, reference)
            signal.setitimer(signal.ITIMER_PROF, 0)
            pipe.send_bytes(json.dumps(verdict).encode())


def _limit_memory() -> None:
    import resource

    # Not every system lets a process lower these limits; the deadline holds all the same.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
