import math
import sys

import numpy as np
import pytest

from agents.storage.json_files import json_value, read_json


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
