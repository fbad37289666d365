"""The rules of each benchmark on small cases of our own.

A row of `rules.jsonl` has the `benchmark`, a `label`, a `response` and whether it is `correct`;
some have an `extraction`, the `answer` that is read, and the `reason` of the verdict.
"""

import json
import time
from pathlib import Path

import pytest

from reasonenv.scoring.benchmarks import mathverse, mathvision, mathvista, olympiadbench, wemath
from reasonenv.scoring.responses import LabeledResponse
from reasonenv.scoring.scoreboard import grades_by_rules
from reasonenv.scoring.short_answers import inferred_letter, value

LINES = Path(__file__).with_name("rules.jsonl").read_text(encoding="utf-8").splitlines()
ROWS = [json.loads(line) for line in LINES]


@pytest.mark.parametrize("benchmark", sorted({row["benchmark"] for row in ROWS}))
def test_responses_are_graded_by_the_rules_of_the_benchmark(benchmark):
    rows = [row for row in ROWS if row["benchmark"] == benchmark]
    cases = [
        LabeledResponse("1", row["label"], row["response"], row.get("extraction")) for row in rows
    ]
    grades = grades_by_rules(f"{benchmark}-v0", cases)
    wrong = [
        (row, grade)
        for row, grade in zip(rows, grades, strict=True)
        if (grade.correct, grade.answer) != (row["correct"], row.get("answer", grade.answer))
    ]
    assert wrong == []
    assert all(grade.answer or grade.status == "no_answer" for grade in grades)


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


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("", "abc", 3), ("kitten", "sitting", 3), ("abc", "abc", 0), ("ab", "ba", 2)],
)
def test_the_distance_counts_insertions_deletions_and_replacements(first, second, expected):
    assert mathvista.distance(first, second) == mathvista.distance(second, first) == expected


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


def test_mathverse_reads_options_at_the_end_of_a_question():
    question = "What is it?\nChoices:\nA:50°\nB:40°\nC:130°\nD:80°"
    label = {"question_type": "multi-choice", "question": question}
    assert mathverse.label_options(label) == ("50°", "40°", "130°", "80°")


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
