"""The value that a sentence states: for responses without a box or a marker.

A sentence that carries out one computation states its result. On request the only number or formula
of a sentence counts too, unless a word of the guard stands beside it: a guess, which training does
without; benchmarks of models that answer in prose may ask for it.
"""

import re

from reasonenv.grading.parsing.counts import MAGNITUDES, changes_value
from reasonenv.grading.parsing.units import UNITS
from reasonenv.grading.reading.guard import is_guarded

_VALUE = re.compile(
    r"\$[^$]{1,120}\$|\\\([^()]{1,120}\\\)"
    r"|[-−]?[$€£¥]?(?<![\w.,/])\d{1,20}(?:,\d{3})*(?:\.\d{1,20})?(?:/\d{1,20})?%?"
)
# One computation that is carried out: 7 + 8 = 15; 7 + 8, which equals 15; 3 times 4 is 12.
_COMPUTED = re.compile(
    r"(?:^|(?<=[a-zA-Z]{2} )|(?<=[,:;] ))\d{1,9}(?: ?(?:[-+*/×÷−x]|times|plus|minus) ?\d{1,9}){1,3}"
    r"(?:,? which)? ?(?:=|equals|is(?: equal to)?) ?(?P<value>\d{1,20}(?:\.\d{1,20})?)"
    r"(?![\w/%^!]|\.\d)"
)
_RESULT = re.compile(r"\d{1,20}(?:\.\d{1,20})?")
_NUMBER = re.compile(r"\d")
_CONCLUDES = re.compile(r"(?:so|therefore|thus|hence|then)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+")
_WORD = re.compile(r"\s?([a-zA-Z]+|[\u4e00-\u9fff]{1,2})")
_NUMBERED = re.compile(r"(?:step|part|problem|question|case|figure|page|room|grade|第)\s?\Z", re.I)
_MAX_LENGTH = 400


def computed_value(line: str) -> str | None:
    """The result of the only computation of a sentence that is a line, or concludes one."""
    *earlier, last = [part for part in _SENTENCE.split(line[-_MAX_LENGTH:]) if part.strip()] or [""]
    matches = list(_COMPUTED.finditer(last))
    if len(matches) != 1 or _NUMBER.search(last, matches[0].end()):
        return None
    before = last[: matches[0].start()]
    if is_guarded(before) or "=" in before or (earlier and not _CONCLUDES.match(last)):
        return None
    return _stated(last, list(_RESULT.finditer(last, matches[0].start("value"))))


def stated_value(text: str) -> str | None:
    """The only value of the last sentence with one; None without one, or with several."""
    for sentence in reversed(_SENTENCE.split(text[-_MAX_LENGTH:])):
        values = list(_VALUE.finditer(sentence.replace("**", "")))
        if values:
            return _stated(sentence.replace("**", ""), values)
    return None


def _stated(sentence: str, values: list[re.Match[str]]) -> str | None:
    value = values[-1]
    before, after = sentence[: value.start()], sentence[value.end() :]
    if len({each[0] for each in values}) > 1 or is_guarded(before) or is_guarded(after):
        return None
    if _NUMBERED.search(before) or changes_value(after.strip().partition(" ")[0]):
        return None
    word = _WORD.match(after)
    is_unit = word is not None and (word[1] in UNITS or word[1].lower() in MAGNITUDES)
    return value[0] + (word[0] if word is not None and is_unit else "")
