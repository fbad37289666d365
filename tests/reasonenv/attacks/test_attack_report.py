import json

import pytest

from reasonenv import check
from reasonenv.scoring.statistics import wilson


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    """Exit status, output and errors of the command."""
    status = check.main(["--attacks", "--num-workers", "1", *arguments])
    return status, *capsys.readouterr()


def report(capsys, tmp_path, *arguments: str) -> dict:
    path = tmp_path / "report.json"
    status, _, errors = run(capsys, "--output", str(path), *arguments)
    assert (status, errors) == (1, "")
    return json.loads(path.read_text(encoding="utf-8"))


def of(function: str, *kinds: str) -> list[str]:
    return ["--kind", *(kinds or ["time"]), "--grader", f"helpers.graders:{function}"]


def test_the_package_grades_where_no_grader_is_named(capsys):
    status, output, errors = run(capsys, "--kind", "words", "unit", "order")
    assert (status, errors) == (0, "")
    assert output.startswith("reasonenv.grading, version ")
    assert output.splitlines()[-1].split()[:3] == ["all", "290", "0"]


def test_a_grader_that_pays_for_everything_pays_for_each_attack(capsys, tmp_path):
    content = report(capsys, tmp_path, *of("pays"))
    line = content["attacks"]["time"]
    assert line["errors"] == line["num"] == len(content["paid"]) > 30
    assert line["interval"] == wilson(line["num"], line["num"])
    assert content["controls"]["all"]["errors"] == 0
    assert (content["refused"], content["raised"], content["code_ran"]) == ([], {}, False)


def test_a_grader_that_refuses_everything_refuses_each_control(capsys, tmp_path):
    content = report(capsys, tmp_path, *of("refuses"))
    assert content["attacks"]["all"]["errors"] == 0
    line = content["controls"]["time"]
    assert line["errors"] == line["num"] == len(content["refused"])


def test_math_verify_can_be_the_grader(capsys, tmp_path):
    content = report(capsys, tmp_path, *of("bare_math_verify", "number", "suffix"))
    assert 0 < content["controls"]["number"]["errors"] < content["controls"]["number"]["num"]
    assert 0 < content["attacks"]["suffix"]["errors"] < content["attacks"]["suffix"]["num"]
    assert content["raised"] == {}


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("raises", "RuntimeError: no verdict"),
        ("exits", "SystemExit: 3"),
        ("answers_with_a_word", "TypeError: a bool was expected, not 'correct'"),
        ("ends_on_scores", "its process ended with status 7"),
    ],
)
def test_a_grader_that_raises_or_ends_is_counted(capsys, tmp_path, function, message):
    content = report(capsys, tmp_path, *of(function, "range"))
    assert set(content["raised"].values()) == {message}
    raised = content["attacks"]["all"]["raised"] + content["controls"]["all"]["raised"]
    assert raised == len(content["raised"])
    assert content["paid"] == []


def test_a_grader_that_hangs_is_killed_and_counted_and_the_rest_is_graded(capsys, tmp_path):
    content = report(capsys, tmp_path, *of("hangs_on_one_score", "range"), "--deadline", "0.5")
    assert len(content["hung"]) == 1
    assert content["attacks"]["all"]["hung"] == 1
    assert content["controls"]["all"]["errors"] == content["controls"]["all"]["num"]


def test_code_of_a_response_that_runs_is_noticed(capsys):
    status, output, _ = run(capsys, *of("evaluates", "injection"))
    assert status == 1
    assert output.endswith("code of a response was run: never evaluate what a model wrote\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--grader", "nosuch:f"], "--grader=nosuch:f: ModuleNotFoundError: No module named"),
        (["--grader", "helpers.graders:nosuch"], "has no attribute 'nosuch'"),
        (["--grader", "helpers.graders:not_a_function"], "a function was expected, not a str"),
        (["--grader", "helpers.graders"], "--grader=helpers.graders: give module:function"),
        (["--deadline", "0"], "--deadline=0.0: more than 0 seconds are needed"),
        (["--kind", "tims"], "no kind 'tims' of attacks"),
        (["rows.jsonl"], "--attacks has rows of its own: leave out the data set"),
        (["--output", "/nowhere/report.json"], "no such parent folder"),
    ],
)
def test_what_cannot_be_run_is_one_line(capsys, arguments, message):
    status, output, errors = run(capsys, *arguments)
    assert (status, output) == (2, "")
    assert errors.startswith("error: ")
    assert message in errors
    assert len(errors.splitlines()) == 1


def test_options_of_attacks_need_attacks(capsys):
    assert check.main(["--grader", "helpers.graders:pays"]) == 2
    assert "are options of --attacks: add it" in capsys.readouterr().err
