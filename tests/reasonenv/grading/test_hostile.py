import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers import hostile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reasonenv.attacks import Attack
from reasonenv.workers import Grader

ATTACKS = list(hostile.hostile())
NOWHERE = Path("/nowhere/canary")
PATIENCE = 40


@pytest.fixture(autouse=True)
def _hang_guard():
    # Regular expressions handle signals while they run, so that an exponential one fails a test
    # instead of hanging all. A CPU second of a worker may be many seconds on the wall clock.
    def ring(number, frame):
        raise TimeoutError(f"no verdict within {PATIENCE} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def grader():
    with Grader(num_workers=2, timeout=1) as grader:
        grader.grade([r"\boxed{x+1}"], ["1+x"])
        yield grader


def accepted(grader: Grader, jobs: list[tuple[str, str, tuple[str, ...]]]) -> list[str]:
    """Responses that are graded correct, with a time limit for each."""
    correct = []
    for response, reference, options in jobs:
        signal.alarm(PATIENCE)
        if grader.grade([response], [reference], [options])[0].correct:
            correct.append(f"{response} for {reference}")
    return correct


def test_the_corpus_is_what_it_claims_to_be():
    ids = [attack.id for attack in ATTACKS]
    assert len(set(ids)) == len(ids) >= 1500
    assert len({attack.kind for attack in ATTACKS}) >= 20
    assert all(attack.id.rpartition("-")[0] == attack.kind for attack in ATTACKS)
    jobs = [attack.job(NOWHERE) for attack in ATTACKS]
    assert len(set(jobs)) == len(jobs)
    assert max(len(response) for response, *_ in jobs) >= 10**6
    assert max(len(json.dumps(attack.response)) for attack in ATTACKS) < 5000


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_no_hostile_response_is_correct(grader, attack: Attack):
    response, reference, options = attack.job(NOWHERE)
    start = time.process_time()
    (grade,) = grader.grade([response], [reference], [options])
    assert grade.correct is False, f"{response[:200]!r} for {reference[:200]!r}"
    # The caller's own share: a megabyte is read, nothing of it is evaluated.
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    "context",
    [
        "<answer>{}</answer>",
        "<answer>${}$</answer>",
        "<answer>\\[{}\\]</answer>",
        "The answer is {}.",
        "So we are done.\n{}",
        "\\boxed{{ {} }}",
        "<think>a</think><answer>The answer is \\(\\boxed{{{}}}\\).</answer>",
    ],
)
def test_a_wrong_answer_is_wrong_in_every_context(grader, context):
    kinds = {"unit", "equation", "order", "near", "dropped", "absolute"}
    jobs = []
    for attack in ATTACKS:
        response, reference, options = attack.job(NOWHERE)
        inner = re.search(r"<answer>\\boxed\{(.*)\}</answer>", response, re.DOTALL)
        if attack.kind in kinds and inner:
            jobs.append((context.format(inner[1]), reference, options))
    assert len(jobs) > 300
    assert accepted(grader, jobs) == []


