"""Messages on the page on one's own model: those of the code, and all about a model in engines."""

import ast
import re
from pathlib import Path

import pytest

pytest.importorskip("torch")
from helpers import vision_models

ROOT = Path(__file__).parents[2]
ENGINES = sorted((ROOT / "agents" / "engines").glob("*.py"))
SECTION = (ROOT / "docs/howto/model.md").read_text().partition("## Messages")[2]
CELLS = [row.split(" | ")[0] for row in SECTION.splitlines() if row.startswith("| `")]
QUOTES = [quote for cell in CELLS for quote in re.findall(r"`([^`]+)`", cell)]


def template(node):
    """The text of a string in the code, with … for what is filled in; None for no string."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    parts = node.values if isinstance(node, ast.JoinedStr) else ()
    return "".join(template(part) or "…" for part in parts) or None


def nodes(files):
    return [node for file in files for node in ast.walk(ast.parse(file.read_text()))]


def fits(quote, text):
    """True for a message that is quoted in full, or up to a last …"""
    return text == quote or (quote.endswith("…") and text.startswith(quote[:-1]))


TEXTS = set(filter(None, map(template, nodes(sorted((ROOT / "agents").rglob("*.py"))))))
ERRORS = [
    text
    for node in nodes(ENGINES)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ModelError"
    for text in map(template, node.args)
]


@pytest.mark.parametrize("quote", QUOTES)
def test_a_message_on_the_page_is_one_of_the_code(quote):
    assert any(fits(quote, text) for text in TEXTS)


@pytest.mark.parametrize("text", ERRORS)
def test_a_message_about_a_model_is_on_the_page(text):
    assert any(fits(quote, text) for quote in QUOTES)


def test_there_are_messages():
    assert len(QUOTES) > 30
    assert len(ERRORS) > 15


def test_the_families_with_images_on_the_page_are_tested():
    """`tests/agents/engines/test_vision_families.py` has all of these kinds."""
    page = (ROOT / "docs/howto/model.md").read_text()
    named = re.search(r"one of Qwen2-VL's kind \((.*?)\)", page)
    assert {"Qwen3-VL"} < set(named[1].split(", ")) <= vision_models.KINDS.keys()
