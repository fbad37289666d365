"""Settings from a file beside those of the command line: `--config FILE`."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from agents.errors import UsageError


def read(path: Path) -> dict[str, Any]:
    """The settings in a file of YAML, of which JSON is a part, by the names of their flags.

    The `run.json` of a run will do too: its settings, but for `resume`.

    Args:
        path: Of a mapping such as `num-steps: 300`; dashes and underscores are the same.

    Raises:
        UsageError: In one line, when it cannot be read or holds something else.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(
            f"--config {path} cannot be read: {' '.join(str(error).split())}"
        ) from error
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise UsageError(f"--config {path} holds no settings such as 'num-steps: 300'")
    recorded = content.get("settings")
    if isinstance(recorded, dict):
        content = {**recorded["run"], **recorded["learner"], "resume": False}
    return {name.replace("-", "_"): value for name, value in content.items()}


def words(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    """Settings as a user would type them.

    Args:
        settings: As `read` gives them.
        defaults: Value of each flag that there is, by the name of its field.

    Raises:
        UsageError: In one line, when there is no such flag.
    """
    typed: list[str] = []
    for name, value in settings.items():
        if name not in defaults:
            near = difflib.get_close_matches(name, defaults, n=1, cutoff=0.6)
            hint = f"; did you mean {near[0]}?" if near else ", see --help"
            raise UsageError(f"--config: there is no setting {name}{hint}")
        typed += _flag(name.replace("_", "-"), value, defaults[name])
    return typed


def _flag(name: str, value: Any, default: Any) -> list[str]:
    if not isinstance(default, bool):
        return [f"--{name}", str(value)]
    if not isinstance(value, bool):
        raise UsageError(f"--config: {name} is {value!r}: give true or false")
    if value == default:
        return []
    return [f"--{name}" if value else f"--no-{name}"]
