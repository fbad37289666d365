"""Multiple choice: a reference that is a letter or the text of an option, and its answers."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from reasonenv.grading.choice.letters import MAX_LENGTH, answer_letters, plain_choice
from reasonenv.grading.parsing.notation import canonical
from reasonenv.grading.words.text import normalized_words

_LETTERS = re.compile(r"[A-J]{1,10}")
_ENUMERATION = re.compile(
    r"\(?[A-J]\)?(?:(?:\s?[,;]\s?|\s?[和与及&]\s?|\sand\s|\s)\(?[A-J]\)?){1,9}"
)
_TITLE = re.compile(r"^(?:[Oo]ption|[Cc]hoice|[Aa]nswer)s?:?\s|^\s*[Bb]oth\s")
# A letter before a text: "(A) linear", "A. 31"; and, where options are known, after it as well.
_LABEL = re.compile(r"(?:\(([A-Ja-j])\)[.:]?|([A-J])(?:\)|\s?[.:]|、))\s?(\S.*)", re.DOTALL)
_LOOSE_LABEL = re.compile(r"\(?([A-Ja-j])(?:\)[.:,]?|\s?[.:,=]|、|\s-)?\s?(\S.*)", re.DOTALL)
_LABEL_BEFORE = re.compile(r"([A-J])()\s?\(([^()]{1,200})\)")
_LABEL_AFTER = re.compile(
    r"\A([^(]{1,200}?),?\s(?:\(([A-J])\)"
    r"|(?:which is\s(?:[Oo]ption\s)?|(?:[Oo]ption|[Cc]hoice)\s)\(?([A-J])\)?)"
)
_LABEL_WITHIN = re.compile(
    r"(?:\(([A-J])\)|(?<![A-Za-z])([A-J])[.:)])\s?((?:[^.,;(]|[.,](?=\d)){1,200})"
)
_SPACED_LABEL = re.compile(r"([B-HJ])\s+[A-Za-z]{3}")
_LABEL_START = re.compile(
    r"[\s*$]{0,9}(?:\\text\w*\s?\{|\\mathrm\{)?[\s*]{0,4}(?:Option|Choice|选项|[(（]?[A-Ja-j][).:：．、）])",
    re.I,
)
_REMARK = re.compile(r",?\s(?:because|since|as)\b|,?(?:因为|由于)")

Equal = Callable[[str, str], bool | None]


class Choice(NamedTuple):
    """The right options: their letters, and the text that stands for them.

    Args:
        letters: None for a reference that is no choice.
        text: None for a letter whose option is unknown.
    """

    letters: frozenset[str] | None
    text: str | None


class Label(NamedTuple):
    """A letter and the text beside it, in an answer.

    Args:
        is_sure: False for a letter that may also be a word or a variable, such as "A triangle".
    """

    letter: str
    text: str
    is_sure: bool


def choice_verdict(
    answer: str, reference: str, options: Sequence[str], equal: Equal
) -> tuple[bool | None, str]:
    """Verdict on a multiple choice, or None and the text that the answer must equal.

    Args:
        answer: The final answer in a response.
        reference: A letter, an option's text or both; with options also an index from 0.
        options: Texts of the options, in order; none where they are unknown.
        equal: Verdict by rules on two texts, of an answer and of an option.
    """
    if not options and any(map(_INITIAL.fullmatch, (answer, reference))):
        return None, reference
    right = reference_choice(reference, options)
    if len(right.letters or ()) == 1 and _lists_options(answer, options):
        return False, reference
    return _verdict(answer, reference, right, options, equal)


def _verdict(
    answer: str, reference: str, right: Choice, options: Sequence[str], equal: Equal
) -> tuple[bool | None, str]:
    """The same, for the choice that a reference names."""
    label = _label(answer, options) or _last_label(answer, options)
    if right.letters is None:
        is_equal = label is not None and label.is_sure and equal(label.text, reference)
        spaced = _SPACED_LABEL.match(reference)
        return True if is_equal or (spaced and answer == spaced[1]) else None, reference
    if answer.strip() == reference.strip():
        return True, reference
    if label is not None:
        verdict = _labeled_verdict(label, right, options, equal)
        if verdict is not None:
            return verdict, reference
    elif options and _is_contradictory(plain_choice(answer), options, equal):
        return False, reference
    choice = answer_letters(answer)
    is_letter = len(reference_letters(answer) or ()) == 1
    if choice is None or (not is_letter and _is_text(answer, right.text, choice, equal)):
        return (False, reference) if right.text is None else (None, right.text)
    return choice == right.letters, reference


# A name with its initial; lists of options are rarely so long.
_INITIAL = re.compile(r"[F-J]\.\s[A-Z][a-z]+")
_LINE_LABEL = re.compile(r"[\s*]{0,9}\(?([A-J])(?:\)|[.:．：、])[.:]?\s?(.+)")


def _lists_options(answer: str, options: Sequence[str]) -> bool:
    """True if lines of an answer are two options with their letters, and so none is chosen."""
    if not options or "\n" not in answer or len(answer) > MAX_LENGTH:
        return False
    labels = {
        match[1]
        for match in map(_LINE_LABEL.match, answer.splitlines())
        if match and option_text(frozenset(match[1]), options) == match[2].strip(" *")
    }
    return len(labels) > 1


def _last_label(answer: str, options: Sequence[str]) -> Label | None:
    """The label on the last line of an answer whose other lines name no letter."""
    before, _, line = answer.strip().rpartition("\n")
    if not options or not before or before.rstrip().endswith((":", "：")):
        return None
    if answer_letters(before) is not None or _LABEL_WITHIN.search(before):
        return None
    label = _LABEL.fullmatch(plain_choice(line))
    return Label((label[1] or label[2]).upper(), label[3], True) if label else None


def _is_text(answer: str, text: str | None, letters: frozenset[str], equal: Equal) -> bool:
    """True if an answer of these letters is the text of the right option, such as a segment."""
    if text is None:
        return False
    if normalized_words(answer) == normalized_words(text):
        return True
    return len(letters) > 1 and equal(answer, text) is True


def reference_choice(reference: str, options: Sequence[str]) -> Choice:
    """The choice that a reference names: by letter, by letter and text, by text or by index."""
    letters = reference_letters(reference)
    if letters is None and options:
        letters = reference_letters("".join(sorted(reference.strip())))
    is_known = letters is not None and (not options or max(letters) <= _letter(len(options) - 1))
    if letters and is_known and len(letters) == 1:
        return Choice(letters, option_text(letters, options))
    index = _option_index(reference, options)
    if letters and is_known and index is None:
        return Choice(letters, None)
    if label := _LABEL.fullmatch(reference):
        return Choice(frozenset((label[1] or label[2]).upper()), label[3])
    return (
        Choice(None, None) if index is None else Choice(frozenset(_letter(index)), options[index])
    )


def reference_letters(reference: str) -> frozenset[str] | None:
    """The letters of a reference such as "C", "(C)", "BC" or "B, C"; None if it is no choice."""
    if len(reference) > MAX_LENGTH:
        return None
    text = _TITLE.sub("", canonical(reference))
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


def _label(answer: str, options: Sequence[str]) -> Label | None:
    """The letter and the text of an answer such as "(A) linear"; None without a letter."""
    if not options and not _LABEL_START.match(answer):
        return None
    text = plain_choice(answer)
    label = _LABEL.fullmatch(text) or (_LABEL_BEFORE.fullmatch(text) if options else None)
    if label is None:
        return _loose_label(text) if options else None
    words = _REMARK.split(label[3], maxsplit=1)[0].strip()
    return Label((label[1] or label[2]).upper(), words, True) if words else None


def _loose_label(text: str) -> Label | None:
    """As `_label`, for a letter that may also be a word, a variable or stand after the text."""
    if after := _LABEL_AFTER.fullmatch(text):
        return Label(after[2] or after[3], after[1], True)
    label = _LOOSE_LABEL.fullmatch(text)
    return Label(label[1].upper(), label[2], False) if label else None


def _labeled_verdict(
    label: Label, right: Choice, options: Sequence[str], equal: Equal
) -> bool | None:
    """Verdict on a letter with its text: False where the text is another option's; None if open."""
    is_right = {label.letter} == right.letters
    own = option_text(frozenset(label.letter), options)
    if own is None:
        if options or right.text is None or not label.is_sure:
            return None
        return is_right and equal(label.text, right.text) is True
    if _same(label.text, own, equal):
        return is_right
    if not label.is_sure:
        return None
    if _same(_DENIAL.sub("", label.text), own, equal):
        return False
    parts = _ALTERNATIVE.split(label.text, maxsplit=3)
    return False if any(_is_another(part, own, options, equal) for part in parts) else None


