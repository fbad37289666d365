"""Settings from a file, in YAML or JSON: `--config FILE`."""

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from agents.cli import foreign_flags
from agents.errors import UsageError
from reasonenv.console import short
from reasonenv.files import read_regular, unique_keys


class _UniqueKeys(yaml.SafeLoader):
    """A loader that refuses a key that comes twice, of which YAML takes the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        unique_keys([(key.value, None) for key, _ in node.value])
        return super().construct_mapping(node, deep)


def read_config(path: Path) -> dict[str, Any]:
    """The settings in a YAML or JSON file, by the names of their fields.

    The `run.json` of a run is accepted too: all its settings except `resume`.

    Args:
        path: File with a mapping such as `num-steps: 300`; dashes count as underscores.

    Raises:
        UsageError: In one line, when the file cannot be read or holds no mapping.
    """
    try:
        content = yaml.load(read_regular(path), _UniqueKeys)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
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
    return {name.replace("-", "_"): value for name, value in content.items()}


def as_arguments(
    settings: Mapping[str, Any], defaults: Mapping[str, Any], json_names: set[str]
) -> list[str]:
    """Settings as arguments of the command line.

    Args:
        settings: Values as `read_config` returns them.
        defaults: Default of every setting, by the name of its field.
        json_names: Names of the settings that take JSON.

    Raises:
        UsageError: In one line, for a setting that does not exist or a value of another kind.
    """
    arguments: list[str] = []
    for name, value in settings.items():
        if name not in defaults:
            matches = difflib.get_close_matches(name, defaults, n=1, cutoff=0.6)
            hint = f"; did you mean {matches[0]}?" if matches else ", see --help-all"
            if line := foreign_flags.advice(name):
                hint = f": {line}"
            raise UsageError(f"--config: there is no setting {short(name)}{hint}")
        flag = name.replace("_", "-")
        if isinstance(value, list) and isinstance(defaults[name], tuple):
            arguments += [f"--{flag}", *map(str, value)]
        elif isinstance(defaults[name], bool):
            if not isinstance(value, bool):
                raise UsageError(f"--config: {flag} is {value!r}: give true or false")
            arguments.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            is_nested = isinstance(value, dict | list)
            if is_nested and name not in json_names:
                raise UsageError(f"--config: {flag} is {short(str(value))}: give a single value")
            # A date, for which YAML alone has a type, is a text in JSON.
            text = json.dumps(value, default=str) if is_nested else str(value)
            arguments += [f"--{flag}", text]
    return arguments
