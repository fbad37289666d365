import contextlib
import json
import os
import pty
import subprocess
import sys

import pytest
from helpers.hub_rows import hub, mathvision

from reasonenv.check import check_references, main, other_answers
from reasonenv.console import track
from reasonenv.datasets import answer_keys
from reasonenv.datasets.answer_keys import Reference
from reasonenv.workers import Grader


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "reasonenv.check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def written_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def of(*answers: str) -> list[Reference]:
    return [Reference(str(index), answer) for index, answer in enumerate(answers)]


@pytest.mark.parametrize("flags", [["Figures-v2"], ["--env", "Figures-v2"]])
def test_the_command_prints_a_short_table(flags):
    done = run(*flags, "--num-problems", "50")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "of 50" in done.stdout
    assert done.stdout.count("100.00%") == 2


FILES = {
    "mathvision/test_labels_all.jsonl": 3040,
    "olympiadbench/OE_TO_maths_en_COMP_subset.json": 75,
    "olympiadbench/OE_MM_maths_en_COMP_rows_noimage.json": 2,
    "dapo_math_17k/aime-2024.parquet": 960,
    "gsm8k/train_subset.jsonl": 80,
    "mmk12": 32,
}
MARKS = {"mathvision/test_labels_all.jsonl": pytest.mark.slow(reason="3,040 references")}


@pytest.mark.parametrize("name", [pytest.param(n, marks=MARKS.get(n, ())) for n in FILES])
def test_published_references_are_right_against_themselves_and_wrong_against_others(shared, name):
    checked = answer_keys.read_references(shared / "data" / name)
    assert len(checked) == FILES[name]
    with Grader() as grader:
        failing, paying = check_references(checked, grader)
    assert failing == []
    assert len(paying) <= 0.002 * len(checked), paying


def test_a_choice_is_tried_as_its_letter_and_as_its_text():
    assert Reference("1", "B", ("$3$", " 4 cm")).forms() == ("B", "4 cm")
    assert Reference("1", "C", ("$3$", "4 cm")).forms() == ("C",)
    assert Reference("1", "B", ("", "A")).forms() == ("B",)
    assert Reference("1", "7", ("7", "8")).forms() == ("7",)
    assert Reference("1", "").forms() == ("",)


def test_every_other_answer_reads_differently_and_is_the_same_in_every_run():
    checked = [*of("1", "1", "$1$", "2", "1 ", ""), Reference("c", "A", ("2", "3"))]
    others = other_answers(checked, seed=3)
    assert others == other_answers(checked, seed=3)
    assert others[:3] in [[a, b, c] for a in "2A" for b in "2A" for c in "2A"]
    assert str(others[6]).strip() in ("1", "$1$")
    assert all(others)


def test_one_answer_alone_has_no_other():
    assert other_answers(of("5", " 5", "$5$", ""), seed=0)[:3] == [None] * 3


@pytest.mark.parametrize(
    ("row", "answer", "options"),
    [
        ({"answer": 12}, "12", ()),
        ({"answer": "We add.\n#### 1,250 "}, "1,250", ()),
        ({"solution": "So it is $\\boxed{\\frac{1}{2}}$."}, "\\frac{1}{2}", ()),
        ({"final_answer": ["$x=1$", "$x=2$"], "solution": ["long"]}, "$x=1$, $x=2$", ()),
        ({"reward_model": {"ground_truth": "34"}}, "34", ()),
        ({"answer": "145°", "choices": ["135°", "145°"]}, "B", ("135°", "145°")),
        ({"answer": "B", "options": ["4", "5"]}, "B", ("4", "5")),
        ({"answer": "7", "choices": None}, "7", ()),
        ({"answer": None}, "", ()),
    ],
)
def test_the_answer_is_found_as_each_data_set_writes_it(tmp_path, row, answer, options):
    (reference,) = answer_keys.read_references(written_rows(tmp_path / "rows.jsonl", [row]))
    assert (reference.answer, reference.options) == (answer, options)


def test_rows_by_id_and_lists_of_answers_are_read_too(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps({"7": {"answer": "1", "pid": "7"}, "8": {"answer": "2"}}))
    assert answer_keys.read_references(path) == [Reference("7", "1"), Reference("8", "2")]
    path.write_text(json.dumps({"easy": ["1"], "hard": ["2", "3"]}))
    assert [reference.id for reference in answer_keys.read_references(path)] == [
        "easy/0",
        "hard/0",
        "hard/1",
    ]


def test_a_folder_is_all_its_files_that_hold_answers(tmp_path):
    written_rows(tmp_path / "a.jsonl", [{"answer": "1"}, {"answer": "2"}])
    written_rows(tmp_path / "outputs.jsonl", [{"response": "3"}])
    assert [reference.answer for reference in answer_keys.read_references(tmp_path)] == ["1", "2"]


def test_a_broken_file_of_a_folder_is_not_passed_over(tmp_path):
    written_rows(tmp_path / "a.jsonl", [{"answer": "1"}])
    (tmp_path / "b.jsonl").write_text("{")
    with pytest.raises(ValueError, match=r"b\.jsonl, line 1: it is not JSON"):
        answer_keys.read_references(tmp_path)


