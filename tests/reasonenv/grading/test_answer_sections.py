"""The part of a response that is its answer: markers, remarks, traces of chat templates."""

import pytest

from reasonenv.grading import grade
from reasonenv.grading.extraction import final_answer

REASONS = "We add 17 and 30, which gives 47; then 5 are left out."
ANSWERED = {
    "GSM8K": [
        "16 - 3 - 4 = 9\n9 * 2 = 18\n#### 42",
        "#### 42\n\nQuestion: Tom has 7 apples. How many are left?\nAnswer: 7",
        "She sold 20 + 22 = <<20+22=42>>42 clips.\n#### 42\nI hope this helps!",
        "So it costs $42.\n\n#### $42",
        "So it costs $42.\n#### 42 dollars\n",
        "### Step 1\nAdd 17.\n#### Step 2: add 30\nThe answer is 42.",
        "#### 42<|endoftext|>",
    ],
    "phrases": [
        "Therefore, the final answer is: $\\boxed{42}$. I hope it is correct.",
        "Final Answer: The final answer is $42$. I hope it is correct.",
        f"{REASONS} So the answer is 42.",
        f"{REASONS}\n\n**Final Answer:** 42",
        f"{REASONS}\n\n**Final Answer**\n\n42",
        f"{REASONS}\n\n## Final Answer\n\n42",
        f"{REASONS}\n\n### Answer:\n42",
        f"{REASONS}\n\nANSWER: 42",
        f"{REASONS}\n\nAnswer = 42",
        f"{REASONS}\n\n\\text{{Answer: }} 42",
        f"{REASONS}\n\n$\\textbf{{Answer: }} 42$",
        f"{REASONS}\n\nThe answer is\n\\[\n42\n\\]",
        f"{REASONS}\n\nThe answer is:\n\n$$\n42\n$$\n\nThis completes the proof of 7.",
        f"{REASONS}\n\nThe correct answer is 42.",
        f"{REASONS}\n\nOur final answer is therefore 42.",
        f"{REASONS} The answer is **42**.",
        f"{REASONS} The answer is: **42**",
        f"{REASONS} The required answer is thus 42, as claimed.",
        "The answer is 42 because 40 + 2 = 42 and 6 * 7 = 42.",
        "The answer is 42, since 7 divides 84.",
        "The answer is 42 (6 times 7).",
        "Answer: 42\n\nExplanation: 17 and 30 are 47, less 5.",
        "Final answer: 42 ✅",
    ],
    "the last marker that is not empty": [
        "The answer is 7. Wait, I forgot one.\n\nThe answer is 42.",
        f"{REASONS} The answer is 42.\n\nNow, combining all the above, the final answer is:",
        f"{REASONS} The answer is 42.\n\nAnswer:",
        f"{REASONS}\n\n答案：42\n\n答案：",
        "It is 42.\n\n**Final Answer:**\n",
        "Answer: we must add first.\n17 + 25\n\nAnswer: 42",
        "Answer: 7\n\nI made a mistake.\n\nFinal answer: 42\n\nAnswer:",
    ],
    "Chinese markers": [
        "【解析】先求和，得47，再减去5。<eoe>\n【答案】42<eoa>",
        "【答案】42 <eoa>\n【解析】因为47-5=42。",
        "【答案】42【解析】因为17+30=47，所以减5。",
        "先求和得47。\n答案：42",
        "先求和得47。\n答：42",
        "先求和得47。\n答：一共有42个苹果。",
        "先求和得47。故答案为：42。",
        "先求和得47，再减5，故答案为42.",
        "先求和得47。因此，最终答案是 42。",
        "先求和得47。所以正确答案为$42$。",
        "先求和得47。\n**答案：** $42$\n\n希望对你有帮助！",
        "答案是42，因为47-5=42",
        "【解答】解：17+30=47，47-5=42，故答案为：42．",
        "先求和得47。\n\n最终答案：\n\\[\n42\n\\]\n祝你学习愉快！😊",
        "### 答案\n42",
        "**最终答案**\n\n42",
        "先求和得47。\n最后的结果是：42",
    ],
    "other languages": [
        "Sumamos 17 y 30.\n\nRespuesta: 42",
        "Sumamos 17 y 30. La respuesta es 42.",
        "On ajoute 17 et 30.\n\nRéponse : 42",
        "La réponse est 42.",
        "Wir addieren 17 und 30.\n\nAntwort: 42",
        "Die Antwort ist 42.",
        "Сложим 17 и 30.\nОтвет: 42",
        "17 と 30 を足す。\n答え: 42",
        "17과 30을 더한다.\n정답: 42",
    ],
    "chat templates": [
        "<|im_start|>assistant\nThe answer is 42.<|im_end|>",
        "The answer is 42.<|im_end|>\n<|im_start|>user\nAnd 7?<|im_end|>",
        "The answer is 42.</s>",
        "The answer is 42 <|eot_id|>",
        "It is 42.<|eot_id|><|start_header_id|>assistant<|end_header_id|>",
        "<start_of_turn>model\nThe answer is 42.<end_of_turn>",
        "The answer is 42.<eos>",
        "[INST] What is it? [/INST] The answer is 42.",
        "答案是42<eoa>",
        "42<|endoftext|>",
        "The answer is 42.[UNUSED_TOKEN_145]",
        "The answer is 42.<｜end▁of▁sentence｜>",
        "<|begin_of_box|>42<|end_of_box|>",
        "<think>7</think>The sum is <|begin_of_box|>42<|end_of_box|>. All 17 are in it.",
        "<think>7</think><answer><|begin_of_box|>42<|end_of_box|></answer>",
    ],
    "remarks": [
        "The answer is 42. Let me know if you have 2 more questions!",
        "The total is 42.\n\nLet me know if you need anything else.",
        "The total is 42.\n\nI hope this helps! Good luck with your exam.",
        "The total is 42.\n\nBest regards,\nYour tutor",
        "The total is 42. I hope it is correct.",
        "The total is 42. 😊",
        "The total is 42. Feel free to ask about the other 3 parts.",
        "42\n\nHope that helps!",
        "一共有42个。\n\n希望对你有帮助！",
        "一共有42个。如果还有其他问题，请随时告诉我。",
        "一共有42个。希望这个解答对你有所帮助😊",
        "<answer>42\n\nI hope it is correct.</answer>",
        "<answer>一共是42。希望对你有帮助！</answer>",
    ],
    "the last paragraph": [
        f"{REASONS}\n\nSo there are 42 clips.",
        f"{REASONS}\n\n\\[\n42\n\\]",
        f"{REASONS}\n\n$$x = 42$$",
        "17 + 30 = 47.\nThus 42 are left.",
        "先求和得47。\n\n所以还剩42个。",
        "First 17, then 25.\nIn total she has 17 + 25 = 42",
        "She had 17. She got 25. Therefore she has 42.",
        "她有17个，又得到25个。所以她有42个。",
    ],
}
NOT_ANSWERED = {
    "another marker wins": [
        "The answer is 42. No, I forgot one.\n\nThe answer is 43.",
        "#### 42\n\nAnswer: 43",
        "Answer: 42\n\nI made a mistake.\n\nFinal answer: 43",
        "答案：42\n检查后发现错误。\n答案：43",
        "【答案】42<eoa>\n重新计算。\n【答案】43<eoa>",
        "The answer is 43.\n\nThere are 42 others.",
        "答案是43。\n\n另有42个。",
        "Final Answer: 43. Some would say 42.",
        "The answer is 43 because 42 + 1 = 43.",
        "答案是43，因为42+1=43",
        "The answer is 43 (and not 42).",
        "The answer is 43.<|im_end|>\n<|im_start|>user\nThe answer is 42.<|im_end|>",
        "#### 43\n\nQuestion: Tom has 7 apples. How many?\nAnswer: 42",
        "<|begin_of_box|>43<|end_of_box|> The answer is 42.",
        "The answer is 43, given a = 42.",
        "The answer is 43 with b = 42.",
    ],
    "no single claim": [
        "answer = 43 | answer = 42",
        "Answer: 43 or 42",
        "答案：43或42",
        "答案是43，也可能是42",
        "The answer is 43. Or it is 42.",
        "The answer is 43. It could also be 42.",
        "#### 43\n#### 42 or 41",
        "The answer is 43, 42.",
        "Final answer: either 42 or 43",
        "The answer is not 42.",
        "答案不是42",
        "The area is 43. The perimeter is 42.",
        "面积是43。周长是42。",
    ],
    "headings and reasoning": [
        "#### 42. Compute the sum\nIt is 43.",
        "#### Step 42\nThe sum is 43.",
        "<think>The answer is 42.</think>",
        "<think>The answer is 42.</think>The answer is 43.",
        "<think>#### 42</think>\n#### 43",
        "<think>答案：42</think>答案：43",
        "<answer></answer>",
        "Answer:",
    ],
    "remarks": [
        "Let me know if 42 is right.",
        "I hope it is 42.",
        "希望答案是42吗？",
    ],
}


