"""Format of a chat: its template, what ends a response, and which tokens are never sampled."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from agents.errors import CheckpointError, ModelError, UsageError

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
_VISION_TOKENS = [
    f"{name}_token_id" for name in ("image", "video", "vision", "vision_start", "vision_end")
]
_CLOSING_TAG = re.compile(r"</[^<>]*>")


@dataclass(frozen=True)
class ChatOptions:
    """A user's chat template, stop strings and variables, in place of the model's own."""

    chat_template: Path | None = None
    """File with a template in Jinja."""
    stop: tuple[str, ...] | None = None
    """Strings that end a response."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    """Variables of the template, --chat-template-kwargs."""


def with_variables(template: Any, variables: Mapping[str, Any]) -> str:
    """A template that sets some of its variables, as `apply_chat_template` does by its keywords.

    Saved with a model, it has their values wherever it is used.

    Raises:
        UsageError: The model has several templates, or the template has no such variable.
    """
    if not isinstance(template, str):
        raise UsageError("--chat-template-kwargs is for one template: give it by --chat-template")
    starts = {name: f"{{% set {name} = " for name in variables}
    lines = template.splitlines(keepends=True)
    while lines and lines[0].startswith(tuple(starts.values())):
        lines.pop(0)  # set before the model was saved
    for name in variables:
        if not (name.isidentifier() and re.search(rf"\b{name}\b", "".join(lines))):
            raise UsageError(
                f"--chat-template-kwargs: the chat template has no variable {name!r:.60}"
            )
    # transformers leaves out the line break after a block.
    values = [f"{start}{variables[name]!r} %}}\n" for name, start in starts.items()]
    return "".join([*values, *lines])


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


def read_template(path: Path) -> str:
    """The template in a user's file; UsageError if it cannot be read."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"--chat-template {path} cannot be read: {reason}") from error


def check_template(checkpoint: Path, tokenizer: Any) -> None:
    """Raises CheckpointError if the template of a run differs from that of its checkpoint."""
    path, template = checkpoint / FILE, tokenizer.chat_template
    # It is no text where a model has several, of which transformers saves each.
    if isinstance(template, str) and path.is_file() and path.read_bytes().decode() != template:
        raise CheckpointError(
            f"{path} is not the chat template of this run: its model's has changed, or the file of "
            f"--chat-template; give --chat-template {path}"
        )


def cut(text: str, stop: Sequence[str]) -> str:
    """A text up to its first stop string, which is left out unless it is a closing tag."""
    matches = [(text.index(string), string) for string in stop if string in text]
    if not matches:
        return text
    start, string = min(matches)
    return text[: start + len(string)] if _CLOSING_TAG.fullmatch(string) else text[:start]


def save_stop_strings(generation: Any, stop: Sequence[str]) -> None:
    """Adds stop strings to a generation configuration, to be saved with it.

    They are not its `stop_strings`, with which `generate` of transformers fails unless it is given
    the tokenizer.
    """
    if stop or saved_stop_strings(generation):
        generation.stop = list(stop)


def saved_stop_strings(generation: Any) -> tuple[str, ...]:
    """Stop strings in a generation configuration: those of `save_stop_strings`, else its own."""
    stop = getattr(generation, "stop", None)
    stop = getattr(generation, "stop_strings", None) if stop is None else stop
    return (stop,) if isinstance(stop, str) else tuple(stop or ())


def plain_template(tokenizer: Any) -> str:
    """The plain template, after the start token of a tokenizer that puts one before every text."""
    start, tokens = tokenizer.bos_token_id, tokenizer.encode("1")
    return ("{{- bos_token -}}\n" if start is not None and tokens[0] == start else "") + PLAIN


def special_tokens(tokenizer: Any) -> list[str]:
    """Names of all special tokens, those that are such among the added tokens alone too."""
    added = (token.content for token in tokenizer.added_tokens_decoder.values() if token.special)
    return sorted({*tokenizer.all_special_tokens, *added}, key=len, reverse=True)


def end_tokens(
    tokenizer: Any, generation: Any, special: Sequence[str], stop: Sequence[str]
) -> tuple[int, ...]:
    """Token ids that end a response, in order: of tokenizer, generation and stop strings."""
    if tokenizer.eos_token_id is None:
        raise ModelError(
            "this model's tokenizer has no end token: name one as eos_token in its "
            "tokenizer_config.json"
        )
    for string, name in product(stop, special):
        if name in string and string not in special:
            raise UsageError(
                f"the stop string {string!r} has the special token {name!r}, which the text of a "
                "response has not, and would never end one: give the token alone in --stop"
            )
    eos = getattr(generation, "eos_token_id", None)
    names = sorted(set(special).intersection(stop))
    tokens = {tokenizer.eos_token_id, *([eos] if isinstance(eos, int) else eos or ())}
    return tuple(sorted(tokens.union(tokenizer.convert_tokens_to_ids(names))))


def banned_tokens(tokenizer: Any, config: Any, eos: Sequence[int]) -> tuple[int, ...]:
    """Token ids that are never sampled: vision placeholders, padding, ids without a token.

    A sampled placeholder would make the next forward pass look for an image that does not exist. An
    end token is never among them, also where the model pads with it.
    """
    ids = set(range(config.get_text_config().vocab_size))
    vision: set[Any] = {getattr(config, name, None) for name in _VISION_TOKENS} & ids
    banned = vision | ids - set(tokenizer.get_vocab().values()) | {tokenizer.pad_token_id}
    return tuple(sorted(banned - {None, *eos}))
