import json
import os

import pytest

from agents.evaluate.arguments import EvaluationArguments, weights_digest
from agents.evaluate.session import check_settings, read_batches
from agents.storage.atomic_files import append
from agents.storage.json_files import json_line
from agents.storage.provenance import write_run


def rows(start, stop):
    return [
        {"id": str(k), "sample": 0, "response": "½\n", "correct": True}
        | {"length": 3, "finished": True, "kind": "all"}
        for k in range(start, stop)
    ]


def write(path, batch):
    append(path, b"".join(map(json_line, batch)))


def read(path):
    return read_batches(path, [3, 3, 1])


@pytest.fixture
def path(tmp_path):
    """A file of two batches of three, of a task with a third batch of one."""
    assert read(tmp_path / "Letters-v0.jsonl") == ([], 0)
    write(tmp_path / "Letters-v0.jsonl", rows(0, 6))
    return tmp_path / "Letters-v0.jsonl"


def test_what_was_appended_is_read_again(path):
    assert read(path) == (rows(0, 6), 2)
    write(path, rows(6, 7))
    assert read(path) == (rows(0, 7), 3)


@pytest.mark.parametrize("num_bytes", [1, 30, 200])
def test_a_batch_that_was_truncated_anywhere_is_sampled_again(path, num_bytes):
    os.truncate(path, path.stat().st_size - num_bytes)
    assert read(path) == (rows(0, 3), 1)
    write(path, rows(3, 6))
    assert read(path) == (rows(0, 6), 2)


def test_a_file_with_too_many_responses_is_refused(path):
    with pytest.raises(ValueError, match="holds 6 responses, more than the 4 of"):
        read_batches(path, [3, 1])
    assert len(path.read_text().splitlines()) == 6


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({"seed": 0}, {"seed": 0}, None),
        ({"num_samples": 8, "seed": 0}, {"num_samples": 4}, "--num-samples was 8 and is 4; give"),
        ({"weights": "a"}, {"weights": "b"}, "the content of --model was 'a' and is 'b'"),
        # Of a training run.
        ({"algorithm": "CPGD", "run": {}}, {"seed": 0}, "--seed was None and is 0"),
    ],
)
@pytest.mark.parametrize("result", ["Letters-v0.jsonl", "results.json"])
def test_settings_bind_where_there_are_responses_or_results(tmp_path, before, after, words, result):
    write_run(tmp_path, before)
    (tmp_path / "Letters-v0.jsonl").touch()
    if "algorithm" not in before:
        check_settings(tmp_path, after)  # of an evaluation without a response
    (tmp_path / result).write_text("{}\n")
    if words is None:
        check_settings(tmp_path, after)
        return
    with pytest.raises(ValueError, match=f"cannot be resumed with other settings: .*{words}"):
        check_settings(tmp_path, after)


def test_questions_that_were_edited_are_others(tmp_path):
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"question": "1+1?", "answer": "3"}')
    arguments = EvaluationArguments(env=("file",), model="hub/model", data=str(questions))
    write_run(tmp_path, arguments.response_settings())
    (tmp_path / "file.jsonl").write_text("{}\n")
    check_settings(tmp_path, arguments.response_settings())
    questions.write_text('{"question": "1+1?", "answer": "2"}')
    with pytest.raises(ValueError, match="the content of --data was"):
        check_settings(tmp_path, arguments.response_settings())


def test_a_model_that_was_written_again_is_another(tmp_path):
    assert weights_digest("Qwen/Qwen3-4B") is None
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"a" * 9)
    os.utime(file, ns=(1, 1))
    before = weights_digest(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps({}))
    assert weights_digest(str(tmp_path)) == before
    os.utime(file, ns=(2, 2))
    assert weights_digest(str(tmp_path)) != before
