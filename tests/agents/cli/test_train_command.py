import importlib
import importlib.metadata
import pkgutil
import runpy
import sys

import pytest

import agents
from agents import __main__ as command
from agents import algorithms
from agents.algorithms import find_learner
from agents.errors import UsageError
from agents.learner import Learner


def test_the_algorithms_are_all_modules_with_a_learner():
    folders = [*agents.__path__, *algorithms.__path__]
    names = {module.name for module in pkgutil.iter_modules(folders)} - {"__main__"}
    for name in names - set(command.ALGORITHMS):
        with pytest.raises(UsageError, match="give a module of agents with one"):
            find_learner(name)
    assert all(issubclass(find_learner(name), Learner) for name in command.ALGORITHMS)


def test_help_lists_every_algorithm(capsys):
    with pytest.raises(SystemExit, match="0"):
        command.main(["--help"])
    text = capsys.readouterr().out
    assert all(f"    {name}" in text for name in command.ALGORITHMS | command.COMMANDS)


def test_the_version_is_that_of_the_installed_distribution(capsys):
    with pytest.raises(SystemExit, match="0"):
        command.main(["--version"])
    version = importlib.metadata.version("reasonenv")
    assert agents.__version__ == version
    assert capsys.readouterr().out == f"reasonenv {version}\n"


def test_without_arguments_the_commands_are_listed_by_the_program_that_was_started(
    capsys, monkeypatch
):
    for program, name in (("bin/reasonenv-train", "reasonenv-train"), ("__main__.py", "python -m")):
        monkeypatch.setattr(sys, "argv", [program])
        with pytest.raises(SystemExit, match="0"):
            command.main()
        text = capsys.readouterr().out
        assert text.startswith(f"usage: {name}")
        assert all(f"    {name}" in text for name in command.COMMANDS)


@pytest.mark.parametrize("name", command.COMMANDS)
def test_every_command_has_the_version(name, capsys):
    inner = {"plan": "plan.__main__"}.get(name, name)
    with pytest.raises(SystemExit, match="0"):
        importlib.import_module(f"agents.{inner}").main(["--version"])
    assert capsys.readouterr().out == f"reasonenv {agents.__version__}\n"


def test_an_unknown_algorithm_is_an_error_of_use(capsys):
    with pytest.raises(SystemExit, match="2"):
        command.main(["ppo"])
    assert "invalid choice: 'ppo' (choose from" in capsys.readouterr().err


def test_the_words_after_the_algorithm_are_its_command_line(monkeypatch, capsys):
    words = ["agents", "grpo", "--env", "MMK12-v0", "--clip-low", "0.125", "--help"]
    monkeypatch.setattr(sys, "argv", words)
    for name in ("agents.__main__", "agents.grpo"):  # as in a new process
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit, match="0"):
        runpy.run_module("agents", run_name="__main__", alter_sys=True)
    text = capsys.readouterr().out
    assert text.startswith("usage: python -m agents.grpo")
    assert "Qwen2.5-VL-7B-Instruct" in text
