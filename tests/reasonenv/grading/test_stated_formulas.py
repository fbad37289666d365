"""Formulas that a sentence states after a verb, and equal restatements of a value."""

import pytest

from reasonenv.grading import grade

STATED = [
    ("m的取值范围为m>1/2", r"m>\frac{1}{2}", r"m<\frac{1}{2}"),
    ("m的取值范围是m≥3。", r"m\ge 3", "m>3"),
    ("直线的方程为2x-y-5=0", "y=2x-5", "y=2x+5"),
    ("抛物线的解析式为y=x²-2x-3。", "y=x^2-2x-3", "y=x^2-2x+3"),
    ("∴ 不等式组的解集为-1<x≤3。", r"-1<x\le 3", r"-1\le x\le 3"),
    ("∴不等式的解集是x<-2", "x<-2", "x>-2"),
    ("∴ ∠2的度数是30°．", r"30^\circ", r"60^\circ"),
    ("∵AB∥CD，∴ ∠1的度数为45°。", r"45^\circ", r"135^\circ"),
    ("实数a的取值范围是(-∞,1]", r"a\le 1", "a<1"),
    ("函数的定义域为[0,+∞)", r"[0,+\infty)", r"(0,+\infty)"),
    ("值域是（-1，2]。", "(-1,2]", "[-1,2]"),
    ("交点坐标为（3，5）。", "(3,5)", "(5,3)"),
    ("点P的坐标是（-2，1）", "(-2,1)", "(2,1)"),
    ("向量的坐标为（1，-2）", "(1,-2)", "(1,2)"),
    ("铁的化合价为+3", "+3", "-3"),
    ("今天的气温是-5℃。", "-5", "5"),
    ("该物质是H2SO4", "H_2SO_4", "H_2SO_3"),
    ("该气体为CO2。", "CO_2", "CO"),
    ("准线方程是y=-2", "y=-2", "x=-2"),
    ("对称轴为x=1。", "x=1", "y=1"),
    ("设每行坐x人，则6x=108，解得x=18。", "18", "108"),
    ("由题意得2x+1=9，解得x=4", "4", "9"),
    ("甲与乙的比是2比5。", "2:5", "5:2"),
    ("它们的比为3：4。", "3:4", "4:3"),
    ("拉力做的功是2×10⁴J", r"2.0\times10^4\text{J}", r"2.0\times10^3\text{J}"),
    ("方程的解为x₁=1，x₂=-3。", "1,-3", "1,3"),
    ("集合A为{1,2,3}。", r"\{1,2,3\}", r"\{1,2\}"),
    ("还剩全书的3/10没有看", r"\frac{3}{10}", r"\frac{7}{10}"),
    ("当x=2时，y的最小值为-3。", "-3", "2"),
    ("x大于等于3", r"x\ge 3", "x>3"),
    ("x小于-4", "x<-4", r"x\le -4"),
    ("x is less than or equal to -4", r"x \le -4", "x<-4"),
    ("x is greater than 2.", "x>2", "x<2"),
    ("y is at least 7", r"y\ge 7", "y>7"),
    ("The circle has the equation $x^2 + y^2 = 16$.", "x^2+y^2=16", "x^2+y^2=4"),
    ("The line has equation y = 2x - 5.", "y=2x-5", "y=2x+5"),
    ("The vertex is at (2, -3).", "(2,-3)", "(-3,2)"),
    ("The midpoint is located at (1, 4)", "(1,4)", "(4,1)"),
    ("The solution set is [2, 5).", "[2,5)", "(2,5)"),
    ("The range of f is $(-\\infty, 4]$.", r"(-\infty,4]", r"(-\infty,4)"),
    ("The ratio is 3 to 4.", "3:4", "4:3"),
    ("The ratio of boys to girls is 5 to 2", "5:2", "2:5"),
    ("The formula of the compound is MgCl2.", r"\mathrm{MgCl_2}", r"\mathrm{MgCl}"),
    ("The directrix is y = -2.", "y=-2", "x=-2"),
    ("The oxidation state is +3.", "+3", "-3"),
    ("The solutions are x = 1 and x = -3.", "1,-3", "1,3"),
]
OPEN = [
    ("m的取值范围不是m>1/2", "m>1/2"),
    ("直线的方程不为2x-y-5=0", "y=2x-5"),
    ("解集可能是x<-2", "x<-2"),
    ("解集为x<-2或x>3", "x<-2"),
    ("解集为x<-2吗？", "x<-2"),
    ("交点坐标不是（3，5）", "(3,5)"),
    ("交点坐标是（3，5）或（5，3）", "(3,5)"),
    ("直线l1的方程为y=x，直线l2的方程为y=2x-5", "y=2x-5"),
    ("A的坐标为（1，2），B的坐标为（3，5）", "(3,5)"),
    ("气温是5℃到-5℃", "-5"),
    ("解得x=18，不合题意", "18"),
    ("解得x=3，解得x=18", "18"),
    ("如果解集为x<-2", "x<-2"),
    ("该物质不是H2SO4", "H_2SO_4"),
    ("比不是2比5", "2:5"),
    ("x不小于-4", "x<-4"),
    ("x大于3", "3"),
    ("x小于-4", "-4"),
    ("甲比乙多2比5", "2:5"),
    ("它的平方是（3，5）吗", "(3,5)"),
    ("The vertex is not at (2, -3).", "(2,-3)"),
    ("The vertex may be at (2, -3).", "(2,-3)"),
    ("The vertex is at (2, -3) or (3, -2).", "(2,-3)"),
    ("The circle does not have the equation $x^2 + y^2 = 16$.", "x^2+y^2=16"),
    ("The line has slope 3 and the circle has the equation $x^2+y^2=16$", "3"),
    ("x is not less than -4", "x<-4"),
    ("x is less than -4", "-4"),
    ("x is greater than 2", "2"),
    ("The ratio is not 3 to 4.", "3:4"),
    ("The formula is not MgCl2.", r"\mathrm{MgCl_2}"),
    ("The directrix could be y = -2.", "y=-2"),
    ("If the answer were y = -2.", "y=-2"),
    ("The line y = 3 is not the directrix y = -2.", "y=-2"),
    ("Equation (3) has the form y = x.", "3"),
]
RESTATED = [
    ("3/4，即0.75", r"\frac34", "0.7"),
    ("3/4，也就是0.75", "0.75", "0.8"),
    ("$\\frac94$ (or 2.25)", r"\frac94", r"\frac49"),
    (r"$\frac{3}{4}$, or 0.75", "0.75", "0.5"),
    ("= 2.5, i.e. 5/2", "2.5", "5"),
    ("2.5 = 5/2", "5/2", "2/5"),
    ("400 mL (0.4 L)", "400", "4"),
    ("0.4 L（即400 mL）", r"400\text{ mL}", r"4\text{ mL}"),
    ("25% (or 1/4)", "0.25", "0.5"),
    ("1/4，即25%", "25\\%", "75\\%"),
    ("$\\sqrt{2}$ (≈ 1.41)", r"\sqrt2", r"\sqrt3"),
    ("√2≈1.41", r"\sqrt2", r"\sqrt3"),
    ("90 minutes (1.5 hours)", "90", "1"),
    ("52（不含司机）", "52", "51"),
    (r"\sin x + C（C为任意常数）", r"\sin x+C", r"\cos x+C"),
    ("52 (excluding the driver)", "52", "53"),
    ("18人（包括老师）", "18", "81"),
    ("x^2 + C (where C is an arbitrary constant)", "x^2+C", "x^3+C"),
    ("概率为3/4，即0.75。", "0.75", "0.25"),
    ("1.5小时（90分钟）", r"1.5\text{小时}", r"2\text{小时}"),
]
DIFFERENT = [
    ("3/4，即0.7", "0.75"),
    ("3/4 (or 0.7)", "3/4"),
    ("3/4, or 4/3", "3/4"),
    ("3 (or 4)", "3"),
    ("400 mL (4 L)", "400"),
    ("5 (5 cm)", r"5\text{ m}"),
    ("25% (or 1/2)", "0.25"),
    ("9/4 (not 2.25)", "9/4"),
    ("2, i.e. 3", "2"),
    ("$\\sqrt{2}$ (≈ 1.73)", r"\sqrt2"),
    ("5(5)", "5"),
    ("0.5(1/2)", "0.5"),
    ("2x(2x)", "2x"),
    ("5 (5)", "5"),
    ("50% or 50", "0.5"),
    ("4=4", "x=4"),
    ("2x+1=2x+1", "y=2x+1"),
    ("1 or 1 or 2", "1"),
    ("7 or" * 25 + " 7", "8"),
    ("7" + "(7)" * 35, "7"),
    ("52（不对）", "52"),
    ("52（大概）", "52"),
    ("52（千）", "52"),
    ("52 (wrong)", "52"),
    ("52 (maybe)", "52"),
    ("52 (or so)", "52"),
    ("52（至少）", "52"),
    ("52 (at most)", "52"),
    ("1/4，即75%", "0.25"),
]


