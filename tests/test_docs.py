"""Every piece of Python in the pages of how-to runs as it stands there."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tiny_runs import SMALL, flags

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "howto").glob("*.md"))
BLOCK = re.compile(r"```python(?: title=\"(?P<file>[^\"]+)\")?\n(?P<code>.*?)```", re.DOTALL)


def blocks(page):
    return [(found["file"], found["code"]) for found in BLOCK.finditer(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_from_top_to_bottom(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    session = {"__name__": page.stem}
    for file, code in blocks(page):
        if file is None:
            exec(compile(code, str(page), "exec"), session)


def test_an_environment_of_ones_own_is_trained_on_by_name(tmp_path, tiny_folder):
    for file, code in blocks(ROOT / "docs" / "howto" / "environment.md"):
        if file is not None:
            (tmp_path / file).write_text(code)
    settings = SMALL | {
        "env": "Squares-v0",
        "env_options": '{"largest": 60}',
        "model": tiny_folder,
        "num_steps": 1,
        "num_test_problems": 2,
        "output_dir": tmp_path / "run",
    }
    command = [sys.executable, "train_squares.py", *flags(**settings)]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=300, capture_output=True)
    rows = (tmp_path / "run" / "evaluations.jsonl").read_text().splitlines()
    assert [json.loads(row)["split"] for row in rows] == ["test", "test"]
