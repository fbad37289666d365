import importlib
import importlib.metadata
import json

import pytest

import reasonenv
from reasonenv.__main__ import COMMANDS, main
from reasonenv.registration import environments


def output(capsys, *words):
    with pytest.raises(SystemExit) as end:
        main(words)
    return end.value.code, capsys.readouterr()


def test_the_version_is_that_of_the_installed_distribution(capsys):
    version = importlib.metadata.version("reasonenv")
    assert reasonenv.__version__ == version
    assert output(capsys, "--version")[1].out == f"reasonenv {version}\n"
    with pytest.raises(AttributeError, match="no attribute '__author__'"):
        _ = reasonenv.__author__


@pytest.mark.parametrize("words", [["--help"], []])
def test_help_lists_every_command(words, capsys):
    status, text = output(capsys, *words)
    assert status == 0
    assert all(f"    {name} " in text.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_shows_its_own_help_and_the_version(name, capsys):
    status, text = output(capsys, name, "--help")
    assert status == 0
    module = "envs.__main__" if name == "envs" else name
    assert importlib.import_module(f"reasonenv.{module}").__doc__.splitlines()[0] in text.out
    status, text = output(capsys, name, "--version")
    assert (status, text.out) == (0, f"reasonenv {reasonenv.__version__}\n")


def test_an_unknown_command_is_an_error_of_use(capsys):
    status, text = output(capsys, "mend")
    assert status == 2
    assert "invalid choice: 'mend'" in text.err


def test_the_environments_are_listed_with_data_set_splits_licence_and_model(capsys):
    assert main(["envs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(environments())
    (row,) = (line.split() for line in lines if line.startswith("MMK12-v0 "))
    model = reasonenv.registry["MMK12-v0"].model
    assert row[1:] == [
        model,
        "FanqingM/MMK12",
        "Apache-2.0",
        *["train", "15,616,", "test", "2,000"],
    ]


def test_arguments_and_status_are_those_of_the_command(tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"id": i, "answer": str(i)}) + "\n" for i in range(1, 4)))
    assert main(["check", str(rows), "--num-problems", "2"]) == 0
    assert "of 2" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "missing.jsonl")]) == 2


@pytest.mark.parametrize("command", ["check", "grade", "score", "ask", "envs"])
def test_a_misspelt_flag_of_a_command_gets_a_suggestion(command, capsys):
    status, text = output(capsys, command, "--hepl")
    assert status == 2
    line = "error: there is no flag --hepl: did you mean --help?\n"
    assert text.err.endswith(f"reasonenv.{command}: {line}")
