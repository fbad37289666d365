r"""Contents of \boxed{}, and enumerations of several answers."""

import re
from collections.abc import Sequence

_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BARE_BOX = re.compile(r"\\boxed\s+(\S+)")
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
        if spans and not _are_parts(text[end + 1 : spans[0][0]]):
            break
        spans.insert(0, (match.start(), match.end(), end))
        limit = match.start()
    if spans:
        return [text[start:end] for _, start, end in spans]
    bare = _BARE_BOX.search(text)
    return [bare.group(1)] if bare else []


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
