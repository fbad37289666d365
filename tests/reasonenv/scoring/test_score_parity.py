"""Verdicts and tables of the benchmarks' own code, on outputs that were published with them."""

import json

import pytest

from reasonenv.scoring.benchmarks.gsm8k import grades
from reasonenv.scoring.benchmarks.olympiadbench import judge
from reasonenv.scoring.responses import LabeledResponse
from reasonenv.scoring.scoreboard import grade_responses, summarize

# The scores were published with earlier labels: one grade had another name, and which skills a
# problem takes was told otherwise (1,431 then, 1,477 now).
CALLED_THERE = {"not applicable": "daily life"}
REVISED = "skills"


def lines(path):
    if not path.is_file():
        pytest.skip(f"needs {path.name}")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def official(path):
    if not path.is_file():
        pytest.skip(f"needs {path.name}")
    return json.loads(path.read_text(encoding="utf-8"))


def answered(rows, *fields):
    return [{name: row[name] for name in ("response", *fields)} for row in rows]


@pytest.mark.parametrize("name", ["gpt4_full", "llava_full", "gpt4", "bard", "llava"])
def test_mathvista_verdicts_on_extracted_answers_are_the_official_ones(shared, name):
    folder = shared / "data" / "mathvista"
    rows = lines(folder / f"outputs_{name}.jsonl")
    sheet = grade_responses("MathVista-v0", answered(rows, "pid", "extraction"), folder)
    assert [grade.correct for grade in sheet.grades] == [row["true_false"] for row in rows]


@pytest.mark.parametrize("name", ["gpt4", "llava"])
def test_mathvista_tables_are_the_official_ones(shared, name):
    folder = shared / "data" / "mathvista"
    rows = lines(folder / f"outputs_{name}_full.jsonl")
    scores = summarize(grade_responses("MathVista-v0", answered(rows, "pid", "extraction"), folder))
    expected = official(folder / f"scores_{name}.json")
    assert round(scores["accuracy"] * 1000) == expected.pop("average")["correct"]
    assert set(scores["by"]) == set(expected)
    assert set(scores["by"][REVISED]) == set(expected.pop(REVISED))
    for title, table in expected.items():
        ours = {
            CALLED_THERE.get(part, part): (round(line["accuracy"] * line["num"]), line["num"])
            for part, line in scores["by"][title].items()
        }
        assert ours == {part: (line["correct"], line["total"]) for part, line in table.items()}


def test_mathvista_counts_a_problem_in_each_of_its_skills(shared):
    folder = shared / "data" / "mathvista"
    rows = lines(folder / "outputs_gpt4_full.jsonl")
    table = summarize(grade_responses("MathVista-v0", answered(rows, "pid", "extraction"), folder))[
        "by"
    ]
    labels = official(folder / "testmini_full_noimages.json")
    for skill, line in table["skills"].items():
        verdicts = [
            row["true_false"] for row in rows if skill in labels[row["pid"]]["metadata"]["skills"]
        ]
        assert (line["num"], line["accuracy"]) == (len(verdicts), sum(verdicts) / len(verdicts))
    assert sum(line["num"] for line in table["skills"].values()) == 1477


@pytest.mark.parametrize("name", ["gpt4", "llava"])
def test_mathvista_extraction_by_rules_comes_within_a_point_of_that_by_a_model(shared, name):
    folder = shared / "data" / "mathvista"
    rows = lines(folder / f"outputs_{name}_full.jsonl")
    scores = summarize(grade_responses("MathVista-v0", answered(rows, "pid"), folder))
    assert scores["accuracy"] == pytest.approx(
        official(folder / f"scores_{name}.json")["average"]["correct"] / 1000, abs=0.01
    )


@pytest.mark.parametrize(
    "name", ["full_qwen-vl-max", "full_qwen-vl-max-cot", "gemini-pro-cot", "qwen-vl-max"]
)
def test_mathvision_verdicts_and_extraction_are_the_official_ones(shared, name):
    folder = shared / "data" / "mathvision"
    rows = lines(folder / f"outputs_{name}.jsonl")
    sheet = grade_responses("MathVision-v0", answered(rows, "id"), folder)
    assert [grade.correct for grade in sheet.grades] == [row["correct"] for row in rows]
    assert [grade.answer or "" for grade in sheet.grades] == [row["model_answer"] for row in rows]


