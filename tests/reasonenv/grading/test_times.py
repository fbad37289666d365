r"""Times of day against times, ratios and numbers."""

import pytest
from helpers.verdicts import PROPERTY, accepted, correct, rows
from hypothesis import given
from hypothesis import strategies as st

from reasonenv.grading import grade_by_rules
from reasonenv.grading.times.clock import Time, same_time, schedule

SAME = {
    "times": [
        ("5:00", "5:00"),
        ("05:00", "5:00"),
        ("20:34", "20:34:00"),
        ("20:34:00", "20:34"),
        ("5：00", "5:00"),
        ("$6:30$", "6:30"),
        (r"\text{6:30}", "6:30"),
        ("6:30 AM", "6:30 a.m."),
        (r"4:30\text{ p.m.}", "4:30 PM"),
        ("16:30", "4:30 p.m."),
        ("4:30", "4:30 p.m."),
        ("9:05", "09:05"),
        ("3:00 and 4:00", "3:00, 4:00"),
        ("4:00, 3:00", "3:00, 4:00"),
        ("3:00–4:15", "3:00-4:15"),
        ("3:00 to 4:15", "3:00-4:15"),
        ("3:00 PM, 4:00 PM", "3:00 pm and 4:00 pm"),
        ("2:15 PM", "$2: 15$ PM"),
        ("12:00 pm", "12:00"),
    ],
    "Chinese": [
        ("下午5:00", "5:00 PM"),
        ("17:00", "下午5:00"),
        ("上午9:30", "9:30"),
        ("9点30分", "9:30"),
        ("9:30", "9点30分"),
        ("晚上8点", "20:00"),
        ("下午3点半", "15:30"),
        ("3点半", "3:30"),
        ("8：00至9：30", "8:00-9:30"),
        ("8:00～9:30", "8:00—9:30"),
        ("上午8:00和下午2:00", "8:00 am, 2:00 pm"),
        ("凌晨1:03", "1:03 AM"),
    ],
    "ratios": [
        ("4:6", "2:3"),
        ("2:3", "4:6"),
        ("10:15", "2:3"),
        ("2/3", "2:3"),
        (r"\frac{2}{3}", "2:3"),
        ("50:75", "2:3"),
        ("1:0.5", "2:1"),
        ("2：3", "2:3"),
        ("4:6:8", "2:3:4"),
        ("20:15:10", "4:3:2"),
        ("0:5", "0:7"),
        ("6:10", "3:5"),
        ("25:16", "25:16"),
        ("75:48", "25:16"),
        (r"\sqrt{2}:2", r"1:\sqrt{2}"),
    ],
}
DIFFERENT = {
    "times": [
        ("6:00", "5:00"),
        ("3:15", "6:30"),
        ("5:00", "10:00"),
        ("9:15", "3:05"),
        ("5:00 PM", "5:00 AM"),
        ("05:00", "5:00 PM"),
        ("12:00 am", "12:00 pm"),
        ("20:34:30", "20:34"),
        ("20:34:01", "20:34:00"),
        ("10:17", "20:34:00"),
        ("6:00, 8:00", "3:00, 4:00"),
        ("3:00", "3:00, 4:00"),
        ("3:00, 4:00", "3:00"),
        ("6:00-8:30", "3:00-4:15"),
        ("4:15-3:00", "3:00-4:15"),
        ("3:00 pm, 4:00 am", "3:00 pm, 4:00 pm"),
        ("1:03", "2:06"),
        ("00:30", "12:30"),
        ("7:48", "10:12"),
        ("18:00", "6:00 AM"),
        ("1:5", "6:30"),
        ("1/5", "6:30"),
        ("0.2", "6:30"),
        ("5", "5:00"),
    ],
    "Chinese": [
        ("上午5:00", "下午5:00"),
        ("下午6:00", "17:00"),
        ("9点", "9:30"),
        ("9点半", "9:15"),
        ("晚上8点", "8:00 am"),
        ("8:00至9:30", "8:00至10:30"),
        ("16:00-19:00", "8:00-9:30"),
        ("上午9:30", "21:30"),
        ("6：00", "5：00"),
        ("3：15", "6：30"),
        ("下午3点半", "15:15"),
    ],
    "ratios": [
        ("3:2", "2:3"),
        ("2:0", "5:0"),
        ("1:0", "2:0"),
        ("4:6:9", "2:3:4"),
        ("0:1:3", "0:1:2"),
        ("2:3", "2:3:4"),
        ("0:1", "1:0"),
        ("1:0:2", "1:0:3"),
    ],
}


