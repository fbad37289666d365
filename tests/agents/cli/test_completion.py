import shutil
import subprocess
import sys

import pytest

from agents import cpgd, run
from reasonenv.completion import SCRIPT, main

pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
PRESS_TAB = """
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_reasonenv "$1" "${@: -1}" "${@: -2:1}"
echo "${COMPREPLY[*]}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with programs that are called as after an installation."""
    path = tmp_path_factory.mktemp("bin")
    for name, module in {"reasonenv": "reasonenv", "reasonenv-train": "agents"}.items():
        (path / name).write_text(f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n')
        (path / name).chmod(0o700)
    return path


def completed(words, folder, script=SCRIPT):
    parts = ["bash", "-c", f'PATH="{folder}:$PATH"\n{script}{PRESS_TAB}', "bash", *words]
    done = subprocess.run(parts, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split()


another = pytest.mark.slow(reason="a shell and a program, once more")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["reasonenv", "score", "--format", "l"], ["latex"]),
        pytest.param(["reasonenv", "s"], ["score"], marks=another),
        pytest.param(["reasonenv-train", "dr"], ["dr_grpo"], marks=another),
        pytest.param(["reasonenv", "score", "--fo"], ["--format"], marks=another),
        pytest.param(["python", "-m", "json.tool", "--"], [], marks=another),
    ],
)
def test_commands_flags_and_values_are_completed(words, expected, folder):
    assert completed(words, folder) == expected


def test_the_flags_of_a_learner_are_those_of_its_help(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        run.main(cpgd.CPGD, ["--help-all"])
    (folder / "help").write_text(capsys.readouterr().out)
    script = f'{SCRIPT}python() {{ [[ $3 == --help-all ]] && cat "{folder}/help"; }}\n'
    learner = ("python", "-m", "agents.cpgd")
    assert completed([*learner, "--clip-"], folder, script) == [
        *("--clip-low", "--clip-high", "--clip-schedule")
    ]
    assert completed([*learner, "--no-f"], folder, script) == [
        *("--no-freeze-vision", "--no-float32-head")
    ]
    assert completed([*learner, "--engine", ""], folder, script) == ["auto", "torch", "deepspeed"]
    assert completed([*learner, "--track", "w"], folder, script) == ["wandb"]


def test_the_script_is_printed(capsys):
    assert main([]) == 0
    assert capsys.readouterr().out.strip() == SCRIPT.strip()