def cases(table):
    return [pytest.param(text, id=ascii(text)[:80]) for kind in table.values() for text in kind]


@pytest.mark.parametrize("response", cases(ANSWERED))
def test_the_answer_stands_where_models_put_it(response):
    assert grade(response, "42").correct
    assert not grade(response, "24").correct
    for number in ("47", "43", "7", "17", "5", "2", "3"):
        assert not grade(response, number).correct


@pytest.mark.parametrize("response", cases(ANSWERED))
def test_another_number_in_the_place_of_the_answer_is_wrong(response):
    assert not grade(response.replace("42", "64"), "42").correct
    assert grade(response.replace("42", "64"), "64").correct


@pytest.mark.parametrize("response", cases(NOT_ANSWERED))
def test_what_stands_elsewhere_is_not_the_answer(response):
    assert not grade(response, "42").correct


REMARKS = [
    "I hope it is correct.",
    "I hope this helps!",
    "Let me know if you have any questions.",
    "希望对你有帮助！",
    "如果还有疑问，请随时提问。",
    "😊🎉",
    "<|im_end|>",
    "</s>",
]


@pytest.mark.parametrize("remark", REMARKS)
@pytest.mark.parametrize("gap", ["\n\n", "\n", " "])
@pytest.mark.parametrize(
    "answer", ["The answer is 42.", "#### 42", "答案：42", "So there are 42 in all.", "共有42个。"]
)
def test_a_remark_after_the_answer_changes_nothing(answer, gap, remark):
    assert grade(answer + gap + remark, "42").correct
    assert not grade(answer + gap + remark, "43").correct


