import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from reasonenv.workers import Grader


def boxed(answer: str) -> str:
    return f"<think>It is known.</think><answer>\\boxed{{{answer}}}</answer>"


# What no static limit knows and no second of sympy ends: the minimal polynomial of a deep root.
HANGING = r"[2^{\frac{1}{2^{999}}}, \infty)"
EASY = (boxed("x+1"), "1+x")


@pytest.fixture(scope="module")
def grader():
    with Grader(num_workers=2, timeout=1) as grader:
        grader.grade(*zip(EASY, strict=True))
        yield grader


def children() -> set[int]:
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(pid) for task in tasks for pid in task.read_text().split()}


def test_results_come_in_the_order_of_the_responses(grader):
    answers = ["x+1", "3", "x+2", "", "1+x", r"\frac{x^2+x}{x}"]
    grades = grader.grade([boxed(answer) for answer in answers], ["1+x"] * len(answers))
    assert [grade.correct for grade in grades] == [True, False, False, False, True, True]
    assert grades[3].status == "no_answer"


def test_a_hang_is_killed_at_its_deadline_and_costs_the_others_nothing(grader):
    start = time.monotonic()
    responses = [boxed("[1,+\\infty)"), boxed("1+y"), boxed("[1, 2^2)"), boxed("y+1")]
    references = [HANGING, "y+1", HANGING, "y+2"]
    grades = grader.grade(responses, references)
    assert [grade.status for grade in grades] == ["timeout", "ok", "timeout", "ok"]
    assert [grade.correct for grade in grades] == [False, True, False, False]
    # The wall clock may show five times the CPU seconds of each.
    assert time.monotonic() - start < 11


@pytest.mark.parametrize(
    "answer",
    [
        "1E1000000",
        "9^{9^{9^9}}",
        "a" * 10**6,
        "{" * 10**5,
        "\ud800",
        "\x00",
        r"\operatorname{zeros}(20000)",
        r"\begin{vmatrix}" + "a & b & c & d & e & f & g & h \\\\ " * 8 + r"\end{vmatrix}",
        "x^{99}" * 50,
        "x_1+" * 200 + "x",
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_hostile_answers_are_wrong_within_the_deadline(grader, answer):
    start = time.monotonic()
    (grade,) = grader.grade([boxed(answer)], ["3"])
    assert grade.correct is False
    assert time.monotonic() - start < 6


def test_a_worker_that_is_killed_is_replaced():
    before = children()
    with Grader(num_workers=1) as grader:
        assert grader.grade(*zip(EASY, strict=True))[0].correct
        (pid,) = children() - before
        os.kill(pid, signal.SIGKILL)
        assert grader.grade([boxed("z+1")], ["1+z"])[0].status == "error"
        assert grader.grade([boxed("z+1")], ["1+z"])[0].correct


def test_a_worker_that_sleeps_is_killed_by_the_wall_clock():
    before = children()
    with Grader(num_workers=1, timeout=0.2) as grader:
        assert grader.grade(*zip(EASY, strict=True))[0].correct
        (pid,) = children() - before
        os.kill(pid, signal.SIGSTOP)
        start = time.monotonic()
        assert grader.grade([boxed("z+1")], ["1+z"])[0].status == "timeout"
        assert 0.9 < time.monotonic() - start < 5
        assert grader.grade([boxed("u+1")], ["1+u"])[0].correct


GREEDY = """
from reasonenv.process import _limit_memory
_limit_memory()
try:
    bytearray(3 << 30)
except MemoryError:
    print("refused")
"""


def test_a_worker_gets_no_more_than_its_memory():
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", GREEDY], capture_output=True, text=True, env=env, check=True
    )
    assert done.stdout.strip() == "refused"


def test_no_process_is_left_after_closing():
    before = children()
    with Grader(num_workers=1) as grader:
        grader.grade(*zip(EASY, strict=True))
        assert children() - before
    assert not children() - before


def test_a_grader_that_is_dropped_takes_its_workers_along():
    before = children()
    grader = Grader(num_workers=1)
    grader.grade(*zip(EASY, strict=True))
    del grader
    assert not children() - before


def test_plain_answers_need_no_process():
    before = children()
    with Grader() as grader:
        grades = grader.grade([boxed("3"), boxed("C"), boxed("7")], ["3", "C", "8"])
        assert [grade.correct for grade in grades] == [True, True, False]
        assert children() == before


def test_a_batch_of_plain_numbers_takes_milliseconds():
    responses = [boxed(str(number)) for number in range(256)]
    with Grader() as grader:
        seconds = []
        for _ in range(5):
            start = time.process_time()
            grader.grade(responses, ["17"] * 256)
            seconds.append(time.process_time() - start)
    assert min(seconds) < 0.02


def test_grading_works_from_many_threads(grader):
    results = {}

    def work(number: int) -> None:
        grades = grader.grade([boxed(f"{number}+x"), boxed("x")], [f"x+{number}", f"x+{number}"])
        results[number] = [grade.correct for grade in grades]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert results == {number: [True, False] for number in range(1, 9)}


def test_submit_returns_before_the_grade_is_there(grader):
    start = time.monotonic()
    future = grader.submit(boxed("[1, 3)"), HANGING)
    assert time.monotonic() - start < 0.2
    assert future.result(timeout=10).status == "timeout"
    # The worker's CPU clock rang after a second, not the wall clock after five.
    assert time.monotonic() - start < 4.5


def test_a_pair_is_judged_once(grader):
    grader.grade([boxed("[1, 4)")] * 8, [HANGING] * 8)
    start = time.monotonic()
    grader.grade([boxed("[1, 4)")] * 8, [HANGING] * 8)
    assert time.monotonic() - start < 0.1


def test_closing_answers_whoever_still_waits():
    grader = Grader(num_workers=1, timeout=30)
    futures = [grader.submit(boxed(f"[{n},+\\infty)"), HANGING) for n in range(2)]
    time.sleep(0.2)
    grader.close()
    for future in futures:
        with pytest.raises(RuntimeError, match=r"closed|ended"):
            future.result(timeout=10)


def test_a_closed_grader_says_so():
    grader = Grader()
    grader.close()
    with pytest.raises(ValueError, match="this Grader is closed"):
        grader.submit(*EASY)


@pytest.mark.parametrize("kwargs", [{"num_workers": 0}, {"timeout": 0.0}, {"timeout": -1}])
def test_a_number_that_makes_no_sense_is_refused(kwargs):
    with pytest.raises(ValueError, match="needed"):
        Grader(**kwargs)


def test_lists_of_different_lengths_are_refused(grader):
    with pytest.raises(ValueError, match="shorter"):
        grader.grade(["1", "2"], ["1"])


# An unguarded script, as a newcomer writes one, that leaves while a worker is busy.
SCRIPT = r"""
from reasonenv.workers import Grader
print("started", flush=True)
grader = Grader(num_workers=1, timeout=20)
print(grader.grade(["\\boxed{x+1}"], ["1+x"])[0].correct, flush=True)
grader.submit("\\boxed{[1,+\\infty)}", r"[2^{\frac{1}{2^{999}}}, \infty)")
"""


def test_an_unguarded_script_runs_once_and_does_not_hang_at_its_end(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env=env,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == ["started", "True"]
    assert done.stderr == ""
    assert time.monotonic() - start < 15
