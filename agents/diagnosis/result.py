"""Result of one check, and a list of them as lines of text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

COLOURS = {"problem": "31", "note": "33", "ok": "32"}
"""Of a terminal, by level: red, yellow, green."""


@dataclass(frozen=True)
class CheckResult:
    """Result of one check: a `problem` prevents something from running, a `note` does not."""

    name: str
    level: str
    """problem, note or ok."""
    text: str
    fix: str
    """A command or other advice; empty where nothing is to be done."""


def check_result(
    name: str, text: str, fix: str = "", *, problem: bool = False, note: bool = False
) -> CheckResult:
    """The result of the higher level that applies; one that is ok needs no fix."""
    level = "problem" if problem else "note" if note else "ok"
    return CheckResult(name, level, text, "" if level == "ok" else fix)


def check_lines(results: Sequence[CheckResult], *, colour: bool) -> Iterator[str]:
    """A line for each result, another for its fix, and the number of each level."""
    width = max(len(result.name) for result in results)
    for result in results:
        level = f"{result.level:<7}"
        level = f"\033[{COLOURS[result.level]}m{level}\033[0m" if colour else level
        yield f"{level}  {result.name:<{width}}  {result.text}"
        if result.fix:
            yield f"{'':<7}  {'':<{width}}  -> {result.fix}"
    levels = [result.level for result in results]
    problems, notes, ok = (levels.count(level) for level in COLOURS)
    yield from ("", f"problems: {problems}, notes: {notes}, ok: {ok}")
