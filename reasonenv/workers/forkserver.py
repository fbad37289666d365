"""Fork server: a warm interpreter that forks workers, and the loop of a worker.

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
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from pkgutil import resolve_name

_MEMORY = 2 << 30

Judge = Callable[..., tuple[float, str]]

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


def serve(control_fd: int, parent: int, timeout: float, judge: str) -> None:
    """Forks a worker for each pipe that it receives, and reaps each worker whose id it receives.

    Args:
        control_fd: Socket to the parent. When it closes, this process and its workers end.
        parent: Process id of the parent.
        timeout: CPU seconds of one pair, after which the kernel ends its worker.
        judge: "module:function" that maps two texts to a verdict, or a score in [0, 1], and its
            status. Pairs to warm it up are its module's `WARM_UP`, if there is one.
    """
    die_with(parent)
    _import_once()
    verdict: Judge = resolve_name(judge)
    warm_up = getattr(resolve_name(judge.partition(":")[0]), "WARM_UP", _WARM_UP)
    _limit(resource.RLIMIT_AS, _MEMORY)
    _limit(resource.RLIMIT_CORE, 0)
    workers: set[int] = set()
    with contextlib.suppress(ConnectionError):
        _handle_requests(socket.socket(fileno=control_fd), workers, timeout, verdict, warm_up)
    for worker in list(workers):
        _reap(worker, workers)


def _handle_requests(
    control: socket.socket,
    workers: set[int],
    timeout: float,
    judge: Judge,
    pairs: Sequence[tuple[str, str]],
) -> None:
    warm_up = list(reversed(pairs))
    while True:
        # Between requests, so that the first worker does not wait for it.
        if warm_up and not select.select([control], [], [], 0)[0]:
            judge(*warm_up.pop())
            continue
        message, fds, _, _ = socket.recv_fds(control, 32, 1)
        if fds:
            workers.add(worker := _fork(control, socket.socket(fileno=fds[0]), timeout, judge))
            control.sendall(b"%d" % worker)
        elif message:
            control.sendall(json.dumps(_reap(int(message), workers)).encode())
        else:
            return


def _fork(control: socket.socket, pipe: socket.socket, timeout: float, judge: Judge) -> int:
    """Forks a worker for the pairs that come through `pipe`; its process id."""
    server = os.getpid()
    worker = os.fork()
    if worker == 0:
        # The child must never continue as a second server.
        try:
            die_with(server)
            control.close()
            _answer(pipe, timeout, judge)
        except ConnectionError:
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    pipe.close()
    return worker


def _reap(worker: int, workers: set[int]) -> int | None:
    """Kills a worker, if it is alive; its exit code, None for that of an earlier server."""
    if worker not in workers:
        return None
    # Only this process waits for it, so its id has not been reused.
    workers.remove(worker)
    os.kill(worker, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])


def _answer(pipe: socket.socket, timeout: float, judge: Judge) -> None:
    """Answers each line, arguments of the judge, with its verdict, until the pipe closes."""
    requests: Iterable[bytes] = pipe.makefile("rb")
    # A Python handler would wait for C code to return; the kernel's default action does not.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    # The signal mask of the thread that started the server is inherited.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for request in requests:
        arguments = json.loads(request)
        signal.setitimer(signal.ITIMER_PROF, timeout)
        verdict = judge(*arguments)
        signal.setitimer(signal.ITIMER_PROF, 0)
        pipe.sendall(json.dumps(verdict).encode() + b"\n")


def _import_once() -> None:
    """Imports the modules that a judge imports on its first call."""
    # Garbage collection during imports takes a tenth of their time.
    gc.disable()
    import math_verify  # noqa: F401

    # It warns at each call that its own timeouts are disabled, as intended.
    logging.disable(logging.CRITICAL)
    # Frozen objects are not scanned, so a collection in a worker copies no pages.
    gc.freeze()
    gc.enable()


def die_with(parent: int) -> None:
    """Asks the kernel to kill this process with its parent; other systems rely on the pipe."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _limit(what: int, value: int) -> None:
    # Some systems let no process lower its limits; the deadline holds there too.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(what, (value, value))
