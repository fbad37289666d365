"""Texts of a megabyte that open a tag, a box or a quotation again and again."""

import random
import re
import time

import pytest

from reasonenv.mm_eureka import _content
from reasonenv.rewards import _TAGS, in_think_answer_format
from reasonenv.scoring.benchmarks.mathvision import _boxed

PIECES = [*_TAGS, " ", "\n", "a", "oxed{", "}", "{", 'The answer is "', '".', "."]


def released_answer(text: str) -> str:
    match = re.search(r"<answer>(.*?)</answer>", text)
    return match.group() if match else text.rpartition("<answer>")[2]


def released_format(text: str) -> bool:
    blocks = re.search(r"<think>(.*)</think>\s*<answer>(.*)</answer>", text, re.DOTALL)
    is_once = all(text.count(tag) == 1 for tag in _TAGS)
    return is_once and blocks is not None and all(block.strip() for block in blocks.groups())


def drawn(number: int) -> list[str]:
    draw = random.Random(0)
    texts = []
    for _ in range(number):
        tags = list(_TAGS) if draw.random() < 0.7 else draw.sample(_TAGS, 4)
        texts.append("".join(x for t in tags for x in (t, *draw.choices(PIECES[4:], k=2))))
        texts.append("".join(draw.choices(PIECES, k=draw.randint(0, 12))))
    return texts


def test_tags_are_found_as_by_the_released_patterns():
    for text in drawn(2000):
        assert _content(text) == released_answer(text)
        assert in_think_answer_format(text) == released_format(text)


@pytest.mark.parametrize("function", [_content, in_think_answer_format, _boxed])
@pytest.mark.parametrize("unit", ["<answer>", "oxed{", "<think> </think> "])
def test_the_time_grows_with_the_length(function, unit):
    start = time.process_time()
    function(unit * (10**6 // len(unit)))
    assert time.process_time() - start < 0.5
