import io
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import gymnasium
import pyarrow
import pytest
import torch
from helpers import letters, vllm_model
from helpers.tiny_runs import before_response, flags
from PIL import Image
from pyarrow import parquet

import reasonenv
from agents import evaluate as command
from agents.engines.transformers import TransformersSampler
from agents.engines.vllm import sampler as vllm_sampler
from agents.evaluate import sampler
from agents.evaluate.arguments import EvaluationArguments, default_arguments
from agents.storage.json_files import json_line, read_json_lines
from reasonenv import registration

SHORT = {"env": "Letters-v0", "num_problems": 5, "max_response_length": 6, "sampler_batch_size": 4}


@pytest.fixture
def evaluated(tiny_folder, tmp_path):
    """Evaluates the tiny model by the command line and gives the folder."""

    def start(name="out", **settings):
        words = flags(**SHORT | {"model": tiny_folder, "output_dir": tmp_path / name} | settings)
        # Two environments are two words of one flag.
        command.main([part for word in words for part in word.split(",")])
        return tmp_path / name

    return start


def results(folder):
    return json.loads((folder / "results.json").read_text())["results"]


def test_every_response_is_written_with_its_grade(evaluated, capsys):
    folder = evaluated(samples=2)
    rows = read_json_lines(folder / "Letters-v0.jsonl")
    assert [(row["id"], row["sample"]) for row in rows[:3]] == [
        ("test/0", 0),
        ("test/0", 1),
        ("test/1", 0),
    ]
    assert len(rows) == 10
    assert rows[0].keys() >= {"response", "answer", "reference", "correct", "status", "length"}
    table = capsys.readouterr().out.splitlines()
    head, row = (" ".join(line.split()) for line in table[:2])
    assert head.startswith("environment split problems mean@2 95 % pass@2 temperature cut")
    assert row.startswith("Letters-v0 test 5 of 10 0.000 0.000 to 0.434 0.000 1 90.0%")
    assert f"responses and results: {folder}" in table


def test_a_task_of_a_library_is_evaluated_and_temperature_zero_is_greedy(evaluated, monkeypatch):
    monkeypatch.setattr(registration, "registry", dict(registration.registry))
    monkeypatch.setattr(gymnasium.envs.registration, "registry", dict(gymnasium.registry))
    reasonenv.register(replace(letters.LETTERS, id="library/task"))
    folders = [evaluated(f"{n}", env="library/task", temperature=0, seed=n) for n in (0, 1)]
    first, second = (read_json_lines(folder / "library-task.jsonl") for folder in folders)
    assert first == second
    assert len(first) == 5
    assert results(folders[0]).keys() == {"library/task"}


@pytest.mark.parametrize(
    ("form", "beginning"),
    [("markdown", "| environment | split |"), ("latex", "% needs \\usepackage{booktabs}")],
)
def test_tables_to_paste_are_all_of_the_output(evaluated, capsys, form, beginning):
    folder = evaluated(format=form)
    output = capsys.readouterr()
    assert output.out.startswith(beginning)
    assert "0.000 to 0.434" in output.out
    assert "responses and results" not in output.out
    assert f"responses and results: {folder}" in output.err
    evaluated(format="json")  # of the same responses
    assert json.loads(capsys.readouterr().out) == results(folder)


def test_several_environments_are_evaluated_in_one_call(evaluated, capsys):
    folder = evaluated(env="Letters-v0,Figures-v2", num_problems=3)
    assert {path.name for path in folder.glob("*.jsonl")} == {
        "Letters-v0.jsonl",
        "Figures-v2.jsonl",
    }
    assert list(results(folder)) == ["Letters-v0", "Figures-v2"]
    assert results(folder)["Figures-v2"]["num_problems"] == 3
    output = capsys.readouterr()
    assert [line.split()[0] for line in output.out.splitlines()[1:3]] == [
        "Letters-v0",
        "Figures-v2",
    ]
    assert "Letters-v0 response 3/3  accuracy 0.000" in output.err
    assert "Figures-v2 response 3/3" in output.err


def test_results_are_the_numbers_of_the_responses(evaluated, monkeypatch):
    # Of five problems with four samples, the k-th has k right ones.
    answers = iter("".join("C" * k + "A" * (4 - k) for k in range(5)))
    monkeypatch.setattr(
        TransformersSampler,
        "generate",
        scripted(TransformersSampler.generate, answers),
    )
    result = results(evaluated(samples=4))["Letters-v0"]
    assert result["accuracy"] == pytest.approx((0 + 1 + 2 + 3 + 4) / 20)
    assert result["pass@k"]["1"] == pytest.approx(result["accuracy"])
    # Two of four, drawn without replacement, are both wrong with probability C(4-k, 2) / 6.
    assert result["pass@k"]["2"] == pytest.approx(1 - (6 + 3 + 1) / 6 / 5)
    assert result["pass@k"]["4"] == pytest.approx(4 / 5)
    low, high = result["interval"]
    assert 0 <= low < 0.3
    assert 0.7 < high <= 1


