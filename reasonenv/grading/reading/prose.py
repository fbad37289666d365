"""The only value that a sentence states: for responses without a box or a marker, on request.

A sentence with one number or formula states it, unless a word of the guard stands beside it. This
is a guess, which training does without; benchmarks of models that answer in prose may ask for it.
"""

import re

from reasonenv.grading.parsing.counts import MAGNITUDES, changes_value
from reasonenv.grading.parsing.units import UNITS
from reasonenv.grading.reading.guard import is_guarded

_VALUE = re.compile(
    r"\$[^$]{1,120}\$|\\\([^()]{1,120}\\\)"
    r"|[-−]?[$€£¥]?(?<![\w.,/])\d{1,20}(?:,\d{3})*(?:\.\d{1,20})?(?:/\d{1,20})?%?"
)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+")
_WORD = re.compile(r"\s?([a-zA-Z]+|[\u4e00-\u9fff]{1,2})")
_NUMBERED = re.compile(r"(?:step|part|problem|question|case|figure|page|room|grade|第)\s?\Z", re.I)
_MAX_LENGTH = 400


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
    if _NUMBERED.search(before) or changes_value(after.partition(" ")[0]):
        return None
    word = _WORD.match(after)
    is_unit = word is not None and (word[1] in UNITS or word[1].lower() in MAGNITUDES)
    return value[0] + (word[0] if word is not None and is_unit else "")
