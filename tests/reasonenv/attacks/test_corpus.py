import json
from collections import Counter
from pathlib import Path

import pytest

from reasonenv.attacks import FILES, KINDS, corpus
from reasonenv.errors import UsageError

NOWHERE = Path("/nowhere/canary")
ROWS = list(corpus())
LOOKALIKES = ("time", "name", "range", "claim", "suffix", "text", "zero", "correction", "sense")


def is_chinese(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)


def test_ids_and_jobs_are_unique():
    assert len({row.id for row in ROWS}) == len(ROWS)
    assert len({row.job(NOWHERE) for row in ROWS}) == len(ROWS)


def test_each_kind_is_documented_and_has_rows():
    assert {row.kind for row in ROWS} == set(KINDS)
    assert list(KINDS) == sorted(KINDS)


@pytest.mark.parametrize("kind", LOOKALIKES)
def test_wrong_answers_that_look_right_are_many_and_in_two_languages(kind):
    rows = list(corpus([kind], ["wrong.jsonl"]))
    chinese = sum(is_chinese(row.job(NOWHERE)[0]) for row in rows)
    assert len(rows) >= 35
    assert chinese >= 10
    assert len(rows) - chinese >= 15
    assert not any(row.is_right for row in rows)


def test_right_answers_accompany_every_kind_of_wrong_ones_that_look_right():
    rows = list(corpus(files=["right.jsonl"]))
    assert all(row.is_right and not row.options for row in rows)
    assert len(rows) >= 150
    assert min(Counter(row.kind for row in rows).values()) >= 10
    assert {*LOOKALIKES, "number"} == {row.kind for row in rows}


def test_the_files_hold_what_the_documentation_says():
    folder = Path(corpus.__code__.co_filename).parent
    assert {path.name for path in folder.glob("*.jsonl")} == set(FILES)
    for name in FILES:
        for line in (folder / name).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            assert row.keys() - {"options"} == {"id", "kind", "reference", "response", "expected"}
            assert row["expected"] == ("right" if name == "right.jsonl" else "wrong")


def test_an_unknown_kind_is_named():
    with pytest.raises(UsageError, match="no kind 'tims' of attacks: give some of absolute, "):
        corpus(["time", "tims"])
