"""Real workers that misbehave on request: in them, `symbolic_verdict` obeys the answer."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest


def _spin() -> None:
    10**10**9  # C code, which no handler in Python could interrupt


def _raise() -> None:
    raise KeyboardInterrupt


def _print() -> None:
    print('[true, "ok"]', flush=True)
    os.write(1, b'[true, "ok"]\n')


def _work() -> None:
    end = time.process_time() + 0.5
    while time.process_time() < end:
        pass


FAULTS = {
    "spin": _spin,
    "sleep": lambda: time.sleep(600),
    "exit": lambda: os._exit(0),
    "raise": _raise,
    "segfault": lambda: ctypes.string_at(0),
    "print": _print,
    "work": _work,
    "allocate": lambda: bytearray(3 << 30),
}


def symbolic_verdict(answer: str, reference: str) -> tuple[bool, str]:
    """Runs the fault named by the first word of the answer; True for equal texts."""
    if path := os.environ.get("JUDGED"):
        with open(path, "a") as file:
            file.write(answer + "\n")
    try:
        FAULTS.get(answer.split(maxsplit=1)[0], lambda: None)()
    except MemoryError:
        return False, "memory"
    return answer == reference, "ok"


def unsettled(
    answer: str, reference: str, options: Sequence[str] = (), kind: str | None = None
) -> tuple[None, str]:
    """Replacement of `grade_by_rules` in the caller that leaves every answer to a worker."""
    return None, options["ABCDE".index(reference)] if options else reference


def install() -> None:
    """Replaces `symbolic_verdict` in the process that forks workers."""
    import reasonenv.grading

    reasonenv.grading.symbolic_verdict = symbolic_verdict


_START = """
import reasonenv.workers as w
from helpers.faults import unsettled
w.grade_by_rules = unsettled
"""


@contextmanager
def obedient_workers(folder: Path):
    """Sends every answer to a worker, and this module to where workers import the parser."""
    (folder / "math_verify.py").write_text("from helpers import faults; faults.install()\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setattr("reasonenv.workers.grade_by_rules", unsettled)
        yield


def run_script(text: str, folder: Path, **kwargs) -> subprocess.Popen:
    """A user's program in a new interpreter, with workers that misbehave on request."""
    (folder / "math_verify.py").write_text("from helpers import faults; faults.install()\n")
    script = folder / "script.py"
    script.write_text(_START + text)
    path = os.pathsep.join([str(folder), *sys.path])
    return subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        **kwargs,
    )


def descendants(pid: int | None = None) -> set[int]:
    """Ids of the live descendants of a process, by default of this one."""
    pids: set[int] = set()
    for task in Path(f"/proc/{pid or os.getpid()}/task").glob("*/children"):
        try:
            children = {int(child) for child in task.read_text().split()}
        except OSError:  # the thread has just ended
            continue
        for child in children:
            pids |= ({child} if is_alive(child) else set()) | descendants(child)
    return pids


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def wait_until(condition, seconds: float = 20.0) -> bool:
    """True if a condition becomes true before a timeout."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@contextmanager
def busy_cores():
    """Three spinning processes on every core."""
    count = 3 * len(os.sched_getaffinity(0))
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in spinning:
            process.send_signal(signal.SIGKILL)
            process.wait()
