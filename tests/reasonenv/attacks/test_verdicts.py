"""Verdicts on the corpus, as recorded in verdicts.json; `helpers.attack_verdicts` records them."""

import json

import pytest
from helpers import attack_verdicts

from reasonenv.grading import VERSION

RECORD = json.loads(attack_verdicts.PATH.read_text())


@pytest.fixture(scope="module")
def verdicts():
    return attack_verdicts.verdicts()


def test_the_wrong_answers_that_are_paid_are_known(verdicts):
    assert verdicts["paid"] == RECORD["paid"]


def test_the_right_answers_that_are_refused_are_known(verdicts):
    assert verdicts["refused"] == RECORD["refused"]


def test_verdicts_change_with_the_version_of_the_grader_alone(verdicts):
    # After a change of a rule: another VERSION, and a new record.
    assert verdicts["digest"] == RECORD["digest"]
    assert RECORD["version"] == VERSION