@pytest.mark.parametrize(("answer", "reference"), rows(SAME))
def test_equal_times_and_ratios_are_correct(answer, reference):
    assert accepted(answer, reference)


@pytest.mark.parametrize(("answer", "reference"), rows(DIFFERENT))
def test_other_times_and_ratios_are_wrong(answer, reference):
    assert not accepted(answer, reference)


def time_of_day(text: str) -> Time | None:
    """A single time of day; None for anything else."""
    times = schedule(text)
    return times.times[0] if times and len(times.times) == 1 else None


SENTENCES = {
    "right": [
        ("小红七点四十五分起床。", "7:45"),
        ("小刚十一点十分到校。", "11:10"),
        ("火车八点零五分开。", "8:05"),
        ("他们在下午三点十五分出发", "15:15"),
        ("他下午四点二十分离开。", "16:20"),
        ("电影6点半开始", "6:30"),
        ("钟面显示三点一刻", "3:15"),
        ("三点钟", "3:00"),
        ("half past three", "3:30"),
        ("We meet at quarter past nine.", "9:15"),
        ("a quarter to 1", "12:45"),
        ("六点二十", "6:20"),
        ("三点一四", "3.14"),
    ],
    "wrong": [
        ("小红七点四十五分起床。", "7:40"),
        ("他六点二十分以后到家", "6:20"),
        ("他不是六点二十分到家", "6:20"),
        ("差十分六点", "6:00"),
        ("half past three", "3:15"),
        ("他最早六点二十分到家", "6:20"),
        ("half to three", "2:30"),
        ("It is not half past three.", "3:30"),
        ("他六点或七点到家", "6:00"),
        ("时针指向八点十分的位置", "8"),
        ("比赛十点十分结束", "10"),
        ("他三点十分出门。", "3.1"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "sentence", "reference"),
    [(kind, *pair) for kind, pairs in SENTENCES.items() for pair in pairs],
)
def test_words_and_sentences_state_the_only_time_in_them(kind, sentence, reference):
    assert correct(sentence, reference) == (kind == "right")


@given(
    st.text(alphabet="零一二两三十百千万亿点分之半又个折", max_size=12),
    st.sampled_from(["3", "6:20"]),
)
def test_any_run_of_chinese_numerals_has_a_verdict(text, reference):
    grade_by_rules(f"他{text}到家", reference)
    grade_by_rules(text, reference)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("8:05", (485 * 60, "")),
        ("8:05:30", (485 * 60 + 30, "")),
        ("08:05", (485 * 60, "24")),
        ("8:05 am", (485 * 60, "am")),
        ("8:05 P.M.", (1205 * 60, "pm")),
        ("20:05", (1205 * 60, "")),
        ("12:05 am", (5 * 60, "am")),
        ("12:05 pm", (725 * 60, "pm")),
        (r"8:05\text{ p.m.}", (1205 * 60, "pm")),
        ("8：05", (485 * 60, "")),
        ("25:05", None),
        ("8:65", None),
        ("8:5", None),
        ("3:4:5", None),
        ("8 : 05", None),
        ("8:05, 9:05", None),
        ("8", None),
    ],
)
def test_a_clock_shows_time_of_the_day(text, time):
    assert time_of_day(text) == time


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("8:05", "08:05", True),
        ("8:05", "8:05 am", True),
        ("8:05", "8:05 pm", True),
        ("20:05", "8:05 pm", True),
        ("12:30", "12:30 pm", True),
        ("20:05", "8:05 am", False),
        ("8:05 am", "8:05 pm", False),
        ("8:05", "20:05", False),
        ("8:05", "8:06", False),
    ],
)
def test_a_missing_half_of_the_day_is_no_difference(left, right, same):
    times = time_of_day(left), time_of_day(right)
    assert same_time(*times) is same
    assert same_time(*times[::-1]) is same
    assert correct(left, right) is same


_CLOCK = st.tuples(st.integers(0, 23), st.integers(0, 59))


@PROPERTY
@given(_CLOCK, _CLOCK)
def test_a_time_equals_itself_alone_in_any_form(time, other):
    text = f"{time[0]}:{time[1]:02d}"
    for form in (text, f"{time[0]:02d}:{time[1]:02d}", text + ":00", text.replace(":", "：")):
        assert correct(form, text)
        assert correct(f"{other[0]}:{other[1]:02d}", form) == (time == other)
