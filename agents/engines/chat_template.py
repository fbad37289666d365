"""A model's chat template, rendered in a child process with bounds.

A template is a program. The sandbox of jinja keeps it from files and from Python's internals, not
from loops, recursion or memory: only the kernel ends those.
"""

import contextlib
import faulthandler
import gc
import json
import os
import resource
import signal
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from agents.engines.pretrained import one_line
from agents.errors import ModelError

CPU_SECONDS = 5.0
"""For one rendering; usual templates take milliseconds."""
SECONDS = 60.0
"""Wall-clock limit, for a child that does not run."""
MEMORY = 2**30
"""Bytes beyond those that this process has."""
LENGTH = 2**20
"""Characters of a rendered template, whose texts are placeholders."""
_REASONS = {
    signal.SIGPROF: f"it takes more than {CPU_SECONDS:.0f} s",
    signal.SIGALRM: f"it takes more than {SECONDS:.0f} s",
}


def render(tokenizer: Any, messages: Sequence[dict[str, Any]]) -> str:
    """Messages in the model's chat template, up to the start of the response.

    Raises:
        ModelError: The template fails, does not end, or takes too much memory.
    """

    def template() -> str:
        return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)

    receiver, sender = os.pipe()
    with warnings.catch_warnings():
        # Python warns of a fork beside threads: the child takes no lock that one could hold.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _run_child(template, sender)
    os.close(sender)
    try:
        with open(receiver, "rb") as pipe:
            reply = pipe.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(child, 0)
    return _text(reply, os.waitstatus_to_exitcode(status))


def unusable_template(reason: str) -> ModelError:
    """Error of one line for a chat template."""
    return ModelError(f"this model's chat template cannot be used: {reason}")


def _text(reply: bytes, status: int) -> str:
    """The text that a child has sent before it ended with this exit status."""
    if status < 0:
        number = signal.Signals(-status)
        raise unusable_template(_REASONS.get(number, f"it ends with {number.name}"))
    text, reason = json.loads(reply)
    if reason:
        raise unusable_template(reason)
    return text


def _run_child(template: Callable[[], str], sender: int) -> NoReturn:
    """Sends the text, or the reason why there is none, and ends this process."""
    try:
        _set_limits()
        reply = json.dumps(_attempt(template)).encode()
        while reply:
            reply = reply[os.write(sender, reply) :]
    finally:
        os._exit(0)


def _attempt(template: Callable[[], str]) -> tuple[str, str]:
    """The text and "", or "" and the reason why there is none."""
    try:
        text = template()
        text.encode()
    except MemoryError:
        return "", f"it takes more than {MEMORY / 2**30:.0f} GiB"
    except Exception as error:
        return "", one_line(error)
    return ("", f"it writes {len(text)} characters") if len(text) > LENGTH else (text, "")


def _set_limits() -> None:
    """Has the kernel end this process when it exceeds a bound, whatever code it is in."""
    faulthandler.disable()
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # A collection could finalize what belongs to the parent, such as its connections.
    gc.disable()
    with contextlib.suppress(OSError, ValueError):  # not on Linux, or a lower limit stands
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, hard))
