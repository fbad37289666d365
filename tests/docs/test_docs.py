"""Every piece of Python in the pages of how-to runs as it stands there."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest
import torch
from helpers.tiny_runs import SMALL, flags
from PIL import Image

from agents import run
from agents.cpgd import CPGD
from reasonenv import registry

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if "```python" in path.read_text())
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


def in_a_process(words, folder):
    command = [sys.executable, "-m", "agents.cpgd", *words]
    subprocess.run(command, cwd=folder, check=True, timeout=300, capture_output=True)


def train(folder, model, call=in_a_process, **changes):
    for file, code in blocks(ROOT / "docs" / "howto" / "environment.md"):
        if file is not None:
            (folder / file).write_text(code)
    few = {"num_steps": 1, "num_test_problems": 2, "output_dir": folder / "run"}
    call(flags(**SMALL | few | changes, model=model), folder)
    return [json.loads(row) for row in (folder / "run/evaluations.jsonl").read_text().splitlines()]


@pytest.fixture
def in_this_process(monkeypatch):
    """Runs the command as `python -m` would, without loading PyTorch once more."""

    def call(words, folder):
        monkeypatch.chdir(folder)
        monkeypatch.syspath_prepend(folder)
        run.main(CPGD, words)

    modules, registries = set(sys.modules), (registry, gymnasium.registry)
    environments = [dict(each) for each in registries]
    for each in registries:  # of a page that ran before, and registered it too
        for name in [name for name in each if "Squares" in name]:
            del each[name]
    yield call
    for each, before in zip(registries, environments, strict=True):
        each.clear()
        each.update(before)
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(os.getcwd()):
            del sys.modules[name]


def test_an_environment_of_ones_own_is_trained_on_by_name(tmp_path, tiny_folder, in_this_process):
    options = {"env": "squares:Squares-v0", "env_options": '{"largest": 60}'}
    rows = train(tmp_path, tiny_folder, in_this_process, **options)
    assert [row["split"] for row in rows] == ["test", "test"]


@pytest.mark.slow(reason="a run with a warm start in a process")
def test_figures_of_ones_own_are_trained_on_by_name(tmp_path, tiny_folder):
    (tmp_path / "geometry/figures").mkdir(parents=True)
    asked = [{"id": str(side), "question": "Its side?", "answer": str(side)} for side in range(40)]
    for row in asked:
        row["image"] = f"figures/{row['id']}.png"
        Image.new("RGB", (28, 28 + int(row["id"]))).save(tmp_path / "geometry" / row["image"])
    lines = "".join(json.dumps(row) + "\n" for row in asked)
    (tmp_path / "geometry/train.jsonl").write_text(lines)
    rows = train(
        tmp_path,
        tiny_folder,
        env="geometry:Geometry-v0",
        env_options='{"holdout": 0.1}',
        data="geometry",
    )
    assert [row["split"] for row in rows] == ["heldout", "heldout"]
    kept = [*(tmp_path / "run/rollouts").rglob("*.png")]
    assert kept
