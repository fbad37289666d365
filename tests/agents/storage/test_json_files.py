import math
import sys

import numpy as np
import pytest

from agents.storage.json_files import json_value, read_json, read_json_lines


def test_settings_become_json_values():
    value = {"path": sys.path.copy, "set": {1}, "many": (1, None, True, "x"), "array": np.eye(2)}
    assert json_value(value) == {
        "path": "copy",
        "set": [1],
        "many": [1, None, True, "x"],
        "array": [[1.0, 0.0], [0.0, 1.0]],
    }


def test_a_non_finite_number_is_none_or_a_text_that_is_read_again():
    assert json_value({"a": [math.inf, 1.5]}) == {"a": [None, 1.5]}
    assert json_value({"a": [math.inf, np.float64("nan"), 1.5]}, str) == {"a": ["inf", "nan", 1.5]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "an object was expected"),
        ("{", "line 1"),
        ('{"a": 1, "a": 1}', "the key 'a' comes 2"),
        (None, "No such file"),
    ],
)
def test_what_is_no_object_is_refused_by_name(tmp_path, content, message):
    path = tmp_path / "run.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match=rf"cannot read .*run\.json: .*{message}"):
        read_json(path)


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ('{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ('{"a": 1}\n{"a": 2', [{"a": 1}]),  # a kill cut the last line
        ('{"a": 1}\n{"a\n{"a": 3}\n', r"rows\.jsonl, line 2: it is not JSON"),
        ('{"a": 1}\n[1]\n', r"line 2: an object was expected, not \[1\]; remove it"),
    ],
)
def test_lines_are_objects_of_json(tmp_path, content, rows):
    path = tmp_path / "rows.jsonl"
    assert read_json_lines(path) == []
    path.write_text(content)
    if isinstance(rows, list):
        assert read_json_lines(path) == rows
        return
    with pytest.raises(ValueError, match=rows):
        read_json_lines(path)
