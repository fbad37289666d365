"""Grades a batch in worker processes, with a hard deadline for each answer.

What strings and numbers settle is settled in the caller's process; only the rest starts a worker.
"""

import os
import queue
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Self

from reasonenv.answers import final_answer
from reasonenv.grading import Grade, choose, quick
from reasonenv.process import GradingProcess

_MEMO_SIZE = 100_000

_Verdict = Future[tuple[bool, str]]
_Job = tuple[str, str, _Verdict]
_Jobs = queue.SimpleQueue[_Job | None]


class Grader:
    """Grades responses against references in worker processes.

    The order of the results is that of the responses, whatever hangs or crashes. Every method may
    be called from any thread. No process is started until an answer needs one, and none outlives
    the program.

    Args:
        num_workers: Processes at most; None for as many as there are CPU cores, up to 8.
        timeout: CPU seconds for one answer, after which its worker is killed; the wall clock may
            show five times as many.
    """

    def __init__(self, num_workers: int | None = None, timeout: float = 2.0) -> None:
        if num_workers is not None and num_workers < 1:
            raise ValueError(f"num_workers={num_workers}: at least one process is needed")
        if not timeout > 0:
            raise ValueError(f"timeout={timeout}: more than 0 seconds are needed")
        self.num_workers = num_workers or min(8, _num_cores())
        self.timeout = timeout
        self._lock = threading.Lock()
        self._memo: dict[tuple[str, str], _Verdict] = {}
        self._jobs: _Jobs = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._processes: list[GradingProcess] = []
        self._close = weakref.finalize(self, _shut, self._processes, self._jobs)

    def grade(
        self,
        responses: Sequence[str],
        references: Sequence[str],
        options: Sequence[Sequence[str]] | None = None,
    ) -> list[Grade]:
        """The grade of every response, in order.

        Args:
            responses: What the model wrote.
            references: The right answer to each.
            options: Texts of the multiple choice of each, empty where there is none.
        """
        choices = [()] * len(responses) if options is None else options
        jobs = zip(responses, references, choices, strict=True)
        return [future.result() for future in [self.submit(*job) for job in jobs]]

    def submit(self, response: str, reference: str, options: Sequence[str] = ()) -> Future[Grade]:
        """Starts grading one response and returns at once; `.result()` waits for its grade."""
        future: Future[Grade] = Future()
        future.set_running_or_notify_cancel()
        answer = final_answer(response)
        if answer is None:
            future.set_result(Grade(False, None, "no_answer"))
            return future
        correct, reference = choose(answer, reference, options)
        if correct is None:
            correct = quick(answer, reference)
        if correct is not None:
            future.set_result(Grade(correct, answer, "ok"))
        else:
            self._verdict(answer, reference).add_done_callback(_passes_on(future, answer))
        return future

    def close(self) -> None:
        """Ends the workers; whoever still waits for a grade gets an error."""
        self._close()

    def _verdict(self, answer: str, reference: str) -> _Verdict:
        """The verdict on a pair, judged once for all who ask about it."""
        key = (answer, reference)
        with self._lock:
            if not self._close.alive:
                raise ValueError("this Grader is closed: make another")
            if key in self._memo:
                return self._memo[key]
            if len(self._memo) >= _MEMO_SIZE:
                self._memo.clear()
            verdict = self._memo[key] = Future()
            self._jobs.put((answer, reference, verdict))
            if not self._idle.acquire(blocking=False) and len(self._processes) < self.num_workers:
                self._add_worker()
        # Outside the lock: a verdict that is there already calls back at once.
        verdict.add_done_callback(_forgets_errors(self._memo, key))
        return verdict

    def _add_worker(self) -> None:
        process = GradingProcess(self.timeout)
        self._processes.append(process)
        # A daemon, so that an interpreter that is told to exit does not wait for a verdict.
        threading.Thread(
            target=_work, args=(process, self._jobs, self._idle), name="reasonenv", daemon=True
        ).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _work(process: GradingProcess, jobs: _Jobs, idle: threading.Semaphore) -> None:
    """Hands jobs to a process until None comes; holds no reference to the Grader."""
    while (job := jobs.get()) is not None:
        answer, reference, verdict = job
        try:
            verdict.set_result(process.judge(answer, reference))
        # Nothing may end this thread while others wait for its verdicts.
        except Exception as error:
            verdict.set_exception(error)
        idle.release()


def _shut(processes: list[GradingProcess], jobs: _Jobs) -> None:
    for process in processes:
        process.stop()
    for _ in processes:
        jobs.put(None)


def _passes_on(future: Future[Grade], answer: str) -> Callable[[_Verdict], None]:
    """A callback that completes `future` with the verdict that it is called with."""

    def complete(verdict: _Verdict) -> None:
        if error := verdict.exception():
            future.set_exception(error)
        else:
            correct, status = verdict.result()
            future.set_result(Grade(correct, answer, status))

    return complete


def _forgets_errors(
    memo: dict[tuple[str, str], _Verdict], key: tuple[str, str]
) -> Callable[[_Verdict], None]:
    """A callback that lets a pair be judged again when it was no fault of the pair."""

    def forget(verdict: _Verdict) -> None:
        if verdict.exception() or verdict.result()[1] == "error":
            memo.pop(key, None)

    return forget


def _num_cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
