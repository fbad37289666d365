"""Verdicts of the benchmarks' own code on published outputs of models, one by one."""

import csv
import json

import pytest

from reasonenv.errors import UsageError
from reasonenv.grading import Grade
from reasonenv.scoring.responses import GradedResponses, LabeledResponse
from reasonenv.scoring.scoreboard import grade_responses, grades_by_rules, summarize
from reasonenv.scoring.tables import score_tables

# Environment, labels, outputs, column of the id, of the official verdict, number of right ones, and
# of verdicts that may differ: none by a rule, two where a model extracts the answer officially.
_MMMU = ("mmmu_pro/outputs_gpt-4o_", "id", "if_right")
_EMMA = ("emma/outputs_", "pid", "true_false")
FILES = [
    ("MMMUPro-v0", None, "standard_cot", *_MMMU, 93, 0),
    ("MMMUPro-v0", None, "vision_cot", *_MMMU, 83, 0),
    ("LogicVista-v0", "logicvista/labels_all", "GPT4", "logicvista/outputs_", "id", "match", 80, 2),
    ("EMMA-v0", "emma/labels_mini_math", "Qwen2.5-VL-72B_CoT", *_EMMA, 39, 0),
    ("EMMA-v0", "emma/labels_mini_math", "gpt-4o_CoT", *_EMMA, 27, 0),
    ("EMMA-v0", "emma/labels_mini_math", "InternVL3-78B_Direct", *_EMMA, 34, 0),
    ("EMMA-v0", "emma/labels_mini_math", "gemini-2.0-flash-thinking_CoT", *_EMMA, 28, 0),
]
# Published average and worst case of DynaMath, in percent.
DYNAMATH = [
    ("GPT4o", 63.33, 34.73),
    ("claude3.5", 64.83, 35.73),
    ("Qwen2-72B", 55.11, 28.54),
    ("Qwen2-7B", 42.14, 13.77),
]


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", FILES, ids=[f"{case[0]} {case[2]}" for case in FILES])
def test_verdicts_are_the_official_ones(shared, case):
    env, labels, name, prefix, id, verdict, num_correct, num_other = case
    rows = lines(shared / "data" / f"{prefix}{name}.jsonl")
    known = {row[id]: row for row in lines(shared / f"data/{labels}.jsonl")} if labels else {}
    cases = [LabeledResponse(row[id], known.get(row[id], row), row["response"]) for row in rows]
    pairs = list(zip(grades_by_rules(env, cases), rows, strict=True))
    assert sum(bool(row[verdict]) for row in rows) == num_correct
    others = [row[id] for grade, row in pairs if grade.correct != bool(row[verdict])]
    assert len(others) <= num_other, others


def dynamath(verdicts):
    """Scores of verdicts by seed and variant."""
    names = [(seed, variant) for seed in verdicts for variant in range(1, 11)]
    cases = [
        LabeledResponse(f"sample_variant{variant}/{seed}", {"id": seed}, "")
        for seed, variant in names
    ]
    grades = [Grade(verdicts[seed][variant - 1], None, "ok") for seed, variant in names]
    return summarize(GradedResponses("DynaMath-v0", cases, grades))


@pytest.mark.parametrize(("model", "average", "worst"), DYNAMATH)
def test_dynamath_has_the_published_average_and_worst_case(shared, model, average, worst):
    with (shared / "data/dynamath" / f"verdicts_{model}.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["Question ID"].startswith("Q")]
    verdicts = {
        row["Question ID"]: [row[f"Variant {variant}"] == "correct" for variant in range(1, 11)]
        for row in rows
    }
    scores = dynamath(verdicts)
    assert round(100 * scores["accuracy"], 2) == average
    assert round(100 * scores["worst_case"]["accuracy"], 2) == worst
    assert scores["worst_case"]["num"] == scores["num_clusters"] == 501


def test_the_worst_case_counts_seeds_that_are_right_in_all_ten_variants():
    scores = dynamath({"1": [True] * 10, "2": [True] * 9 + [False], "3": [False] * 10})
    assert scores["worst_case"]["accuracy"] == pytest.approx(1 / 3)
    (row,) = [row for row in next(score_tables(scores)).rows if row[0] == "worst case"]
    assert row[1:3] == ("3", "33.33%")


def test_mmmu_pro_takes_a_random_letter_only_where_a_seed_is_given(tmp_path):
    labels = [{"id": str(i), "options": "['3', '4']", "answer": "A"} for i in range(40)]
    (tmp_path / "test.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in labels))
    silent = [{"id": str(i), "response": "I cannot tell."} for i in range(40)]
    graded = [
        [grade.correct for grade in grade_responses("MMMUPro-v0", silent, tmp_path, guess=s).grades]
        for s in (None, 0, 0, 1)
    ]
    assert not any(graded[0])
    assert graded[1] == graded[2] != graded[3]
    assert 10 < sum(graded[1]) < 30


def test_a_rule_that_guesses_nothing_refuses_a_seed(tmp_path):
    (tmp_path / "test.jsonl").write_text('{"id": "0", "problem": "1+1", "answer": "2"}\n')
    with pytest.raises(UsageError, match="guess=0: only the rule of MMMU-Pro guesses letters"):
        grade_responses("AIME25-v0", [{"id": "0", "response": "2"}], tmp_path, guess=0)
