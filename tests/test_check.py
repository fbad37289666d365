import os
import subprocess
import sys

import toy

from reasonenv.check import check, main
from reasonenv.problem import Problem
from reasonenv.workers import Grader


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "reasonenv.check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def test_the_command_prints_a_short_table():
    done = run("--env", "Figures-v0", "--num-problems", "50")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "of 50" in done.stdout
    assert done.stdout.count("100.0%") == 2


def test_an_unknown_environment_is_one_line():
    done = run("--env", "Figure-v0")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "error: no environment is called 'Figure-v0': did you mean Figures-v0?"
    ]


def test_every_reference_of_the_real_rows_is_right_against_itself_alone(shared, capsys):
    assert main(["--env", "MMK12-v0", "--data", str(shared / "data")]) == 0
    assert capsys.readouterr().out.count("100.0%") == 2


def test_a_reference_that_cannot_be_graded_is_listed():
    broken = Problem(id="broken", question="?", answer="")
    with Grader(num_workers=1) as grader:
        failing, paying = check([*toy.problems(size=3), broken], grader)
    assert failing == [broken]
    assert paying == []


def test_two_references_that_equal_each_other_are_listed():
    problems = [Problem(id=str(k), question="?", answer=a) for k, a in enumerate(["1/2", "0.5"])]
    with Grader(num_workers=1) as grader:
        failing, paying = check(problems, grader)
    assert failing == []
    assert paying == problems
