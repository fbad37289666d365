"""Words after a number: units, counters and remarks leave its value, all else changes it."""

import pytest
from helpers.verdicts import accepted, correct, rows


def listed(words: str) -> list[str]:
    return words.split()


EQUAL = {
    "counter": [
        ("7个", "7"),
        ("7个苹果", "7"),
        ("7名学生", "7"),
        ("12道题", "12"),
        ("3本书", "3"),
        ("5种不同的方法", "5"),
        ("2个不同的实数根", "2"),
        ("2个非负整数解", "2"),
        ("25次", "25"),
        ("6人", "6"),
        ("8岁", "8"),
        ("15只兔子", "15"),
        ("30页", "30"),
        (r"9 \text{ 个}", "9"),
        (r"9\text{名同学}", "9"),
        ("13条对称轴", "13"),
        ("40棵树", "40"),
        ("18块糖", "18"),
        ("4双", "4"),
        ("4维", "4"),
        ("6倍", "6"),
        ("6", "6倍"),
        ("20辆汽车", "20辆"),
        ("7周", "7"),
        ("3个三角形", "3"),
        ("4个平方数", "4"),
        ("6条半径", "6"),
        ("5个多边形", "5"),
    ],
    "noun": [
        ("7 apples", "7"),
        ("7 red apples", "7"),
        ("12 students", "12"),
        ("23 people", "23"),
        (r"9 \text{ children}", "9"),
        (r"9 \text{ ways}", "9"),
        (r"15\ \mathrm{marbles}", "15"),
        (r"4 \mbox{ pairs}", "4"),
        ("1 solution", "1"),
        (r"16 \text{ square units}", "16"),
        ("5 outfits", "5 different outfits"),
        ("60 mph", "60"),
    ],
    "remark": [
        ("7 in total", "7"),
        (r"7 \text{ total}", "7"),
        ("30 years old", "30"),
        ("12 dollars each", "12"),
        ("7 altogether", "7"),
        (r"9 \text{ (units)}", "9"),
        (r"9\quad\text{cm}", "9"),
        (r"\text{9 apples}", "9"),
        ("5 km away", "5 km"),
    ],
    "magnitude": [
        ("4千", "4000"),
        ("4百", "400"),
        ("4百个", "400"),
        ("4十", "40"),
        ("4千元", "4000"),
        ("4万", "40000"),
        ("3.5万人", "35000"),
        ("2亿", "200000000"),
        ("3万亿元", "3000000000000"),
        ("4打", "48"),
        ("4成", "0.4"),
        ("8折", "0.8"),
        ("4 dozen", "48"),
        ("3 dozen roses", "36"),
        ("4 lakh", "400000"),
        ("2 crore", "20000000"),
        ("4 grand", "4000"),
        ("4 score", "80"),
        ("4 gross", "576"),
        (r"4 \text{ million}", "4000000"),
        (r"4\text{ thousand}", "4,000"),
        ("4 bn", "4000000000"),
        (r"4\text{万}", "40000"),
        ("2 tens", "20"),
        ("4 hundreds", "400"),
        ("4000", "4千"),
        ("5 million dollars", "5000000"),
    ],
}

