"""The claim that an answer in sentences makes."""

import pytest

from reasonenv.grading import grade
from reasonenv.grading.extraction import final_answer

ONE_NUMBER = [
    "Janet makes $18 every day",
    "She sells 18 eggs at the market daily.",
    "Tom walked 18 miles in the rain.",
    "The bakery sold 18 loaves on Monday.",
    "Together, the twins own 18 marbles!",
    "Marcus drove 18 kilometres before lunch.",
    "There remain 18 pages to read.",
    "Her savings grew to $18.",
    "18 students passed the exam.",
    "That leaves Maria with 18 stickers",
    "It took the crew 18 days.",
    "Each of the two sisters gets 18 beads.",
    "Ben will be 18 years old.",
    "The perimeter of the garden comes to 18 metres.",
    "Sally and Bob collected 18 cans.",
    "The farmer planted 18 trees along the road last spring.",
    "Mia bakes 18 cookies per hour.",
    "The shop charges $18 for all of them.",
    "He needs 18 more dollars.",
    "The tank holds 18 gallons of water.",
    "All 18 guests arrived.",
    "Therefore, Kylar should pay 18 dollars for the glasses.",
    "**Janet** makes **$18** every day",
    "小明一共走了18米",
    "小红还剩18个苹果。",
    "这本书共18页",
    "甲比乙多18元",
    "工程队每天修18米。",
    "他们一共种了18棵树！",
    "需要18天才能完成",
    "商店卖出18千克水果",
    "不同的选法共有18种",
    "小华今年18岁",
    "这个长方形的周长是18厘米。",
    "平均每人分到18本书",
    "妈妈买了18斤苹果",
    "还需要18分钟",
    "这辆汽车行驶了18千米",
    "每个盒子装18支铅笔",
    "所以爸爸比小明大18岁",
    "最多可以买18本",
    "至少需要18辆车",
]
NO_NUMBER = [
    "Janet does not make $18 every day",
    "Tom walked fewer than 18 miles.",
    "The bakery sold at least 18 loaves.",
    "It took the crew over 18 days.",
    "She sold nearly 18 eggs.",
    "She sold twice 18 eggs.",
    "Half of 18 eggs were sold.",
    "He came 18th in the race.",
    "The 18th term is the one.",
    "18 dozen eggs were sold.",
    "The area is 18 squared.",
    "Tom walked 18 miles or so.",
    "She might make $18.",
    "Nobody sold 18 eggs.",
    "Did she sell 18 eggs?",
    "He was 18 times as old as Tom.",
    "She sold everything but 18 eggs.",
    "Perhaps 18 eggs were sold.",
    "She has minus 18 dollars.",
    "She sold 18 more than Tom.",
    "Up to 18 eggs were sold.",
    "She sold neither 18 eggs nor apples.",
    "She sold 18 and a half pies.",
    "18 is wrong.",
    "It is false that she sold 18 eggs.",
    "小明没有走18米",
    "小明走了不到18米",
    "小明走了超过18米",
    "小红是第18名",
    "答案不是18",
    "小明走了18米以上",
    "小红有18的两倍",
    "这个数是18的平方",
    "可能是18个",
    "它小于18",
    "结果是负18",
    "大概18个左右",
    "是18的一半",
    "18是错的",
    "小明走了18米或者更多",
    "他走了18万米",
    "根号18",
    "它不等于18",
    "小于或等于18",
    "接近18人",
    "难道是18吗？",
]
OTHER_CLAIMS = [
    "We get 5. Check: 2 + 2 = 18.",
    "First guess: 5. Second guess: 18.",
    "The area is 5. The perimeter is 18.",
    "The area is 5 and the perimeter is 18.",
    "She has 5 apples, he has 18.",
    "Anna has 5; Ben has 18.",
    "x is 5. Note that $3^2 \\cdot 2 = 18$.",
    "I get 5, the solution manual gives 18.",
    "It could be 5, it could be 18",
    "The value is 5. Or the value is 18.",
    "Total = 5 = 4 + 1; so we have 18",
    "The answer is five. 18 is the number of steps.",
    "The first root is 5, the second root is 18",
    "My answer: 5. Your answer: 18.",
    "It is 5, not 18.",
    "The answer is 18x where x = 2",
    "Either it is 5, or else it is 18.",
    "5 is too small, 18 too large.",
    "Some say 5, others say 18.",
    "x = 5. Verify: 23 - 5 = 18.",
    "总数是5，其中男生是18",
    "面积是5，周长是18",
    "甲是5，乙是18",
    "最大值为5，最小值为18",
    "得5。验算：9+9=18。",
    "第一次得5，第二次得18",
    "小明有5个，小红有18个",
    "结果是5。书上的答案是18",
    "我认为是5，同学认为是18",
    "可能是5，也可能是18",
    "长是5，宽是18",
    "要么是5，要么是18",
]
CORRECTED = [
    ("5, no wait, 18", "18"),
    ("5. No, wait: it is 18.", "18"),
    ("It is 5. Correction: it is 18.", "18"),
    ("The area is 5. I made a mistake. It should be 18.", "18"),
    ("5... actually 18", "18"),
    ("5, I mean 18", "18"),
    ("5. Scratch that, 18.", "18"),
    ("5, or rather 18", "18"),
    ("The answer is 5. Sorry, the answer is 18.", "18"),
    ("We get 5. On second thought, we get 18.", "18"),
    ("Oops, not 5: it is 18.", "18"),
    ("5，不对，应该是18", "18"),
    ("5。更正：18", "18"),
    ("先写5，后改为18", "18"),
    ("答案是5。等等，应该是18。", "18"),
    ("5，算错了，是18", "18"),
    ("结果为5，纠正：结果为18", "18"),
    ("应该是18而不是5", "18"),
    ("B, no wait C", "C"),
    ("B。应该是C", "C"),
    ("先选B，后改为C", "C"),
    ("B, actually C", "C"),
    ("B，更正：C", "C"),
    ("The answer is B. Wait, no. The answer is C.", "C"),
    ("B. Correction: C", "C"),
    ("选B。不对，选C", "C"),
]