@pytest.mark.parametrize("source", [["--env", "file", "--data"], []], ids=["data", "dataset"])
def test_a_report_never_replaces_the_questions(tmp_path, capsys, source):
    path = written_rows(tmp_path / "q.jsonl", [{"question": "1 + 1?", "answer": "2"}])
    before = path.read_text()
    assert main([*source, str(path), "--output", str(path)]) == 2
    assert "the command uses this file already" in capsys.readouterr().err
    assert path.read_text() == before


def test_a_column_can_be_named(tmp_path):
    path = written_rows(tmp_path / "rows.jsonl", [{"answer": "no", "label": {"target": "5"}}])
    assert answer_keys.read_references(path, answer_column="label.target") == [Reference("0", "5")]


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("rows.jsonl", '{"response": "1"}\n', "has no column of answers: it has response"),
        ("rows.jsonl", "", "has no rows"),
        ("rows.jsonl", '{"answer": ', "line 1: it is not JSON: "),
        ("rows.jsonl", '{"answer": {"a": 1}}\n', "column 'answer' holds a dict, not an answer"),
        ("rows.parquet", "PAR", "is not a readable parquet file: "),
        ("rows.json", "[[1]]", "holds lists where rows were expected"),
        ("elsewhere", "", "no file "),
    ],
)
def test_an_unsuitable_file_is_one_line(tmp_path, capsys, name, content, line):
    (tmp_path / name).write_text(content)
    target = tmp_path / ("rows.jsonl" if name == "elsewhere" else name)
    assert main([str(target)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert line in shown.err


def test_long_work_says_how_far_it_is(capsys):
    assert list(track("abcd", "reading", every=0.0)) == list("abcd")
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition("  ETA ")[0] for line in lines] == [
        f"reading {count}/4" for count in range(4)
    ]


def test_short_work_is_silent_away_from_a_terminal(capsys):
    assert list(track([1, 2], "reading")) == [1, 2]
    assert capsys.readouterr() == ("", "")


def on_a_terminal(code: str) -> str:
    """What a program shows on a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=True, timeout=120)
    os.close(theirs)
    assert done.stdout == b"a b\n"
    text = b""
    # Linux ends a terminal that nobody holds any more with an error.
    with open(ours, "rb", buffering=0) as terminal, contextlib.suppress(OSError):
        while part := terminal.read(1024):
            text += part
    return text.decode()


WORK = "from reasonenv.console import track; print(*track('ab', 'title', every=0.0))"


def test_a_terminal_shows_a_bar():
    shown = on_a_terminal(WORK)
    assert "title:   0%" in shown
    assert "ETA" not in shown


def test_every_exception_is_saved(tmp_path, capsys):
    path = written_rows(tmp_path / "rows.jsonl", [{"answer": a} for a in ("1/2", "0.5", "")])
    output = tmp_path / "found.json"
    assert main([str(path), "--output", str(output)]) == 1
    report = json.loads(output.read_text())
    assert report["references"] == 3
    assert [finding["row"] for finding in report["wrong_against_itself"]] == [2]
    assert {finding["row"] for finding in report["right_against_another"]} >= {0, 1}
    assert "is no error" in capsys.readouterr().out
    assert sorted(file.name for file in tmp_path.iterdir()) == ["found.json", "rows.jsonl"]


ENVIRONMENTS = [
    ("MMK12-v0", 32),
    ("MathVista-v0", 1000),
    ("MathVerse-v0", 132),
    ("MathVision-v0", 64),
    ("OlympiadBench-v0", 77),
    ("WeMath-v0", 74),
    ("AIME24-v0", 30),
    ("AIME25-v0", 30),
    ("MATH500-v0", 500),
    ("GSM8K-v0", 80),
    ("DAPOMath17k-v0", 14),
]


@pytest.mark.parametrize(("name", "number"), ENVIRONMENTS)
def test_the_references_of_every_environment_pass(shared, capsys, name, number):
    assert main([name, "--data", str(shared / "data")]) == 0
    printed = capsys.readouterr().out
    assert f"of {number}\n" in printed
    assert printed.count("100.00%") == 2


def test_rows_that_cannot_be_read_are_listed_and_the_rest_is_checked(tmp_path, capsys):
    broken = {"decoded_image": {"bytes": b"x", "path": "1.png"}}
    rows = [mathvision(id="0"), mathvision(id="1", **broken), mathvision(id="2", answer="")]
    folder = hub(tmp_path, "test", [*rows, mathvision(id="3")])
    report = tmp_path / "report.json"
    assert main(["MathVision-v0", "--data", folder, "--output", str(report)]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if line.startswith("unreadable")] == [
        "unreadable: mathvision test, row 1 (id '1'): column 'decoded_image': the image cannot be "
        "read: it is of no known format",
        "unreadable: mathvision test, row 2 (id '2'): the answer is empty",
    ]
    assert any("references  of 2" in line for line in printed)
    assert len(json.loads(report.read_text())["unreadable"]) == 2
