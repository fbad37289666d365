"""The page of published values, against what the papers say about them."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "published.md").read_text(encoding="utf-8")


def rows(part):
    lines = [line for line in part.splitlines() if re.match(r"\| [^| ]", line)]
    return [line.strip("| ").split(" | ") for line in lines]


CPGD, RPG = map(rows, PAGE.split("## RPG"))
(BASELINE,) = ([float(v) for v in cells[:6]] for name, *cells in CPGD if name == "Qwen2.5-VL-7B")


@pytest.mark.parametrize("row", CPGD, ids=lambda row: row[0])
def test_the_overall_of_a_row_follows_from_its_scores(row):
    *scores, overall = map(float, row[1:])
    mean = sum(x / y for x, y in zip(scores, BASELINE, strict=True)) / len(BASELINE)
    assert abs(mean - overall) <= 0.00501


def test_a_best_step_is_not_below_the_last_but_for_a_misprint():
    whole = [cells for _, *cells in RPG if "*" not in str(cells)]
    assert len(whole) == len(RPG) - 1 == 39
    pairs = [pair for cells in whole for pair in zip(cells[::2], cells[1::2], strict=True)]
    assert all(float(last) <= float(best) for last, best in pairs)
