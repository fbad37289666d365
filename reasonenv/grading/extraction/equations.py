"""The equation that a sentence states, with its left side: 准线方程是 y = -2."""

import re

from reasonenv.grading.extraction.qualifiers import has_qualifier

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
    if value is not None and "=" in value:
        return value
    sentence = sentence[-_MAX_LENGTH:]
    equations = [part.strip() for part in _WORDS.split(sentence) if "=" in part]
    if value is not None:
        equations = [each for each in equations if each.endswith(value)]
    elif has_qualifier(sentence):
        return None
    return equations[0] if len(set(equations)) == 1 else None