def scripted(generate, answers):
    def scripted_generate(self, prompts, seed, finished=None):
        responses = generate(self, prompts, seed)
        return replace(responses, texts=tuple(f"\\boxed{{{next(answers)}}}" for _ in prompts))

    return scripted_generate


def test_ctrl_c_finishes_the_batch_and_the_same_command_resumes(evaluated, monkeypatch, capfd):
    whole = evaluated("whole", samples=2)
    stop = before_response(5, lambda: os.kill(os.getpid(), signal.SIGINT))
    monkeypatch.setitem(letters.REWARDS, "letters", stop)
    with pytest.raises(SystemExit) as ended:
        evaluated("stopped", samples=2)
    assert ended.value.code == 128 + signal.SIGINT
    output = capfd.readouterr()
    assert "saving after this batch; Ctrl-C once more stops at once" in output.err
    assert "SIGINT: the responses are in" in output.out
    monkeypatch.undo()
    stopped = whole.with_name("stopped")
    assert len(read_json_lines(stopped / "Letters-v0.jsonl")) == 8
    assert not (stopped / "results.json").exists()
    evaluated("stopped", samples=2)
    assert same(stopped, whole)


# What a user types, in a process of its own that kills itself at a response.
KILLED = """
import os, signal, sys
from helpers import letters
from helpers.tiny_runs import before_response
from agents import evaluate
kill = before_response(int(sys.argv[1]), lambda: os.kill(os.getpid(), signal.SIGKILL))
letters.REWARDS["letters"] = kill
evaluate.main(sys.argv[2:])
"""


@pytest.mark.slow(reason="a process of its own, which is killed")
def test_a_kill_loses_at_most_a_batch(evaluated, tiny_folder, tmp_path):
    whole = evaluated("whole")
    words = flags(**SHORT | {"model": tiny_folder, "output_dir": tmp_path / "killed"})
    process = subprocess.run(
        [sys.executable, "-c", KILLED, "5", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert process.returncode == -signal.SIGKILL
    assert len(read_json_lines(tmp_path / "killed" / "Letters-v0.jsonl")) == 4
    evaluated("killed")
    assert same(tmp_path / "killed", whole)


def same(folder, other):
    """Whether two evaluations have the same responses, and the same results but for their speed."""
    first, second = (results(f)["Letters-v0"] for f in (folder, other))
    for result in (first, second):
        assert result.pop("throughput/responses_per_s") > 0
    files = [(f / "Letters-v0.jsonl").read_bytes() for f in (folder, other)]
    return first == second and files[0] == files[1]


def test_a_finished_evaluation_only_shows_its_tables_again_beside_others(
    evaluated, monkeypatch, capsys
):
    folder = evaluated()
    before, table = results(folder), capsys.readouterr().out.splitlines()[:2]
    with monkeypatch.context() as without_model:
        without_model.setattr(command, "loaded_sampler", None)  # loading would fail
        evaluated()
    assert results(folder) == before
    assert capsys.readouterr().out.splitlines()[:2] == table
    evaluated(env="Figures-v2")
    assert list(results(folder)) == ["Letters-v0", "Figures-v2"]


def test_other_settings_are_refused_and_nothing_is_overwritten(evaluated):
    folder = evaluated()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(SystemExit) as refused:
        evaluated(samples=2, temperature=0.5)
    assert refused.value.code == (
        f"error: {folder} cannot be resumed with other settings: --num-samples was 1 and is 2; "
        "--temperature was 1.0 and is 0.5; give the former values, or another --output-dir"
    )
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    (folder / "run.json").unlink()
    with pytest.raises(SystemExit, match="is no folder of an evaluation: give another --output"):
        evaluated()
    assert (folder / "Letters-v0.jsonl").read_bytes() == before["Letters-v0.jsonl"]


def test_the_official_score_is_that_of_the_stored_responses(evaluated, tmp_path, capsys):
    data = tmp_path / "data"
    write_mmk12(data)
    settings = {"env": "MMK12-v0", "num_problems": 3, "samples": 2, "data": data}
    folder = evaluated(**settings)
    rows = read_json_lines(folder / "MMK12-v0.jsonl")
    stored = [{**row, "response": f"\\boxed{{{'AAAABB'[k]}}}"} for k, row in enumerate(rows)]
    (folder / "MMK12-v0.jsonl").write_bytes(b"".join(json_line(row) for row in stored))
    capsys.readouterr()
    evaluated(**settings)
    official = results(folder)["MMK12-v0"]["official"]
    assert official["accuracy"] == pytest.approx(2 / 3)
    assert official["num_samples"] == 2
    head, row = capsys.readouterr().out.splitlines()[:2]
    assert "official" in head
    assert "0.667" in row


def write_mmk12(folder):
    """Three multiple-choice problems in the data set's own format."""
    buffer = io.BytesIO()
    Image.new("RGB", (56, 56), "white").save(buffer, format="png")
    image = {"bytes": buffer.getvalue(), "path": None}
    row = {"question": "Which?\nA. 1\nB. 2", "answer": "A", "subject": "math", "image": image}
    folder.mkdir()
    table = pyarrow.Table.from_pylist([{"id": str(k), **row} for k in range(3)])
    parquet.write_table(table, folder / "test-0.parquet")


@pytest.mark.parametrize(
    ("fault", "words"),
    [({"answer": " "}, "column 'answer' is empty"), ({"image": {"bytes": b"no image"}}, "")],
)
def test_a_problem_that_cannot_be_posed_is_left_out_and_reported(
    evaluated, tmp_path, capsys, fault, words
):
    data = tmp_path / "data"
    write_mmk12(data)
    file = data / "test-0.parquet"
    rows = parquet.read_table(file).to_pylist()
    rows[1] |= fault
    parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    folder = evaluated(env="MMK12-v0", data=data)
    result = results(folder)["MMK12-v0"]
    assert (result["num_problems"], result["num_left_out"]) == (2, 1)
    assert "1" not in {row["id"] for row in read_json_lines(folder / "MMK12-v0.jsonl")}
    errors = capsys.readouterr().err.splitlines()
    (line,) = [line for line in errors if line.startswith("left out")]
    assert line.startswith("left out: mmk12 test, row 1 (id '1'): ")
    assert words in line


def test_defaults_are_those_of_the_environments_and_the_model():
    assert default_arguments().model == "tiny"
    paper = default_arguments(["MMK12-v0"])
    assert (paper.model, paper.max_response_length) == ("Qwen/Qwen2.5-VL-7B-Instruct", 4096)
    assert default_arguments(["MMK12-v0", "Figures-v2"], "tiny").max_response_length == 64
    with pytest.raises(ValueError, match=r"default models \(.*\): choose one with --model"):
        default_arguments(["MMK12-v0", "Figures-v2"])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": "/no/model"}, "'/no/model': there is no such folder"),
        ({"env": "Letter-v0"}, "did you mean Letters-v0?"),
        ({"env": "Letters-v0,Letter-v0"}, "did you mean Letters-v0?"),
        ({"env": "Letters-v0,Letters-v0"}, "--env is Letters-v0 Letters-v0: give each"),
        ({"split": "val"}, "has no split 'val': there are train, test"),
        ({"num_problems": 0}, "--num-problems is 0: give at least 1"),
        ({"temperature": -1}, "--temperature is -1.0"),
        ({"temperature": 1e-9}, "--temperature is 1e-09: give 0, or one from"),
        ({"vllm": "[]"}, "--vllm is []: give a JSON object"),
    ],
)
def test_an_invalid_argument_is_one_line(settings, words, evaluated, tmp_path):
    with pytest.raises(SystemExit) as refused:
        evaluated(**settings)
    message = refused.value.code
    assert isinstance(message, str)
    assert message.startswith("error: ")
    assert words in message
    assert "\n" not in message
    assert not (tmp_path / "out").exists()


