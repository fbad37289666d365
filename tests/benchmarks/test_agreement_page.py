import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import agreement
import agreement_page


def test_the_page_of_agreement_says_what_its_records_hold():
    # `python benchmarks/agreement_page.py` makes it anew.
    assert agreement_page.PAGE.read_text(encoding="utf-8") == agreement_page.page()


def test_sources_that_were_developed_on_are_told_from_those_that_were_not():
    row = {"kind": "k", "bare": 1}
    rows = [row | {"source": s, "expected": e, "ours": e} for s in "ab" for e in (0, 1)]
    record = {"grader_version": 2, "date": "today", "command": "python", "unread": ["b"]}
    text = agreement_page._of_outputs(record | {"tables": agreement.tables_of_outputs(rows)})
    assert "no estimate for other outputs: a." in text
    assert "Not read while the rules were written: b." in text
    accepts = "1 of 1 [20.7%, 100.0%]"
    refusals = "0 of 1 [0.0%, 79.3%]"
    own = "100.0% | 0 of 1 [0.0%, 79.3%] | 0 of 1 [0.0%, 79.3%]"
    assert f"| a: k | 2 | {own} | 50.0% | {accepts} | {refusals} |" in text
