import contextlib
import errno
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.faults import descendants, is_alive, obedient_workers, wait_until

from reasonenv import workers
from reasonenv.errors import GraderError, UsageError
from reasonenv.workers import Grader


def boxed(answer: str) -> str:
    return f"<think>It is known.</think><answer>\\boxed{{{answer}}}</answer>"


@pytest.fixture(scope="module")
def grader():
    with Grader(num_workers=2) as grader:
        yield grader


@pytest.fixture
def obedient(tmp_path):
    with obedient_workers(tmp_path):
        yield


def resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def ask(grader: Grader, *answers: str) -> list[str]:
    """The status of each answer, and "right" where it is the reference "x"."""
    grades = grader.grade([boxed(answer) for answer in answers], ["x"] * len(answers))
    return ["right" if grade.correct else grade.status for grade in grades]


def test_results_come_in_the_order_of_the_responses(grader):
    answers = ["x+1", "3", "x+2", "", "1+x", r"\frac{x^2+x}{x}"]
    grades = grader.grade([boxed(answer) for answer in answers], ["1+x"] * len(answers))
    assert [grade.correct for grade in grades] == [True, False, False, False, True, True]
    assert grades[3].status == "no_answer"


@pytest.mark.parametrize(
    "answer",
    [
        "1E1000000",
        "9^{9^{9^9}}",
        r"[2^{\frac{1}{2^{999}}}, \infty)",
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
    (grade,) = grader.grade([boxed(answer)], ["[3, \\infty)"])
    assert grade.correct is False
    assert time.monotonic() - start < 8


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ("spin", "timeout"),
        pytest.param(
            *("sleep", "timeout"), marks=pytest.mark.slow(reason="waits for four limits of 1.5 s")
        ),
        ("exit", "error"),
        ("raise", "error"),
        ("segfault", "error"),
        ("allocate", "memory"),
        ("print", "ok"),
    ],
)
def test_a_fault_affects_its_own_answer_alone(obedient, monkeypatch, fault, status):
    monkeypatch.setattr("reasonenv.workers.pool._WALL_CLOCK_FACTOR", 15)
    with Grader(num_workers=1, timeout=0.1) as grader:
        assert ask(grader, "x", fault, "x ", "y", f"{fault} again", "x") == [
            *("right", status, "right"),
            *("ok", status, "right"),
        ]


def test_a_killed_worker_is_replaced_by_the_same_server(obedient):
    before = descendants()
    with Grader(num_workers=1, timeout=0.2) as grader:
        ask(grader, "x")
        server, worker = sorted(descendants() - before)
        os.kill(worker, signal.SIGKILL)
        assert ask(grader, "x ", "spin", "y") == ["right", "timeout", "ok"]
        assert ask(grader, "z") == ["ok"]  # its place is filled for the next answer
        assert len(descendants() - before) == 2
        assert server in descendants()
        assert worker not in descendants()


def test_a_killed_server_is_replaced_at_once_and_its_workers_end(obedient):
    before = descendants()
    with Grader(num_workers=2) as grader:
        ask(grader, "x")
        server, *running = sorted(descendants() - before)
        os.kill(server, signal.SIGKILL)
        assert ask(grader, *(f"{number} y" for number in range(6))) == ["ok"] * 6
        assert wait_until(lambda: not any(map(is_alive, running)))


@contextlib.contextmanager
def stopped(pid: int):
    """Workers that are killed meanwhile end at one moment, as seen from their server."""
    os.kill(pid, signal.SIGSTOP)
    try:
        assert wait_until(lambda: "State:\tT" in Path(f"/proc/{pid}/status").read_text())
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


TEN_KILLS = pytest.mark.slow(reason="ten kills, and as many processes in their place")


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("every process", 2),
        *(
            pytest.param(kind, 10, marks=TEN_KILLS)
            for kind in ("a worker", "every worker", "the server", "every process")
        ),
    ],
)
def test_kills_change_no_grade(obedient, kind, count, caplog):
    before = descendants()
    answers = [f"{'y' if number % 8 else 'work'} {number}" for number in range(20)]
    with Grader(num_workers=2) as grader:
        ask(grader, "x", "y")
        for number in range(count):
            grades = [grader.submit(boxed(a), a) for a in answers[2 * number : 2 * number + 2]]
            time.sleep(0.02 * number)  # some are idle by then
            server, *running = sorted(descendants() - before)
            kills = {"a worker": running[-1:], "every worker": running, "the server": [server]}
            killed = kills.get(kind, [server, *running])
            with contextlib.nullcontext() if server in killed else stopped(server):
                for pid in killed:
                    # It ends with the server that is killed first.
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                assert wait_until(lambda pids=killed: not any(map(is_alive, pids)))
            assert all(grade.result(timeout=30).correct for grade in grades)
    assert not caplog.records


