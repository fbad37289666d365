"""Grading with other processes: no process is left behind, and every process may grade."""

import contextlib
import multiprocessing
import os
import signal
import socket
import subprocess
import threading
import time

import pytest
from helpers.faults import (
    busy_cores,
    descendants,
    is_alive,
    obedient_workers,
    run_script,
    unsettled,
    wait_until,
)

from reasonenv import workers
from reasonenv.grading import Grade
from reasonenv.mm_eureka import mm_eureka
from reasonenv.problem import Problem
from reasonenv.workers import Grader

START = r"""
import os, signal, sys, threading, time
from helpers.faults import descendants
# Defaults as in a terminal: a background job ignores these signals.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
grader = w.Grader(num_workers=2, timeout=60)
print("started", flush=True)
grader.grade(["\\boxed{x}"], ["x"])
pending = [grader.submit("\\boxed{%s}" % word, "x") for word in ("spin", "sleep")]
while len(descendants()) < 3:
    time.sleep(0.01)
print(*descendants(), flush=True)
"""


def start(ending: str, folder, **kwargs) -> tuple[subprocess.Popen, set[int]]:
    """A script that has three processes, two of them busy, when it comes to its ending."""
    process = run_script(START + ending, folder, **kwargs)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process, {int(pid) for pid in process.stdout.readline().split()}


@contextlib.contextmanager
def ended(process: subprocess.Popen):
    try:
        yield
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.mark.parametrize(
    "ending",
    [
        "",
        "sys.exit(1)",
        "raise ValueError",
        "os._exit(1)",
        "os.kill(os.getpid(), signal.SIGSEGV)",
        "import multiprocessing; multiprocessing.Process(target=time.sleep, args=(0,)).start()",
        "grader.close()",
        "del grader",
    ],
)
def test_no_end_of_a_program_leaves_a_process(tmp_path, ending):
    process, below = start(ending, tmp_path, stderr=subprocess.DEVNULL)
    with ended(process):
        assert len(below) == 3
        process.wait(30)
        assert wait_until(lambda: not any(map(is_alive, below)))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_no_signal_leaves_a_process(tmp_path, number):
    ending = "pending[0].result()"
    process, below = start(ending, tmp_path, stderr=subprocess.DEVNULL, start_new_session=True)
    with ended(process):
        assert len(below) == 3
        # As Ctrl-C in a terminal does, to the program and all that share its group.
        os.killpg(process.pid, number)
        process.wait(30)
        assert wait_until(lambda: not any(map(is_alive, below)))


def test_copies_of_the_pipes_in_a_child_keep_no_worker_alive(tmp_path):
    ending = "child = os.fork()\nif child: print(child, flush=True)\ntime.sleep(60)"
    process, below = start(ending, tmp_path)
    with ended(process):
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
        try:
            assert wait_until(lambda: not any(map(is_alive, below)))
            assert is_alive(child)
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_worker_ends_when_its_pipe_closes(tmp_path):
    # The fallback on systems whose kernel ends no child with its parent.
    with obedient_workers(tmp_path), Grader(num_workers=1) as grader:
        before = descendants()
        grader.grade([r"\boxed{x}"], ["x"])
        assert len(descendants() - before) == 2
        assert grader._pool._control is not None
        # A thread reads it, so that a close would have no effect.
        with socket.socket(fileno=os.dup(grader._pool._control.fileno())) as control:
            control.shutdown(socket.SHUT_RDWR)
        assert wait_until(lambda: not descendants() - before)


def sent_by(target, method="fork", daemon=False):
    """What a child of a start method sends through the pipe that it is given; it ends by itself."""
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs,), daemon=daemon)
    process.start()
    try:
        assert ours.poll(60)
        message = ours.recv()
        process.join(30)
        assert process.exitcode == 0
    finally:
        process.kill()
    return message


def judge(connection) -> None:
    workers.grade_by_rules = unsettled  # in this child alone
    with Grader(num_workers=1) as grader:
        grades = grader.grade([r"\boxed{\sin^2 y+x}", r"\boxed{x+2}"], [r"x+\sin^2 y", "x+1"])
        connection.send(([grade.correct for grade in grades], len(descendants())))


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_daemon_of_any_start_method_may_grade(method):
    # The two processes are the server and its worker.
    assert sent_by(judge, method, daemon=True) == ([True, False], 2)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_grader_grades_in_both_processes(tmp_path):
    before = descendants()
    closed = Grader()
    closed.close()
    with obedient_workers(tmp_path), Grader(num_workers=2, timeout=0.5) as grader:
        grader.grade([r"\boxed{x}"], ["x"])
        here = descendants() - before
        pending = grader.submit(r"\boxed{spin}", "x")

        def child(connection) -> None:
            # A grade in progress in the parent's worker never arrives in the child.
            with pytest.raises(RuntimeError, match="forked before this grade was ready"):
                pending.result(timeout=10)
            grades = grader.grade([r"\boxed{x}", r"\boxed{z}", r"\boxed{spin}"], ["x"] * 3)
            grader.close()
            with pytest.raises(ValueError, match="closed"):
                closed.submit("1", "1")
            connection.send([grade.status for grade in grades])

        assert sent_by(child) == ["ok", "ok", "timeout"]
        assert pending.result(timeout=30).status == "timeout"
        assert grader.grade([r"\boxed{z}"], ["z"])[0].correct
        assert min(here) in descendants()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_the_released_reward_as_well():
    arguments = "<answer> 2 </answer>", Problem("1", "1 + 1?", "2"), Grade(True, "2", "ok")
    assert mm_eureka(*arguments) == 1
    assert sent_by(lambda connection: connection.send(mm_eureka(*arguments))) == 1


@pytest.mark.slow(reason="eight forks of a process that grades in two threads")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_while_grading_hangs_no_process(tmp_path):
    context = multiprocessing.get_context("fork")
    with obedient_workers(tmp_path), Grader(num_workers=2) as grader:
        stop = threading.Event()

        def keep_grading(name: str) -> None:
            number = 0
            while not stop.is_set():
                number += 1
                grader.grade([rf"\boxed{{{name} {number}}}"], ["x"])

        threads = [threading.Thread(target=keep_grading, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        try:
            for _ in range(8):
                process = context.Process(target=grader.grade, args=([r"\boxed{x}"], ["x"]))
                process.start()
                process.join(30)
                assert process.exitcode == 0
        finally:
            stop.set()
            for thread in threads:
                thread.join(30)


@pytest.mark.slow(reason="four answers of half a second on cores that are busy")
def test_a_busy_machine_changes_no_grade(tmp_path):
    with obedient_workers(tmp_path), Grader(num_workers=2, timeout=1) as grader:
        grader.grade([r"\boxed{x}"], ["x"])
        with busy_cores():
            start = time.monotonic()
            answers = [f"work {number}" for number in range(4)]
            grades = grader.grade([rf"\boxed{{{answer}}}" for answer in answers], answers)
            elapsed = time.monotonic() - start
    assert all(grade.correct for grade in grades)
    # Otherwise the machine was not busy.
    assert elapsed > 1.5
