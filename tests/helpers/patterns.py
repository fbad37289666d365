"""All regular expressions of both packages, found by import and in the source."""

import ast
import functools
import importlib
import operator
import pkgutil
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

PACKAGES = ("reasonenv", "agents")
_METHODS = ("match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer")


class Use(NamedTuple):
    """A pattern, and the way in which it walks a text.

    Args:
        pattern: Compiled.
        method: "match" or "fullmatch" where nothing else is called, else "finditer".
    """

    pattern: re.Pattern[str]
    method: str


def uses() -> dict[str, Use]:
    """Patterns by the name of the module and of the constant, or the line of the call."""
    names: dict[tuple[str, int, str], str] = {}
    named: dict[str, Use] = {}
    for module in _modules():
        for name, use in [*_constants(module), *_literals(module)]:
            key = use.pattern.pattern, use.pattern.flags, use.method
            if names.setdefault(key, name) == name:
                named[name] = use
    return named


def _modules() -> Iterator[ModuleType]:
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        for module in pkgutil.walk_packages(path, f"{package}."):
            # Two need vLLM and verifiers, which import them.
            if not module.name.endswith(
                ("__main__", ".vllm.worker", ".vllm.banned_tokens", ".adapters.taskset")
            ):
                yield importlib.import_module(module.name)


def _source(module: ModuleType) -> str:
    return Path(str(module.__file__)).read_text(encoding="utf-8")


def _constants(module: ModuleType) -> Iterator[tuple[str, Use]]:
    text = _source(module)
    for name, value in list(vars(module).items()):
        calls = set(re.findall(rf"\b{name}((?:\.\w+)?)", text)) - {""}
        is_passed_on = re.search(rf"\b{name}(?!\.|\s*[:=]\s)\b", text) is not None
        yield from _within(f"{module.__name__}.{name}", value, _method(calls, is_passed_on))


def _method(calls: Collection[str], is_passed_on: bool) -> str:
    for method in ("match", "fullmatch"):
        if set(calls) == {f".{method}"} and not is_passed_on:
            return method
    return "finditer"


def _within(name: str, value: object, method: str) -> Iterator[tuple[str, Use]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield name, Use(value, method)
    elif isinstance(value, list | tuple | dict) and len(value) < 5000:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _within(f"{name}[{key}]", item, "finditer")


def _literals(module: ModuleType) -> Iterator[tuple[str, Use]]:
    """Literal patterns in calls such as `re.sub("a+", ...)`."""
    for node in ast.walk(ast.parse(_source(module))):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=attr),
                args=[ast.Constant(value=str(text)), *rest],
            ) if attr in _METHODS:
                flags = [n for a in rest for n in ast.walk(a) if isinstance(n, ast.Attribute)]
                values = [getattr(re, flag.attr, 0) for flag in flags]
                kinds = [value for value in values if isinstance(value, re.RegexFlag)]
                pattern = re.compile(text, functools.reduce(operator.or_, kinds, 0))
                method = attr if attr in ("match", "fullmatch") else "finditer"
                yield f"{module.__name__}:{node.lineno}", Use(pattern, method)