def test_a_pair_outlives_any_number_of_servers(obedient, caplog):
    before = descendants()
    with Grader(num_workers=1) as grader:
        grade = grader.submit(boxed("work"), "work")
        for _ in range(3):
            assert wait_until(lambda: len(descendants() - before) == 2)  # the server, a worker
            os.kill(server := min(descendants() - before), signal.SIGKILL)
            assert wait_until(lambda pid=server: not is_alive(pid))
        assert grade.result(timeout=30).correct
    assert not caplog.records


@pytest.fixture
def judged(obedient, monkeypatch, tmp_path) -> Callable[[], list[str]]:
    """The answers that were judged, in order, without the formulas of the warm-up."""
    path = tmp_path / "judged"
    monkeypatch.setenv("JUDGED", str(path))
    return lambda: [each for each in path.read_text().splitlines() if not set(each) & set("+=[\\")]


def test_an_idle_worker_that_is_killed_costs_no_judgement(judged):
    before = descendants()
    with Grader(num_workers=1) as grader:
        ask(grader, "x")
        worker = max(descendants() - before)
        os.kill(worker, signal.SIGKILL)
        assert wait_until(lambda: not is_alive(worker))
        assert ask(grader, "y") == ["ok"]
    assert judged() == ["x", "y"]


def test_a_pair_that_ends_its_worker_is_judged_twice_and_warned_of(judged, caplog):
    with Grader(num_workers=1) as grader:
        assert ask(grader, "segfault", "exit", "exit 2", "x") == ["error"] * 3 + ["right"]
    assert sorted(judged()) == ["exit"] * 2 + ["exit 2"] * 2 + ["segfault"] * 2 + ["x"]
    counts = [record.args for record in caplog.records]
    assert counts == [(1,), (2,)]
    assert "answers without a verdict, which count as wrong: 2 so far" in caplog.text


def test_a_stopped_worker_is_replaced_at_the_wall_clock_and_its_pair_judged_again(obedient):
    before = descendants()
    with Grader(num_workers=1, timeout=0.05) as grader:
        ask(grader, "x")
        stopped = max(descendants() - before)
        os.kill(stopped, signal.SIGSTOP)
        assert ask(grader, "x ", "z") == ["right", "ok"]
        assert stopped not in descendants()


def test_a_wall_clock_timeout_is_not_remembered(obedient, caplog, monkeypatch):
    monkeypatch.setattr("reasonenv.workers.pool._WALL_CLOCK_FACTOR", 15)
    with Grader(num_workers=1, timeout=0.02) as grader:
        assert ask(grader, "sleep") == ask(grader, "sleep") == ["timeout"]
    # The second one was judged, too.
    assert [record.args for record in caplog.records] == [(1,), (2,)]


def test_a_server_that_is_killed_at_each_start_is_an_error(obedient, monkeypatch):
    program = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    monkeypatch.setattr("reasonenv.workers.pool._MAIN", program)
    fault = "no grading processes: their server ended 10 times, with status -9"
    with Grader(num_workers=1) as grader, pytest.raises(GraderError, match=fault):
        ask(grader, "y")


def test_a_server_that_cannot_start_is_an_error_of_each_answer(obedient, monkeypatch):
    def refused(*_, **__):
        raise OSError(errno.EAGAIN, "no more processes")

    monkeypatch.setattr("subprocess.Popen", refused)
    with Grader(num_workers=1) as grader, pytest.raises(GraderError, match="no more processes"):
        ask(grader, "y", "z")


def test_closed_graders_leave_no_files_processes_or_threads(obedient):
    def held() -> tuple[int, int, int]:
        return len(os.listdir("/proc/self/fd")), len(descendants()), threading.active_count()

    before = held()
    for _ in range(3):
        with Grader(num_workers=2) as grader:
            assert ask(grader, "x", "y") == ["right", "ok"]
            os.kill(max(descendants()), signal.SIGKILL)
    # Fewer where something of an earlier test has ended meanwhile.
    assert wait_until(lambda: all(now <= then for now, then in zip(held(), before, strict=True)))


def test_long_answers_are_not_cached():
    with Grader() as grader:
        before = resident()
        for number in range(1000):
            # Four bytes a letter, together twenty megabytes.
            (grade,) = grader.grade([f"\\boxed{{{number}{'𝟙' * 4_900}}}"], ["x"])
            assert not grade.correct
            assert grade.answer is not None
        assert resident() - before < 10 << 20


def test_no_process_is_left_after_closing(obedient):
    before = descendants()
    with Grader(num_workers=2) as grader:
        ask(grader, "x", "y", "z")
        assert descendants() - before
        server = grader._pool._process
    assert not descendants() - before
    # It was asked to end, and had the time to reap its workers.
    assert server is not None
    assert server.returncode == 0


def test_the_workers_of_a_deleted_grader_end(obedient):
    before = descendants()
    grader = Grader(num_workers=1)
    ask(grader, "x")
    del grader
    assert not descendants() - before


def test_plain_answers_need_no_process():
    before = descendants()
    with Grader() as grader:
        grades = grader.grade([boxed("3"), boxed("C"), boxed("7")], ["3", "C", "8"])
        assert [grade.correct for grade in grades] == [True, True, False]
        assert descendants() == before


