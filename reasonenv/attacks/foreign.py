"""Another grader, a function of a response and a reference, in a process with a deadline.

The process has all the imports of the function's module and no limit but those on time and memory,
unlike the workers of `reasonenv.workers`, which are forked from one warm server.
"""

import json
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pkgutil import resolve_name
from typing import NamedTuple, TextIO

from reasonenv.errors import UsageError
from reasonenv.workers.forkserver import die_with

_START_S = 120.0
_MEMORY = 8 << 30
_MAX_MESSAGE = 300
_MAIN = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from reasonenv.attacks.foreign import serve
serve(sys.argv[2], int(sys.argv[3]))
"""


class Outcome(NamedTuple):
    """The outcome of one grading.

    Args:
        is_paid: True if the grader accepts the response.
        failure: "raised" for an exception or a lost process, "hung" past the deadline, else "".
        message: What was raised.
    """

    is_paid: bool
    failure: str = ""
    message: str = ""


class ForeignGrader:
    """A process that grades one pair at a time, and is replaced after it hangs or ends.

    Args:
        name: "module:function", found from the folders of this process and the current one.
        deadline: Seconds of the wall clock for one pair.
    """

    def __init__(self, name: str, deadline: float) -> None:
        self._name, self._deadline = name, deadline
        self._process: subprocess.Popen[str] | None = None

    def grade(self, response: str, reference: str) -> Outcome:
        """The outcome on one pair.

        Raises:
            UsageError: There is no such function.
        """
        process = self.start()
        try:
            line = _exchange(process, json.dumps([response, reference]), self._deadline)
        except TimeoutError:
            self.close()
            return Outcome(False, "hung")
        except BrokenPipeError:
            line = ""
        if line:
            return Outcome(*json.loads(line))
        self.close()
        return Outcome(False, "raised", f"its process ended with status {process.returncode}")

    def start(self) -> subprocess.Popen[str]:
        """The process, started if there is none.

        Raises:
            UsageError: There is no such function.
        """
        if self._process is not None:
            return self._process
        folders = json.dumps([*(str(folder) for folder in sys.path), os.getcwd()])
        command = [sys.executable, "-c", _MAIN, folders, self._name, str(os.getpid())]
        pipe = subprocess.PIPE
        # Ctrl-C goes to the caller, which then ends the process.
        process = self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, start_new_session=True
        )
        try:
            error = json.loads(_exchange(process, "", _START_S) or '"its process ended"')
        except TimeoutError:
            error = f"it did not load within {_START_S:.0f} s"
        if error:
            self.close()
            raise UsageError(f"--grader={self._name}: {error}")
        return process

    def close(self) -> None:
        """Ends the process and its children."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()
        self._process = None


def _exchange(process: subprocess.Popen[str], request: str, deadline: float) -> str:
    """The line with which a process replies to a line; empty if it has ended.

    Raises:
        TimeoutError: There is no reply within the deadline, in seconds of the wall clock.
        BrokenPipeError: The process has ended.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(request + "\n")
    process.stdin.flush()
    poll = select.poll()
    poll.register(process.stdout, select.POLLIN)
    if not poll.poll(1000 * deadline):
        raise TimeoutError
    return process.stdout.readline()


def serve(name: str, parent: int) -> None:
    """Grades each line of standard input with the function called `name`, until it ends."""
    die_with(parent)
    # The function sees neither the requests nor the replies, and what it prints is no verdict.
    requests, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    next(requests)
    try:
        function = _function(name)
    # The module is a user's code, which may raise anything.
    except Exception as error:
        _reply(replies, _described(error))
        return
    os.dup2(nowhere, 2)
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    _reply(replies, "")
    for line in requests:
        try:
            outcome = Outcome(_as_bool(function(*json.loads(line))))
        # Also SystemExit, and time limits that derive from BaseException.
        except BaseException as error:
            outcome = Outcome(False, "raised", _described(error))
        _reply(replies, outcome)


def _function(name: str) -> Callable[..., object]:
    if ":" not in name:
        raise UsageError("give module:function")
    function = resolve_name(name)
    if not callable(function):
        raise UsageError(f"a function was expected, not a {type(function).__name__}")
    return function


def _as_bool(verdict: object) -> bool:
    if verdict not in (True, False):
        raise TypeError(f"a bool was expected, not {verdict!r:.100}")
    return bool(verdict)


def _described(error: BaseException) -> str:
    text = str(error) if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
    return text.partition("\n")[0][:_MAX_MESSAGE]


def _reply(replies: TextIO, value: object) -> None:
    replies.write(json.dumps(value) + "\n")
    replies.flush()
