"""Values in sentences that claim something else."""

import pytest

from reasonenv.grading import grade

WRONG = [
    ("12", "The number of cookies is not what he has, which is 12."),
    ("12", "The number of dogs does not equal the number of cats, which is 12."),
    ("10", "The maximum is less than the bound, which is 10."),
    ("30", "The third angle is greater than the first, which is 30 degrees."),
    ("20", "Their sum is nearly equal to the product, which is 20."),
    ("45", "The price is more than last year, when it was 45."),
    ("B", "If we go with B the volume is negative."),
    ("D", "Choosing D leads to a negative area."),
    ("A", "A common mistake is choosing A."),
    ("A", "下列选项错误；A"),
    ("79", "<answer>7<think>no</think>9</answer>"),
    ("12", "<answer>1<think>hm</think>2</answer>"),
    ("9:05", "平均分是九点五分"),
    ("4:45", "He gave a quarter to five people."),
]
RIGHT = [
    ("30", "The number of students who did not pass is 30."),
    ("3/8", "The probability of not drawing red is 3/8."),
    ("5", "The difference between them is 5."),
    ("C", "I am going with C."),
    ("C", "B is tempting, but its sign is wrong; C is right"),
    ("1.5分钟", "一点五分钟"),
    ("9.5", "九点五分"),
    ("108.5", "一百零八点五分"),
    ("9:05", "九点零五分"),
    ("8:45", "a quarter to nine in the evening"),
]


@pytest.mark.parametrize(("value", "response"), WRONG)
def test_a_value_that_is_not_claimed_is_not_paid(value, response):
    assert not grade(response, value).correct


@pytest.mark.parametrize(("answer", "response"), RIGHT)
def test_a_claim_of_the_same_form_is_right(answer, response):
    assert grade(response, answer).correct
