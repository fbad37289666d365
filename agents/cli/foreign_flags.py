"""Flags as in TRL, verl and Hydra, by which a user of these looks for ours, and other slips."""

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PEERS: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_name("foreign_flags.json").read_text(encoding="utf-8")
)
"""Names of flags of TRL and verl, and what to give here."""
HELP = ("--help", "--help-all")


def advice(name: str) -> str:
    """What to give in place of a setting of TRL or verl, in a line; "" for any other name.

    Args:
        name: Of a flag or a setting, with dashes or underscores.
    """
    name = name.lstrip("-").replace("-", "_").rpartition(".")[2]
    for peer, table in PEERS.items():
        if name in table:
            return f"that is a name of {peer}, here it is {table[name]}"
    return ""


def correction(previous: str, word: str, settings: Mapping[str, Any]) -> str:
    """A line on a word of a command line that no setting takes; "" for most words.

    It is a misspelt --help, a setting of TRL or verl, one as in Hydra, such as `env=Figures-v2`, or
    true after a flag without a value.

    Args:
        previous: The word before it, or "".
        word: Of the command line.
        settings: Defaults of the settings of the command, by name.
    """
    flag, _, value = word.partition("=")
    name, before = (each.lstrip("-").replace("-", "_") for each in (flag, previous))
    if word.startswith("--") and name not in settings and (line := advice(name)):
        return f"there is no flag {flag}: {line}"
    if word not in HELP and word[:3] == "--h" and difflib.get_close_matches(word, HELP):
        return f"there is no flag {word}: did you mean --help?"
    if word.lower() in ("true", "false") and type(settings.get(before)) is bool:
        return f"{previous} takes no value: give {previous} or --no-{before.replace('_', '-')}"
    name = name.rpartition(".")[2]
    if value and "env" in settings and "-" not in (previous[:1], word[:1]):
        if name in settings:
            return f"settings are flags: --{name.replace('_', '-')} {value}"
        if line := advice(name):
            return f"settings are flags, and {name} none of them: {line}"
    return ""
