import re
import signal
import sys
from pathlib import Path

import pytest
from helpers.patterns import Use, uses

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import patterns

USES = uses()


@pytest.fixture(autouse=True)
def _alarm():
    before = signal.signal(signal.SIGALRM, patterns._ring)
    yield
    signal.signal(signal.SIGALRM, before)


def test_patterns_of_both_packages_are_found_in_constants_and_calls():
    assert len(USES) > 240
    assert "reasonenv.grading.reading.words._PREDICATE" in USES
    assert any(name.startswith("agents.") for name in USES)
    assert any(":" in name for name in USES)
    assert USES["reasonenv.scoring.short_answers._BARE"].method == "fullmatch"


@pytest.mark.parametrize("text", [r"\s+$", "<a>(.*?)</a>", r"<a>(.*)</a>\s*<b>(.*)</b>"])
def test_a_pattern_that_backtracks_is_above_the_limits(text, monkeypatch):
    monkeypatch.setattr(patterns, "PATIENCE_S", 0.2)
    assert not patterns.measured("slow", Use(re.compile(text, re.DOTALL), "finditer"))["is_within"]


def test_a_linear_pattern_is_within_the_limits():
    assert patterns.measured("fast", Use(re.compile(r"\d+|[a-z]+"), "finditer"))["is_within"]


@pytest.mark.slow(reason="each pattern walks texts of 16,000 characters")
def test_each_pattern_of_both_packages_is_within_the_limits():
    rows = [patterns.measured(name, use) for name, use in USES.items()]
    assert [row for row in rows if not row["is_within"]] == []