@pytest.mark.parametrize("name", ["qwen-vl-max", "qwen-vl-max-cot"])
def test_mathvision_tables_by_level_and_subject_are_the_official_ones(shared, name):
    folder = shared / "data" / "mathvision"
    rows = lines(folder / f"outputs_full_{name}.jsonl")
    scores = summarize(grade_responses("MathVision-v0", answered(rows, "id"), folder))
    expected = official(folder / f"result_{name}.json")
    assert shown(scores["accuracy"], scores["num_problems"]) == expected["-all"]
    for level in "12345":
        assert of(scores, "level", level) == expected[f"-level{level}"]
    for subject in scores["by"]["subject"]:
        assert of(scores, "subject", subject) == expected[subject]
    for both in scores["by"]["level_subject"]:
        level, _, subject = both.removeprefix("level ").partition(", ")
        assert of(scores, "level_subject", both) == expected[f"{subject}_level{level}"]
    # To 1e-6 the letter is looked for in other words, and hardly anything else changes.
    assert scores["exact"]["accuracy"] == pytest.approx(scores["accuracy"], abs=0.03)


def of(scores, title, part):
    line = scores["by"][title][part]
    return shown(line["accuracy"], line["num"])


def shown(accuracy, num):
    return f"{round(accuracy * num)}/{num}={round(accuracy * 100, 2)}%"


def test_olympiadbench_examples_of_its_judge_are_judged_as_they_say(shared):
    examples = official(shared / "data" / "olympiadbench" / "scoring_examples.json")
    pairs = [each.values() for each in examples]
    cases = [(reference, answer) for reference, answers in pairs for answer in answers]
    assert len(cases) == 36
    for reference, case in cases:
        precision = case.get("precision", 1e-8)
        precisions = precision if isinstance(precision, list) else [float(precision)]
        assert judge(reference, case["answer"], precisions)[0] == case["equal"], (reference, case)


def test_olympiadbench_verdicts_on_outputs_are_those_of_its_judge(shared):
    folder = shared / "data" / "olympiadbench"
    rows = lines(folder / "outputs_qwen2-0.5b_subset.jsonl")
    text = next(name for name in ("response", "raw_output", "model_output") if name in rows[0])
    given = [{"id": row["id"], "response": row[text]} for row in rows]
    sheet = grade_responses("OlympiadBench-v0", given, folder)
    assert [grade.correct for grade in sheet.grades] == [row["official_correct"] for row in rows]


def test_olympiadbench_references_are_right_against_themselves(shared):
    folder = shared / "data" / "olympiadbench"
    rows = official(folder / "OE_TO_maths_en_COMP_subset.json")
    given = [
        {"id": row["id"], "response": f"So the final answer is {row['final_answer'][0]}."}
        for row in rows
    ]
    assert summarize(grade_responses("OlympiadBench-v0", given, folder))["accuracy"] == 1.0


@pytest.mark.parametrize(
    "model", ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"]
)
def test_gsm8k_solutions_are_right_where_the_file_says_so(shared, model):
    folder = shared / "data" / "gsm8k"
    solutions = lines(folder / "example_model_solutions_subset.jsonl")
    labels = lines(folder / "test_subset.jsonl")
    cases = [
        LabeledResponse(str(number), label, row[model]["solution"])
        for number, (label, row) in enumerate(zip(labels, solutions, strict=True))
    ]
    expected = [row[model]["is_correct"] for row in solutions]
    assert [grade.correct for grade in grades(cases)] == expected
    assert any(expected)


def test_the_worked_solutions_of_math500_and_the_answers_of_aime_are_right(shared):
    data = shared / "data"
    solved = lines(data / "math500" / "test.jsonl")
    rows = [{"id": row["unique_id"], "response": row["solution"]} for row in solved]
    # One solution gives its answer in two forms, each in a box of its own.
    assert summarize(grade_responses("MATH500-v0", rows, data))["accuracy"] >= 499 / 500
    for name in ("aime24", "aime25"):
        problems = lines(data / name / "test.jsonl")
        rows = [{"id": r["id"], "response": f"\\boxed{{{r['answer']}}}"} for r in problems]
        assert summarize(grade_responses(f"{name.upper()}-v0", rows, data))["accuracy"] == 1.0
