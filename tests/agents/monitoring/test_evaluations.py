import pytest

from agents.monitoring.evaluations import best_step, evaluation_metrics
from agents.storage.json_files import json_line

METRIC = "evaluation/test/accuracy"


def test_an_evaluation_has_metrics_by_the_name_of_its_split():
    row = {"step": 3, "split": "test", "accuracy": 0.5, "num_problems": 9, "by": {"a": 1}}
    assert evaluation_metrics(row) == {METRIC: 0.5}


@pytest.mark.parametrize(
    ("rows", "best"),
    [
        ([], None),
        ([(0, "test", 0.9)], None),  # of the base model, which no checkpoint holds
        ([(0, "test", 0.9), (5, "test", 0.1)], 5),
        ([(5, "test", 0.4), (10, "test", 0.6), (15, "test", 0.5)], 10),
        ([(5, "test", 0.6), (10, "test", 0.6)], 5),
        ([(5, "test", 0.4), (10, "other", 0.9)], 5),
        ([(5, "test", None), (10, "test", 0.0)], 10),
        ([(5, "test", 0.2), (5, "other", 0.9), (10, "test", 0.3), (10, "other", 0.1)], 10),
    ],
)
def test_the_best_step_is_the_first_with_the_greatest_value(tmp_path, rows, best):
    lines = [json_line(dict(zip(("step", "split", "accuracy"), row, strict=True))) for row in rows]
    (tmp_path / "evaluations.jsonl").write_bytes(b"".join(lines))
    assert best_step(tmp_path, METRIC, (5, 10, 15)) == best


def test_a_step_without_a_checkpoint_is_not_the_best(tmp_path):
    rows = [{"step": step, "split": "test", "accuracy": 1 / step} for step in (5, 10, 15)]
    (tmp_path / "evaluations.jsonl").write_bytes(b"".join(map(json_line, rows)))
    assert best_step(tmp_path, METRIC, (10, 15)) == 10
