"""Chat templates: a model's own, a user's or a plain one, rendered in a child process with bounds.

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from agents.engines.pretrained import one_line
from agents.errors import CheckpointError, ModelError, UsageError
from reasonenv.files import read_regular

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
FILE = "chat_template.jinja"
"""Name of the template's file in a model's folder."""
OWN_TEMPLATE = "this model's chat template"
"""Name of a template in messages, unless it is the user's."""
PLAIN = """\
{%- for message in messages -%}
{%- if message.role == "user" -%}
{{ "Question: " + message.content + "\\nAnswer:" }}
{%- else -%}
{{ message.content + "\\n\\n" }}
{%- endif -%}
{%- endfor -%}
"""
"""Template for a model that has none, such as a base model: text as it stands in books."""
PLAIN_STOP = ("\nQuestion:",)
"""Stop strings of the plain template: such a model goes on with the next question."""
PLAIN_LINE = (
    "this model has no chat template: its prompts are plain text, 'Question: ... Answer:', and a "
    "response ends at the next 'Question:' too (--chat-template and --stop choose others)"
)

SYSTEM_LINE = (
    "this model's chat template takes no system message: where a prompt has a system text, it "
    "stands in front of the question"
)


@dataclass(frozen=True)
class ChatOptions:
    """A user's chat template and stop strings, in place of the model's own."""

    chat_template: Path | None = None
    """File with a template in Jinja."""
    stop: tuple[str, ...] | None = None
    """Strings that end a response."""


def plain_template(tokenizer: Any) -> str:
    """The plain template, after the start token of a tokenizer that puts one before every text."""
    start, tokens = tokenizer.bos_token_id, tokenizer.encode("1")
    return ("{{- bos_token -}}\n" if start is not None and tokens[0] == start else "") + PLAIN


def read_template(path: Path) -> str:
    """The template in a user's file.

    Raises:
        UsageError: The file cannot be read.
    """
    try:
        return read_regular(path, LENGTH).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"--chat-template {path} cannot be read: {reason}") from error


def check_template(checkpoint: Path, tokenizer: Any) -> None:
    """Compares the template of a run with that of its checkpoint.

    Raises:
        CheckpointError: They differ.
    """
    path, template = checkpoint / FILE, tokenizer.chat_template
    # It is no text where a model has several, of which transformers saves each.
    if isinstance(template, str) and path.is_file() and path.read_bytes().decode() != template:
        raise CheckpointError(
            f"{path} is not the chat template of this run: its model's has changed, or the file of "
            f"--chat-template; give --chat-template {path}"
        )


def without_system(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A system and a user message as one of the user's.

    Source: the templates of Gemma 3 and Mistral 7B v0.3 put the system text there.
    """
    system, user = messages
    start, content = system["content"] + "\n\n", user["content"]
    if isinstance(content, str):
        return [user | {"content": start + content}]
    own = content[0].get("text", "")  # "" before an image
    parts = [{"type": "text", "text": start + own}, *content[bool(own) :]]
    return [user | {"content": parts}]


def render(tokenizer: Any, messages: Sequence[dict[str, Any]], name: str = OWN_TEMPLATE) -> str:
    """Messages in the tokenizer's chat template, up to the start of the response.

    Args:
        tokenizer: Of transformers.
        messages: Each with its role and content.
        name: Of the template in an error.

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
    text, reason = _text(reply, os.waitstatus_to_exitcode(status))
    if reason:
        raise unusable_template(reason, name)
    return text


def unusable_template(reason: str, name: str = OWN_TEMPLATE) -> ModelError:
    """Error of one line for a chat template."""
    return ModelError(f"{name} cannot be used: {reason}")


def _text(reply: bytes, status: int) -> tuple[str, str]:
    """The reply of a child, "" if a signal ended it, and the reason why it has no text."""
    if status < 0:
        number = signal.Signals(-status)
        return "", _REASONS.get(number, f"it ends with {number.name}")
    text, reason = json.loads(reply)
    return text, reason


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
