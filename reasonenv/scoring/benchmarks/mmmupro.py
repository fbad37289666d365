"""MMMU-Pro: the letter after the last "Answer:", else one that the response names, must be right.

The official code takes a random letter where a response names none; here that is wrong unless
`guessing` draws one. Of the four published outputs of GPT-4o two hold such responses.

Source: MMMU-Benchmark/MMMU, mmmu-pro/evaluate.py.
"""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from reasonenv.datasets.option_text import LETTERS, printed_texts
from reasonenv.grading import Grade
from reasonenv.grading.reading import answer_section
from reasonenv.scoring.responses import LabeledResponse

TABLES = {"subject": "subject", "topic_difficulty": "topic_difficulty"}
NEEDED = ("answer", "options")
_FEW_WORDS = 5


def grades(cases: Sequence[LabeledResponse], random: Random | None = None) -> list[Grade]:
    """The official verdicts.

    Args:
        cases: Responses to grade.
        random: Source of the letter of a response that names none; None to grade it as wrong.
    """
    return [_graded(case, random) for case in cases]


def guessing(seed: int) -> Callable[[Sequence[LabeledResponse]], list[Grade]]:
    """The rule with random letters, by a seed."""
    return partial(grades, random=Random(seed))


def _graded(case: LabeledResponse, random: Random | None) -> Grade:
    options = printed_texts(case.label["options"])
    letter = case.extraction or named_letter(answer_section(case.response)[0], options)
    if letter is None and random is not None:
        letter = random.choice(LETTERS[: len(options)])
    return Grade(letter == case.label["answer"], letter, "ok" if letter else "no_answer")


def named_letter(response: str, options: Sequence[str]) -> str | None:
    """The letter that a response names, the last of several; None without one.

    In this order: the one letter after the last "Answer:"; letters in brackets, before a space,
    before a full stop; texts of options, in a response of more than five words.
    """
    letters = LETTERS[: len(options)]
    _, mark, end = response.rpartition("Answer:")
    after = [letter for letter in letters if letter in end] if mark else []
    if len(after) == 1:
        return after[0]
    text = f" {response.strip(_PUNCTUATION)} "
    for form, place in (("({})", "({})"), ("{} ", " {} "), ("{}.", " {} ")):
        named = [letter for letter in letters if form.format(letter) in text]
        if named:
            return max(named, key=lambda letter: text.rfind(place.format(letter)))
    folded = text.lower()
    places = {
        letter: folded.rfind(option.lower())
        for letter, option in zip(letters, options, strict=True)
        if len(text.split()) > _FEW_WORDS and option.lower() in folded
    }
    return max(places, key=places.__getitem__, default=None)


_PUNCTUATION = ",.!?;:'"
