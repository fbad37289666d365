"""Rows with values of other types, of any size, or with text that is no JSON: one line each."""

import contextlib
import json
from pathlib import Path

import pytest

import reasonenv
from reasonenv import check, score
from reasonenv.errors import DataError, UsageError

ROWS = {
    each["env"]: (each["split"], each["row"])
    for each in map(
        json.loads, Path(__file__).with_name("hostile_rows.jsonl").read_text().splitlines()
    )
}
"""A row of each data set, beside a question and an answer, and the split of its file."""

FILES = {"MMMUPro-v0": "test", "DynaMath-v0": "sample1", "VisuLogic-v0": "data"}
"""Names of files that are not those of splits."""


def is_slow(env: str, field: str) -> bool:
    """Whether many of the values are left to grading processes, which start each time."""
    judged = env == "OlympiadBench-v0" and field != "id"
    return judged or (env, field) == ("DAPOMath17k-v0", "answer")


FIELDS = [
    pytest.param(
        *(env, field),
        marks=[pytest.mark.slow(reason="starts grading processes a dozen times")]
        * is_slow(env, field),
    )
    for env, (_, row) in ROWS.items()
    for field in dict.fromkeys(["question", "answer", *row])
]
VALUES = {
    "a number": "7",
    "a fraction": "-1.5",
    "true": "true",
    "null": "null",
    "an empty text": '""',
    "a word": '"x"',
    "half a character": '"\\ud800"',
    "an escape": '"\\u001b[2J\\u202e"',
    "a path": '"/etc/passwd"',
    "a long name": json.dumps("a/" + "x" * 5000),
    "a name with a null": '"a\\u0000/b"',
    "no items": "[]",
    "numbers": "[1]",
    "nested": "[[[]]]",
    "deep": "[" * 900 + "]" * 900,
    "an object": '{"a": 1}',
    "not a number": "NaN",
    "endless": "1e999",
    "a large number": "1" * 400,
}


def write(folder: Path, env: str, field: str, value: str) -> tuple[str, Path]:
    """The split and the file of a row with a value as JSON."""
    split, row = ROWS[env]
    row = {"question": "What?", "answer": "7", **row, field: "@"}
    path = folder / f"{FILES.get(env, split)}.jsonl"
    path.write_text(json.dumps(row).replace('"@"', value) + "\n")
    return split, path


def pose(env: str, split: str, folder: Path) -> None:
    made = reasonenv.make(env, split=split, data=str(folder))
    try:
        made.reset(options={"indices": [0]})
    finally:
        made.close()


def check_one_line(status: int, capsys) -> str:
    printed = capsys.readouterr()
    text = printed.out + printed.err
    assert status in (0, 1, 2)
    assert all(line.isprintable() for line in text.split("\n"))
    *skipped, last = printed.err.split("\n")[:-1] or [""]
    assert last.startswith("error: ") == (status == 2)
    assert all(": skipped, " in line or ": its response is null" in line for line in skipped)
    return last


@pytest.mark.parametrize(("env", "field"), FIELDS)
def test_a_value_of_another_type_is_one_line(tmp_path, capsys, env, field):
    for number, value in enumerate(VALUES.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        split, path = write(folder, env, field, value)
        with contextlib.suppress(DataError, UsageError):  # which a command prints
            pose(env, split, folder)
        responses = folder / "r.out"
        responses.write_text('{"id": "0", "response": "\\\\boxed{7}"}\n')
        words = ["--env", env, "--responses", str(responses), "--data", str(folder)]
        check_one_line(score.main(words), capsys)
        words = [env, "--data", str(folder), "--split", split, "--output", str(folder / "c.out")]
        check_one_line(check.main(words), capsys)
        check_one_line(check.main([str(path), "--output", str(folder / "f.out")]), capsys)


def test_a_value_that_cannot_be_read_is_named_by_file_and_line(tmp_path, capsys):
    split, path = write(tmp_path, "MATH500-v0", "level", "[" * 10**5)
    expected = f"{path}, line 1: it is not JSON: "
    with pytest.raises(DataError, match="line 1: it is not JSON: ") as caught:
        pose("MATH500-v0", split, tmp_path)
    assert str(caught.value).startswith(expected)
    for words in ([str(path)], ["MATH500-v0", "--data", str(tmp_path)]):
        assert check.main(words) == 2
        assert check_one_line(2, capsys).startswith(f"error: {expected}")


@pytest.mark.parametrize(
    ("env", "field", "value", "expected"),
    [
        ("MMK12-v0", "image_path", "7", "'image_path' holds 7, the name of a file was expected"),
        ("MathVision-v0", "level", '"x"', "'level' holds 'x', a whole number was expected"),
        ("MathVision-v0", "options", "[1]", "'options' holds [1], a list of strings was expected"),
        ("MathVista-v0", "metadata", "[]", "'metadata' holds [], an object was expected"),
        ("MathVerse-v0", "image", "{}", "'image' holds {}, a string was expected"),
        ("OlympiadBench-v0", "context", "7", "'context' holds 7, a string was expected"),
        ("DAPOMath17k-v0", "prompt", "[]", "'prompt' holds [], a list of one message was expected"),
    ],
)
def test_a_value_of_another_type_is_named_by_file_row_and_column(
    tmp_path, env, field, value, expected
):
    split, path = write(tmp_path, env, field, value)
    with pytest.raises(DataError, match="column") as caught:
        pose(env, split, tmp_path)
    assert str(caught.value) == f"{path}, row 0: column {expected}"


def test_an_answer_of_many_digits_is_kept(tmp_path):
    write(tmp_path, "AIME24-v0", "answer", json.dumps("0" + "1" * 5000))
    problems = reasonenv.make("AIME24-v0", split="test", data=str(tmp_path)).unwrapped.problems
    assert problems[0].answer == "1" * 5000
