"""Settings from a file, in YAML or JSON: `--config FILE`."""

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from agents.cli.exit import short
from agents.cli.json_flags import EXAMPLES
from agents.errors import UsageError
from reasonenv.files import read_regular, unique_keys

NESTING = 100
"""Levels of lists and mappings at most: more would exhaust the stack of what walks them."""


def read_config(path: Path) -> dict[str, Any]:
    """The settings in a YAML or JSON file, by the names of their fields.

    The `run.json` of a run is accepted too: all its settings except `resume`.

    Args:
        path: File with a mapping such as `num-steps: 300`; dashes count as underscores.

    Raises:
        UsageError: In one line, when the file cannot be read or holds no mapping.
    """
    try:
        text = read_regular(path).decode("utf-8")
        _check_events(text)
        content = yaml.load(text, _UniqueKeys)
    except (OSError, ValueError, yaml.YAMLError) as error:  # ValueError: a date such as 2024-13-01
        raise UsageError(
            f"--config {path} cannot be read: {' '.join(str(error).split())}"
        ) from error
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise UsageError(f"--config {path} holds no mapping of settings such as 'num-steps: 300'")
    recorded = content.get("settings")
    if isinstance(recorded, dict):
        run, learner = recorded.get("run"), recorded.get("learner")
        if not (isinstance(run, dict) and isinstance(learner, dict)):
            raise UsageError(f"--config {path} is no record of a run: it lacks its settings")
        content = {**run, **learner, "resume": False}
    settings = {name.replace("-", "_"): value for name, value in content.items()}
    if len(settings) < len(content):
        raise UsageError(f"--config {path} has a setting twice, with - and _: remove one")
    return {name: _as_json(name, value) for name, value in settings.items()}


class _UniqueKeys(yaml.SafeLoader):
    """A loader that refuses a key that comes twice, of which YAML takes the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        unique_keys([(key.value, None) for key, _ in node.value])
        return super().construct_mapping(node, deep)


def _as_json(name: str, value: Any) -> Any:
    """The JSON text of a mapping or list, for a setting that takes JSON; else the value itself.

    Raises:
        UsageError: It has a value that JSON has no type for, such as a date, or a key that is no
            text, such as `on`, which YAML reads as true.
    """
    flag = name.replace("_", "-")
    if flag not in EXAMPLES or not isinstance(value, dict | list):
        return value
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"--config: {flag} is no JSON: {error}: quote it") from error
    if json.loads(text) != value:
        raise UsageError(
            f"--config: {flag} is no JSON: a key of {short(text)} is no text: quote it"
        )
    return text


def _check_events(text: str) -> None:
    """Refuses what YAML would expand or descend into without end.

    Raises:
        ValueError: For an alias, or for more than `NESTING` levels.
    """
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError(f"it has the alias *{event.anchor}: write its value out")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > NESTING:
            raise ValueError(f"nested more than {NESTING} deep")


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
            raise UsageError(f"--config: there is no setting {short(name)}{hint}")
        arguments += _flag(name.replace("_", "-"), value, defaults[name])
    return arguments


def _flag(name: str, value: Any, default: Any) -> list[str]:
    if isinstance(value, list) and isinstance(default, tuple):
        return [f"--{name}", *map(str, value)]
    if isinstance(value, dict | list):
        kind = "mapping" if isinstance(value, dict) else "list"
        raise UsageError(f"--config: {name} is a {kind}: give a single value")
    if not isinstance(default, bool):
        return [f"--{name}", str(value)]
    if not isinstance(value, bool):
        raise UsageError(f"--config: {name} is {value!r}: give true or false")
    return [f"--{name}" if value else f"--no-{name}"]