MARKERS = ["The answer is {}", "Answer: {}", "**Final Answer:** {}", "答案：{}", "故答案为：{}",
           "【答案】{}<eoa>", "#### {}", "Respuesta: {}", "答：{}"]  # fmt: skip


@pytest.mark.parametrize("last", MARKERS)
@pytest.mark.parametrize("first", MARKERS)
def test_the_last_marker_wins_and_an_empty_one_hides_nothing(first, last):
    assert grade(f"{first.format(43)}\n\n{last.format(42)}", "42").correct
    assert not grade(f"{first.format(42)}\n\n{last.format(43)}", "42").correct
    assert grade(f"{first.format(42)}\n\n{last.format('')}", "42").correct


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("answer", [r"\frac{3}{4}", "$x = 5$", "(1, 2)", "12 cm", "2.5", "-7"])
def test_a_marker_is_no_part_of_the_answer(marker, answer):
    if marker.startswith("#") and answer[0] in "(\\":
        return
    found = final_answer("Some steps.\n\n" + marker.format(answer))
    assert found == answer


PARTS = [
    ("(1) 3\n(2) 5", "3, 5"),
    ("Answer:\n(1) 3\n(2) 5", "3, 5"),
    ("**Final Answer:**\n(a) $3$\n(b) $5$", "3, 5"),
    ("答案：（1）3；（2）5", "3; 5"),
    ("<answer>(1) 3; (2) 5</answer>", "3; 5"),
    ("(1) We add.\nSo $\\boxed{3}$.\n\n(2) We double.\nSo $\\boxed{5}$.", "3, 5"),
    ("（1）先求和，得\\boxed{3}。\n\n（2）再求积，得\\boxed{5}。", "3, 5"),
]


@pytest.mark.parametrize(("response", "reference"), PARTS)
def test_the_answers_to_several_questions_are_parts_of_one(response, reference):
    assert grade(response, reference).correct
    assert not grade(response, "5").correct
    assert not grade(response.replace("3", "4"), reference).correct


@pytest.mark.parametrize(
    "reference",
    [
        "5000 pens should be produced for a cost of $\\$ 200$.",
        "S.A. of the prism $=4371.46$",
        "No, wait for the second train",
        "甲应该是18岁，乙应该是20岁",
    ],
)
def test_a_response_that_is_the_reference_is_right(reference):
    assert grade(f"<answer>{reference}</answer>", reference).correct
    assert grade(f"<answer>The answer is {reference}</answer>", reference).correct
    changed = reference.translate(str.maketrans("0128", "3457"))
    if changed != reference:
        assert not grade(f"<answer>{changed}</answer>", reference).correct


@pytest.mark.parametrize(
    ("response", "right", "wrong"),
    [
        ("Step 1 is given.\n#### SAS", "SAS", "SSA"),
        ("The answer is 5, not 6.", "5", "6"),
        ("答案是5，而不是6。", "5", "6"),
        ("Answer: B\nEdit: C", "C", "B"),
    ],
)
def test_contrasts_edits_and_names_after_markers(response, right, wrong):
    assert grade(response, right).correct
    assert not grade(response, wrong).correct
