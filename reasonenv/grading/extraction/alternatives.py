"""Long lists of words as one regular expression that compares first letters first."""

import re

_TOKEN = re.compile(r"\\.|\[[^\][]*\]|.")


def by_first_letter(alternatives: str) -> str:
    """The alternatives grouped by first letter: never|near|if as n(?:ever|ear)|i(?:f).

    A search tries one group a letter in place of one alternative a word, and finds a match where
    the plain list has one; of several that begin at one place it may be another.

    Args:
        alternatives: A pattern with bars between its alternatives.
    """
    groups: dict[str, list[str]] = {}
    for each in _top_level(alternatives):
        letter = each[0] if each[0].isalpha() and each[1:2] not in tuple("?*+{") else ""
        groups.setdefault(letter, []).append(each.removeprefix(letter))
    return "|".join(
        f"{letter}(?:{'|'.join(ends)})" if letter else "|".join(ends)
        for letter, ends in groups.items()
    )


def _top_level(alternatives: str) -> list[str]:
    """The alternatives of a pattern, with bars in brackets left as they are."""
    parts, depth = [""], 0
    for token in _TOKEN.findall(alternatives):
        depth += (token == "(") - (token == ")")
        if token == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += token
    return parts
