"""The rules of each benchmark on small cases of our own."""

import time

import pytest

from reasonenv.scoring.benchmarks import (
    gsm8k,
    mathverse,
    mathvision,
    mathvista,
    olympiadbench,
    wemath,
)
from reasonenv.scoring.responses import LabeledResponse
from reasonenv.scoring.short_answers import inferred_letter, value


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        ("1,234.5", 1234.5),
        (r"\frac{1}{2}", 0.5),
        (r"2\frac{1}{2}", 1),  # a product there
        (r"2\sqrt{3}", 3.4641016),
        (r"\sqrt[3]{8}", 2),
        (r"10\pi+20", 51.4159265),
        ("1:2", 0.5),
        (r"3 \cdot 4 - 6 \div 2", 9),
        ("-2^2", -4),
        ("2^3^2", 64),
        ("5!", 120),
        (r"$20\%$", 0.2),
        (r"\frac{3^{1008}-1}{3^{1009}}", 1 / 3),
        (r"\quad 3", 3),
        (r"\dfrac{1}{2}", 0.5),
        (r"\binom{5}{2}", 10),
        (r"\log 100", 2),
        (r"\log_{2}(8)+1", 4),
        (r"\sin(2)\pi", 2.8566421),
        (r"\sin 1\cos 1", 0.4546487),
        (r"\sin(2)^2", 0.8268218),
        (r"\cos^{-1}(0.5)", 1.0471976),
        (r"\sinh 1", 1.1752012),
        ("--3", 3),
    ],
)
def test_a_constant_is_read_as_the_official_parser_does(text, number):
    assert value(text) == pytest.approx(number, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    "text",
    ["", "x", "5 cm", "a", "60%", "5;", "1,2,3", r"\frac12", r"\sqrt2", r"\frac{1}{0}", "2^", "π",
     "2^e", "'3", "3;", "|3|", r"\ln 2", r"\log(-1)", "٣",
     r"\lceil 3.5\rceil", r"\binom{2", r"\gcd(1.5,x)", r"\sin", r"\sin" * 400 + "1",
     "9^{9^{9^9}}", "1000000!", "(" * 500 + "1" + ")" * 500, "1" * 1001, r"\sqrt{-1}"],
)  # fmt: skip
def test_what_is_no_constant_has_no_value(text):
    assert value(text) is None


CHOICE = {"answer": "B", "options": ["10", "12.5", "cat"], "level": 1, "subject": "algebra"}
FREE = {"answer": "60", "options": [], "level": 1, "subject": "algebra"}


@pytest.mark.parametrize(
    ("label", "response", "correct"),
    [
        (CHOICE, "B", True),
        (CHOICE, "It must be (B).", True),
        (CHOICE, "(B)\nbecause it fits", True),
        (CHOICE, r"\boxed{B}", True),
        (CHOICE, r"\boxed{(B)}", True),
        (CHOICE, r"\boxed{\text{B}}", True),
        (CHOICE, "The answer is 12.5. It is large.", True),
        (CHOICE, r"\boxed{\frac{25}{2}}", True),
        (CHOICE, r"First \boxed{A}, no: \boxed{B}", True),
        (CHOICE, r"\boxed{A}", False),
        (CHOICE, "B or C", False),
        (CHOICE, "", False),
        (FREE, "The sum is 60.", True),
        (FREE, "x=60^\\circ", True),
        (FREE, "\\boxed{60.004}", True),
        (FREE, "\\boxed{60.006}", False),
        (FREE, "<think>\\boxed{1}</think><answer>\\boxed{60}</answer>", True),
        ({**FREE, "answer": "(1,2)"}, "\\boxed{(1, \\frac{4}{2})}", False),
        ({**FREE, "answer": "(1,2)"}, "\\boxed{(2,1)}", False),
        ({**FREE, "answer": "[1,2]"}, "\\boxed{(1,2)}", False),
        # Values within brackets are compared as texts, and a quotient is never whole there.
        ({**FREE, "answer": "(1,2)"}, "\\boxed{(1,2.0)}", True),
        ({**FREE, "answer": "(1,2)"}, "\\boxed{(1,2.001)}", False),
        ({**FREE, "answer": "(1,2.5)"}, "\\boxed{(1,2.501)}", True),
        ({**FREE, "answer": "(1,2.5)"}, "\\boxed{(1,\\frac{5}{2})}", True),
        ({**FREE, "answer": "(1,2.5)"}, "\\boxed{(x,2.5)}", False),
    ],
)
def test_mathvision_takes_the_letter_or_the_value_to_two_decimals(label, response, correct):
    assert mathvision.grades([LabeledResponse("1", label, response)])[0].correct is correct


