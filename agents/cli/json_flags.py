"""Flags whose values are JSON: options of environments, engines and adapters, stop strings."""

from typing import Any

from agents.cli.exit import short
from agents.errors import UsageError
from reasonenv.errors import DataError
from reasonenv.files import parse_json

MOST_STOP_STRINGS, LONGEST_STOP_STRING = 16, 999
"""Bounds of --stop, in strings and characters: they are searched at every token of a response."""
MOST_RANKS = 2**14
"""Rank of LoRA adapters at most; that of the widest layers of today's models."""


def lora_rank(lora: str | None) -> int:
    """The rank of the adapters of `--lora`; 0 without.

    Raises:
        UsageError: The rank is no integer of the size of a rank.
    """
    if lora is None:
        return 0
    rank = json_object("lora", lora).get("r", 8)
    if not isinstance(rank, int) or isinstance(rank, bool) or not 1 <= rank <= MOST_RANKS:
        raise UsageError(
            f"--lora {short(lora)} is invalid: give a positive integer r up to {MOST_RANKS}"
        )
    return rank


def stop_strings(text: str | None) -> tuple[str, ...] | None:
    """The strings of `--stop`, without repetitions; None without the flag.

    Raises:
        UsageError: It is no JSON, or anything but a few strings.
    """
    if text is None:
        return None
    value = _json("stop", text)
    strings = [value] if isinstance(value, str) else value
    if not isinstance(strings, list) or not all(isinstance(s, str) and s for s in strings):
        raise UsageError(
            f"--stop {short(text)!r} is no JSON list of strings, such as {EXAMPLES['stop']!r}"
        )
    if any("\ud800" <= character <= "\udfff" for character in "".join(strings)):
        raise UsageError(f"--stop {short(text)!r} has half a surrogate pair: give texts of Unicode")
    longest = max(map(len, strings), default=0)
    if len(strings) > MOST_STOP_STRINGS or longest > LONGEST_STOP_STRING:
        raise UsageError(
            f"--stop {short(text)!r} is too long: give at most {MOST_STOP_STRINGS} strings of "
            f"{LONGEST_STOP_STRING} characters"
        )
    return tuple(dict.fromkeys(strings))


def environment_options(text: str, data: str | None) -> dict[str, Any]:
    """Keyword arguments of `reasonenv.make` from `--env-options` and `--data`.

    Raises:
        UsageError: The text is no JSON object, or sets what other flags decide.
    """
    options = json_object("env-options", text)
    reserved = sorted(options.keys() & {"num_envs", "group_size", "rank", "num_ranks"})
    if reserved:
        raise UsageError(
            f"--env-options cannot set {reserved[0]}: another flag or the number of ranks does"
        )
    return options | ({"data": data} if data else {})


EXAMPLES = {
    "env-options": '{"level": 1}',
    "vllm": '{"max_model_len": 8192}',
    "lora": '{"r": 16, "target_modules": "all-linear"}',
    "stop": '["\\nQuestion:", "</answer>"]',
}
"""Example of each flag that takes JSON."""


def json_object(flag: str, text: str) -> dict[str, Any]:
    """The JSON object in the value of a flag.

    Raises:
        UsageError: The value is no JSON object.
    """
    options = _json(flag, text)
    if not isinstance(options, dict):
        raise UsageError(
            f"--{flag} {short(text)!r} is not a JSON object, such as {EXAMPLES[flag]!r}"
        )
    return options


def _json(flag: str, text: str) -> Any:
    try:
        return parse_json(text, f"--{flag} {short(text)!r} is not valid JSON")
    except DataError as error:
        raise UsageError(str(error)) from error
