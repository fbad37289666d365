"""Each example of the page on grading has the verdict, or the answer, that the page gives it."""

import re
from pathlib import Path

import pytest
from helpers.verdicts import boxed

from reasonenv.grading import KINDS, final_answer, grade

PAGE = (Path(__file__).parents[3] / "docs" / "grading.md").read_text("utf-8")
RULES = PAGE[PAGE.index("## Which part") : PAGE.index("## Verdicts")]
LINES = [line for line in RULES.splitlines() if line.startswith("|")]
TEXT = re.sub(r"\s+", " ", re.sub(r"^\|.*", "", RULES, flags=re.MULTILINE))
CODE = r"`([^`]+)`"
VERDICT = re.compile(rf"{CODE} is (not )?{CODE}")
SPAN = re.compile(rf"{CODE}: (?:{CODE}|none)")


def examples(pattern) -> list:
    return list(_examples(pattern))


def _examples(pattern):
    for line in LINES:
        *_, kind, _rule, cell, _end = line.split("|")
        yield from ((match.groups(), kind.strip()) for match in pattern.finditer(cell))
    yield from ((match.groups(), "") for match in pattern.finditer(TEXT))


@pytest.mark.parametrize("example", examples(VERDICT), ids=ascii)
def test_an_example_has_the_verdict_of_the_page(example):
    (answer, is_wrong, reference), kind = example
    outcome = grade(boxed(answer), reference, kind="list" if kind == "list" else None)
    assert outcome.correct == (not is_wrong), str(outcome)


@pytest.mark.parametrize("example", examples(SPAN), ids=ascii)
def test_an_example_has_the_answer_of_the_page(example):
    (response, answer), _ = example
    assert final_answer(response.replace(" ⏎ ", "\n")) == answer


@pytest.mark.parametrize("example", [e for e in examples(VERDICT) if e[1] in KINDS], ids=ascii)
def test_an_example_of_a_kind_is_of_that_kind(example):
    (answer, _, reference), kind = example
    outcome = grade(boxed(answer), reference, kind="list" if kind == "list" else None)
    assert outcome.kind in (kind, "text")


def test_each_rule_has_an_example():
    assert len(LINES) > 30
    for line in LINES:
        if not re.match(r"\|(?:---| span | kind | topic )", line):
            assert VERDICT.search(line) or SPAN.search(line), line
