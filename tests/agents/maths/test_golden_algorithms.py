"""Every algorithm of 2026 against the golden numbers; any file of their form by its path.

pytest tests/agents/maths/test_golden_algorithms.py --golden FILE
"""

import os
from functools import cache
from pathlib import Path

import pytest
from helpers.golden_algorithms import LEARNERS, assert_golden, read

read = cache(read)


@pytest.fixture
def golden(request):
    path = os.environ.get("GOLDEN_ALGORITHMS")
    shared = None if path else request.getfixturevalue("shared")
    return read(Path(path) if path else shared / "golden/algorithms_open.json")


@pytest.mark.parametrize("name", LEARNERS)
def test_loss_and_gradient_are_those_of_the_paper(name, golden):
    assert_golden(LEARNERS[name], golden, name)