def tagged(text: str) -> str:
    return f"<think>a</think><answer>{text}</answer>"


@pytest.mark.parametrize("text", ONE_NUMBER)
def test_the_only_number_of_a_sentence_is_its_claim(text):
    for response in (tagged(text), text, f"We add.\n\n{text}", f"Answer: {text}"):
        assert grade(response, "18").correct
        assert not grade(response, "81").correct
    assert not grade(tagged(text.replace("18", "17")), "18").correct


@pytest.mark.parametrize("text", NO_NUMBER)
def test_a_hedge_takes_the_claim_away(text):
    for response in (tagged(text), text, f"Answer: {text}"):
        assert not grade(response, "18").correct


@pytest.mark.parametrize("text", OTHER_CLAIMS)
def test_of_two_different_claims_the_last_does_not_win(text):
    assert not grade(tagged(text), "18").correct
    assert not grade(text, "18").correct


@pytest.mark.parametrize(("text", "claim"), CORRECTED)
def test_after_an_explicit_correction_the_last_claim_counts(text, claim):
    other = "5" if claim == "18" else "B"
    for response in (tagged(text), text):
        assert grade(response, claim).correct
        assert not grade(response, other).correct


SAME = [
    "The total is 18. So there are 18 apples.",
    "x = 18, that is, 18 apples.",
    "一共有18个，所以是18个。",
    "The cost is $18, i.e. 18.00 dollars.",
    "9 * 2 = 18, so she makes $18.",
    "9 * 2 = 18",
    "She makes 9 * 2 = $18 every day at the market.",
    "9 + 9 = 18 eggs are left.",
    "小明走了9+9=18米。",
    "3 × 6 = 18（个）",
    "Total = 18 = 17 + 1",
    "The remainder is 18 when divided by 20.",
    "The minimum is 18, attained at x = 3.",
    "The area is $18$ because $3 \\cdot 6 = 18$.",
    "It is 18, since 20 - 2 = 18.",
    "We get 18. Check: 18 + 2 = 20.",
    "得18。验算：20-2=18。",
    "In 3 hours, the total is 18.",
    "There are exactly 18.",
]


@pytest.mark.parametrize("text", SAME)
def test_equal_claims_and_their_reasons_are_one(text):
    assert grade(tagged(text), "18").correct
    for other in ("3", "9", "2", "20", "5"):
        assert not grade(tagged(text), other).correct


HEDGES = [
    r"4 \text{ or higher}",
    r"4\textit{ or any}",
    r"4 \text{ otherwise}",
    r"\text{not } 4",
    r"\text{at least } 4",
    r"4 \text{ or less}",
    r"4 \text{ at most}",
    r"\text{less than } 4",
    r"4 \text{ is wrong}",
    r"\text{twice } 4",
    r"4 \text{ maybe}",
    r"4\text{以上}",
    r"\text{不是}4",
    r"4\text{左右}",
    r"\text{至少}4",
    r"4 \text{ unless } x = 5",
    r"4\mbox{ or more}",
    r"4 \text{ if } x>0",
    r"\text{约}4 \text{ 或更多}",
    r"4 \text{ (not sure)}",
]


@pytest.mark.parametrize("text", HEDGES)
@pytest.mark.parametrize("form", [r"\boxed{%s}", "<answer>$%s$</answer>", "The answer is $%s$."])
def test_a_hedge_in_the_text_of_a_formula_is_a_hedge(text, form):
    assert not grade(form % text, "4").correct


PLAIN = [
    r"4 \text{ cm}",
    r"4\text{ apples}",
    r"\text{The answer is }4",
    r"4\text{米}",
    r"4 \text{ units}",
    r"\text{Area} = 4",
    r"4\text{ square units}",
    r"x = 4 \text{ only}",
]


@pytest.mark.parametrize("text", PLAIN)
def test_other_words_in_a_formula_are_no_hedge(text):
    assert grade(rf"\boxed{{{text}}}", "4").correct


TEXTS = [
    ("The figure is a rhombus. The colour is red.", "red", False),
    ("The first is a kite, the second is a rhombus", "rhombus", False),
    ("第一个是菱形，第二个是矩形", "矩形", False),
    ("It is a kite. Correction: it is a rhombus.", "rhombus", True),
    ("All sides are equal, so the figure is a rhombus.", "rhombus", True),
    ("四边相等，所以图形是菱形", "菱形", True),
]


@pytest.mark.parametrize(("text", "reference", "right"), TEXTS)
def test_of_two_statements_in_words_the_last_does_not_win(text, reference, right):
    assert grade(tagged(text), reference).correct is right


def test_a_correction_needs_something_to_correct():
    assert final_answer("<answer>There are actually 7 apples</answer>") is not None
    assert grade("<answer>There are actually 7 apples</answer>", "7").correct
    assert grade("<answer>将加号改为减号</answer>", "将加号改为减号").correct
