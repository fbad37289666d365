"""Types of settings: ranges of numbers and values that are JSON, checked by pydantic."""

import json
from functools import cache
from typing import Annotated, Any, TypeVar, get_type_hints

from annotated_types import Ge, Interval, MaxLen, MinLen
from pydantic import AfterValidator, AllowInfNan, BeforeValidator, TypeAdapter, ValidationError
from tyro.constructors import PrimitiveConstructorSpec

from agents.errors import UsageError
from reasonenv.console import short
from reasonenv.files import unique_keys

D = TypeVar("D")
MOST = 2**31 - 1
Count = Annotated[int, Interval(ge=1, le=MOST)]
CountOrNone = Annotated[int, Interval(ge=0, le=MOST)]
"""A number of things, which may be 0."""
Length = Annotated[int, Interval(ge=1, le=2**20)]
"""Tokens; no model has a context of more than 2^20."""
Seed = Annotated[int, Interval(ge=0, le=2**63 - 1)]
Amount = Annotated[float, Ge(0), AllowInfNan(False)]
Fraction = Annotated[float, Interval(ge=0, le=1)]
Decay = Annotated[float, Interval(ge=0, lt=1)]
TopP = Annotated[float, Interval(ge=1e-6, le=1)]
"""A share of probability; below float32's resolution no token would be kept."""
COLDEST, HOTTEST = 1e-3, 1e3
"""Temperatures by which logits of models can be divided in float32."""
Temperature = Annotated[float, Interval(ge=COLDEST, le=HOTTEST)]


def _from_json(words: list[str]) -> Any:
    """The value of a JSON text; None for None."""
    try:
        return json.loads(words[0], object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        if words[0] == "None":
            return None
        reason = f"{short(words[0])!r} is not valid JSON: {short(str(error).partition(';')[0])}"
        raise ValueError(f"{reason}: {_QUOTES}") from error


_QUOTES = """give it in single quotes, such as '{"name": 1}'"""
JSON = PrimitiveConstructorSpec(
    nargs=1,
    metavar="JSON",
    instance_from_str=_from_json,
    is_instance=lambda value: True,
    str_from_instance=lambda value: ["None" if value is None else json.dumps(value)],
)
"""Marks a setting whose flag takes JSON."""
JSONObject = Annotated[dict[str, Any], JSON]


def _lora(options: dict[str, Any]) -> dict[str, Any]:
    rank = options.get("r", 8)
    if type(rank) is not int or not 1 <= rank <= 2**14:
        raise ValueError(f"is invalid: r is {rank!r:.99}: give an integer from 1 to {2**14}")
    return options


def _free(options: dict[str, Any]) -> dict[str, Any]:
    reserved = sorted(options.keys() & {"num_envs", "group_size", "rank", "num_ranks"})
    if reserved:
        raise ValueError(f"cannot set {reserved[0]}: another flag or the number of ranks does")
    return options


EnvOptions = Annotated[dict[str, Any], AfterValidator(_free), JSON]
Adapters = Annotated[Annotated[dict[str, Any], AfterValidator(_lora)] | None, JSON]
StopStrings = Annotated[
    Annotated[
        tuple[Annotated[str, MinLen(1), MaxLen(999)], ...],
        MaxLen(16),  # they are searched at every token of a response
        AfterValidator(lambda strings: tuple(dict.fromkeys(strings))),
    ]
    | None,
    BeforeValidator(lambda value: [value] if type(value) is str else value),
    JSON,
]


_adapter = cache(TypeAdapter)
_WORDS = {
    "greater_than": "give more than {gt}",
    "greater_than_equal": "give at least {ge}",
    "less_than": "give less than {lt}",
    "less_than_equal": "give at most {le}",
    "dict_type": "give a JSON object",
    "tuple_type": "give a JSON list",
    "string_type": "give a text",
    "finite_number": "give a finite number",
    "extra_forbidden": "there is no such option",
}
"""What to give, by the type of pydantic's error."""


def validated(settings: D) -> D:
    """The settings, a dataclass, with the values of JSON in their types.

    Raises:
        UsageError: In one line, for the first value that is out of range or of another type.
    """
    try:
        return _adapter(type(settings)).validate_python(vars(settings))
    except ValidationError as error:
        raise UsageError(_line(error.errors(include_url=False)[0])) from error


def _line(error: Any) -> str:
    """One of pydantic's errors, with the flag, its value and the values that are valid."""
    name, *inner = map(str, error["loc"])
    value, flag = error["input"], f"--{name.replace('_', '-')} {'.'.join(inner)}".rstrip()
    if error["type"] == "value_error":
        return f"{flag} {error['ctx']['error']}"
    bounds = {n: f"{b:g}" if isinstance(b, float) else b for n, b in error.get("ctx", {}).items()}
    words = (_WORDS.get(error["type"]) or str(error["msg"]).lower()).format(**bounds)
    return f"{flag} is {short(str(value))}: {words}"


def json_fields(kind: type) -> set[str]:
    """Names of the settings of a dataclass that take JSON."""
    hints = get_type_hints(kind, include_extras=True)
    return {name for name, hint in hints.items() if JSON in getattr(hint, "__metadata__", ())}
