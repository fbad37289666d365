"""The list of mutants fits the code, and the command that tries them tells what survives."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the mathematics that is mutated needs it")

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests/mutants"
FILES = json.loads((FOLDER / "mutants.json").read_text())
MUTANTS = [(file, *mutant) for file, entry in FILES.items() for mutant in entry["mutants"]]

spec = importlib.util.spec_from_file_location("mutants_run", FOLDER / "run.py")
assert spec is not None
assert spec.loader is not None
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)


def test_there_are_many_in_each_file_of_the_mathematics():
    assert len(MUTANTS) >= 60
    for name in ("losses", "advantages", "divergences", "reductions"):
        assert len(FILES[f"agents/{name}.py"]["mutants"]) >= 15


@pytest.mark.parametrize("file", FILES)
def test_the_mutants_of_a_file_change_it_into_another_program(file):
    source = (ROOT / file).read_text()
    changed = [run.mutated(source, *mutant) for mutant in FILES[file]["mutants"]]
    for text in changed:
        compile(text, file, "exec")
    assert len({source, *changed}) == 1 + len(changed)


@pytest.mark.parametrize("file", FILES)
def test_the_tests_that_guard_a_file_exist(file):
    assert all((ROOT / test).is_file() for test in FILES[file]["tests"])


@pytest.mark.parametrize("before", ["no such line", "return", "def token_mean"])
def test_a_text_that_does_not_stand_in_the_file_once_is_refused_in_one_line(before):
    source = (ROOT / "agents/reductions.py").read_text()
    with pytest.raises(ValueError, match=r"^[^\n]* name it once$"):
        run.mutated(source, before, "def token_mean")


@pytest.mark.slow(reason="starts pytest for each of two mutants")
def test_a_survivor_is_told_and_makes_the_command_fail(tmp_path):
    mutants = [
        ["return 1 / (len(lengths) * _at_least_one(lengths))", "return 1 / _at_least_one(lengths)"],
        ["return tokens.clamp(min=1).double()", "return tokens.clamp(min=1).to(torch.float64)"],
    ]
    path = tmp_path / "mutants.json"
    guard = {"tests": ["tests/agents/maths/test_reductions.py"], "mutants": mutants}
    path.write_text(json.dumps({"agents/reductions.py": guard}))
    command = [sys.executable, str(FOLDER / "run.py"), "--mutants", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 of 2 mutants killed\nsurvived: agents/reductions.py: 'return tokens" in done.stdout