def test_mathvision_rounds_and_does_not_subtract():
    assert mathvision.equal_to_two_decimals("2.675", "2.68") == (round(2.675, 2) == 2.68)
    assert mathvision.equal_to_two_decimals("0.004", "0.0049")
    assert not mathvision.equal_to_two_decimals("0.0049", "0.0051")


@pytest.mark.parametrize(
    ("response", "letter"),
    [
        ("The answer is B.", "B"),
        ("(C)", "C"),
        ("A or B", None),
        ("It is a dog", "B"),
        ("It is the cat and the dog", None),
        ("Z", "Z"),
        ("Cannot determine the answer", "Z"),
    ],
)
def test_an_option_is_inferred_from_its_letter_or_its_text(response, letter):
    assert inferred_letter(response, ["cat", "dog", "cow"]) == letter


def vista(answer, kind="text", choices=None, precision=None):
    question = "multi_choice" if choices else "free_form"
    return {
        "answer": answer,
        "question_type": question,
        "answer_type": kind,
        "choices": choices,
        "precision": precision,
        "metadata": {},
    }


YES = vista("Yes", choices=["Yes", "No"])
FISH = vista("crabs decrease", choices=["crabs decrease", "dolphins increase"])
ANGLE = vista("52°", choices=["38°", "52°", "76°"])


@pytest.mark.parametrize(
    ("label", "response", "correct"),
    [
        (YES, "Yes", True),
        (YES, "No, it is not.", False),
        (YES, "Yes, there is no other one.", True),
        (YES, "A. Yes", True),
        (YES, "The answer is (A).", True),
        (YES, "Yes or no? Yellow is no colour. The answer would be:\n\n(B) No", False),
        (YES, "No or yes? **Answer:**\n\n(A) Yes", True),
        (FISH, "The correct option is A, crabs decrease.", True),
        (FISH, "If the algae die, dolphins increase.", False),
        (FISH, "Therefore, the answer is **(A)** crabs decrease", True),
        (FISH, "The answer is crabs decreases", True),
        (ANGLE, "The angle is 38° and its double 76°. Therefore, B.", True),
        (ANGLE, r"\boxed{52°}", True),
        (ANGLE, "<answer>\\boxed{B}</answer>", True),
        (vista("4", choices=["4", "5", "6"]), "It is 4, and not 4.5 or 6.5.", True),
        (vista("4", choices=["5", "6", "4"]), "It is 4.5", False),
        (vista("4", "integer"), "4", True),
        (vista("4", "integer"), "4.7", True),
        (vista("4", "integer"), "There are four of them.", True),
        (vista("1200", "integer"), "So 3 bags hold 1,200 grams.", True),
        (vista("-5", "integer"), "The answer is -5 degrees.", True),
        (vista("4", "integer"), "I cannot see 4 dogs in this image.", False),
        (vista("1.2", "float", precision=1), "It is 1.2345 m.", True),
        (vista("1.2", "float", precision=1.0), "\\boxed{\\frac{6}{5}}", True),
        (vista("1.23", "float", precision=2), "1.2", False),
        (vista("[1, 2]", "list"), "The list is [1, 2].", True),
        (vista("[1, 2]", "list"), "1, 2", False),
    ],
)
def test_mathvista_extracts_normalises_and_compares(label, response, correct):
    assert mathvista.grades([LabeledResponse("1", label, response)])[0].correct is correct


def test_mathvista_takes_the_first_letter_in_brackets_of_an_extraction():
    case = LabeledResponse("1", ANGLE, "", "(b) and not (a)")
    assert mathvista.grades([case])[0].answer == "52°"


def test_gsm8k_compares_numbers_as_they_are_written_but_for_commas():
    label = {"answer": "So.\n#### 1,234"}
    responses = ["#### 1234", "#### 1,234", "#### 1234.0", "A: 1,234", "It is \\boxed{1234}.", "?"]
    grades = gsm8k.grades([LabeledResponse("1", label, response) for response in responses])
    assert [grade.correct for grade in grades] == [True, True, False, True, True, False]


def test_mathvista_leaves_no_multiple_choice_unanswered():
    grade = mathvista.grades([LabeledResponse("1", ANGLE, "I see nothing")])[0]
    assert grade.answer in ANGLE["choices"]
    assert mathvista.grades([LabeledResponse("1", vista("3", "integer"), "I see nothing")])[
        0
    ].status == ("no_answer")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("", "abc", 3), ("kitten", "sitting", 3), ("abc", "abc", 0), ("ab", "ba", 2)],
)
def test_the_distance_counts_insertions_deletions_and_replacements(first, second, expected):
    assert mathvista.distance(first, second) == mathvista.distance(second, first) == expected


