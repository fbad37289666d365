"""Plain sentences that state one value, and words of their subject, their object and their tail."""

import pytest
from helpers.verdicts import accepted, correct

SUBJECTS = {
    "right": [
        ("The distance between the two towns is 150 km.", "150"),
        ("The difference between their ages is 8 years.", "8"),
        ("The third angle is 60 degrees.", "60"),
        ("So the tenth term is 29.", "29"),
        ("The least common multiple is 36.", "36"),
        ("The largest possible value is 11.", "11"),
        ("The probability of not drawing a red ball is 3/5.", r"\frac{3}{5}"),
        ("The probability that neither is red is 1/6.", r"\frac{1}{6}"),
        ("The number of students who did not pass is 7.", "7"),
        ("Ada has 5 more beads than Ben.", "5"),
        ("Sam collected 8 fewer marbles than his sister.", "8"),
        ("He pays 45 dollars a month.", "45"),
        ("It takes her 5 months.", "5"),
    ],
    "wrong": [
        ("The distance from here is not 5 km.", "5"),
        ("The number of students who did not pass is not 7.", "7"),
        ("The total is not between them but 5.", "5"),
        ("It is not true that the total is 12.", "12"),
        ("The number that does not work is 5.", "5"),
        ("The extraneous root is 5.", "5"),
        ("The least wrong answer is 5.", "5"),
        ("Half of the total is 5.", "5"),
        ("The third of the price is 30.", "30"),
        ("The difference between them could be 8.", "8"),
        ("The third side is less than 5.", "5"),
        ("Nobody says the answer is 4.", "4"),
        ("If the third side is 5, it fails.", "5"),
        ("Ada has 5 more than Ben.", "5"),
        ("Ada has 5 times more beads than Ben.", "5"),
        ("Ada could have 5 more beads than Ben.", "5"),
        ("The total is 5 more beads than Ben's.", "5"),
        ("It is the third of 9.", "9"),
    ],
}


SECOND_NUMBERS = {
    "right": [
        ("The maximum value is 9, which occurs at x = 3.", "9"),
        ("The largest value is 16, which is attained at x = 2.", "16"),
        ("The limit is 5 as x approaches 2.", "5"),
        ("Tom has $12 left out of his $50.", "12"),
        ("She has 15 stickers left out of her 40.", "15"),
        ("Tom is 3 years younger than Ann, so he is 12.", "12"),
        ("Each box holds 12 eggs, so 5 boxes hold 60 eggs.", "60"),
        ("Each child gets 4 candies, so 3 children get 12 candies in total.", "12"),
        ("每盒有12个，3盒装满，所以一共有36个。", "36"),
    ],
    "wrong": [
        ("The maximum value is 9, which occurs at x = 3.", "3"),
        ("The limit is 5 as x approaches 2.", "2"),
        ("She has 15 stickers left out of her 40.", "40"),
        ("She ate 2 out of 3.", "2"),
        ("Each box holds 12 eggs, so 5 boxes hold 60 eggs.", "12"),
        ("Each box holds 12 eggs, so 5 boxes hold 60 eggs.", "5"),
        ("Tom is 12, so he is 3 years older than Ann.", "3"),
        ("The value is 5, which is wrong at x = 3.", "5"),
        ("One is 5, so the other is 6.", "6"),
        ("The side is 5, so the area is 25.", "25"),
        ("Each box holds 12 eggs, so it is not 60.", "60"),
    ],
}


def pairs(table):
    return [(kind == "right", *pair) for kind, members in table.items() for pair in members]


@pytest.mark.parametrize(("is_right", "sentence", "reference"), pairs(SUBJECTS))
def test_comparisons_and_ordinals_of_a_subject_leave_the_value(is_right, sentence, reference):
    assert correct(sentence, reference) == is_right


@pytest.mark.parametrize(("is_right", "sentence", "reference"), pairs(SECOND_NUMBERS))
def test_a_number_of_a_subordinate_part_is_no_claim(is_right, sentence, reference):
    assert correct(sentence, reference) == is_right


@pytest.mark.parametrize(
    ("answer", "reference", "is_right"),
    [
        (r"5 \text{ months}", "5", True),
        (r"12 \text{ months}", r"1 \text{ year}", True),
        (r"18 \text{ months}", r"1.5 \text{ years}", True),
        (r"5 \text{ months}", "6", False),
        (r"\text{the fifth of } 5", "5", False),
        (r"\text{one hundredth of } 5", "5", False),
    ],
)
def test_months_are_a_unit_and_ordinals_none(answer, reference, is_right):
    assert accepted(answer, reference) == is_right
