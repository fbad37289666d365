"""Options of multiple choices as lines of text."""

import ast
import re
from collections.abc import Sequence

from reasonenv.errors import DataError

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MARKED = re.compile(r"([A-Z])\s*[.:．、]\s*(.*)", re.DOTALL)


def lettered_lines(options: Sequence[str]) -> str:
    """The options with their letters, one a line: "(A) 3"."""
    return "\n".join(f"({letter}) {text}" for letter, text in zip(LETTERS, options, strict=False))


def printed_texts(text: str) -> tuple[str, ...]:
    """The texts of a list as Python prints it: "['3', '4']".

    Raises:
        DataError: It is none.
    """
    try:
        texts = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        texts = None
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise DataError(f"options {text!r:.40}: a list of strings as Python prints it was expected")
    return tuple(texts)


def option_texts(lines: Sequence[str]) -> tuple[str, ...]:
    """The texts of lines such as "A:3" or "B. 4"; none unless the letters are A, B, C, ..."""
    matches = [_MARKED.fullmatch(line.strip()) for line in lines]
    pairs = [match.groups() for match in matches if match]
    in_order = "".join(letter for letter, _ in pairs) == LETTERS[: len(lines)]
    return tuple(text.strip() for _, text in pairs) if in_order and len(pairs) > 1 else ()
