import pytest
from helpers import letters  # noqa: F401 - registers an environment

from agents.evaluate.evaluator import EvaluationTask
from agents.evaluate.session import trained_line
from agents.storage.provenance import write_run


def checkpoint(folder, env="Letters-v0", options=None, data=None, model="tiny"):
    run = {"env": env, "env_options": options or {}, "data": data, "model": model}
    write_run(folder, {"run": run})
    path = folder / "checkpoints" / "step-1"
    path.mkdir(parents=True)
    return str(path)


def line(model, split, options=None, env="Letters-v0", data=None):
    task = EvaluationTask(env=env, env_options=options or {}, data=data)
    return trained_line(model, task, split)


@pytest.mark.parametrize(
    ("run", "split", "options", "is_trained"),
    [
        ({}, "train", {}, True),
        ({}, "test", {}, False),
        ({"split": "test"}, "test", {}, True),
        ({"split": "test"}, "train", {}, False),
        ({"holdout": 0.1}, "train", {}, True),
        ({"holdout": 0.1}, "train", {"holdout": 0.1}, True),
        ({"holdout": 0.1}, "heldout", {"holdout": 0.1}, False),
        ({"holdout": 0.1}, "heldout", {"holdout": 0.05}, False),
        # A larger part holds others too.
        ({"holdout": 0.1}, "heldout", {"holdout": 0.2}, True),
        ({}, "heldout", {"holdout": 0.1}, True),
    ],
)
def test_a_checkpoint_says_which_split_it_was_trained_on(tmp_path, run, split, options, is_trained):
    message = f"Letters-v0: {tmp_path} was trained on problems of the split {split!r}"
    model = checkpoint(tmp_path, options=run)
    assert line(model, split, options) == (message if is_trained else "")


def test_a_run_on_a_mixture_was_trained_on_its_parts(tmp_path):
    own = {"Letters-v0": {"split": "test"}}
    options = {"envs": ["Letters-v0", "Figures-v2"], "options": own}
    model = checkpoint(tmp_path, "Mixture-v0", options)
    assert line(model, "test")
    assert line(model, "train", env="Figures-v2")
    assert not line(model, "train")
    assert not line(model, "train", env="WordProblems-v0")


def test_a_run_that_began_with_another_was_trained_on_its_problems_too(tmp_path):
    first = checkpoint(tmp_path / "first", options={"split": "test"})
    second = checkpoint(tmp_path / "second", model=first)
    assert "first was trained on problems of the split 'test'" in line(second, "test")
    assert "second was trained on problems of the split 'train'" in line(second, "train")


def test_questions_of_another_file_were_not_trained_on(tmp_path):
    paths = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]
    for path in paths:
        path.write_text('{"question": "1+1?", "answer": "2"}\n')
    model = checkpoint(tmp_path, "file", data=str(paths[0]))
    assert line(model, "train", env="file", data=str(paths[0]))
    assert not line(model, "train", env="file", data=str(paths[1]))


def test_of_other_models_and_damaged_records_nothing_is_known(tmp_path):
    assert line("Qwen/Qwen3-4B", "train") == line(str(tmp_path), "train") == ""
    model = checkpoint(tmp_path)
    (tmp_path / "run.json").write_text('{"settings": {"run": {}}}')
    assert line(model, "train").startswith(f"the problems that {tmp_path} was trained on are not")
