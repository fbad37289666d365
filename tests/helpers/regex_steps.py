"""Steps of a regular expression, counted by a matcher in Python, and texts made to be slow.

`re` does not tell how many steps it takes. This matcher walks the same parse tree in the same order
of alternatives, so that it finds the same matches, which `test_patterns` checks, and counts each
character that it compares and each end of a repetition that it tries.
"""

import importlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

op: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_CHARACTERS = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)
_CATEGORIES = {
    op.CATEGORY_DIGIT: str.isdecimal,
    op.CATEGORY_SPACE: str.isspace,
    op.CATEGORY_WORD: lambda character: character.isalnum() or character == "_",
    op.CATEGORY_NOT_DIGIT: lambda character: not character.isdecimal(),
    op.CATEGORY_NOT_SPACE: lambda character: not character.isspace(),
    op.CATEGORY_NOT_WORD: lambda character: not (character.isalnum() or character == "_"),
}
_CANDIDATES = " \n1aAx,.()[]{}\\$*`-=<>!?:;/%_^'\"~&#+|is米一"


class StepCounter:
    """A pattern whose matches in a text are found as `re` finds them, with their steps counted.

    Args:
        pattern: A compiled pattern.
    """

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern
        self.tree = parser.parse(pattern.pattern, pattern.flags)
        self.steps = 0
        self.text = ""
        self.groups: dict[int, str] = {}
        self.accepted: dict[tuple[int, str], bool] = {}

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The spans of all matches, as of `finditer`; adds to `steps`."""
        self.text, spans, start = text, [], 0
        while start <= len(text):
            end = self._end(start)
            # An empty match right after another one is not searched, unlike in `re`.
            if end is not None:
                spans.append((start, end))
            start = start + 1 if end is None or end == start else end
        return spans

    def run(self, method: str, text: str) -> None:
        """Walks a text as `match`, `fullmatch` or `finditer` does; adds to `steps`."""
        self.text = text
        if method == "finditer":
            self.spans(text)
        else:
            ends = self._ends(self.tree, 0, 0, self.pattern.flags)
            next((end for end in ends if method == "match" or end == len(text)), None)

    def _end(self, start: int) -> int | None:
        self.steps += 1
        return next(self._ends(self.tree, 0, start, self.pattern.flags), None)

    def _ends(  # noqa: C901 - a branch for each kind of node
        self, nodes: Sequence[Any], index: int, at: int, flags: int
    ) -> Iterator[int]:
        """Ends of the matches of nodes[index:] at a position, in the order of preference."""
        while index < len(nodes):
            kind, value = nodes[index]
            if kind in _CHARACTERS:
                if not self._accepts(nodes[index], at, flags):
                    return
                at += 1
            elif kind is op.AT:
                if not self._is_at(value, at):
                    return
            elif kind in (op.ASSERT, op.ASSERT_NOT):
                if self._asserts(*value, at, flags) != (kind is op.ASSERT):
                    return
            elif kind is op.GROUPREF:
                self.steps += 1
                if not self.text.startswith(self.groups[value], at):
                    return
                at += len(self.groups[value])
            else:
                for end in self._compound(kind, value, at, flags):
                    yield from self._ends(nodes, index + 1, end, flags)
                return
            index += 1
        yield at

    def _compound(  # noqa: C901 - as above
        self, kind: Any, value: Any, at: int, flags: int
    ) -> Iterator[int]:
        if kind is op.BRANCH:
            for branch in value[1]:
                yield from self._ends(branch, 0, at, flags)
        elif kind is op.SUBPATTERN:
            group, added, removed, inner = value
            for end in self._ends(inner, 0, at, (flags | added) & ~removed):
                if group is not None:
                    self.groups[group] = self.text[at:end]
                yield end
        elif kind is op.ATOMIC_GROUP:
            yield from list(self._ends(value, 0, at, flags))[:1]
        elif kind is op.POSSESSIVE_REPEAT:
            # Greedy within, and never given back: each copy takes its first end.
            yield from self._possessive(*value, at, flags)
        else:
            low, high, inner = value
            if len(inner) == 1 and inner[0][0] in _CHARACTERS:
                ends = self._run(low, high, inner[0], at, flags, lazy=kind is op.MIN_REPEAT)
            else:
                ends = self._copies(low, high, inner, at, flags, kind is op.MIN_REPEAT)
            for end in ends:
                self.steps += 1
                yield end

    def _run(
        self, low: int, high: int, character: Any, at: int, flags: int, lazy: bool
    ) -> Iterator[int]:
        if lazy:
            count = 0
            while count <= high:
                if count >= low:
                    yield at + count
                if not self._accepts(character, at + count, flags):
                    return
                count += 1
            return
        count = 0
        while count < high and self._accepts(character, at + count, flags):
            count += 1
        yield from range(at + count, at + low - 1, -1)

    def _copies(
        self, low: int, high: int, inner: Any, at: int, flags: int, lazy: bool
    ) -> Iterator[int]:
        if lazy and low <= 0:
            yield at
        if high > 0:
            for end in self._ends(inner, 0, at, flags):
                if end > at or low > 0:
                    yield from self._copies(low - 1, high - 1, inner, end, flags, lazy)
        if not lazy and low <= 0:
            yield at

    def _possessive(self, low: int, high: int, inner: Any, at: int, flags: int) -> Iterator[int]:
        count = 0
        while count < high:
            end = next(self._ends(inner, 0, at, flags), None)
            if end is None or end == at:
                break
            self.steps += 1
            at, count = end, count + 1
        if count >= low:
            yield at

    def _accepts(self, node: Any, at: int, flags: int) -> bool:
        self.steps += 1
        if at >= len(self.text):
            return False
        key = (id(node), self.text[at])
        if key not in self.accepted:
            self.accepted[key] = accepts(node, self.text[at], flags)
        return self.accepted[key]

    def _is_at(self, where: Any, at: int) -> bool:
        text = self.text
        if where in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
            return at == 0
        if where is op.AT_END:
            return at == len(text) or (at == len(text) - 1 and text[at] == "\n")
        if where is op.AT_END_STRING:
            return at == len(text)
        is_word = _CATEGORIES[op.CATEGORY_WORD]
        is_boundary = (at > 0 and is_word(text[at - 1])) != (at < len(text) and is_word(text[at]))
        return is_boundary == (where is op.AT_BOUNDARY)

    def _asserts(self, direction: int, inner: Any, at: int, flags: int) -> bool:
        if direction < 0:
            at -= inner.getwidth()[0]
        return at >= 0 and next(self._ends(inner, 0, at, flags), None) is not None


def accepts(node: Any, character: str, flags: int) -> bool:
    """True if a node of one character accepts this one."""
    if flags & re.IGNORECASE:
        plain = flags & ~re.IGNORECASE
        return any(accepts(node, each, plain) for each in (character.lower(), character.upper()))
    kind, value = node
    if kind is op.ANY:
        return bool(flags & re.DOTALL) or character != "\n"
    if kind is not op.IN:
        return (ord(character) == value) == (kind is op.LITERAL)
    is_negated = value[0][0] is op.NEGATE
    return is_negated != any(_contains(*item, character) for item in value)


def _contains(kind: Any, value: Any, character: str) -> bool:
    if kind is op.LITERAL:
        return ord(character) == value
    if kind is op.RANGE:
        return value[0] <= ord(character) <= value[1]
    return kind is op.CATEGORY and _CATEGORIES[value](character)


def example(nodes: Sequence[Any], flags: int) -> str:
    """A short text that nodes match, those before and after it that they look for included."""
    return "".join(_example(node, flags) for node in nodes)


def _example(node: Any, flags: int) -> str:
    kind, value = node
    if kind in _CHARACTERS:
        return next(iter(_accepted(node, flags)), "")
    if kind is op.BRANCH:
        return example(value[1][0], flags)
    if kind is op.SUBPATTERN:
        return example(value[3], flags)
    if kind in _REPEATS:
        return max(1, min(value[0], 8)) * example(value[2], flags)
    if kind is op.ASSERT:
        return example(value[1], flags)
    return example(value, flags) if kind is op.ATOMIC_GROUP else ""


def _accepted(node: Any, flags: int) -> list[str]:
    """Characters that a node accepts: its literal, or some of common ones."""
    if node[0] is op.LITERAL:
        return [chr(node[1])]
    own = [chr(v) for k, v in node[1] if k is op.LITERAL] if node[0] is op.IN else []
    return [each for each in [*own, *_CANDIDATES] if accepts(node, each, flags)]


def _repetitions(nodes: Sequence[Any], before: str, flags: int) -> Iterator[tuple[str, str]]:
    """For each repetition, what a text has before it, and one copy of what it repeats."""
    for node in nodes:
        kind, value = node
        if kind in _REPEATS:
            if value[1] > 8:
                inner = value[2]
                is_character = len(inner) == 1 and inner[0][0] in _CHARACTERS
                bodies = _accepted(inner[0], flags)[:4] if is_character else [example(inner, flags)]
                yield from ((before, body) for body in bodies)
            yield from _repetitions(value[2], before, flags)
        elif kind is op.BRANCH:
            for branch in value[1]:
                yield from _repetitions(branch, before, flags)
        elif kind in (op.SUBPATTERN, op.ASSERT, op.ASSERT_NOT):
            yield from _repetitions(value[-1], before, flags)
        elif kind is op.ATOMIC_GROUP:
            yield from _repetitions(value, before, flags)
        before += _example(node, flags)


def pumped(pattern: re.Pattern[str], length: int) -> Iterator[str]:
    """Texts of about a length that may make a pattern slow: each of its repetitions pumped."""
    tree = parser.parse(pattern.pattern, pattern.flags)
    whole = example(tree, pattern.flags)
    units = {(whole, ""), (whole[:-1], ""), ("", whole[:1]), (whole[:2], "")}
    units |= {(whole[:-1] + each, "") for each in " \n("}
    for before, body in _repetitions(tree, "", pattern.flags):
        units |= {(before + body, ""), (before, body), (before + body + " ", ""), ("", body)}
    for unit, body in sorted(units):
        copies = length // max(1, len(body or unit))
        yield (unit + body * copies if body else unit * copies) + "\0"