# Runs at the start of every Python process that finds it, the workers' too, and notes what each
# compiles from text, and what it starts. Libraries write code of their own, from templates, and
# the names of sympy's units go through its parser: `ours` tells those apart by who compiles.
WATCH = """
import os, sys
log = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def ours(frame):
    files = []
    while frame:
        files.append(os.path.basename(frame.f_code.co_filename))
        frame = frame.f_back
    return files and files[0] not in {templates!r} and "prefixes.py" not in files
def watch(event, args):
    if event == "compile" and str(args[1]) == "<string>" and ours(sys._getframe(0).f_back):
        note("compile", args[0])
    elif event in ("os.system", "os.exec", "pickle.find_class"):
        note(event, args)
def note(*words):
    os.write(log, (ascii(words)[:2000] + "\\n").encode())
note("start", os.getpid())
sys.addaudithook(watch)
"""
TEMPLATES = (
    *("dataclasses.py", "__init__.py", "typing.py", "sharedctypes.py", "monomials.py"),
    *("ctx_mp_python.py", "importtools.py"),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """All attacks, in a fresh process that is watched: its report, its output and what it did."""
    folder = tmp_path_factory.mktemp("hostile")
    watch = WATCH.format(log=str(folder / "log"), templates=TEMPLATES)
    (folder / "sitecustomize.py").write_text(watch)
    path = os.pathsep.join([str(folder), *sys.path])
    process = subprocess.run(
        [sys.executable, hostile.__file__, str(folder / "canary")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        timeout=240,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    return process, (folder / "log").read_text().splitlines(), folder


def test_nothing_is_printed(run):
    process, _, _ = run
    assert process.stderr == ""
    assert len(process.stdout.splitlines()) == 1


def test_no_code_of_a_response_runs(run):
    _, _, folder = run
    assert not (folder / "canary").exists()


def test_every_attack_gets_its_verdict_in_a_separate_program(run):
    report = json.loads(run[0].stdout)
    assert (report["accepted"], report["errors"]) == ([], [])


# Each number of a formula goes through sympy's parser, and so through eval: digits, no names.
HARMLESS = re.compile(
    r"""\('start', \d+\)|\('compile', b(?:'from sympy import \*'|'Integer \(\d+ \)'"""
    r"""|"Float \('[\d.]+(?:[eE][+-]?\d+)?' \)"|"'watch' \+ 'ed'")\)"""
)


def test_python_compiles_only_numbers_of_a_response(run):
    _, log, _ = run
    assert len({line for line in log if "start" in line}) > 1, "the workers were not watched"
    assert any("'watch' + 'ed'" in line for line in log), "the watch does not see"
    assert [line for line in log if not HARMLESS.fullmatch(line)] == []


def test_memory_does_not_grow_with_the_number_of_responses(run):
    process, _, _ = run
    # 80 MB of text went through; the longest response has 4 MB, and a few copies.
    assert json.loads(process.stdout)["growth_mib"] < 64


def honest_batch() -> list[tuple[str, str, bool]]:
    """Answers, references and verdicts; no two alike, so that none is remembered."""
    batch = []
    for n in range(3, 41):
        batch += [
            (f"{n}", f"{n}", True),
            (f"{n}", f"{n + 1}", False),
            (f"x+{n}", f"{n}+x", True),
            (f"x+{n}", f"x-{n}", False),
            (rf"\frac{{{2 * n}}}{{6}}", rf"\frac{{{n}}}{{3}}", True),
            (rf"2\sqrt{{{n}}}", rf"\sqrt{{{4 * n}}}", True),
            (rf"\sqrt{{{n}}}", rf"\sqrt{{{n + 1}}}", False),
            (f"({n}, {n + 1})", f"({n},{n + 1})", True),
            (f"(x+{n})^2", f"x^2+{2 * n}x+{n * n}", True),
            (f"(x+{n})^2", f"x^2+{n * n}", False),
        ]
    return batch


def test_hostile_answers_in_a_batch_change_no_other_verdict():
    explosive = {"tower", "factorial", "power-of-sum", "calculus", "matrix", "nesting", "regex"}
    hostile = [attack.job(NOWHERE) for attack in ATTACKS if attack.kind in explosive][::17][:20]
    batch = honest_batch()
    jobs = [(rf"<answer>\boxed{{{answer}}}</answer>", gold, ()) for answer, gold, _ in batch]
    expected = [verdict for *_, verdict in batch]
    assert len(hostile) * 20 >= len(jobs)
    for place, job in enumerate(hostile):
        jobs.insert(place * 20, job)
        expected.insert(place * 20, False)
    # A few of them take their second, and each worker that it costs starts anew.
    signal.alarm(120)
    with Grader(num_workers=2, timeout=1) as grader:
        grades = grader.grade(*zip(*jobs, strict=True))
    verdicts = [grade.correct for grade in grades]
    wrong = [job[:2] for job, a, b in zip(jobs, verdicts, expected, strict=True) if a != b]
    assert wrong == []


LATEX = (
    r"\frac \sqrt \boxed{ \text{ \left( \right) \pm \times \cdot \infty \{ \} \cup \log \sin \pi \%"
    r" \begin{pmatrix} \end{pmatrix} 10^ <answer> </answer> <think> </think> ** 1E cm or x_"
)
TOKENS = [*"0123456789+-*/^_=<>()[]{}|!%,;:.$&~'\\ \n\tabexyABCDπ√°²⁹½７٧，。", *LATEX.split()]
TOKENS += ["answer is ", "Answer:", " and ", "271828", "\ud800", "\x00"]
REFERENCE = r"271828x+\sqrt{314159}"


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text() | st.lists(st.sampled_from(TOKENS), max_size=60).map("".join))
def test_random_text_gets_a_verdict_and_is_never_correct(grader, text):
    for response in (text, rf"<answer>\boxed{{{text}}}</answer>"):
        signal.alarm(PATIENCE)
        (grade,) = grader.grade([response], [REFERENCE])
        assert grade.status in ("ok", "no_answer", "unparseable", "timeout", "memory")
        assert not grade.correct or "314159" in text


@pytest.mark.parametrize(
    "number", ["1E10000000", "1e-9999999", "9.9E+99999999", "1/1E9999999", "亿" * 3000, "9" * 4000]
)
@pytest.mark.parametrize(
    "sentence",
    [
        "Adding up, we get ${}$.",
        "We get {}. Check: 2+2={}.",
        "The area is **{}**.",
        "共有{}人。",
        "First it is {}, no wait, {}.",
        "<answer>{} dozen</answer>",
    ],
)
def test_a_number_of_endless_digits_in_a_sentence_costs_no_time(grader, sentence, number):
    start = time.process_time()
    (grade,) = grader.grade([sentence.format(number, number)], ["2"])
    assert not grade.correct
    assert time.process_time() - start < 0.1
