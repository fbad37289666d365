"""Settings from a file, in YAML or JSON: `--config FILE`."""

import difflib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from agents.cli.settings import RENAMED
from agents.errors import UsageError


def read_config(path: Path) -> dict[str, Any]:
    """The settings in a YAML or JSON file, by the names of their fields.

    The `run.json` of a run is accepted too: all its settings except `resume`.

    Args:
        path: File with a mapping such as `num-steps: 300`; dashes count as underscores.

    Raises:
        UsageError: In one line, when the file cannot be read or holds no mapping.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(
            f"--config {path} cannot be read: {' '.join(str(error).split())}"
        ) from error
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise UsageError(f"--config {path} holds no mapping of settings such as 'num-steps: 300'")
    recorded = content.get("settings")
    if isinstance(recorded, dict):
        content = {**recorded["run"], **recorded["learner"], "resume": False}
    return {current_name(name.replace("-", "_")): value for name, value in content.items()}


def current_name(name: str) -> str:
    """The current name of a setting, after a warning where it has another name now."""
    if name not in RENAMED:
        return name
    old, new = (text.replace("_", "-") for text in (name, RENAMED[name]))
    print(f"warning: --{old} is deprecated: use --{new}", file=sys.stderr)
    return RENAMED[name]


def as_arguments(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    """Settings as arguments of the command line.

    Args:
        settings: Values as `read_config` returns them.
        defaults: Default of every setting, by the name of its field.

    Raises:
        UsageError: In one line, for a setting that does not exist.
    """
    arguments: list[str] = []
    for name, value in settings.items():
        if name not in defaults:
            matches = difflib.get_close_matches(name, defaults, n=1, cutoff=0.6)
            hint = f"; did you mean {matches[0]}?" if matches else ", see --help"
            raise UsageError(f"--config: there is no setting {name}{hint}")
        arguments += _flag(name.replace("_", "-"), value, defaults[name])
    return arguments


def _flag(name: str, value: Any, default: Any) -> list[str]:
    if not isinstance(default, bool):
        return [f"--{name}", str(value)]
    if not isinstance(value, bool):
        raise UsageError(f"--config: {name} is {value!r}: give true or false")
    if value == default:
        return []
    return [f"--{name}" if value else f"--no-{name}"]
