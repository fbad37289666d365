"""Lists of words as one regular expression."""

import re
from itertools import pairwise

import pytest

from reasonenv.grading.extraction import languages, qualifiers
from reasonenv.grading.extraction.alternatives import by_first_letter


@pytest.mark.parametrize(
    ("plain", "grouped"),
    [
        ("never|near|if", "n(?:ever|ear)|i(?:f)"),
        ("or|(?:a|b) c|over", "o(?:r|ver)|(?:a|b) c"),
        ("a?b|ac", "a?b|a(?:c)"),
        (r"n[e|]|\w|nie", r"n(?:[e|]|ie)|\w"),
        (r"a(?:b(?:c|d)|e)|\(|af", r"a(?:(?:b(?:c|d)|e)|f)|\("),
    ],
)
def test_alternatives_are_grouped_by_their_first_letter(plain: str, grouped: str) -> None:
    assert by_first_letter(plain) == grouped


@pytest.mark.parametrize(
    "plain",
    [
        f"{languages._LATIN}|{languages._CYRILLIC}|{languages._ARABIC}",
        "|".join(
            [
                qualifiers._DENIALS,
                qualifiers._GUESSES,
                qualifiers._COMPARISONS,
                qualifiers._OPERATIONS,
            ]
        ),
    ],
)
def test_groups_match_where_the_list_does(plain: str) -> None:
    words = re.findall(r"\w+", plain)
    texts = [f"{first} {second} 7" for first, second in pairwise(words)]
    texts += [word.upper() + "x" for word in words] + [f"the {word}" for word in words]
    old, new = (
        re.compile(rf"\b(?:{each})(?!\w)", re.IGNORECASE)
        for each in (plain, by_first_letter(plain))
    )
    assert [old.search(text) is None for text in texts] == [
        new.search(text) is None for text in texts
    ]