OLYMPIAD = [
    ("So the final answer is \\boxed{2}.", "2", None, True),
    ("\\boxed{3}\nSo the final answer is \\boxed{2}.", "2", None, True),
    ("\\boxed{3} and then \\boxed{2}", "2", None, False),
    ("\\boxed{1} and \\boxed{2}", "$2$,$1$", None, True),
    ("\\boxed{1}", "$2$,$1$", None, False),
    ("It is $x=\\frac{1}{2}$", "0.5", None, True),
    ("\\boxed{\\pm 2}", "2,-2", None, True),
    ("\\boxed{[1,\\infty)}", "$[1, \\infty)$", None, True),
    ("\\boxed{(1,\\infty)}", "$[1, \\infty)$", None, False),
    ("\\boxed{y=2x+1}", "$2x-y+1=0$", None, True),
    ("\\boxed{y=2x+2}", "$2x-y+1=0$", None, False),
    ("\\boxed{2(n+1)}", "$2n+2$", None, True),
    ("\\boxed{79.6}", "79.67", "1e-1", True),
    ("\\boxed{79.5}", "79.67", "1e-1", False),
    ("\\boxed{79.5695}", "79.67", "1e-1", True),
    ("\\boxed{79.56}", "79.67", "1e-1", False),
    ("\\boxed{79.6}", "79.67", None, False),
    ("So the final answer is 3.\nNo. So the final answer is 2.", "2", None, True),
    # An announcement is followed by a space; without one all that was said counts.
    ("So the final answer is\n\\boxed{2}", "2", None, True),
    ("So the final answer is: \\boxed{2}", "2", None, True),
    ("\\boxed{3} is no. So the final answer is: \\boxed{2}", "2", None, False),
    ("\\boxed{3} is no. So the final answer is \\boxed{2}", "2", None, True),
    ("So the final answer is \\boxed{3}. So the final answer is \\boxed{2}", "2", None, False),
    ("\\boxed{1.05,2.0}", "1,2", "0.1,", True),
    ("\\boxed{1.0,2.05}", "1,2", "0.1,", False),
    ("\\boxed{50%}", "0.5", None, True),
    ("\\boxed{5", "5", None, False),
    ("", "5", None, False),
    ("\\boxed{9^{9^{9^{9}}}}", "5", None, False),
]


def test_olympiadbench_pairs_items_within_their_precision():
    labels = [
        {"final_answer": [reference], "error": error, "answer_type": "Numerical"}
        for _, reference, error, _ in OLYMPIAD
    ]
    responses = [response for response, *_ in OLYMPIAD]
    cases = [LabeledResponse("1", *pair) for pair in zip(labels, responses, strict=True)]
    given = [grade.correct for grade in olympiadbench.grades(cases)]
    wrong = [row for row, correct in zip(OLYMPIAD, given, strict=True) if row[-1] is not correct]
    assert wrong == []


def test_olympiadbench_tuples_know_no_tolerance():
    label = {"final_answer": ["(1,2)"], "error": "1e-1", "answer_type": "Tuple"}
    assert olympiadbench.reference_items(label) == ("(1,2)", [olympiadbench.PRECISION])
    assert olympiadbench.reference_items({**label, "answer_type": "Numerical,Numerical"})[1] == [
        0.1
    ]


def test_olympiadbench_ends_what_sympy_would_never_end(monkeypatch):
    monkeypatch.setattr(olympiadbench, "_TIMEOUT_S", 0.5)
    label = {"final_answer": ["x"], "error": None, "answer_type": "Expression"}
    hostile = "\\boxed{9^{9^{9^{9}}}+x}"
    responses = [hostile, "\\boxed{x}", "\\boxed{" * 50_000, "\\mathrm{" * 50_000, "x" * 100_000]
    started = time.monotonic()
    grades = olympiadbench.grades([LabeledResponse("1", label, response) for response in responses])
    assert [grade.correct for grade in grades] == [False, True, False, False, False]
    assert grades[0].status == "timeout"
    # A hang guard: half a second of CPU is the worker's.
    assert time.monotonic() - started < 120


VERSE = {
    "answer": "B",
    "question_type": "multi-choice",
    "problem_version": "Text Lite",
    "metadata": {"subject": "Plane Geometry", "subfield": "Angle"},
    "question": "What is it?\nChoices:\nA:50°\nB:40°\nC:130°\nD:80°",
}


