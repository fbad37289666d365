"""The page on architecture: its rooms, and the files and functions of its two walks, exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()
STEP = re.compile(r"^\| `((?:agents|reasonenv)/[\w/]+\.py)` \| (.+?) \|", re.M)
STEPS = sorted(
    {(file, name) for file, names in STEP.findall(PAGE) for name in re.findall(r"`(\w+)`", names)}
)


@pytest.mark.parametrize(("file", "name"), STEPS)
def test_a_function_of_a_walk_is_in_its_file(file, name):
    nodes = ast.walk(ast.parse((ROOT / file).read_text()))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    assert name in {node.name for node in nodes if isinstance(node, kinds)}


def test_both_walks_have_their_steps():
    assert len(STEPS) > 30


@pytest.mark.parametrize("package", ["agents", "reasonenv"])
def test_every_module_and_folder_of_a_room_exists(package):
    table = PAGE.split(f"| `{package}/` |", 1)[1].split("\n\n", 1)[0]
    names = [name for row in table.splitlines() for name in re.findall(r"`([\w/.]+)`", row)]
    paths = [name for name in names if name.endswith((".py", "/"))]
    folder = ROOT / package
    missing = [path for path in paths if not [*folder.glob(path), *folder.glob(f"*/{path}")]]
    assert len(paths) > 10
    assert missing == []
