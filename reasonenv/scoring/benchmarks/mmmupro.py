"""MMMU-Pro: the letter after the last "Answer:", else one that the response names, must be right.

The official code takes a random letter where a response names none; here that is wrong unless
`guess` is given.

Source: MMMU-Benchmark/MMMU, mmmu-pro/evaluate.py.
"""

from collections.abc import Sequence
from functools import partial
from random import Random

from reasonenv.datasets.option_text import LETTERS, printed_texts
from reasonenv.grading import Grade
from reasonenv.scoring.responses import LabeledResponse, verdict

TABLES = {"subject": "subject", "topic_difficulty": "topic_difficulty"}
NEEDED = ("answer", "options")


def grades(cases: Sequence[LabeledResponse], guess: int | None = None) -> list[Grade]:
    """The official verdicts; `guess` is the seed of letters for responses that name none."""
    random = None if guess is None else Random(guess)
    grades = []
    for case in cases:
        options = printed_texts(case.label["options"])
        letter = case.answer(partial(named_letter, options=options))
        if letter is None and random is not None:
            letter = random.choice(LETTERS[: len(options)])
        grades.append(verdict(letter == case.label["answer"], letter))
    return grades


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
    text = " " + response.strip(",.!?;:'") + " "
    for form, place in (("({})", "({})"), ("{} ", " {} "), ("{}.", " {} ")):
        matches = [letter for letter in letters if form.format(letter) in text]
        if matches:
            return max(matches, key=lambda letter: text.rfind(place.format(letter)))
    folded = text.lower()
    places = {
        letter: folded.rfind(option.lower())
        for letter, option in zip(letters, options, strict=False)
        if len(text.split()) > 5 and option.lower() in folded
    }
    return max(places, key=places.__getitem__, default=None)
