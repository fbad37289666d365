"""The mistakes on the page of messages, each made, with the line that it gets."""

import importlib
import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from PIL import Image

from agents import run
from agents.algorithms import find_learner
from agents.cli.settings import Run
from agents.cpgd import CPGD
from agents.storage.provenance import write_run
from agents.training.setup import run_settings
from reasonenv.grading import VERSION

PAGE = Path(__file__).parents[3] / "docs" / "messages.md"
ROWS = re.findall(r"^\| `(.+)` \| `(.+)` \|$", PAGE.read_text(), re.M)
GOOD = {"question": "1 + 1?", "answer": "2"}
FILES = {
    "questions.jsonl": [GOOD],
    "german.jsonl": [{"frage": "1 + 1?", "antwort": "2"}],
    "gap.jsonl": [GOOD, {"question": "2 + 1?", "answer": ""}],
    "pictures.jsonl": [GOOD | {"image": "figure.png"}],
    "text-model/config.json": [{"model_type": "llama", "hidden_size": 64}],
}
"""Rows of files that the commands name."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "text-model").mkdir()
    for name, rows in FILES.items():
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    Image.new("RGB", (56, 56)).save(tmp_path / "figure.png")
    (tmp_path / "trl.yaml").write_text("max_completion_length: 8\n")
    (tmp_path / "mine.py").write_text("def brief(response):\n    return 1.0\n")
    (tmp_path / "stopped").mkdir()
    write_run(tmp_path / "stopped", run_settings(Run(), CPGD()), 0, VERSION)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("mine", None)


def start(module, words):
    """What `python -m` runs, in this process; its exit status."""
    if module in ("reasonenv", "agents.plan"):
        module += ".__main__"
    main = getattr(importlib.import_module(module), "main", None)
    if main is None:
        return run.main(find_learner(module.removeprefix("agents.")), words)
    return main(words)


@pytest.mark.parametrize(("command", "message"), ROWS)
def test_a_mistake_gets_the_line_on_the_page(command, message, folder, capsys):
    module, *words = shlex.split(command)
    try:
        status = start(module, words)
    except SystemExit as ended:
        status = ended.code
    text = f"{capsys.readouterr().err} {status if isinstance(status, str) else ''}"
    assert status, text
    assert "Traceback" not in text
    # Messages of tyro are in boxes.
    line = " ".join(re.sub(r"[│╭╮╰╯─]|-{4,}", " ", text).split())
    assert re.search(".*".join(map(re.escape, message.split("…"))), line), line


def test_the_page_has_many_mistakes():
    assert len(dict(ROWS)) == len(ROWS) >= 40