@pytest.mark.parametrize(
    ("response", "correct"),
    [
        ("The answer is B", True),
        ("So the angle is 40°. The correct answer is (B) 40°.", True),
        ("\\boxed{40°}", True),
        ("Therefore, B", True),
        ("The answer is C:130°", False),
        ("It is A, or is it B?", False),
    ],
)
def test_mathverse_takes_a_letter_or_its_option(response, correct):
    assert mathverse.label_options(VERSE) == ("50°", "40°", "130°", "80°")
    assert mathverse.grades([LabeledResponse("1", VERSE, response)])[0].correct is correct


def test_mathverse_compares_other_answers_mathematically():
    label = {**VERSE, "question_type": "free-form", "answer": "\\frac{x^2}{81}+\\frac{y^2}{9}=1"}
    response = "The equation is $$\\boxed{x^2/81+y^2/9=1}$$"
    assert mathverse.grades([LabeledResponse("1", label, response)])[0].correct


@pytest.mark.parametrize(
    ("response", "letter"),
    [
        ("<Thought process>: <<3 cm>> <Answer>: <<B>>", "B"),
        ("<Answer>: <<C. 3 cm>>", "C"),
        ("Answer: D", "D"),
        ("<answer>E</answer>", "E"),
        ("<answer>\\boxed{B}</answer>", "B"),
        ("I do not know", None),
        ("Answer: 3 cm", None),
        ("Answer: B, because \\boxed{5}", "B"),
        ("Answer: C, not \\boxed{B}", "C"),
        ("Because of this, \\boxed{\\text{D}}", "D"),
        ("Answer: \\boxed{D}", "D"),
        ("", None),
    ],
)
def test_wemath_takes_the_letter_after_the_last_answer(response, letter):
    label = {"answer": letter or "A", "key": "2steps_1", "ID": "2steps_1"}
    grade = wemath.grades([LabeledResponse("1", label, response)])[0]
    assert (grade.answer, grade.correct) == (letter, letter is not None)


def composites(*patterns):
    """Labels and verdicts; "10/1" is a right and a wrong step of a problem that is right."""
    labels, correct = {}, {}
    for number, pattern in enumerate(patterns):
        steps, whole = pattern.split("/")
        kind = f"{len(steps)}steps"
        for key, verdict in [*enumerate(steps, 1), ("multi", whole)]:
            name = f"{number}-{key}"
            labels[name] = {"ID": f"{kind}_{number}", "key": f"{kind}_{key}"}
            correct[name] = [verdict == "1"]
    return labels, correct


def test_wemath_metric_of_composites_that_were_counted_by_hand():
    # IK: a step and the whole are wrong. IG: all steps right, the whole wrong. The last four are
    # right as a whole: with all steps, with one of two, with none of three, with one of three.
    patterns = ["10/0", "000/0", "11/0", "111/0", "111/0", "11/1", "01/1", "000/1", "010/1"]
    scores = wemath.composite_scores(*composites(*patterns))
    assert scores["num_composite_problems"] == 9
    assert scores["strict"]["counts"] == {"IK": 2, "IG": 3, "CM": 1, "RM": 3}
    assert scores["loose"]["counts"] == {"IK": 2, "IG": 3, "CM": 3, "RM": 1}
    # (9 - 3/2 - 3 - 2) / 9 and (9 - 3/2 - 1 - 2) / 9.
    assert scores["strict"]["score"] == pytest.approx(2.5 / 9)
    assert scores["loose"]["score"] == pytest.approx(4.5 / 9)
    assert scores["strict"]["rote_memorization"] == pytest.approx(3 / 4)
    assert scores["loose"]["rote_memorization"] == pytest.approx(1 / 4)
    assert scores["strict"]["inadequate_generalization"] == pytest.approx(3 / 9)
    low, high = scores["strict"]["interval"]
    assert 0 <= low < 2.5 / 9 < high <= 1


def test_wemath_metric_leaves_out_composites_that_are_not_answered_in_full():
    labels, correct = composites("11/1", "111/1")
    del correct["1-2"]
    scores = wemath.composite_scores(labels, correct)
    assert scores["num_composite_problems"] == 1
    assert wemath.composite_scores(labels, {"0-1": [True]}) == {}


def test_wemath_metric_of_several_samples_is_the_mean_over_them():
    labels, correct = composites("11/1")
    correct["0-multi"] = [True, False]
    correct["0-1"] = [True, True]
    correct["0-2"] = [True, True]
    assert wemath.composite_scores(labels, correct)["strict"]["score"] == pytest.approx(
        (1 + 0.5) / 2
    )