_DENIAL = re.compile(r"^(?:(?i:is not|isn't|not)\s|不是|不)")
_ALTERNATIVE = re.compile(r",?\s(?i:or)\s|或者?|还是|[,;?.]\s?(?:(?i:no)\b|不),?\s?|[;?]\s?")


def _is_contradictory(answer: str, options: Sequence[str], equal: Equal) -> bool:
    """True if the last letter with a text, as in "it must be (B) linear", has another's text."""
    labels = list(_LABEL_WITHIN.finditer(answer))
    if not labels:
        return False
    text = _REMARK.split(labels[-1][3], maxsplit=1)[0]
    own = option_text(frozenset(labels[-1][1] or labels[-1][2]), options)
    return (
        own is not None and not _same(text, own, equal) and _is_another(text, own, options, equal)
    )


def _is_another(text: str, own: str, options: Sequence[str], equal: Equal) -> bool:
    """True if a text is that of an option, but not of its own."""
    return any(_same(text, option, equal) for option in options if option != own)


def _same(text: str, option: str, equal: Equal) -> bool:
    if normalized_words(text) == normalized_words(option):
        return True
    return len(text) <= 2 * len(option) + _LONGER and equal(text, option) is True


_LONGER = 20  # characters, as of a fraction for 0.5; a longer text explains, and is not compared
