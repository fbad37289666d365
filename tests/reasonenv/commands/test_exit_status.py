"""Errors by type: each is one line of a command, and everything else keeps its traceback."""

import errno
import inspect
import os

import gymnasium
import pytest

from reasonenv import errors, score
from reasonenv.console import exit_status
from reasonenv.errors import ReasonEnvError
from reasonenv.registration import UnknownEnvironmentError

TYPES = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, ReasonEnvError) and kind is not ReasonEnvError
]


def failing(error):
    """A command that ends with an error."""

    def command():
        raise error

    return command


@pytest.mark.parametrize(
    "error",
    [
        *(kind("it does not fit") for kind in (*TYPES, UnknownEnvironmentError)),
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        PermissionError(errno.EACCES, os.strerror(errno.EACCES), "scores.json"),
    ],
    ids=repr,
)
def test_an_error_that_a_user_can_correct_is_one_line_and_status_2(error, capsys):
    assert exit_status(failing(error)) == 2
    assert capsys.readouterr().err == f"error: {error}\n"


@pytest.mark.parametrize(
    "error",
    [
        *(kind("a fault") for kind in (ValueError, RuntimeError, TypeError, KeyError, OSError)),
        OSError(errno.EBADF, os.strerror(errno.EBADF)),
        gymnasium.error.ResetNeeded("call reset"),
    ],
    ids=repr,
)
def test_every_other_error_keeps_its_traceback(error):
    with pytest.raises(type(error)) as raised:
        exit_status(failing(error))
    assert raised.value is error


def test_the_traceback_of_an_explained_error_can_be_had(monkeypatch):
    monkeypatch.setenv("REASONENV_TRACEBACK", "1")
    with pytest.raises(errors.UsageError):
        exit_status(failing(errors.UsageError("it does not fit")))


def test_ctrl_c_is_one_line_and_status_130(capsys):
    assert exit_status(failing(KeyboardInterrupt()), "nothing was saved") == 130
    assert capsys.readouterr().err == "interrupted: nothing was saved\n"


def test_a_fault_within_a_command_shows_its_traceback(tmp_path, monkeypatch):
    def broken(*_):
        raise ValueError("a fault of the program")

    monkeypatch.setattr(score, "_graded", broken)
    words = ["--env", "AIME24-v0", "--responses", str(tmp_path / "responses.jsonl")]
    with pytest.raises(ValueError, match="a fault of the program"):
        score.main(words)
