"""Sentences with one number, in words: Omar has fourteen marbles left, 小刚得了五个苹果.

Only the words are replaced: the rules for sentences with one number in digits decide the rest. What
stands after an article or a determiner, "the two cars", 这两条, describes and is no number here,
nor is a lone "one" or 一, as in "one of them" and 一个.
"""

import re

from reasonenv.grading.words.numbers import (
    CHARACTERS,
    NAMES_WITH_NUMERALS,
    chinese_value,
    english_number,
    is_numeral,
    written,
)

_MAX_LENGTH = 200
_WORD = re.compile(r"[a-zA-Z]+")
_DESCRIBES = frozenset(
    """the these those both all other another every each next last first any either neither of
    which what formula plus minus times""".split()  # noqa: SIM905 - a list of words
)
_PARTITIVE = re.compile(r"\sof\s(?:the|these|those|his|her|their|them|us)\b")
_FRACTION = re.compile(r"\\frac\{(\d+)\}\{(\d+)\}")
_RUN = re.compile(rf"[{CHARACTERS}]+(?:点[{CHARACTERS}]+)?")
_ADVERB = re.compile(NAMES_WITH_NUMERALS)
_VERB = re.compile(r"[了有是为共得剩要需花到卖买吃走跑达用做看读写摘种养借捐]\Z")
_AFTER = re.compile(r"(?!多|来|几|余|班|号|楼|年级|月|日)[\u4e00-\u9fff]|\Z")


def with_digits(sentence: str) -> str | None:
    """A sentence without digits with its only number in digits; None without one, or with more."""
    if len(sentence) > _MAX_LENGTH or any(map(str.isdigit, sentence)):
        return None
    return _english(sentence) if sentence.isascii() else _chinese(sentence.strip(" 。."))


def _english(sentence: str) -> str | None:
    words = list(_WORD.finditer(sentence))
    names = [word[0].casefold() for word in words]
    first = next((k for k, name in enumerate(names) if is_numeral(name)), None)
    if first is None or (first and names[first - 1] in _DESCRIBES):
        return None
    first -= first > 0 and names[first - 1] in ("a", "an")
    start = words[first].start()
    number = english_number(sentence[start:])
    if number is None or number[0] == "1":
        return None
    rest = sentence[start + number[1] :]
    if rest.startswith("-") or any(is_numeral(word.casefold()) for word in _WORD.findall(rest)):
        return None
    value = _FRACTION.sub(r"\1/\2", number[0])
    return sentence[:start] + value + _PARTITIVE.sub("", rest, count=1)


def _chinese(sentence: str) -> str | None:
    plain = _ADVERB.sub(lambda name: "共" * len(name[0]), sentence)
    runs = list(_RUN.finditer(plain))
    if len(runs) != 1 or runs[0][0] == "一":
        return None
    start, end = runs[0].span()
    value = chinese_value(runs[0][0])
    if value is None or not _VERB.search(plain[:start]) or not _AFTER.match(plain, end):
        return None
    return sentence[:start] + written(value) + sentence[end:]
