"""Phrases for answers that are no number, by meaning: no solution, does not exist, undefined."""

import re
from collections.abc import Mapping

from reasonenv.grading.words.text import normalized_words

_PHRASES: Mapping[str, str] = {
    "does not exist": """dne|does not exist|do not exist|doesn't exist|not exist
        |limit does not exist|limit doesn't exist|不存在|极限不存在|该极限不存在|值不存在""",
    "undefined": """undefined|is undefined|not defined|is not defined|未定义|无定义|没有定义|无意义
        |没有意义""",
    r"\emptyset": """no solution|no solutions|no solution exists|no solutions exist|has no solution
        |there is no solution|there are no solutions|empty set|null set|无解|没有解|方程无解
        |不等式无解|方程组无解|不等式组无解|原方程无解|方程没有解|空集""",
    "no real solution": """no real solution|no real solutions|no real root|no real roots
        |there are no real solutions|无实数解|无实数根|无实根|没有实数解|没有实数根|没有实根""",
    "infinitely many solutions": """infinitely many|infinitely many solutions|infinite solutions
        |there are infinitely many solutions|无数个解|无数解|无穷多解|无穷多个解|无穷个解
        |有无数个解|有无穷多解|有无穷多个解""",
    r"\mathbb{R}": "all real numbers|all reals|全体实数|一切实数|所有实数|任意实数|实数集",
}
_MEANINGS = {
    normalized_words(phrase.strip()): meaning
    for meaning, phrases in _PHRASES.items()
    for phrase in phrases.split("|")
}
_MAX_LENGTH = 60
_WEEKDAY = re.compile(r"(?:星期|周|礼拜)[一二三四五六日天]")
# Not the 周五 of 一周五次.
_OTHER_WEEKDAY = re.compile(
    r"(?<![一二三四五六七八九十两几每0-9])(?:周|礼拜)(?=[一二三四五六日天](?![\u4e00-\u9fff]))"
)


def with_weekdays(answer: str, reference: str) -> tuple[str, str]:
    """Both texts with one name for each day of the week, if the reference is one: 周五, 星期五."""
    if not _WEEKDAY.fullmatch(reference):
        return answer, reference
    texts = (_OTHER_WEEKDAY.sub("星期", text) for text in (answer, reference))
    answer, reference = (text.replace("星期天", "星期日") for text in texts)
    return answer, reference


def meaning(text: str) -> str:
    """The standard phrase for one of the same meaning; any other text unchanged."""
    if len(text) > _MAX_LENGTH:
        return text
    return _MEANINGS.get(normalized_words(text).casefold(), text)
