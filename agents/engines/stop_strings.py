"""Strings that end a response, beside the end tokens of the model."""

import re
from collections.abc import Sequence
from typing import Any

from agents.errors import ModelError

_CLOSING_TAG = re.compile(r"</[^<>]*>")


def saved_stop_strings(generation: Any) -> tuple[str, ...]:
    """Stop strings in a generation configuration: those of `save_stop_strings`, else its own.

    Raises:
        ModelError: They are no strings.
    """
    stop = getattr(generation, "stop", None)
    stop = getattr(generation, "stop_strings", None) if stop is None else stop
    stop = [stop] if isinstance(stop, str) else stop or []
    if not isinstance(stop, list | tuple) or not all(isinstance(s, str) and s for s in stop):
        raise ModelError(f"this model's generation_config.json has stop strings {stop!r:.99}")
    return tuple(stop)


def save_stop_strings(generation: Any, stop: Sequence[str]) -> None:
    """Adds stop strings to a generation configuration, to be saved with it.

    They are not its `stop_strings`, with which `generate` of transformers fails unless it is given
    the tokenizer.
    """
    if stop or saved_stop_strings(generation):
        generation.stop = list(stop)


def cut(text: str, stop: Sequence[str]) -> str:
    """A text up to its first stop string, which is left out unless it is a closing tag."""
    matches = [(text.index(string), string) for string in stop if string in text]
    if not matches:
        return text
    start, string = min(matches)
    return text[: start + len(string)] if _CLOSING_TAG.fullmatch(string) else text[:start]