def test_options_that_are_no_json_are_told_by_the_parser(evaluated, capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        evaluated(env_options="{")
    told = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert "Error parsing --env-options: '{' is not valid JSON" in told


@pytest.mark.parametrize(
    ("has_gpu", "words", "options"),
    [
        (True, {}, {"gpu_memory_utilization": 0.9, "enable_sleep_mode": False}),
        (True, {"gpu_memory_utilization": 0.3}, {"gpu_memory_utilization": 0.3}),
        (False, {}, {}),
    ],
)
def test_vllm_has_the_gpu_that_nobody_trains_on(monkeypatch, has_gpu, words, options):
    given = {}

    def start(*_, options, **__):
        given.update(options)
        return SimpleNamespace(close=lambda: None)

    chat = SimpleNamespace(banned=())
    monkeypatch.setattr(vllm_sampler, "VLLMSampler", start)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
    monkeypatch.setattr(sampler, "_load", lambda *_: (None, chat))
    with sampler.loaded_sampler(EvaluationArguments(model="DIR", sampler="vllm", vllm=words)):
        assert given | {"trust_remote_code": False} | options == given
        assert has_gpu or "gpu_memory_utilization" not in given


@pytest.mark.vllm
def test_vllm_samples_and_resumes(tmp_path):
    problems = [{"id": n, "problem": "What is the sum?", "answer": n} for n in range(3)]
    (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, problems)))
    words = flags(
        env="AIME24-v0",
        data=tmp_path,
        samples=2,
        model=vllm_model.write(tmp_path / "model"),
        max_response_length=6,
        sampler="vllm",
        vllm='{"max_model_len": 256}',
        output_dir=tmp_path / "out",
    )
    command.main(words)
    rows = read_json_lines(tmp_path / "out" / "AIME24-v0.jsonl")
    assert [(row["id"], row["sample"]) for row in rows[:3]] == [("0", 0), ("0", 1), ("1", 0)]
    assert len(rows) == 6
    command.main(words)
    assert read_json_lines(tmp_path / "out" / "AIME24-v0.jsonl") == rows
