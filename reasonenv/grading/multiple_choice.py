"""Multiple choice: the letters of a reference and of an answer, and the text of an option."""

import re
from collections.abc import Sequence

from reasonenv.grading.parsing.notation import canonical
from reasonenv.grading.text import normalized_words

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
_LABELED_OPTION = re.compile(r"\(?(?:([A-J])[.):]+\s*\S|([B-HJ])\s+[A-Za-z]{3})")
_MAX_LENGTH = 400


def choice_verdict(answer: str, reference: str, options: Sequence[str]) -> tuple[bool | None, str]:
    """Verdict on a multiple choice, or None and the text that the answer must equal."""
    letters = reference_letters(reference)
    if letters is None:
        label = _LABELED_OPTION.match(reference)
        return (True if label and answer in label.groups() else None), reference
    text = option_text(letters, options)
    choice = answer_letters(answer)
    is_letter = len(reference_letters(answer) or ()) == 1
    is_option_text = text is not None and normalized_words(answer) == normalized_words(text)
    if choice is not None and (is_letter or not is_option_text):
        return choice == letters, reference
    return (False, reference) if text is None else (None, text)


def reference_letters(reference: str) -> frozenset[str] | None:
    """The letters of a reference such as "C", "(C)" or "BC"; None if it is no choice."""
    if len(reference) > _MAX_LENGTH:
        return None
    text = _TITLE.sub("", canonical(reference)).strip("(). ")
    if not _LETTERS.fullmatch(text) or len(set(text)) < len(text) or list(text) != sorted(text):
        return None
    return frozenset(text)


def answer_letters(answer: str) -> frozenset[str] | None:
    r"""The letters that an answer chooses, as in "C", "(c)", "C. 12 cm", "option C" or "A, C".

    In prose these are the letter that it states, and all others that it does not deny: "D, it
    can't be A or B" is D; "A. 10 cm B. 11 cm" and "A or maybe B" are A and B. None without any.
    """
    text = re.sub(r"\\(?:text|boxed)\s*\{([^{}]*)\}", r"\1", canonical(_ends(answer)))
    text = re.sub(r"\s+", " ", text.replace("**", "")).strip(" $.\"'`[]{}<>\\")
    text = _TITLE.sub("", text)
    if single := _SINGLE.fullmatch(text):
        return frozenset(single[1].upper())
    if _LETTERS.fullmatch(bare := _JOINTS.sub("", text)) and (text == bare or _LONE.search(text)):
        return frozenset(bare)
    affirmed = _DENIED.sub(" ", text)
    marked = {letter for groups in _MARKED.findall(affirmed) for letter in groups if letter}
    if _REJECTED.search(affirmed):
        return None
    if leading := _LEADING.match(affirmed):
        return frozenset([leading[1], *marked])
    names = {name for groups in _STATED.findall(affirmed) for name in groups if name.isupper()}
    letters = {letter for letter in names if _is_letter(letter, affirmed)}
    return frozenset(letters | marked) if letters else None


def _ends(text: str) -> str:
    """A long text without its middle."""
    return (
        text
        if len(text) <= _MAX_LENGTH
        else f"{text[: _MAX_LENGTH // 2]} {text[-_MAX_LENGTH // 2 :]}"
    )


def _is_letter(letter: str, text: str) -> bool:
    """False for A and I that are words: those come before another word."""
    return letter not in "AI" or re.search(rf"\b{letter}\b(?!\s+[a-z]{{2,}})", text) is not None


def option_text(letters: frozenset[str], options: Sequence[str]) -> str | None:
    """The text of the option with this letter; None for several letters or a missing option."""
    if len(letters) != 1:
        return None
    index = ord(next(iter(letters))) - ord("A")
    return options[index] if index < len(options) else None
