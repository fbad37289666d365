"""Multiple choice: which letters a reference asks for, and which an answer chooses."""

import re
from collections.abc import Sequence

from reasonenv.grading.parsing.notation import canonical

_LETTERS = re.compile(r"[A-J]{1,10}")
_SINGLE = re.compile(r"\(?([A-Ja-j])[).:]*(?:\s?选?项)?")
_LEADING = re.compile(r"\(?([A-J])(?:\)|\s?[.:,、]|\s-)\s?\S")
_STATED = re.compile(
    r"(?:[:=：是选项]|\b(?:but|rather|is|it's|be|therefore|so|thus|hence|choose|chose|select|pick|option"
    r"|choice|answer|est|definitely|sure|clearly))\s?\(?([A-J])(?![\w'*/^_=<>+-])"
    r"|^([A-J])\s(?:or|and)\b"
    r"|(?<![\w\\'])\(?([A-J])\)?\s(?:is|seems)\s(?:the\s)?(?:right|correct|true|answer|best)",
    re.IGNORECASE,
)
_LONE = re.compile(r"(?<![\w\\'+*/^=<>-])\(?([A-J])\)?(?![\w'*/^_=<>+-])")
_MARKED = re.compile(
    r"\(([A-J])\)|(?<![\w\\'])([A-J])[.:)]|(?:\b(?:or|and)\s(?:maybe\s|perhaps\s|even\s)?|,\s?)\(?([A-J])(?=[\s,.)]|$)"
)
_DENIED = re.compile(
    r"(?:\b(?:not|non|never|neither|nor|except|(?:any|every|no)thing but|all but|cannot"
    r"|exclude[sd]?|eliminate[sd]?|rule[sd]? out|rather than|instead of)\b|n't\b|不是|不选)"
    r"(?:(?!\bbut\b)[^.,;:，。；]){0,40}"
    r"|\(?\b[A-J]\b\)?[.:]?\s(?:is|was|are|would be|must be|seems)\s?"
    r"(?:n't|not|wrong|false|incorrect|impossible|out)\b[^.,;，。；]{0,40}",
    re.IGNORECASE,
)
_REJECTED = re.compile(
    r"\b(?:no doubt|wrong|false|incorrect|fails?|ruled out|does not)\b|错|不", re.I
)
_JOINTS = re.compile(r"\b(?:and|or)\b|[\s,;、/&.()和或]")
_TITLE = re.compile(r"^(?:[Oo]ption|[Cc]hoice|[Aa]nswer)s?:?\s|^\s*[Bb]oth\s")
_MAX_LENGTH = 400


def reference_letters(reference: str) -> frozenset[str] | None:
    """The letters of a reference that is a choice: "C", "(C)", "BC"; None where it is none."""
    text = _TITLE.sub("", canonical(reference)).strip("(). ")
    if not _LETTERS.fullmatch(text) or len(set(text)) < len(text) or list(text) != sorted(text):
        return None
    return frozenset(text)


def answer_letters(answer: str) -> frozenset[str] | None:
    r"""The letters that an answer chooses, as in "C", "(c)", "C. 12 cm", "option C" or "A, C".

    Of prose it is the letter that it says it is, and those beside it that are not denied: "D, it
    can't be A or B" is D, "A. 10 cm B. 11 cm" and "A or maybe B" are both. None where it says none.
    """
    text = re.sub(r"\\(?:text|boxed)\s*\{([^{}]*)\}", r"\1", canonical(_ends(answer)))
    text = re.sub(r"\s+", " ", text.replace("**", "")).strip(" $.\"'`[]{}<>\\")
    text = _TITLE.sub("", text)
    if dressed := _SINGLE.fullmatch(text):
        return frozenset(dressed[1].upper())
    if _LETTERS.fullmatch(bare := _JOINTS.sub("", text)) and (text == bare or _LONE.search(text)):
        return frozenset(bare)
    affirmed = _DENIED.sub(" ", text)
    marked = {letter for groups in _MARKED.findall(affirmed) for letter in groups if letter}
    if _REJECTED.search(affirmed):
        return None
    if leading := _LEADING.match(affirmed):
        return frozenset([leading[1], *marked])
    said = {letter for groups in _STATED.findall(affirmed) for letter in groups if letter.isupper()}
    said = {letter for letter in said if _is_letter(letter, affirmed)}
    return frozenset(said | marked) if said else None


def _ends(text: str) -> str:
    """A long text without its middle."""
    return (
        text
        if len(text) <= _MAX_LENGTH
        else f"{text[: _MAX_LENGTH // 2]} {text[-_MAX_LENGTH // 2 :]}"
    )


def _is_letter(letter: str, text: str) -> bool:
    """A and I are also words: as such they stand before another one."""
    return letter not in "AI" or re.search(rf"\b{letter}\b(?!\s+[a-z]{{2,}})", text) is not None


def option_text(asked: frozenset[str], options: Sequence[str]) -> str | None:
    """The text of the option that is asked for, where it is one that there is."""
    if len(asked) != 1:
        return None
    index = ord(next(iter(asked))) - ord("A")
    return options[index] if index < len(options) else None
