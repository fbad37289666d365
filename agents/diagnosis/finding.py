"""One thing that was looked at, and how a list of them is shown."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "problem"]
COLOURS = {"ok": "32", "note": "33", "problem": "31"}
"""Of a terminal: green, yellow, red."""


@dataclass(frozen=True)
class Finding:
    """What was found, in one line."""

    name: str
    level: Level
    """A note is worth knowing; a problem keeps something from running."""
    text: str
    mend: str = ""
    """A command, or what else to do; empty where nothing needs to be done."""


def lines(findings: Iterable[Finding], *, colour: bool) -> Iterator[str]:
    """A line for each finding, another for what mends it, and a count."""
    found = list(findings)
    width = max(len(finding.name) for finding in found)
    for finding in found:
        word = f"{finding.level:<7}"
        word = f"\033[{COLOURS[finding.level]}m{word}\033[0m" if colour else word
        yield f"{word}  {finding.name:<{width}}  {finding.text}"
        if finding.mend:
            yield f"{'':<7}  {'':<{width}}  -> {finding.mend}"
    count = {level: sum(finding.level == level for finding in found) for level in COLOURS}
    yield ""
    yield f"problems: {count['problem']}, notes: {count['note']}, ok: {count['ok']}"
