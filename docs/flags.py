"""Page of the site with all flags of the commands, from the fields of their settings."""

import ast
from collections.abc import Iterator
from html import escape
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGE = "flags.md"
SETTINGS = {
    "Training: python -m agents.cpgd, and all algorithms": ("agents/cli/settings.py", "Run"),
    "Evaluation: python -m agents.evaluate": (
        "agents/evaluate/arguments.py",
        "EvaluationArguments",
    ),
    "Supervised fine-tuning: python -m agents.sft": ("agents/sft.py", "FineTuning"),
    "Responses to a question: python -m agents.generate": (
        "agents/generate.py",
        "GenerationArguments",
    ),
    "Upload to the hub: python -m agents.push": ("agents/push.py", "PushArguments"),
}
"""File and class of the settings of each command."""
INTRODUCTION = """# All flags

The settings of a training run have the defaults of the tiny model here; those of other models
follow from the environment and the model (`agents.cli.defaults`), and `--help` shows what holds.
Each algorithm has flags of its own besides, in its `--help` and on its page of the API.
`--config FILE` reads any of them from YAML or JSON.
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the page."""
    files.append(File.generated(config, PAGE, content=page()))
    return files


def page() -> str:
    """The page as Markdown."""
    tables = [f"## {title}\n\n{_table(*place)}" for title, place in SETTINGS.items()]
    return "\n\n".join([INTRODUCTION, *tables]) + "\n"


def _table(file: str, name: str) -> str:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    (settings,) = (
        node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name
    )
    rows = [f"| `--{flag}` | `{default}` | {text} |" for flag, default, text in _fields(settings)]
    return "\n".join(["| flag | default | |", "|---|---|---|", *rows])


def _fields(settings: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Flag, default and docstring of each field."""
    for field, after in zip(settings.body, settings.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            assert isinstance(after, ast.Expr)
            assert isinstance(after.value, ast.Constant)
            assert isinstance(after.value.value, str)
            default = ast.unparse(field.value) if field.value else "required"
            text = escape(" ".join(after.value.value.split()), quote=False).replace("|", "\\|")
            yield field.target.id.replace("_", "-"), default, text
