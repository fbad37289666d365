r"""Contents of \boxed{}, and enumerations of several answers."""

import re
from collections.abc import Sequence

_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BARE_BOX = re.compile(r"\\boxed\s{1,9}([^\s{]\S{0,80})")
_ADJACENT = re.compile(r"\}(?=\s*\\boxed)")


def last_boxes(text: str) -> list[str]:
    r"""Contents of the last \boxed{} and of those before it in the same enumeration, in order."""
    spans: list[tuple[int, int, int]] = []
    limit = len(text)
    for match in reversed(list(_BOX.finditer(text))):
        end = _closing_brace(text, match.end(), limit)
        if end is None:
            # A box that never closes is inside no other; a search past it for each of 10^5
            # openings would take quadratic time.
            limit = match.start()
            continue
        gap = text[end + 1 : spans[0][0]] if spans else ""
        letters = bool(spans) and _are_letters(text[match.end() : end], text[slice(*spans[0][1:])])
        if spans and not _are_parts(gap) and not (letters and not gap.strip(" $")):
            break
        if letters and _OR.search(gap):
            return [f"{text[match.end() : end]} or {text[slice(*spans[0][1:])]}"]
        spans.insert(0, (match.start(), match.end(), end))
        limit = match.start()
    bare = _last_bare_box(text)
    if bare and (not spans or (bare.start() > spans[-1][2] and _VALUE.match(bare[1]))):
        return [bare[1].rstrip("$.,;。，；")]
    return [text[start:end] for _, start, end in spans]


def _last_bare_box(text: str) -> re.Match[str] | None:
    """The last box without braces."""
    return max(_BARE_BOX.finditer(text), key=lambda match: match.start(), default=None)


# No word: "put it in \boxed form".
_VALUE = re.compile(r"[-+]?\\?[\d.]|[A-J](?![a-zA-Z])")


_OR = re.compile(r"\bor\b|或")
_CHOICE = re.compile(r"[\s(]{0,3}(?:\\text\{)?([A-J])[\s)}.]{0,3}")


def _are_letters(text: str, other: str) -> bool:
    """True for two different letters of a multiple choice."""
    left, right = _CHOICE.fullmatch(text), _CHOICE.fullmatch(other)
    return left is not None and right is not None and left[1] != right[1]


def boxed_answer(text: str, boxes: Sequence[str]) -> str | None:
    """The last boxes of a text as one answer; None where words beside the last one deny it."""
    start = text.rfind("\\boxed")
    if start >= 0 and (
        _DENIED_BEFORE.search(text[max(0, start - 40) : start])
        or _DENIED_AFTER.match(text[_box_end(text, start) :][:60])
    ):
        return None
    return _outer_box(text) or joined(boxes)


_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not|never|neither|rather than|instead of)|n't|不[是为选]|并非|绝非|排除)"
    r"(?:\s(?:be|equal(?:\sto)?|the answer))?[\s:：$*(（]{0,6}(?:\\[(\[])?\s?\Z",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(
    r"[\s$*)）}]{0,6}(?:\\[)\]])?\s?(?:(?:is|was|would be|seems|looks)\s(?:clearly\s|obviously\s)?"
    r"(?:wrong|incorrect|false|a mistake|invalid|impossible|ruled out|not\s(?:(?:the|a)\s)?(?:right"
    r"|correct|answer|true|valid|possible|solution))\b|(?:cannot|can't) be (?:right|correct|true)\b"
    r"|(?:fails|does not work|doesn't work)\b|[这是就]{0,2}(?:错|不对|不正确|不成立)"
    r"|不是(?:正确)?答案)",
    re.IGNORECASE,
)
# Characters of a box that holds another.
_MAX_OUTER = 400


def _box_end(text: str, start: int) -> int:
    """Index after the box that opens at `start`."""
    opening = _BOX.match(text, start)
    end = _closing_brace(text, opening.end(), len(text)) if opening else None
    return len(text) if end is None else end + 1


def _outer_box(text: str) -> str | None:
    r"""Content of a box of which the last one is a part, \boxed{\frac{\boxed{1}}{2}}."""
    openings = list(_BOX.finditer(text))[-4:]
    for outer in openings[:-1]:
        end = _closing_brace(text, outer.end(), min(len(text), outer.end() + _MAX_OUTER))
        if end is None or end < openings[-1].start():
            continue
        content = text[outer.end() : end].strip()
        is_wrapper = _BOX.match(content) is not None and _box_end(content, 0) == len(content)
        if "\n" not in content and not is_wrapper:
            return _BOX.sub("{", content)
    return None


def separated(text: str) -> str:
    """A text with a comma between boxes that have nothing between them."""
    return _ADJACENT.sub("}, ", text)


def joined(parts: Sequence[str]) -> str | None:
    """Parts of one answer as a list; None without any."""
    return ", ".join(part.strip() for part in parts if part.strip()) or None


def _closing_brace(text: str, start: int, limit: int) -> int | None:
    """Index before `limit` of the brace that closes the one just before `start`; None if none."""
    depth = 1
    for match in _BRACE.finditer(text, start, limit):
        depth += {"{": 1, "}": -1}.get(match.group(), 0)
        if depth == 0:
            return match.start()
    return None


_CONNECTOR = re.compile(r"[,;、，；]|\b(?:and|or)\b|和|或|及")
_BREAK = re.compile(
    r"[.。!?？:\n\d=是为得]|因此|所以|\b(?:no|not|wait|actually|then|but|instead|so|thus|hence"
    r"|therefore|which|is)\b",
    re.IGNORECASE,
)
_NAMES = re.compile(r"\\\(|\\\)|\\q?quad|\\text|[${}\\]|[a-zA-Z](?:_\{?\w\}?)?\s*=|\(\w\)")


def joins_answers(gap: str) -> bool:
    """True if the text between two answers makes them two parts of one."""
    if len(gap) > 60:
        return False
    words = _NAMES.sub(" ", gap)
    return _CONNECTOR.search(words) is not None and _BREAK.search(words) is None


# The number of a part of a question, at the start of a line.
_PART = re.compile(r"(?:^|\n)[\s#*]{0,6}[(（](?:[2-9]|[b-h]|i{2,3}|iv|v)[)）]")


def _are_parts(gap: str) -> bool:
    """True if boxes with this text between them are parts of one answer."""
    return joins_answers(gap) or _PART.search(gap) is not None
