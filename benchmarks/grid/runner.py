"""Runs tasks on the cores or GPUs at hand, each a process with one thread."""

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from agents.run import EXIT_COLLAPSED
from agents.storage.checkpoints import latest
from benchmarks.grid import raw
from benchmarks.grid.study import BRIEF, TEACHER, TEACHING, Task


def slots(jobs: int | None) -> list[dict[str, str]]:
    """What each place for a run adds to its environment.

    Args:
        jobs: Runs at a time; None for one on each GPU, or on each core where there is none.
    """
    import torch

    count = torch.cuda.device_count()
    told = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    devices = told.split(",")[:count] if told else [str(i) for i in range(count)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    places = range(jobs or count or cores or 1)
    one = {"OMP_NUM_THREADS": "1"}
    return [
        one | {"CUDA_VISIBLE_DEVICES": devices[i % count]} if count else dict(one) for i in places
    ]


@dataclass
class Crew:
    """The processes that run now, and the places for them."""

    places: Sequence[dict[str, str]]
    scratch: Path
    """Holds what is not finished, and the log of each run."""
    stopping: bool = False
    _free: queue.SimpleQueue[dict[str, str]] = field(default_factory=queue.SimpleQueue)
    _live: set[int] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.scratch.mkdir(parents=True, exist_ok=True)
        for place in self.places:
            self._free.put(place)

    def run(self, words: Sequence[str], log: Path) -> tuple[int, dict[str, float]]:
        """Runs a module to its end in a free place; its status and seconds.

        Its output goes to `log`. A process has a session of its own: Ctrl-C reaches it through
        `stop` alone.
        """
        place, began = self._free.get(), time.perf_counter()
        try:
            with log.open("wb") as output, self._lock:
                if self.stopping:
                    return -signal.SIGTERM, {}
                process = subprocess.Popen(
                    [sys.executable, "-m", *words],
                    env=os.environ | place,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                self._live.add(process.pid)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            with self._lock:
                self._live.discard(process.pid)
        finally:
            self._free.put(place)
        used = {
            "wall_s": round(time.perf_counter() - began, 1),
            "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
        }
        return process.returncode, used

    def stop(self, number: int) -> None:
        """Sends a signal to what runs; SIGTERM lets it save."""
        with self._lock:
            self.stopping = True
            for process in self._live:
                with suppress(ProcessLookupError):  # it has just ended, and is waited for
                    os.killpg(process, number)


def run_all(tasks: Sequence[Task], folder: Path, crew: Crew) -> list[str]:
    """Runs what is missing of tasks and keeps it.

    Args:
        tasks: In the order in which they are begun.
        folder: Of the records.
        crew: Runs them.

    Returns:
        A line for each that failed; the others went on.
    """
    todo = raw.missing(folder, tasks)
    progress = Progress(len(todo), len(crew.places))
    failures = []
    with _workers(crew) as pool:
        begin_with = {t.seed: t for t in reversed(todo) if BRIEF in t.words}
        starts = [pool.submit(make_start, task, crew) for task in begin_with.values()]
        if any(TEACHER in task.words for task in todo):
            starts.append(pool.submit(make_teacher, crew))
        for future in _finished(starts):
            failures += future.result()
        for future in _finished([pool.submit(run_one, task, folder, crew) for task in todo]):
            failures += progress.say(future.result(), crew.stopping)
    return failures


@dataclass
class Progress:
    """A line for each run that ends."""

    total: int
    width: int
    done: int = 0
    began: float = field(default_factory=time.perf_counter)

    def say(self, outcome: "Outcome", stopping: bool) -> list[str]:
        """Tells of a run; its line, if it failed."""
        if outcome.failure:
            if not stopping:
                print(outcome.failure, flush=True)
            return [] if stopping else [outcome.failure]
        self.done += 1
        left = (time.perf_counter() - self.began) / self.done * (self.total - self.done)
        where = f"{outcome.task.name} seed {outcome.task.seed}"
        eta = tqdm.format_interval(left)
        print(f"{self.done}/{self.total}  {where}  {outcome.words}  ETA {eta}", flush=True)
        return []


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    task: Task
    words: str = ""
    failure: str = ""


def run_one(task: Task, folder: Path, crew: Crew) -> Outcome:
    """Runs a task, or goes on with it, keeps what it says and removes its directory."""
    run = crew.scratch / task.stem
    log = run.with_name(f"{run.name}.log")
    status, used = crew.run(words(task, run, crew), log)
    if status not in (0, EXIT_COLLAPSED):  # a run that its own metrics stopped is a result
        line = (log.read_text(errors="replace").strip() or "it said nothing").splitlines()[-1]
        return Outcome(
            task,
            failure=f"failed: {task.name} seed {task.seed}, status {status}: {line}; see {log}",
        )
    record = raw.record(task, run, used)
    raw.write(folder, task, record)
    shutil.rmtree(run)
    log.unlink()
    accuracy = record["steps"]["reward/accuracy"][-1]
    return Outcome(task, f"accuracy {accuracy:.3f}  {used['wall_s']:.0f} s")


def words(task: Task, run: Path, crew: Crew) -> list[str]:
    """What is run: a run that has saved goes on, another begins anew."""
    more = [] if latest(run) is None else ["--resume"]
    if not more:
        shutil.rmtree(run, ignore_errors=True)
    models = {BRIEF: brief(task, crew), TEACHER: latest(crew.scratch / TEACHER)}
    told = [str(models.get(word, word)) for word in task.words]
    return [*told, "--output-dir", str(run), *more]


def brief(task: Task, crew: Crew) -> Path:
    """Where the model of a seed is that has had a warm start of seconds."""
    return crew.scratch / f"brief-seed{task.seed}"


def make_start(task: Task, crew: Crew) -> list[str]:
    """Makes the model that a task begins with, once for all tasks of its seed; what went wrong."""
    folder = brief(task, crew)
    if (folder / "config.json").exists():
        return []
    log = crew.scratch / f"start-seed{task.seed}.log"
    module = ["benchmarks.grid.start", str(task.seed), str(folder)]
    status, _ = crew.run(module, log)
    if status and not crew.stopping:
        return [f"failed: the model of seed {task.seed}, status {status}; see {log}"]
    return []


def make_teacher(crew: Crew) -> list[str]:
    """Trains the model that others learn from, or goes on with it; what went wrong."""
    folder = crew.scratch / TEACHER
    log = crew.scratch / "teacher.log"
    more = [] if latest(folder) is None else ["--resume"]
    status, _ = crew.run([*TEACHING, "--output-dir", str(folder), *more], log)
    if status and not crew.stopping:
        return [f"failed: the teacher, status {status}; see {log}"]
    return []


@contextmanager
def _workers(crew: Crew) -> Iterator[ThreadPoolExecutor]:
    """Threads that wait for processes; Ctrl-C and SIGTERM let these save, a second one does not."""

    def arrived(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, arrived)
    pool = ThreadPoolExecutor(len(crew.places))
    try:
        yield pool
    except KeyboardInterrupt:
        print("stopping: runs save; Ctrl-C once more kills them", file=sys.stderr, flush=True)
        crew.stop(signal.SIGTERM)
        try:
            pool.shutdown(cancel_futures=True)
        except KeyboardInterrupt:
            crew.stop(signal.SIGKILL)
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        signal.signal(signal.SIGTERM, before)


def _finished(futures: Sequence[Future[Any]]) -> Iterator[Future[Any]]:
    left = set(futures)
    while left:
        done, left = wait(left, return_when=FIRST_COMPLETED)
        yield from done
