r"""Grading of batches in worker processes, with a hard deadline for each answer.

Most answers are graded by bounded rules in the caller's process; only the rest needs a worker.

    from reasonenv.workers import Grader
    with Grader() as grader:
        grades = grader.grade([r"\boxed{\frac{1}{2}}", r"\boxed{x + 1}"], ["0.5", "1 + x"])
"""

import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Self

from reasonenv.errors import UsageError
from reasonenv.grading import (
    Grade,
    OverBudget,
    Span,
    check_kind,
    check_texts,
    explained,
    final_span,
    grade_by_rules,
)
from reasonenv.workers.pool import Judgement, WorkerPool, warn_of_count

__all__ = ["Grader", "Judgement", "WorkerPool"]
_CACHE_SIZE = 20_000
# Longer answers rarely repeat and would take much memory.
_MAX_CACHED_LENGTH = 1_000
_ERRORS = (
    "answers without a verdict, which count as wrong, by an error in the grader's rules: %d so "
    "far; please report the last one, which follows"
)

_Key = tuple[str, str, tuple[str, ...], str | None]
_Cache = dict[_Key, Grade]
_Request = tuple[str, str, *tuple[str | Sequence[str], ...]]


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
        self.timeout, self.prose = timeout, prose
        self._cache: _Cache = {}
        self._pending: dict[_Key, Future[Grade]] = {}
        self._num_errors = 0
        self._pool = WorkerPool(num_workers, timeout)
        self.num_workers = self._pool.num_workers
        self._close = weakref.finalize(self, self._pool.close)

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
        choices = [()] * len(responses) if options is None else options
        lists: dict[str, list[Any]] = {
            "responses": check_texts("responses", responses),
            "references": check_texts("references", references),
            "options": [check_texts("options", each) for each in choices],
            "kinds": [None] * len(responses) if kinds is None else list(kinds),
        }
        if len({len(values) for values in lists.values()}) > 1:
            counts = ", ".join(f"{len(values)} {name}" for name, values in lists.items())
            raise UsageError(f"{counts}: give one of each to each response")
        grades = [self._grade(*job) for job in zip(*lists.values(), strict=True)]
        return [grade.result() if isinstance(grade, Future) else grade for grade in grades]

    def submit(
        self,
        response: str,
        reference: str,
        options: Sequence[str] = (),
        kind: str | None = None,
    ) -> Future[Grade]:
        """Starts grading one response and returns at once; `.result()` waits for its grade."""
        check_texts("response and reference", (response, reference))
        grade = self._grade(response, reference, check_texts("options", options), kind)
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
            span = final_span(response, self.prose)
            if span is None:
                return Grade(False, None, "no_answer")
            key = span.text, reference, tuple(options), kind
            outcome = self._cache.get(key) or self._by_rules(span, key)
        # An error in the rules costs one answer, not the caller's run.
        except Exception as error:
            self._num_errors += 1
            warn_of_count(_ERRORS, self._num_errors, error)
            return Grade(False, None, "error")
        if not isinstance(outcome, Grade):
            return self._future(key, span, outcome)
        return outcome if outcome.source == span.source else replace(outcome, source=span.source)

    def _by_rules(self, span: Span, key: _Key) -> Grade | _Request:
        """The grade, or the arguments of a judgement if a worker is needed."""
        _, reference, options, kind = key
        try:
            verdict, text = grade_by_rules(span.text, reference, options, kind)
        except OverBudget:
            return span.text, reference, options, kind or ""
        if verdict is None:
            return span.text, text
        grade = explained(verdict, span, text, options, kind)
        _store(self._cache, key, grade)
        return grade

    def _future(self, key: _Key, span: Span, request: _Request) -> Future[Grade]:
        """The future of a grade by a worker, one for all equal requests."""
        cache, pending = self._cache, self._pending

        def finish(judgement: Judgement) -> Grade:
            grade = explained(judgement[:2], span, request[1], key[2], key[3])
            if judgement.exit_code is None:  # of a lost one nothing is remembered
                _store(cache, key, grade)
            return grade

        if (future := pending.get(key)) is None:
            future = pending[key] = self._pool.submit(*request, finish=finish)
            future.add_done_callback(lambda _: pending.pop(key, None))
        return future

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _store(cache: _Cache, key: _Key, grade: Grade) -> None:
    if len(cache) >= _CACHE_SIZE:
        cache.clear()
    if len(key[0]) <= _MAX_CACHED_LENGTH:
        cache[key] = grade