@pytest.mark.parametrize("step", ["final_span", "grade_by_rules"])
def test_an_error_in_the_rules_costs_one_answer_and_is_warned_of(step, monkeypatch, caplog):
    rule = getattr(workers, step)

    def faulty(text, *others):
        return [][len(text)] if "fault" in text else rule(text, *others)

    monkeypatch.setattr(workers, step, faulty)
    with Grader(num_workers=1) as grader:
        grades = grader.grade([boxed("1"), *[boxed("fault")] * 5, boxed("1")], ["1"] * 7)
        single = grader.submit(boxed("fault"), "1").result()
    assert [grade.status for grade in grades] == ["ok", *["error"] * 5, "ok"]
    assert (single.correct, single.status) == (False, "error")
    assert [record.args for record in caplog.records] == [(1,), (2,), (4,)]
    assert "IndexError" in caplog.text


def test_headings_without_end_are_read_in_the_process_of_the_caller():
    with Grader(num_workers=1) as grader:
        responses = ["The answer is:\n\n" + "Solution:\n" * count for count in (1000, 100_000)]
        assert [grade.status for grade in grader.grade(responses, ["5"] * 2)] == ["ok", "no_answer"]


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


def test_workers_outlive_the_thread_that_started_them(obedient):
    before = descendants()
    with Grader(num_workers=1) as grader:
        thread = threading.Thread(target=ask, args=(grader, "x"))
        thread.start()
        thread.join(30)
        there = descendants() - before
        assert ask(grader, "y") == ["ok"]
        assert descendants() - before == there
        assert len(there) == 2


def test_a_thread_that_blocks_signals_does_not_disable_the_deadline(obedient, monkeypatch):
    monkeypatch.setattr("reasonenv.workers.pool._WALL_CLOCK_FACTOR", 150)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPROF})
    try:
        with Grader(num_workers=1, timeout=0.2) as grader:
            start = time.monotonic()
            assert ask(grader, "spin") == ["timeout"]
            # The wall clock would have come after thirty seconds.
            assert time.monotonic() - start < 25
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def test_submit_returns_before_the_grade_is_ready(obedient):
    with Grader(num_workers=2, timeout=1) as grader:
        slow = grader.submit(boxed("spin"), "x")
        quick = grader.submit(boxed("x"), "x")
        assert quick.result(timeout=30).correct
        assert not slow.done()
        assert slow.result(timeout=30).status == "timeout"


def test_a_pair_with_the_same_options_is_compared_once(obedient):
    before = descendants()
    with Grader(num_workers=1, timeout=0.2) as grader:
        ask(grader, *["spin"] * 8, "x")
        workers = descendants() - before
        assert ask(grader, *["spin"] * 8) == ["timeout"] * 8
        # Each judgement would have cost a worker its life.
        assert descendants() - before == workers
        options = [["x", "y"], ["y", "x"]]
        grades = grader.grade([boxed("x")] * 2, ["B"] * 2, options)
        assert [grade.correct for grade in grades] == [False, True]


def test_closing_ends_pending_grades_with_an_error(obedient):
    grader = Grader(num_workers=1, timeout=30)
    futures = [grader.submit(boxed(f"spin {number}"), "x") for number in range(3)]
    time.sleep(0.5)
    grader.close()
    for future in futures:
        with pytest.raises(RuntimeError, match="the Grader was closed"):
            future.result(timeout=10)


def test_a_closed_grader_raises_and_may_be_closed_again():
    grader = Grader()
    grader.close()
    grader.close()
    with pytest.raises(ValueError, match="this Grader is closed"):
        grader.submit(boxed("3"), "3")


@pytest.mark.parametrize("kwargs", [{"num_workers": 0}, {"timeout": 0.0}, {"timeout": -1}])
def test_invalid_settings_raise(kwargs):
    with pytest.raises(ValueError, match="needed"):
        Grader(**kwargs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("42", "42"), "responses is one text, '42': give a list of texts"),
        ((["42"], "42"), "references is one text, '42'"),
        ((["1"], ["1", "2"]), "1 responses, 2 references, 1 options, 1 kinds: give one"),
        ((["1", "2"], ["1"]), "2 responses, 1 references, 2 options"),
        ((["1"], ["1"], []), "1 responses, 1 references, 0 options"),
        (([42], ["42"]), "responses has 42, of type int: give texts"),
        ((["42"], [42]), "references has 42, of type int"),
        ((["42"], [None]), "references has None, of type NoneType"),
        ((["A"], ["A"], ["AB"]), "options is one text, 'AB': give a list of texts"),
        ((["A"], ["A"], [[1, 2]]), "options has 1, of type int"),
    ],
)
def test_what_is_no_list_of_texts_is_refused_in_one_line(grader, arguments, message):
    with pytest.raises(UsageError, match=message) as refused:
        grader.grade(*arguments)
    assert "\n" not in str(refused.value)


def test_a_submission_that_is_no_text_is_refused(grader):
    with pytest.raises(UsageError, match="response and reference has 42, of type int"):
        grader.submit(42, "42")
