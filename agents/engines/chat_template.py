"""Chat templates: a model's own, a user's, or a plain one for a model without any."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.errors import CheckpointError, UsageError

FILE = "chat_template.jinja"
"""Name of the template's file in a model's folder."""
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
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
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
