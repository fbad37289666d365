"""Multiple choice: the letters that a text chooses, and the option beside a letter.

A text that is read to its end is a letter or several, alone or with the text of its option, a
reason or a remark: "C", "(c)", "C. 12 cm", "option C", "A, C", "选C", "B because 2 < 3".
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from reasonenv.grading.budget import counted_cache
from reasonenv.grading.parsing.notation import canonical
from reasonenv.grading.reading.lines import predicate
from reasonenv.grading.reading.words import is_guarded, is_withdrawn, normalized_words, plain

Equal = Callable[[str, str], bool | None]
_MAX_LENGTH = 400
_LETTER = r"\(?(?<![A-Za-z])[A-J](?![A-Za-z'])\)?"
_JOINT = r"(?:\s?[,;、&/]\s?(?:and\s)?|\sand\s|\s?[和与及]\s?|\s)"
_TITLE = (
    r"(?:(?:i\s(?:choose|think\sit\sis|pick|select)\s|it\sis\s)?(?:the\s)?(?:(?:correct|right|best|final)\s)?"
    r"(?:options?|choices?|answers?|statements?|both|letters?)?(?:\s?(?:is|are)\b)?\s?:?\s?|(?:故|应|所以)?选?[项择]?[为是]?:?\s?)"
)
_END = (
    r"(?:\s?选?项)?(?:\s(?:only|alone|(?:is|are) (?:the )?(?:correct|right|best|answer)"
    r"(?: (?:answer|option|choice))?)|\s?[都均]?是?(?:正确|对|成立)的?)?"
    r"(?:\s?\((?P<note>.{1,80})\))?[.!]?"
)
_CHOICE = re.compile(
    rf"{_TITLE}(?P<run>{_LETTER}(?:{_JOINT}{_LETTER}){{0,9}}|[A-J]{{2,10}}){_END}", re.IGNORECASE
)
_SINGLE = re.compile(r"[(\[{]?([A-Ja-j])[)\]}.:]*")
# A letter with a text beside it: sure signs of a label, and others that may be a word or a product.
_LABEL = re.compile(
    rf"{_TITLE}(?:\((?P<round>[A-J])\)[.:,]?|(?P<sure>[A-J])(?:\)[.:,]?|\s?[.:]|、)|(?P<spaced>[A-J])(?=,?\s|\())"
    r"\s?(?P<text>\S.*)",
    re.DOTALL | re.IGNORECASE,
)
_REASON = re.compile(r"[,;.]?\s?(?:\b(?:because|since|as)\b|因为|由于|理由).*\Z", re.DOTALL)
_LONE = re.compile(r"(?<![A-Za-z])(?:[B-J]|A(?!\s[a-z]{2}))(?![A-Za-z'_=^]|\s?=)")
_SLASH = re.compile(r"[/&]|\bor\b|或", re.IGNORECASE)


class Choice(NamedTuple):
    """Letters, and the text of their option.

    Attributes:
        letters: None for a reference that is no choice.
        text: None for letters alone.
        is_sure: False for a letter that may also be a word or a variable, as of "A triangle".
    """

    letters: frozenset[str] | None
    text: str | None = None
    is_sure: bool = True


def read_letters(answer: str) -> Choice:
    """The letters that an answer chooses, with the text beside a single one.

    Letters are None where the answer is no choice, and empty where it leaves it open.
    """
    text = _plain(answer)
    if not text or len(text) > _MAX_LENGTH:
        return Choice(None)
    if single := _SINGLE.fullmatch(text):
        return Choice(frozenset(single[1].upper()))
    choice = _CHOICE.fullmatch(_REASON.sub("", _BRACES.sub("", text)))
    run = choice["run"].replace("and", "") if choice else ""
    named = re.findall("[A-J]", run) if run.isupper() else []
    letters = frozenset(named)
    if choice and len(letters) == len(named) > 0 and not _is_changed(choice["note"] or ""):
        is_open = _SLASH.search(choice["run"]) is not None
        note = choice["note"] if len(letters) == 1 else None
        return Choice(frozenset() if is_open else letters, note or None)
    return _label(text)


def _label(text: str) -> Choice:
    label = _LABEL.fullmatch(text)
    if label is None:
        return Choice(None)
    groups = label.groupdict()
    letter = groups["round"] or groups["sure"] or groups["spaced"]
    if not letter.isupper() and not groups["round"]:
        return Choice(None)
    return Choice(frozenset(letter.upper()), label["text"].strip(), not groups["spaced"])


_BRACES = re.compile("[{}]")


def _is_changed(note: str) -> bool:
    return _LONE.search(note) is not None or is_withdrawn("", note) or is_guarded(note[:80])


_SIGNS = str.maketrans("（）：；，．", "():;,.")
_LAYOUT = re.compile(
    r"\\rm(?![a-z])|\\[()\[\],;! ]|\\q?quad(?![a-z])|[$`\"“”「」]|\*\*|\\left|\\right"
)


@lru_cache(maxsize=4096)
def _plain(answer: str) -> str:
    text = plain(answer[: 2 * _MAX_LENGTH].replace("\\boxed", "\\text")).translate(_SIGNS)
    text = " ".join(_LAYOUT.sub(" ", text).split()).replace("( ", "(").replace(" )", ")")
    return text.strip(" .")


def choice_verdict(
    answer: str, reference: str, options: Sequence[str], equal: Equal
) -> bool | None:
    """Verdict on a multiple choice, None for a reference that is no choice.

    Args:
        answer: The final answer in a response.
        reference: A letter, an option's text or both; with options also an index from 0.
        options: Texts of the options, in order; none where they are unknown.
        equal: Verdict on two texts, of an answer and of an option.
    """
    right = reference_choice(reference, tuple(options))
    choice = read_letters(answer)
    if not _is_sure(choice):
        stated = predicate(answer)
        choice = read_letters(stated) if stated and _is_sure(read_letters(stated)) else choice
    if right.letters is None:
        is_label = choice.text is not None and choice.is_sure
        return True if is_label and equal(choice.text or "", reference) else None
    # The text of an option may begin with a letter of its own: I. and II. only.
    is_text = len(answer) > 3 and right.text is not None and answer.strip() == right.text.strip()
    if is_text or answer.strip() == reference.strip():
        return True
    may_be_text = not _is_sure(choice) or (choice.text is None and len(choice.letters or ()) > 1)
    if may_be_text and right.text is not None and equal(answer, right.text):
        return True
    if choice.letters is None or choice.text is None:
        return choice.letters == right.letters
    return _labeled(choice, right, options, equal)


def _is_sure(choice: Choice) -> bool:
    return choice.letters is not None and choice.is_sure


def _labeled(choice: Choice, right: Choice, options: Sequence[str], equal: Equal) -> bool:
    """Verdict on a letter with a text: that of its option, or a remark that names no other."""
    letters, text = choice.letters or frozenset(), choice.text or ""
    own = option_text(letters, options) or (right.text if letters == right.letters else None)
    if own is not None and _same(text, own, equal):
        return letters == right.letters
    if letters != right.letters or not choice.is_sure:
        return False
    if _is_changed(text):
        return False
    if own is None:
        return True
    others = [option for option in options if option != own]
    parts = [text, *_PART.split(text, maxsplit=3)]
    if any(_same(part, other, equal) for part in parts for other in others):
        return False
    return bool(options) or not right.text


_PART = re.compile(r"[,;?.]\s|\s\(|\sor\s")


def _same(text: str, option: str, equal: Equal) -> bool:
    if normalized_words(text) == normalized_words(option):
        return True
    return len(text) <= 2 * len(option) + _LONGER and equal(text, option) is True


_LONGER = 20  # characters, as of a fraction for 0.5; a longer text explains, and is not compared
_LETTERS = re.compile(r"[A-J]{1,10}")
_ENUMERATION = re.compile(
    r"\(?[A-J]\)?(?:(?:\s?[,;]\s?|\s?[和与及&]\s?|\sand\s|\s)\(?[A-J]\)?){1,9}"
)
_REFERENCE_TITLE = re.compile(r"^(?:[Oo]ption|[Cc]hoice|[Aa]nswer)s?:?\s|^\s*[Bb]oth\s")
_REFERENCE_LABEL = re.compile(r"(?:\(([A-J])\)[.:]?|([A-J])(?:\)|\s?[.:]|、))\s?(\S.*)", re.DOTALL)
_INITIAL = re.compile(r"[F-J]\.\s[A-Z][a-z]+")


@counted_cache(maxsize=4096)
def reference_choice(reference: str, options: tuple[str, ...]) -> Choice:
    """The choice that a reference names: by letter, by letter and text, by text or by index."""
    if not options and _INITIAL.fullmatch(reference):
        return Choice(None)  # a name with its initial
    letters = reference_letters(reference)
    if letters is None and options:
        letters = reference_letters("".join(sorted(reference.strip())))
    is_known = letters is not None and (not options or max(letters) <= _letter(len(options) - 1))
    if letters and is_known and len(letters) == 1:
        return Choice(letters, option_text(letters, options))
    index = _option_index(reference, options)
    if letters and is_known and index is None:
        return Choice(letters)
    if label := _REFERENCE_LABEL.fullmatch(reference):
        return Choice(frozenset(label[1] or label[2]), label[3])
    return Choice(None) if index is None else Choice(frozenset(_letter(index)), options[index])


_HAS_LETTER = re.compile("[A-J]")


def reference_letters(reference: str) -> frozenset[str] | None:
    """The letters of a reference such as "C", "(C)", "BC" or "B, C"; None if it is no choice."""
    if len(reference) > _MAX_LENGTH or not _HAS_LETTER.search(reference):
        return None
    text = _REFERENCE_TITLE.sub("", canonical(reference))
    if _ENUMERATION.fullmatch(text):
        text = re.sub("[^A-J]", "", text)
    text = text.strip("(). ")
    if not _LETTERS.fullmatch(text) or len(set(text)) < len(text) or list(text) != sorted(text):
        return None
    return frozenset(text)


def _option_index(reference: str, options: Sequence[str]) -> int | None:
    """Index of the option with the text of a reference, or that it names by number from 0."""
    words = normalized_words(reference) if options else ""
    same = [index for index, option in enumerate(options) if normalized_words(option) == words]
    if same or not _INDEX.fullmatch(reference):
        return same[0] if len(same) == 1 else None
    return int(reference) if int(reference) < len(options) else None


_INDEX = re.compile(r"[0-9]")


def option_text(letters: frozenset[str], options: Sequence[str]) -> str | None:
    """The text of the option with this letter; None for several letters or a missing option."""
    if len(letters) != 1:
        return None
    index = ord(next(iter(letters))) - ord("A")
    return options[index] if index < len(options) else None


def _letter(index: int) -> str:
    return chr(ord("A") + index)
