"""Bounds on the arguments of the routes for the trainer."""

import ipaddress
from collections.abc import Mapping
from typing import Any

from agents.cli.settings import LONGEST_STOP_STRING, MOST_STOP_STRINGS

MAX_BODY = 2**31
"""Bytes of a request: prompts with their images."""
MAX_TIMEOUT = 1800.0
"""Seconds that a worker, and with it sampling, waits for the trainer."""
MAX_PIXELS = 2**26
"""Of an image."""
MAX_RESPONSES = 2**16
"""Of a group."""
SAMPLING = ("temperature", "top_p", "top_k", "max_tokens", "stop_token_ids", "stop", "logprobs")
"""Sampling parameters that a trainer may set; vLLM checks their values."""


def check_join(arguments: Mapping[str, Any], client: str, vocabulary: int) -> None:
    """Rejects a transfer group with another machine than the client's, or with odd parameters.

    Args:
        arguments: Of `WeightReceiver.join_trainer`.
        client: Address from which the request came.
        vocabulary: Number of tokens of the model.

    Raises:
        ValueError: In one line, with the name and the value.
    """
    _check_names("join", arguments, ("address", "port", "device", "banned", "timeout"))
    if _ip(arguments["address"]) != _ip(client):
        raise ValueError(f"address is {arguments['address']!r}, and the request is from {client}")
    _check_integer("port", arguments["port"], 1, 2**16 - 1)
    if arguments["device"] not in ("cpu", "cuda"):
        raise ValueError(f"device is {arguments['device']!r}: it takes 'cpu' or 'cuda'")
    check_tokens("banned", arguments["banned"], vocabulary)
    timeout = arguments["timeout"]
    if not isinstance(timeout, int | float) or not 0 < timeout <= MAX_TIMEOUT:
        raise ValueError(f"timeout is {timeout!r}: it takes up to {MAX_TIMEOUT:.0f} seconds")


def check_generate(arguments: Mapping[str, Any], vocabulary: int, max_length: int) -> None:
    """Rejects requests with unknown parameters, or whose memory the model's sizes do not bound.

    Args:
        arguments: Groups and sampling parameters, as `RemoteSampler` sends them.
        vocabulary: Number of tokens of the model.
        max_length: Context length of vLLM.

    Raises:
        ValueError: In one line, with the name and the value.
    """
    _check_names("generate", arguments, ("groups", "params"))
    _check_names("params", arguments["params"], SAMPLING)
    _check_stop(arguments["params"].get("stop", []))
    _check_integer("max_tokens", arguments["params"].get("max_tokens"), 1, max_length)
    for group in _items("groups", arguments["groups"]):
        optional = ("collapsed", "pixels", "images")
        _check_names("a group", group, ("token_ids", "count", "seed", *optional))
        _check_integer("count", group.get("count"), 1, MAX_RESPONSES)
        _check_integer("seed", group.get("seed"), 0, 2**63 - 1)
        for name in ("token_ids", "collapsed"):
            check_tokens(name, group.get(name, []), vocabulary)
        _check_names("pixels", group.get("pixels", {}), ("min_pixels", "max_pixels"))
        for name, value in group.get("pixels", {}).items():
            _check_integer(name, value, 1, MAX_PIXELS)
        for shape, _ in _items("images", group.get("images", [])):
            _check_image(shape)


def check_tokens(name: str, tokens: Any, vocabulary: int) -> None:
    """Rejects a list with anything but ids of the vocabulary."""
    for token in _items(name, tokens):
        _check_integer(f"a token of {name}", token, 0, vocabulary - 1)


def _check_stop(stop: Any) -> None:
    strings = _items("stop", stop)
    fit = [isinstance(string, str) and 0 < len(string) <= LONGEST_STOP_STRING for string in strings]
    if not all(fit) or len(fit) > MOST_STOP_STRINGS:
        most = f"up to {MOST_STOP_STRINGS} strings of 1 to {LONGEST_STOP_STRING} characters"
        raise ValueError(f"stop is {stop!r:.100}: it takes {most}")


def _check_image(shape: Any) -> None:
    sides = _items("the shape of an image", shape)
    for side in sides:
        _check_integer("a side of an image", side, 1, MAX_PIXELS)
    if len(sides) != 3 or sides[2] != 3 or sides[0] * sides[1] > MAX_PIXELS:
        raise ValueError(f"the shape of an image is {sides}: it takes height, width, 3")


def _check_integer(name: str, value: Any, minimum: int, maximum: int) -> None:
    if type(value) is not int or not minimum <= value <= maximum:
        raise ValueError(f"{name} is {value!r:.100}: it takes {minimum} to {maximum}")


def _check_names(kind: str, value: Any, names: tuple[str, ...]) -> None:
    if not isinstance(value, Mapping) or not value.keys() <= set(names):
        raise ValueError(f"{kind} is {value!r:.100}: it takes {', '.join(names)}")


def _items(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{name} is {value!r:.100}: it takes a list")
    return list(value)


def _ip(address: Any) -> Any:
    """Address as a number, the same for IPv4 and for IPv4 within IPv6."""
    ip = ipaddress.ip_address(address)
    return getattr(ip, "ipv4_mapped", None) or ip
