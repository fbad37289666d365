"""Each regular expression of both packages takes steps in proportion to the length of its text."""

import math
import re

import pytest

pytest.importorskip("torch")
from helpers.patterns import Use, uses
from helpers.regex_steps import StepCounter, pumped

USES = uses()
CHUNK = 16
CHUNKS = [
    pytest.param(start, marks=pytest.mark.slow(reason="a minute in all")) if start else start
    for start in range(0, len(USES), CHUNK)
]


def lengths(pattern: re.Pattern[str]) -> tuple[int, int]:
    """Two lengths beyond the bounds of repetitions, so that those count as constants."""
    bounds = [int(bound) for bound in re.findall(r"\{\d*,?(\d+)\}", pattern.pattern)]
    shorter = max(64, 3 * max(bounds, default=0))
    return shorter, 4 * shorter


def texts(name: str, length: int) -> list[str]:
    """Texts that pump a pattern. Spellings see no gap of more than one space."""
    made = list(pumped(USES[name].pattern, length))
    return [re.sub(r"\s{2,}", " ", text.strip()) for text in made] if "SPELLINGS" in name else made


def exponent(use: Use, few: str, many: str) -> float:
    """The power of the length with which the steps grow."""
    counter = StepCounter(use.pattern)
    steps = []
    for text in (few, many):
        counter.steps = 0
        counter.run(use.method, text)
        steps.append(max(1, counter.steps))
    return math.log(steps[1] / steps[0]) / math.log(max(2, len(many)) / max(1, len(few)))


def test_patterns_are_those_of_constants_and_of_calls():
    assert len(USES) > 240
    assert {
        "reasonenv.grading.reading.lines._MARKER",
        "reasonenv.grading.fallback._EXPLOSIVE",
    } <= USES.keys()
    assert any(name.startswith("agents.") for name in USES)
    assert any(":" in name for name in USES)


def test_no_group_is_possessive():
    # Python before 3.11.5 matches part of such a group: `a(?:\\.\\d)?+` takes "a.".
    assert [
        name for name, use in USES.items() if re.search(r"\)[*+?]\+", use.pattern.pattern)
    ] == []


@pytest.mark.parametrize("start", CHUNKS)
def test_the_steps_of_a_pattern_grow_with_the_length_of_its_text(start):
    steep = []
    for name in list(USES)[start : start + CHUNK]:
        short, long = lengths(USES[name].pattern)
        for few, many in zip(texts(name, short), texts(name, long), strict=True):
            if len(many) > 3 * len(few) and exponent(USES[name], few, many) > 1.3:
                steep.append((name, few))
    assert steep == []


@pytest.mark.parametrize("start", CHUNKS)
def test_the_matches_that_are_counted_are_those_of_re(start):
    for name in list(USES)[start : start + CHUNK]:
        for text in texts(name, 64):
            spans = StepCounter(USES[name].pattern).spans(text)
            expected = [match.span() for match in USES[name].pattern.finditer(text)]
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
    assert exponent(Use(re.compile(pattern), "finditer"), few, many) > 1.3
