"""No text of up to 20,000 characters takes long: a random search for one that does."""

import contextlib
import random
import time

import pytest
from helpers.constructs import clear_caches

from reasonenv.grading import OverBudget, final_answer, grade_by_rules
from reasonenv.grading.parsing.tokens import FUNCTIONS
from reasonenv.grading.parsing.units import UNITS

SIGNS = r"\frac{ \sqrt{ \boxed{ \text{ \left( \begin{pmatrix} \\ x^{ ( [ { | } ] ) , . ; = < ±"
WORDS = "7 1,000 3.14 12:30 is or not half of 答案是 不是 三十 的平方"
PIECES = [*sorted(UNITS), *sorted(FUNCTIONS), *SIGNS.split(), *WORDS.split(), " ", "\n", "$"]
WRAPPERS = ["\\boxed{%s}", "<answer>%s</answer>", "The answer is %s", "So\n%s"]
MAX_SECONDS = 0.1


@pytest.mark.parametrize(
    "count", [pytest.param(20_000, marks=pytest.mark.slow(reason="half a minute")), 500]
)
def test_no_text_takes_longer_than_a_tenth_of_a_second(count):
    rng, slow = random.Random(0), []
    for _ in range(count):
        unit, end = ("".join(rng.choices(PIECES, k=rng.randint(1, 5))) for _ in range(2))
        length = rng.choice([300, 1000, 5000, 20_000])
        text = rng.choice(WRAPPERS).replace("%s", (unit * (length // len(unit)))[:length] + end)
        if seconds(text) > MAX_SECONDS and seconds(text) > MAX_SECONDS:  # not by chance
            slow.append(text[:200])
    assert slow == []


def seconds(text: str) -> float:
    clear_caches()
    start = time.process_time()
    with contextlib.suppress(OverBudget):
        grade_by_rules(final_answer(text) or "", "7")
    return time.process_time() - start
