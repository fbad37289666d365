"""Each regular expression of the grader takes steps in proportion to the length of its text."""

import math
import re
import sys

import pytest
from helpers.regex_steps import StepCounter, pumped

import reasonenv.workers  # noqa: F401 - with all of the grader


def patterns() -> dict[str, re.Pattern[str]]:
    """All compiled patterns of the grader by name, those in lists and tuples too."""
    named: dict[str, re.Pattern[str]] = {}

    def visit(name: str, value: object) -> None:
        if isinstance(value, re.Pattern):
            named.setdefault(value.pattern, value)
            names.setdefault(value.pattern, name)
        elif isinstance(value, list | tuple):
            for index, item in enumerate(value):
                visit(f"{name}[{index}]", item)

    names: dict[str, str] = {}
    for module in [name for name in sys.modules if name.startswith("reasonenv.grading")]:
        for name, value in list(vars(sys.modules[module]).items()):
            visit(f"{module.removeprefix('reasonenv.grading.')}.{name}", value)
    return {names[text]: pattern for text, pattern in named.items()}


PATTERNS = patterns()
CHUNK = 16
CHUNKS = [
    pytest.param(start, marks=pytest.mark.slow(reason="a minute in all")) if start else start
    for start in range(0, len(PATTERNS), CHUNK)
]


def lengths(pattern: re.Pattern[str]) -> tuple[int, int]:
    """Two lengths beyond the bounds of repetitions, so that those count as constants."""
    bounds = [int(bound) for bound in re.findall(r"\{\d*,?(\d+)\}", pattern.pattern)]
    shorter = max(64, 3 * max(bounds, default=0))
    return shorter, 4 * shorter


def texts(name: str, length: int) -> list[str]:
    """Texts that pump a pattern. Spellings see no gap of more than one space."""
    made = list(pumped(PATTERNS[name], length))
    return [re.sub(r"\s{2,}", " ", text.strip()) for text in made] if "SPELLINGS" in name else made


def exponent(pattern: re.Pattern[str], few: str, many: str) -> float:
    """The power of the length with which the steps grow."""
    counter = StepCounter(pattern)
    steps = []
    for text in (few, many):
        counter.steps = 0
        counter.spans(text)
        steps.append(max(1, counter.steps))
    return math.log(steps[1] / steps[0]) / math.log(max(2, len(many)) / max(1, len(few)))


def test_there_are_many_patterns():
    assert len(PATTERNS) > 150
    assert {"reading.lines._MARKER", "reading.words._REASON", "fallback._EXPLOSIVE"} <= set(
        PATTERNS
    )


def test_no_group_is_possessive():
    # Python before 3.11.5 matches part of such a group: `a(?:\\.\\d)?+` takes "a.".
    assert [
        name for name, pattern in PATTERNS.items() if re.search(r"\)[*+?]\+", pattern.pattern)
    ] == []


@pytest.mark.parametrize("start", CHUNKS)
def test_the_steps_of_a_pattern_grow_with_the_length_of_its_text(start):
    steep = []
    for name in list(PATTERNS)[start : start + CHUNK]:
        short, long = lengths(PATTERNS[name])
        for few, many in zip(texts(name, short), texts(name, long), strict=True):
            if len(many) > 3 * len(few) and exponent(PATTERNS[name], few, many) > 1.3:
                steep.append((name, few))
    assert steep == []


@pytest.mark.parametrize("start", CHUNKS)
def test_the_matches_that_are_counted_are_those_of_re(start):
    for name in list(PATTERNS)[start : start + CHUNK]:
        for text in texts(name, 64):
            spans = StepCounter(PATTERNS[name]).spans(text)
            expected = [match.span() for match in PATTERNS[name].finditer(text)]
            assert [span for span in spans if len({*span}) == 2] == [
                s for s in expected if len({*s}) == 2
            ], name


@pytest.mark.parametrize(
    ("pattern", "before", "body"),
    [
        (r"\s+$", "", " "),
        (r"(?<![,;&\\\s])\s*(?:\\q?quad|\n)+\s*(?=[a-z]\s*=)", "1", "\n"),
        (r"\^\s*\{?\s*\\circ", "^", " "),
        (r"(?:a|a)*b", "", "a"),
        (r"\b(?:a|the)\b(?=.*\w)", "", "a !"),
        (r"(x+x+)+y", "", "x"),
    ],
)
def test_a_slow_pattern_is_noticed(pattern, before, body):
    few, many = (before + body * number + "\0" for number in (5, 12))
    assert exponent(re.compile(pattern), few, many) > 1.3
