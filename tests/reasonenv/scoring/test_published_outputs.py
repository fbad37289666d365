"""Verdicts of the benchmarks' own code on published outputs of models, one by one."""

import json

import pytest

from reasonenv.errors import UsageError
from reasonenv.scoring.scoreboard import grade_responses

# Environment, file, columns of the id and of the official verdict, right ones, verdicts that
# differ at most: none by a rule, some where a model extracts the answer officially.
FILES = [
    ("MMMUPro-v0", "mmmu_pro/outputs_gpt-4o_standard_cot.jsonl", "id", "if_right", 93, 0),
    ("MMMUPro-v0", "mmmu_pro/outputs_gpt-4o_vision_cot.jsonl", "id", "if_right", 83, 0),
]


@pytest.mark.parametrize("case", FILES)
def test_verdicts_are_the_official_ones(shared, case):
    env, file, id, verdict, num_correct, num_other = case
    path = shared / "data" / file
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    given = [{"id": row[id], "response": row["response"]} for row in rows]
    graded = grade_responses(env, given, path.parent)
    assert sum(bool(row[verdict]) for row in rows) == num_correct
    pairs = zip(graded.grades, rows, strict=True)
    others = [row[id] for grade, row in pairs if grade.correct != bool(row[verdict])]
    assert len(others) <= num_other, others


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
    with pytest.raises(UsageError, match="guess=0: this benchmark's rule guesses no letters"):
        grade_responses("AIME25-v0", [{"id": "0", "response": "2"}], tmp_path, guess=0)
