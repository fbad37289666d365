import argparse
import importlib
import re
import shlex
import sys
from pathlib import Path

import pytest
import tyro

from agents import run
from agents.algorithms import find_learner

ROOT = Path(__file__).parents[3]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "tutorials").glob("*.py")),
]
COMMAND = re.compile(r"(?:python|torchrun)\b[^\n`]*?-m ((?:agents|reasonenv)\.[\w.]*\w)([^\n`]*)")


class ParsedError(Exception):
    """The program has understood its words, and would begin."""


def words(text):
    """What a shell makes of the rest of a line."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;>()")
    lexer.whitespace_split = True
    found = list(lexer)
    ends = [index for index, word in enumerate(found) if set(word) <= set("|&;>()")]
    return found[: ends[0]] if ends else found


def commands(page):
    text = re.sub(r"\\\n[# ]*", " ", page.read_text())
    text = re.sub(r"\S*<TAB>| \.\.\.(?=`)", "", text)
    found = [(match[1], match[2]) for match in COMMAND.finditer(text)]
    return [(page.name, module, rest.strip()) for module, rest in found]


ALL = sorted({command for page in PAGES for command in commands(page)})


def start(module):
    """What `python -m` runs, in this process."""
    if module == "agents.plan" or module.startswith("reasonenv.envs."):
        return importlib.import_module(module + ".__main__").main
    found = getattr(importlib.import_module(module), "main", None)
    if found:
        return found
    learner = find_learner(module.removeprefix("agents."))
    return lambda: run.main(learner)


@pytest.fixture
def stopped(monkeypatch, tmp_path):
    """Programs that end when they have understood what they are told."""

    def after(parse):
        def parsed(*args, **kwargs):
            parse(*args, **kwargs)
            raise ParsedError

        return parsed

    monkeypatch.setattr(tyro, "cli", after(tyro.cli))
    parse_args = argparse.ArgumentParser.parse_args
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", after(parse_args))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.yaml").write_text("num-steps: 3\n")
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")


OWN = """
import reasonenv


def problems(split="train", data=None):
    return [reasonenv.Problem(id=split, question="1 + 1?", answer="2")]


reasonenv.register(
    reasonenv.Environment(id="{env}", problems=problems, splits=("train", "test"))
)
"""


@pytest.mark.parametrize(("page", "module", "rest"), ALL)
def test_a_command_on_a_page_is_understood_by_its_program(
    page, module, rest, stopped, monkeypatch, tmp_path
):
    if "--env reasoning_gym/" in rest:
        pytest.importorskip("reasoning_gym", reason="needs reasoning-gym")
    if own := re.search(r"--env (\w+):(\S+)", rest):
        name = f"{Path(page).stem}_{own[1]}"  # no module that another test has written
        (tmp_path / f"{name}.py").write_text(OWN.format(env=own[2], module=name))
        monkeypatch.syspath_prepend(tmp_path)
        rest = rest.replace(f"{own[1]}:", f"{name}:")
    monkeypatch.setattr(sys, "argv", [module, *words(rest)])
    if "--help" in words(rest):
        with pytest.raises(SystemExit) as ended:
            start(module)()
        assert not ended.value.code
        return
    with pytest.raises(ParsedError):
        start(module)()


def test_the_commands_of_readme_and_pages_are_found():
    assert len(ALL) > 20
    assert {page for page, _, _ in ALL} >= {"README.md", "scale.md", "ask.md", "mmk12.py"}


def test_a_command_that_is_misspelt_would_be_noticed(stopped, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["agents.cpgd", "--clip-lwo", "0.1"])
    with pytest.raises(SystemExit):
        start("agents.cpgd")()
