"""Outputs in the manner of models on word problems, and claims beside the right one."""

import pytest

from reasonenv.grading import grade

RIGHT = [
    (
        "Janet eats 3 eggs and bakes with 4, so 16 - 3 - 4 = 9 eggs are left.\n"
        "She sells them for $2 each, so she makes 9 * 2 = $18.",
        "18",
    ),
    (
        "Let's think step by step.\n\nStep 1: 16 - 7 = 9\nStep 2: 9 x 2 = 18\n\n"
        "Janet makes $18 every day at the farmers' market.",
        "18",
    ),
    ("To find the total, add 5 and 13. This gives us 18 apples in total.", "18"),
    ("**Step 1:** 2+3=5\n**Step 2:** 5*4=20\n\n**The total cost is $20.00.**", "20"),
    ("So, Weng earned **$10** for 50 minutes of babysitting.", "10"),
    (
        "Weng earns 12/60 = $<<12/60=0.2>>0.2 per minute.\n"
        "Working 50 minutes, she earned 0.2 x 50 = $<<0.2*50=10>>10.\n#### 10",
        "10",
    ),
    ("Thus, Betty needs $100 - $95 = $5 more.", "5"),
    (
        "In total, she read 12 + 24 = 36 pages, so 120 - 36 = 84 remain. Half of 84 is 42.\n\n"
        "The answer is 42 pages.",
        "42",
    ),
    ("Therefore, $x = 5$ is the answer.", "5"),
    ("Answer: $5$ meters", "5"),
    ("the final answer is \\(\\frac{1}{2}\\).", "1/2"),
    ("Final Answer: (C)", "C"),
    ("ANSWER: D\n", "D"),
    ("Answer: $\\frac{\\sqrt{3}}{2}$", "\\frac{\\sqrt3}{2}"),
    ("The answer is (A) 12 cm.", "A"),
    ("Thus the answer is \\[ \\boxed{7}. \\]", "7"),
    ("### Final Answer\n\nThe value of $x$ is $\\frac{7}{2}$.", "7/2"),
    ("### Conclusion\n\nThe area of the triangle is **24 square units**.", "24"),
    ("解：3×4=12（元）\n答：一共要12元。", "12"),
    ("解：(1) 12÷3=4\n(2) 4×5=20\n答：需要20天。", "20"),
    ("小明有12本书，小红比小明多3本，所以小红有12+3=15本。", "15"),
    ("综上所述，答案为：$\\boxed{15}$。", "15"),
    ("【答案】B\n【解析】因为2+3=5，故选B。", "B"),
    ("因此，选项C正确。\n\n答案：C", "C"),
    ("故选：D．", "D"),
    ("故答案为：$-\\frac{1}{2}$．", "-1/2"),
    ("所以这个数是15。", "15"),
    ("由题意得x=3。\n\n综上，$x=3$。", "3"),
    ("原式 = 3 + 4 = 7", "7"),
    ("The solution set is $\\{1, 2\\}$.", "\\{1,2\\}"),
    ("The roots are $x=1$ and $x=2$.", "1, 2"),
    ("So the equation of the line is y = 2x + 3.", "y=2x+3"),
    ("The probability is therefore 1/6.", "1/6"),
    ("The train travels at a speed of 60 km/h.", "60 km/h"),
    ("The final answer is 1,234.", "1234"),
    ("**Answer: 3/8**", "3/8"),
    ("Answer:** 12", "12"),
    ("The answer is: 7<|im_end|>\n<|endoftext|>", "7"),
    ("So the final answer is $\\boxed{\\text{C}}$. </s>", "C"),
    ("\\text{Answer: } \\frac{5}{6}", "5/6"),
    ("After 3 hours, they will be 150 miles apart.", "150"),
    ("每人分得4个，还剩2个。答案：4", "4"),
    ("他一天跑了5千米。", "5千米"),
    ("需要8名工人。", "8"),
    ("一共花了25.5元", "25.5"),
    ("12 + 5 = 17\nSo there are 17 birds in the tree now.", "17"),
    ("Each child gets 6 candies, with none left over.", "6"),
    ("Emma saved 25% of her allowance.", "25%"),
]
WRONG = [
    ("The answer is 5. Just kidding, it is 6.", "5"),
    ("Option 1: 5\nOption 2: 6", "6"),
    ("Either 5 or 6 apples", "6"),
    ("Some students answer 6.", "6"),
    ("6 is not the answer", "6"),
    ("Is 6 right? I am not sure", "6"),
    ("Suppose it was 6.", "6"),
    ("Assume 6.", "6"),
    ("Anything but 6", "6"),
    ("The sum of digits of 6", "6"),
    ("6 percent of 50 people", "6"),
    ("6 out of 10", "6"),
    ("3 times 6", "6"),
    ("6 minus 2", "6"),
    ("six minus 6 = 0", "6"),
    ("The product 2 * 3 is not 6", "6"),
    ("The remainder after dividing by 6", "6"),
    ("小于6的数", "6"),
    ("6的因数", "6"),
    ("6加1", "6"),
    ("比6多1", "6"),
    ("6点钟", "7"),
    ("不止6个", "6"),
    ("6个苹果和5个梨", "6"),
    ("可能6个", "6"),
    ("甲6乙5", "6"),
    ("第6个", "6"),
    ("6号楼", "7"),
    ("约6至7天", "6"),
    ("6到7天", "7"),
    ("如果是6就好了", "6"),
    ("假设是6", "6"),
    ("差不多6", "6"),
    ("6分之1", "6"),
    ("The area is 5.\nThe perimeter is 6.", "6"),
    ("A: 5. B: 6.", "6"),
    ("Try 5. If not, 6.", "6"),
    ("between 5 and 6", "6"),
    ("5 (or 6)", "6"),
    ("5/6", "6"),
]


@pytest.mark.parametrize(("response", "reference"), RIGHT)
def test_the_answer_of_an_output_is_read(response, reference):
    assert grade(response, reference).correct


@pytest.mark.parametrize(("text", "reference"), WRONG)
def test_another_claim_is_not_paid(text, reference):
    assert not grade(f"<answer>{text}</answer>", reference).correct
    assert not grade(text, reference).correct
