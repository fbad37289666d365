"""Training, fine-tuning and evaluation on one's own questions."""

import json
import shutil
from contextlib import closing

import pytest
from helpers.tiny_runs import flags, numbers, train
from PIL import Image

from agents import sft
from agents.evaluate.arguments import EvaluationArguments, check_arguments
from agents.evaluate.evaluator import EvaluationTask, Evaluator, _say_once
from agents.storage.checkpoints import remove_after
from agents.storage.json_files import read_json, read_json_lines

SIDES = range(28, 58)
OPTIONS = '{"holdout": 0.3, "columns": {"question": "frage"}}'


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    """Thirty questions with a figure each, and worked solutions."""
    folder = tmp_path_factory.mktemp("own")
    rows = []
    for side in SIDES:
        Image.new("RGB", (side, 28), "white").save(folder / f"{side}.png")
        row = {"frage": f"Width of figure {side}?", "answer": side, "image": f"{side}.png"}
        rows.append({**row, "solution": f"It is \\boxed{{{side}}}."})
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder / "questions.jsonl"


def test_a_run_on_own_questions_is_evaluated_on_those_held_out_and_resumed(
    questions, tiny_folder, tmp_path
):
    settings = {"env": "file", "data": questions, "env_options": OPTIONS, "num_test_problems": 4}
    settings |= {"num_steps": 2, "save_every": 1}
    train(tiny_folder, tmp_path / "whole", **settings)
    shutil.copytree(tmp_path / "whole", tmp_path / "part")
    remove_after(tmp_path / "part", 1)
    train(tiny_folder, tmp_path / "part", **settings, resume=True)
    evaluations = read_json_lines(tmp_path / "whole" / "evaluations.jsonl")
    assert [row["split"] for row in evaluations] == ["heldout", "heldout"]
    run = read_json(tmp_path / "part" / "run.json")["settings"]["run"]
    assert (run["data"], run["env_options"]) == (str(questions), json.loads(OPTIONS))
    assert [row["reward/mean"] for row in numbers(tmp_path / "part")] == [
        row["reward/mean"] for row in numbers(tmp_path / "whole")
    ]


def test_a_resumed_run_says_that_the_file_is_another(questions, tiny_folder, tmp_path, capsys):
    data = tmp_path / "mine.jsonl"
    data.write_text('{"question": "1 + 1?", "answer": 3}\n{"question": "2 + 2?", "answer": 4}\n')
    settings = {"env": "file", "data": data, "num_test_problems": 0, "num_steps": 1}
    train(tiny_folder, tmp_path / "run", **settings)
    train(tiny_folder, tmp_path / "run", **settings, resume=True)
    assert "data_sha256" not in capsys.readouterr().err
    data.write_text(data.read_text().replace("3", "2"))
    train(tiny_folder, tmp_path / "run", **settings, resume=True)
    assert "settings other than before: data_sha256 is " in capsys.readouterr().err


def test_a_run_without_a_split_to_test_on_says_so(questions, tiny_folder, tmp_path, capsys):
    options = '{"columns": {"question": "frage"}}'
    settings = {"env": "file", "data": questions, "env_options": options, "num_test_problems": 4}
    train(tiny_folder, tmp_path / "run", **settings, num_steps=1)
    assert (
        "no evaluation: file has no split but 'train'; hold out a part" in capsys.readouterr().err
    )


def test_rows_that_make_no_problem_end_training_in_a_line_each(tiny_folder, tmp_path):
    rows = [{"question": f"\x1b[2J{n}?", "answer": None if n else 1} for n in range(13)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(SystemExit) as refused:
        train(tiny_folder, tmp_path / "run", env="file", data=tmp_path / "mine.jsonl")
    lines = str(refused.value.code).split("\n")
    assert lines[0] == "error: 12 rows make no problem:"
    assert lines[1].startswith("mine.jsonl, line 2: column 'answer' is empty")
    assert lines[11] == "and 2 more"
    assert len(lines) == 13
    assert not (tmp_path / "run").exists()


def test_an_evaluation_leaves_such_rows_out_and_lists_them(tmp_path, capsys):
    _say_once.cache_clear()
    rows = [{"question": f"{n}?", "answer": None if n > 5 else n} for n in range(20)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    task = EvaluationTask(env="file", data=str(tmp_path / "mine.jsonl"))
    with closing(Evaluator(task)) as evaluator:
        assert (evaluator.split, evaluator.num_problems, evaluator.num_left_out) == ("train", 6, 14)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("left out: mine.jsonl, line 7: column 'answer' is empty")
    assert lines[10] == "left out: and 4 more"
    (note,) = lines[11:]
    assert note.startswith("file: these are the training problems")


def test_a_model_is_fine_tuned_on_solutions_of_own_questions(questions, tiny_folder, tmp_path):
    settings = {"env": "file", "data": questions, "env_options": OPTIONS, "model": tiny_folder}
    sft.main(flags(**settings, num_steps=1, batch_size=2, output_dir=tmp_path / "sft"))
    assert (tmp_path / "sft" / "model.safetensors").is_file()


def test_without_solutions_fine_tuning_names_the_column(tiny_folder, tmp_path):
    (tmp_path / "mine.csv").write_text("question,answer\n1+1?,2\n")
    settings = {"env": "file", "data": tmp_path / "mine.csv", "model": tiny_folder}
    with pytest.raises(SystemExit) as refused:
        sft.main(flags(**settings, output_dir=tmp_path / "sft"))
    assert "problem 1 has no worked solution" in str(refused.value.code)
    assert "add a column 'solution'" in str(refused.value.code)


def test_options_go_to_the_environments_that_take_them():
    options = {"columns": {"answer": "gt"}, "prompt": "plain", "slip": 0.1}
    arguments = EvaluationArguments(env=("file", "Figures-v2", "MMK12-v0"), env_options=options)
    check_arguments(arguments)
    found = [sorted(task.env_options) for task in arguments.tasks()]
    assert found == [["columns", "prompt"], ["prompt", "slip"], ["prompt"]]
    unknown = EvaluationArguments(env=("file", "Figures-v2"), env_options={"size": 3})
    with pytest.raises(ValueError, match="none of file Figures-v2 takes 'size'"):
        check_arguments(unknown)
