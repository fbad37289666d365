"""A warm interpreter that forks workers, and what a worker does. Never part of the caller.

A fork takes milliseconds where an interpreter and its imports take a quarter of a second; and
this process, unlike its caller, has no threads and no GPU that a fork could break.
"""

import contextlib
import ctypes
import gc
import json
import logging
import os
import resource
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterable
from pkgutil import resolve_name

_MEMORY = 2 << 30

Judge = Callable[[str, str], tuple[bool, str]]

# The parser fills tables as it meets new kinds of text; what is met here, no worker pays for.
_WARM_UP = [
    ("x+1", "1+x"),
    (r"\frac{x}{2}-\sqrt{2}", r"\frac{x-2\sqrt{2}}{2}"),
    ("y=2x+1", "2x-y+1=0"),
    (r"[1,\infty)", r"[1,2)"),
    (r"\{1,2\}", r"\{2,1\}"),
    (r"x\le\pi\text{ or }x>3^{2}", r"(-\infty,\pi]\cup(9,\infty)"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}1\\x\end{pmatrix}"),
]


def serve(control_fd: int, parent: int, timeout: float, judge: str) -> None:
    """Forks a worker around each pipe that is sent, and reaps each worker that is named.

    Args:
        control_fd: Socket to the parent. Its end is the end of this process and its workers.
        parent: Process id of the parent.
        timeout: CPU seconds of one pair, after which the kernel ends its worker.
        judge: "module:function" that gives the verdict on a pair, and its status.
    """
    _die_with(parent)
    _import_once()
    verdict: Judge = resolve_name(judge)
    _limit(resource.RLIMIT_AS, _MEMORY)
    _limit(resource.RLIMIT_CORE, 0)
    workers: set[int] = set()
    with contextlib.suppress(ConnectionError):
        _obey(socket.socket(fileno=control_fd), workers, timeout, verdict)
    for worker in list(workers):
        _reap(worker, workers)


def _obey(control: socket.socket, workers: set[int], timeout: float, judge: Judge) -> None:
    warm_up = list(reversed(_WARM_UP))
    while True:
        # Between requests, so that the first worker need not wait for it.
        if warm_up and not select.select([control], [], [], 0)[0]:
            judge(*warm_up.pop())
            continue
        message, fds, _, _ = socket.recv_fds(control, 32, 1)
        if fds:
            workers.add(worker := _fork(control, socket.socket(fileno=fds[0]), timeout, judge))
            control.sendall(b"%d" % worker)
        elif message:
            control.sendall(b"%d" % _reap(int(message), workers))
        else:
            return


def _fork(control: socket.socket, pipe: socket.socket, timeout: float, judge: Judge) -> int:
    """Forks a worker that judges what comes through `pipe`; its process id."""
    server = os.getpid()
    worker = os.fork()
    if worker == 0:
        # Whatever happens, the child must not go on as a second server.
        try:
            _die_with(server)
            control.close()
            _answer(pipe, timeout, judge)
        except ConnectionError:
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    pipe.close()
    return worker


def _reap(worker: int, workers: set[int]) -> int:
    """Kills a worker, unless it is dead already, and tells the code that it ended with."""
    if worker not in workers:
        # It was a worker of the server before this one, and ended with it.
        return -signal.SIGKILL
    # Nobody else waits for it, so the number is still its own.
    workers.remove(worker)
    os.kill(worker, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])


def _answer(pipe: socket.socket, timeout: float, judge: Judge) -> None:
    """Answers each line, a pair, with a line, its verdict, until the pipe ends."""
    requests: Iterable[bytes] = pipe.makefile("rb")
    # A handler in Python would wait for C code to return; the kernel's default action does not.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    # A thread that keeps signals out hands that down, even to new programs.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for request in requests:
        answer, reference = json.loads(request)
        signal.setitimer(signal.ITIMER_PROF, timeout)
        verdict = judge(answer, reference)
        signal.setitimer(signal.ITIMER_PROF, 0)
        pipe.sendall(json.dumps(verdict).encode() + b"\n")


def _import_once() -> None:
    """Imports what a judge imports when it is first called."""
    # To look for garbage among modules takes a tenth of the time.
    gc.disable()
    import math_verify  # noqa: F401

    # It warns at each call that its own deadlines are off, as they must be.
    logging.disable(logging.CRITICAL)
    # What lives now lives for good: no collection in a worker copies its pages.
    gc.freeze()
    gc.enable()


def _die_with(parent: int) -> None:
    """Lets the kernel end this process when its parent ends; elsewhere the end of a pipe does."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _limit(what: int, value: int) -> None:
    # Not every system lets a process lower its limits; the deadline holds all the same.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(what, (value, value))
