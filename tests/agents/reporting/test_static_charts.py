from agents.reporting.runs import RunFolder
from agents.reporting.static_charts import COLOURS, static_charts


def folder(tmp_path, rows, evaluations=()):
    return RunFolder(tmp_path, rows=rows, evaluations=list(evaluations))


def test_each_run_is_a_line_in_each_figure(tmp_path):
    rows = [{"step": step, "reward/accuracy": step / 9, "train/lr": 0.0} for step in range(1, 9)]
    evaluations = [{"step": s, "split": "test", "accuracy": 0.5 + s / 99} for s in (0, 8)]
    page = static_charts([folder(tmp_path, rows, evaluations), folder(tmp_path, rows[:4])])
    assert page.count("<figure>") == 2
    assert "evaluation/test/accuracy: 0.5 to 0.5808, steps 0 to 8" in page
    assert "reward/accuracy: 0.1111 to 0.8889, steps 1 to 8" in page
    assert "train/lr" not in page
    assert page.count(f'stroke="{COLOURS[1]}"') == 2


def test_what_is_missing_or_constant_is_drawn_without_a_failure(tmp_path):
    rows = [{"step": 1, "reward/mean": None}, {"step": 2, "reward/mean": 3.0}]
    page = static_charts([folder(tmp_path, rows), folder(tmp_path, [])])
    assert "reward/mean: 3 to 3, steps 2 to 2" in page
    assert static_charts([]) == static_charts([folder(tmp_path, [])]) == ""


def test_a_long_run_has_few_points(tmp_path):
    rows = [{"step": step, "reward/mean": 1.0} for step in range(1, 100_001)]
    assert len(static_charts([folder(tmp_path, rows)])) < 5000


def test_the_name_of_a_split_is_no_markup(tmp_path):
    evaluations = [{"step": 1, "split": "<b>\x1b", "accuracy": 0.5}]
    page = static_charts([folder(tmp_path, [], evaluations)])
    assert "evaluation/&lt;b&gt;\\x1b/accuracy" in page
