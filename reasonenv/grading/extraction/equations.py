"""The equation that a sentence states, with its left side: 准线方程是 y = -2."""

import re

from reasonenv.grading.extraction.qualifiers import has_qualifier
from reasonenv.grading.extraction.statements import is_premise

_WORDS = re.compile(
    r"[\u4e00-\u9fff$，。；：;*]+|(?<![\\a-zA-Z])(?!(?:arc)?(?:sin|cos|tan)|log|ln|lg|max|min)"
    r"(?:[a-z]{2,}|[A-Z][a-z]+)(?![a-zA-Z({])|[.,:](?=\s|$)|\\[()\[\]]"
)
_MAX_LENGTH = 300


def stated_equation(sentence: str, value: str | None) -> str | None:
    """The only equation of a sentence, or the one that ends with the value that it states.

    None if there are several others, or if words around it may change it.

    Args:
        sentence: Prose with an equals sign.
        value: The value that it states, None if that is unclear.
    """
    sentence = sentence[-_MAX_LENGTH:]
    if value is not None and "=" in value:
        return None if _is_of_another(sentence, value) else value
    equations = [part.strip() for part in _WORDS.split(sentence) if "=" in part]
    if value is not None:
        equations = [each for each in equations if each.endswith(value)]
    elif has_qualifier(sentence):
        return None
    if len(set(equations)) != 1 or _is_of_another(sentence, equations[0]):
        return None
    return equations[0]


def _is_of_another(sentence: str, equation: str) -> bool:
    """True if a sentence assumes its equation, or has it for a line that the answer relates to."""
    before, _, after = sentence.rpartition(equation)
    return bool(is_premise(before) or _RELATED_TO.search(before) or _RELATED.match(after))


# The equation of a line is not that of one that is parallel to it.
_RELATED_TO = re.compile(
    r"(?:\b(?:parallel|perpendicular|tangent|orthogonal|normal|symmetric(?:al)?|similar) to"
    r"(?: the (?:line|curve|circle))?|垂直于|平行于|相切于|异于|不同于)[\s$]{0,4}\Z",
    re.IGNORECASE,
)
_RELATED = re.compile(r"[\s$]{0,4}(?:平行|垂直|相切|相交|对称|重合)")
