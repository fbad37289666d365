r"""Grading of batches in worker processes, with a hard deadline for each answer.

Most answers are graded by bounded rules in the caller's process; only the rest needs a worker.

    from reasonenv.workers import Grader
    with Grader() as grader:
        grades = grader.grade([r"\boxed{\frac{1}{2}}", r"\boxed{x + 1}"], ["0.5", "1 + x"])
"""

import logging
import os
import queue
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Self

from reasonenv.errors import UsageError
from reasonenv.grading import (
    Grade,
    OverBudget,
    Span,
    check_kind,
    explained,
    final_span,
    grade_by_rules,
)
from reasonenv.workers.process import ForkServer, GradingProcess

_LOG = logging.getLogger("reasonenv")
_CACHE_SIZE = 20_000
# Longer answers rarely repeat and would take much memory.
_MAX_CACHED_LENGTH = 1_000

_Key = tuple[str, str, tuple[str, ...], str | None]
_Cache = dict[_Key, Grade]
_Pending = dict[_Key, Future[Grade]]
_Remember = Callable[[Grade], object]
_Request = tuple[str, str, *tuple[str | Sequence[str], ...]]
_Job = tuple[_Request, Future[Grade], _Remember, Callable[[Grade], Grade]]


class Grader:
    r"""Grades responses against references, in worker processes.

    Results come in the order of the responses, even if workers hang or crash. Every method may be
    called from any thread and in any process, daemonic or not; a forked child gets workers of its
    own. No process starts until an answer needs one, and none outlives the program.

        grader = Grader()
        grade = grader.grade([r"\boxed{x + 1}"], ["1 + x"])[0]
        grade.correct, grade.answer, grade.status  # True, "x + 1", "ok"

    Args:
        num_workers: Processes at most; None for the number of CPU cores, up to 8.
        timeout: CPU seconds for one answer, after which its worker is killed. The limit on the wall
            clock is thirty times as long, so that a busy machine changes no grade.
        prose: As in `reasonenv.grading.grade`.
    """

    def __init__(
        self, num_workers: int | None = None, timeout: float = 1.0, prose: bool = False
    ) -> None:
        if num_workers is not None and num_workers < 1:
            raise UsageError(f"num_workers={num_workers}: at least one process is needed")
        if not timeout > 0:
            raise UsageError(f"timeout={timeout}: more than 0 seconds are needed")
        self.num_workers = num_workers or min(8, _num_cores())
        self.timeout, self.prose = timeout, prose
        self._cache: _Cache = {}
        self._pending: _Pending = {}
        self._num_errors = 0
        self._start()
        _graders.add(self)

    def grade(
        self,
        responses: Sequence[str],
        references: Sequence[str],
        options: Sequence[Sequence[str]] | None = None,
        kinds: Sequence[str | None] | None = None,
    ) -> list[Grade]:
        """The grade of every response, in order.

        Args:
            responses: Texts of the model.
            references: The right answer to each.
            options: Texts of the multiple choice of each, empty if there is none.
            kinds: Kind of each reference, as in `reasonenv.grading.grade`; None to guess them.

        Raises:
            UsageError: The lists differ in length, hold anything but texts, or a kind is unknown.
            ValueError: The grader is closed.
        """
        lists = _texts("responses", responses), _texts("references", references)
        choices = [()] * len(lists[0]) if options is None else list(options)
        declared = [None] * len(lists[0]) if kinds is None else list(kinds)
        if len({*map(len, (*lists, choices, declared))}) > 1:
            counts = (
                f"{len(lists[0])} responses, {len(lists[1])} references, {len(choices)} options"
                + (f", {len(declared)} kinds" if kinds is not None else "")
            )
            raise UsageError(f"{counts}: give one of each to each response")
        choices = [_texts("options", each) for each in choices]
        grades = [self._grade(*job) for job in zip(*lists, choices, declared, strict=True)]
        return [grade.result() if isinstance(grade, Future) else grade for grade in grades]

    def submit(
        self,
        response: str,
        reference: str,
        options: Sequence[str] = (),
        kind: str | None = None,
    ) -> Future[Grade]:
        """Starts grading one response and returns at once; `.result()` waits for its grade."""
        _texts("response and reference", (response, reference))
        grade = self._grade(response, reference, _texts("options", options), kind)
        if isinstance(grade, Future):
            return grade
        future: Future[Grade] = Future()
        future.set_result(grade)
        return future

    def close(self) -> None:
        """Ends the workers; pending grades raise RuntimeError. May be called again."""
        self._close()

    def _grade(
        self, response: str, reference: str, options: Sequence[str], kind: str | None
    ) -> Grade | Future[Grade]:
        """The grade, or its future if a worker is needed."""
        if not self._close.alive:
            raise ValueError("this Grader is closed: create a new one")
        check_kind(kind)
        try:
            outcome = self._by_rules(response, reference, options, kind)
        # An error in the rules costs one answer, not the caller's run.
        except Exception as error:
            self._warn_of(error)
            return Grade(False, None, "error")
        return outcome if isinstance(outcome, Grade) else self._future(*outcome)

    def _by_rules(
        self, response: str, reference: str, options: Sequence[str], kind: str | None
    ) -> Grade | tuple[_Key, Span, _Request]:
        """The grade, or the arguments of its future if a worker is needed."""
        span = final_span(response, self.prose)
        if span is None:
            return Grade(False, None, "no_answer")
        key = (span.text, reference, tuple(options), kind)
        cached = self._cache.get(key)
        if cached is not None:
            return cached if cached.source == span.source else replace(cached, source=span.source)
        try:
            verdict, text = grade_by_rules(span.text, reference, options, kind)
        except OverBudget:
            return key, span, (span.text, reference, key[2], kind or "")
        if verdict is None:
            return key, span, (span.text, text)
        grade = Grade(verdict[0], span.text, verdict[1])
        grade = explained(grade, span, text, options, kind)
        _store(self._cache, key, grade)
        return grade

    def _warn_of(self, error: Exception) -> None:
        """Warns of the first error in the rules, and whenever their number has doubled."""
        with self._lock:
            self._num_errors += 1
            num_errors = self._num_errors
        if num_errors & (num_errors - 1) == 0:
            _LOG.warning(
                "answers without a verdict, which count as wrong, by an error in the grader's "
                "rules: %d so far; please report the last one, which follows",
                num_errors,
                exc_info=error,
            )

    def _future(self, key: _Key, span: Span, request: _Request) -> Grade | Future[Grade]:
        """The future of a grade by a worker, one for all equal requests."""
        with self._lock:
            cached = self._cache.get(key) or self._pending.get(key)
            if cached is not None:
                return cached
            pending, remember = self._pending, partial(_store, self._cache, key)
            explain = partial(_explained, key=key, span=span, reference=request[1])
            future = pending[key] = self._pool.submit(*request, remember=remember, explain=explain)
        # Outside the lock: a future that is done already runs its callback at once.
        future.add_done_callback(lambda _: pending.pop(key, None))
        return future

    def _start(self) -> None:
        self._lock = threading.RLock()
        self._pool = WorkerPool(self.num_workers, self.timeout)
        self._close = weakref.finalize(self, self._pool.close)

    def _start_in_child(self) -> None:
        """Restarts in a forked child, which has neither the threads nor the workers."""
        if self._close.detach() is None:  # closed
            return
        pending, self._pending = self._pending, {}
        self._start()
        for future in list(pending.values()):
            if not future.done():
                future.set_exception(
                    RuntimeError("the process forked before this grade was ready: submit it again")
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class WorkerPool:
    """Threads with one worker each; they hold no reference to the grader.

    Args:
        num_workers: Processes at most.
        timeout: CPU seconds for one pair.
        judge: "module:function" of reasonenv that maps two texts to a verdict and its status.
    """

    def __init__(
        self, num_workers: int, timeout: float, judge: str = "reasonenv.grading:worker_verdict"
    ) -> None:
        self._num_workers = num_workers
        self._server = ForkServer(timeout, judge)
        self._lock = threading.RLock()
        self._closed = False
        self._num_threads = 0
        self._num_lost = self._num_reported = 0
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)

    def submit(
        self,
        answer: str,
        reference: str,
        *others: str | Sequence[str],
        remember: _Remember = lambda grade: None,
        explain: Callable[[Grade], Grade] = lambda grade: grade,
    ) -> Future[Grade]:
        """Starts comparing a pair.

        Args:
            answer: The answer.
            reference: The reference.
            *others: Further arguments of the judge.
            remember: Called with a grade that is a property of the pair, timeouts and exhausted
                memory included; not with one whose worker ended or stopped for another reason.
            explain: The grade with how it came about.
        """
        future: Future[Grade] = Future()
        # Equal requests share a future, so none of them may cancel it.
        future.set_running_or_notify_cancel()
        with self._lock:
            if self._closed:
                raise ValueError("this Grader is closed: create a new one")
            self._jobs.put(((answer, reference, *others), future, remember, explain))
            if not self._idle.acquire(blocking=False) and self._num_threads < self._num_workers:
                self._num_threads += 1
                # A daemon, since an interpreter that exits must not wait for a grade. It lives
                # until `close`, because the server ends with the thread that started it.
                threading.Thread(target=self._work, name="reasonenv", daemon=True).start()
        return future

    def close(self) -> None:
        """Ends the workers."""
        with self._lock:
            self._closed = True
            if self._num_lost > self._num_reported:
                self._warn_of_lost()
            for _ in range(self._num_threads):
                self._jobs.put(None)
        self._server.stop()

    def _work(self) -> None:
        process = GradingProcess(self._server)
        while (job := self._jobs.get()) is not None:
            request, future, remember, explain = job
            try:
                judgement = process.judge(*request)
                grade = explain(Grade(judgement.correct, request[0], judgement.status))
                if judgement.is_lost:
                    self._count_lost()
                else:
                    remember(grade)
                future.set_result(grade)
            # An error must not end this thread: other requests wait in the queue.
            except Exception as error:
                future.set_exception(error)
            self._idle.release()
        process.end()

    def _count_lost(self) -> None:
        """Warns of the first answer without a verdict, and whenever their number has doubled."""
        with self._lock:
            self._num_lost += 1
            if self._num_lost >= 2 * self._num_reported:
                self._warn_of_lost()

    def _warn_of_lost(self) -> None:
        self._num_reported = self._num_lost
        _LOG.warning(
            "answers without a verdict, which count as wrong: %d so far; for each of them two "
            "grading processes were killed, stopped or crashed",
            self._num_lost,
        )


def _explained(grade: Grade, key: _Key, span: Span, reference: str) -> Grade:
    return explained(grade, span, reference, key[2], key[3])


def _store(cache: _Cache, key: _Key, grade: Grade) -> None:
    if len(cache) >= _CACHE_SIZE:
        cache.clear()
    if len(key[0]) <= _MAX_CACHED_LENGTH:
        cache[key] = grade


def _texts(name: str, values: Sequence[str]) -> list[str]:
    """The list of texts itself.

    Raises:
        UsageError: It is one text, or holds anything else.
    """
    if isinstance(values, str):
        raise UsageError(f"{name} is one text, {values!r:.60}: give a list of texts")
    texts = list(values)
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(f"{name} has {text!r:.60}, of type {type(text).__name__}: give texts")
    return texts


def _num_cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


_graders: weakref.WeakSet[Grader] = weakref.WeakSet()


def _after_fork() -> None:
    for grader in _graders:
        grader._start_in_child()


os.register_at_fork(after_in_child=_after_fork)