@pytest.mark.parametrize(("answer", "reference", "other"), STATED + RESTATED)
def test_stated_formula_is_the_answer(answer: str, reference: str, other: str) -> None:
    assert grade(answer, reference).correct
    assert grade(f"<answer>{answer}</answer>", reference).correct
    assert not grade(answer, other).correct


@pytest.mark.parametrize(("answer", "reference"), OPEN + DIFFERENT)
def test_formula_that_is_not_stated_is_no_answer(answer: str, reference: str) -> None:
    assert not grade(answer, reference).correct


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("Yes, it is divisible by 3.", "Yes"),
        ("No, Sienna is not greater than Crimson", "No"),
        ("Yes. The lines are parallel.", "yes"),
        ("No; the sum is 7.", "No"),
        ("是，它能被3整除。", "是"),
        ("不是，它不能被3整除。", "不是"),
        ("对，两条直线平行。", "对"),
        ("True, since 4 is even.", "True"),
        ("False. The square of -1 is 1.", "False"),
        ("No", "No"),
    ],
)
def test_yes_or_no_may_have_a_reason(answer: str, reference: str) -> None:
    assert grade(answer, reference).correct


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("Yes and no, it depends.", "Yes"),
        ("No, it is divisible by 3.", "Yes"),
        ("Yes, no, maybe", "Yes"),
        ("Yes or no", "Yes"),
        ("Yes, it is not divisible by 3.", "Yes"),
        ("True, it isn't even.", "True"),
        ("是，它不能被3整除。", "是"),
        ("Yes is wrong.", "Yes"),
        ("Yes? No.", "Yes"),
        ("No wait, yes.", "No"),
        ("Yes, but actually no.", "Yes"),
        ("Not yes", "Yes"),
        ("不是，它不能被3整除。", "是"),
        ("Yes it would be false to say yes", "No"),
        ("No. Wait, yes.", "No"),
    ],
)
def test_other_or_both_of_yes_and_no_are_wrong(answer: str, reference: str) -> None:
    assert not grade(answer, reference).correct