DIFFERENT = {
    "magnitude": [
        (f"7{word}", "7")
        for word in listed("十 百 千 万 亿 百万 千万 十万 万亿 成 打 百个 千元 万元 千人 亿元")
    ]
    + [
        (f"7 {word}", "7")
        for word in listed(
            "hundred thousand million billion trillion dozen score gross grand lakh lakhs crore bn "
            "mn mil mill myriad tens hundreds thousands tenths hundredths halves thirds quarters"
        )
    ]
    + [(rf"7 \text{{ {word}}}", "7") for word in ("million", "dozen", "bn", "crore", "thousand")],
    "operator": [
        (f"7{word}", "7")
        for word in listed(
            "的平方 的立方 的倒数 的相反数 的绝对值 的一半 的两倍 的三分之一 的平方根 的阶乘 "
            "的负数 "
            "的补数 平方 次方 次幂 分之一 半 的倍数 的因数 的对数 开方 进制 位数"
            " 个的平方 倍多 的百分之二十"
        )
    ]
    + [(rf"7\text{{{word}}}", "7") for word in ("的平方", "的倒数", "次方", "分之一", "的一半")]
    + [
        (f"7 {word}", "7")
        for word in (
            "squared",
            "cubed",
            "factorial",
            "half",
            "percent of 50",
            "doubled",
            "tripled",
            "halved",
            "minus one",
            "plus two",
            "times two",
            "over two",
        )
    ]
    + [
        (r"7 \text{ percent of 50}", "7"),
        (r"7\text{e3}", "7"),
        (r"7\text{ apples 8}", "7"),
        (r"7 \text{ cm 30}", "7"),
        (r"7\text{ squared}", "7"),
        (r"7\quad\text{ factorial}", "7"),
    ],
    "comparison": [
        (f"7{word}", "7")
        for word in listed(
            "以上 以下 以内 以外 开外 之内 多 余 几 多个 余人 来个 个以上 人以上 元以下 个左右 "
            "及以上 "
            "或以上 或以下 以上的整数 不到 出头 米以内 个起 人次以上 个不止"
        )
    ]
    + [
        (rf"7 \text{{ {word}}}", "7")
        for word in (
            "or more",
            "or higher",
            "at least",
            "at most",
            "or less",
            "plus",
            "minimum",
            "and above",
            "or fewer apples",
            "maximum",
            "upwards",
        )
    ]
    + [(r"7\text{人以上}", "7"), (r"7\text{以下}", "7")],
    "denial": [
        (f"7{word}", "7")
        for word in listed("是错的 错误 （错误） 不对 不是 是不对的 不正确 有误 才怪 除外 个错了")
    ]
    + [
        (rf"7 \text{{ {word}}}", "7")
        for word in (
            "not",
            "is wrong",
            "(wrong)",
            "is incorrect",
            "false",
            "no",
            "never",
            "excluded",
            "isn't right",
            "rejected",
            "is not the answer",
        )
    ]
    + [(r"7 \mathrm{not}", "7"), (r"7 \mbox{ is wrong}", "7"), (r"7\quad\text{wrong}", "7")],
    "alternative": [
        (r"7 \text{ or 5}", "7"),
        (r"7 \text{ or any}", "7"),
        (r"7\textit{ or any}", "7"),
        (r"7 \text{ or \textbf{5}}", "7"),
        (r"7 \text{ (or 3)}", "7"),
        (r"7 \text{或者5}", "7"),
        (r"7\text{或其他}", "7"),
        ("7或者其他", "7"),
        ("7中的一个", "7"),
        (r"7 \text{ maybe}", "7"),
        (r"7\text{, possibly others}", "7"),
        (r"7 \text{ (approximately 7.5)}", "7"),
        (r"7 \text{ otherwise}", "7"),
        (r"7 \text{ if } x > 0", "7"),
        (r"7 \text{ unless 8}", "7"),
        ("7还是8", "7"),
        (r"7 \text{ and others}", "7"),
        (r"7 \mbox{ or 8}", "7"),
    ],
    "unknown": [
        ("7幂", "7"),
        ("7弗里", "7"),
        ("7 zorp", "7"),
        (r"7 \text{ zorp}", "7"),
        ("7 flurb glorp", "7"),
        ("7角形", "7"),
        ("7边形", "7"),
        ("77（八进制）", "77"),
        ("8倍的x", "8"),
        ("30与某数之和", "30"),
        ("30人之和", "30"),
        ("101 in binary", "101"),
        ("77 octal", "77"),
        ("It is false that the answer is 45.", "45"),
        ("It is not true that the answer is 45.", "45"),
        ("7面体", "7"),
        ("7元二次", "7"),
    ],
}

PERCENT_EQUAL = [
    ("50%", "0.5"),
    (r"50\%", "50"),
    ("50 percent", "50"),
    ("50 percent", ".5"),
    (r"50 \text{ percent}", "0.5"),
    (r"50\text{ percentage points}", "50"),
    ("50％", "1/2"),
    ("5‰", "0.005"),
    ("5‰", "0.5%"),
    ("3个百分点", "3"),
    ("3个百分点", "3%"),
    ("150%", "1.5"),
    ("150%", "150"),
    ("-20%", "-0.2"),
    ("-20%", "-20"),
    ("1%", "1"),
    ("0.5", "50%"),
    ("50", "50%"),
    (r"12.5\,\%", r"\frac{1}{8}"),
    (r"\sqrt{2}-1", r"41.4\%"),
    (r"\frac{1}{3}", "33.3%"),
    (r"\frac{2}{3}", "66.67%"),
]
PERCENT_DIFFERENT = [
    ("0.5%", "0.5"),
    (r"0.5\%", ".5"),
    ("0.5 percent", "0.5"),
    (r"0.25\%", "0.25"),
    (r"\frac12\%", "0.5"),
    ("-0.3%", "-0.3"),
    (r"0.99 \text{ percent}", "0.99"),
    ("百分之零点五", "0.5"),
    ("0.5个百分点", "0.5"),
    ("0.5％", "1/2"),
    ("50%", "5"),
    ("5%", "0.5"),
    ("500%", "0.5"),
    ("百分之五", "0.5"),
    ("百分之五十", "0.05"),
    ("5‰", "0.05"),
    ("5‰", "5%"),
    ("50‰", "50%"),
    ("150%", "15"),
    (r"1\%", "0.1"),
    ("0.5‰", "0.5"),
    ("7‰", "7"),
    (r"\sqrt{2}-1", r"41.5\%"),
    (r"\frac{1}{3}", "33.4%"),
    (r"\frac{1}{3}", "33%"),
    (r"\frac{2}{3}", "66.66%"),
    (r"7 \% \text{ of } 50", "7"),
    (r"50\%", r"\frac{1}{20}"),
]


@pytest.mark.parametrize(("answer", "reference"), rows(EQUAL))
def test_units_counters_and_remarks_leave_the_value(answer, reference):
    assert accepted(answer, reference)


@pytest.mark.parametrize(("answer", "reference"), rows(DIFFERENT))
def test_any_other_words_change_the_value(answer, reference):
    assert not accepted(answer, reference)
    assert not correct(answer, reference)


@pytest.mark.parametrize(("answer", "reference"), PERCENT_EQUAL)
def test_percentages_of_equal_value_or_of_equal_number_from_one_on(answer, reference):
    assert accepted(answer, reference)


@pytest.mark.parametrize(("answer", "reference"), PERCENT_DIFFERENT)
def test_percentages_of_another_value_are_wrong(answer, reference):
    assert not accepted(answer, reference)
