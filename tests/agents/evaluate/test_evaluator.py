import math
from collections import Counter
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers import faulty, letters
from helpers.hub_rows import cell, hub

from agents.cli.settings import Run
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.sampling import Sampling
from agents.engines.transformers import TransformersSampler
from agents.evaluate.evaluator import EvaluationTask, Evaluator, _say_once, evaluate
from agents.training.setup import make_envs
from reasonenv.datasets.selection import held_out
from reasonenv.errors import DataError
from reasonenv.problem import Problem
from reasonenv.registration import find, registry
from reasonenv.scoring.statistics import over_clusters

FAULTY = f"{faulty.__name__}:Faulty-v0"
INVALID_TOO = {"without": "invalid"}
SHORT = EvaluationTask(env="Letters-v0", num_problems=5)


def pose(monkeypatch, problems, **fields):
    environment = replace(letters.LETTERS, problems=problems, **fields)
    monkeypatch.setitem(registry, "Letters-v0", environment)


@pytest.fixture(scope="module")
def sampler(tiny_folder):
    model, chat = load_model(str(tiny_folder), torch.device("cpu"), torch.float32)
    return TransformersSampler(Policy(model), chat, Sampling(1.0, chat.banned), 6)


class Scripted(TransformersSampler):
    """A sampler that gives prescribed answers, in order."""

    def __init__(self, sampler, answers):
        super().__init__(sampler.policy, sampler.chat, sampler.sampling, 1)
        self.answers = iter(answers)

    def generate(self, prompts, seed, finished=None):
        responses = super().generate(prompts, seed)
        texts = tuple(f"\\boxed{{{next(self.answers)}}}" for _ in prompts)
        return replace(responses, texts=texts)


def test_the_first_problems_of_the_split_are_evaluated_in_order(sampler):
    result = evaluate(sampler, SHORT)
    assert [row["id"] for row in result.rows] == [f"test/{k}" for k in range(5)]
    assert (result.split, result.num_problems, result.num_samples) == ("test", 5, 1)
    train = evaluate(sampler, replace(SHORT, split="train", num_problems=2))
    assert [row["id"] for row in train.rows] == ["train/0", "train/1"]


@pytest.mark.parametrize("num_problems", [None, 99])
def test_no_more_problems_are_evaluated_than_the_split_has(sampler, num_problems):
    assert evaluate(sampler, replace(SHORT, num_problems=num_problems)).num_problems == 10


def test_a_generated_split_is_evaluated_on_its_first_500_problems():
    with closing(Evaluator(EvaluationTask(env="Figures-v2"))) as evaluator:
        assert (evaluator.split, sum(evaluator.batch_sizes)) == ("test", 500)


def test_the_split_of_an_environment_is_its_first_that_is_not_for_training(monkeypatch):
    assert find("Letters-v0").evaluation_split() == "test"
    benchmark = replace(letters.LETTERS, splits=("train", "testmini", "test"))
    monkeypatch.setitem(registry, "Letters-v0", benchmark)
    assert find("Letters-v0").evaluation_split() == "testmini"
    monkeypatch.setitem(registry, "Letters-v0", replace(letters.LETTERS, splits=("train",)))
    assert find("Letters-v0").evaluation_split() == "train"


def test_accuracy_is_that_of_the_answers_with_its_standard_error(sampler):
    result = evaluate(Scripted(sampler, "CACCB"), SHORT)
    assert [row["correct"] for row in result.rows] == [True, False, True, True, False]
    assert result.accuracy == pytest.approx(0.6)
    spread = np.std([1, 0, 1, 1, 0], ddof=1)
    assert result.standard_error == pytest.approx(spread / math.sqrt(5))
    assert str(result) == "test accuracy 0.600 (95 % 0.231 to 0.882, 5 problems)"
    # Of several samples the error is that of their means.
    twice = evaluate(Scripted(sampler, "CACC"), replace(SHORT, num_problems=2, num_samples=2))
    assert (twice.accuracy, twice.standard_error) == pytest.approx((0.75, 0.25))


@pytest.mark.parametrize(
    ("metadata", "answers", "by"),
    [
        ([{"kind": "a"}, {"kind": "b"}] * 2, "CCAC", {"a": 0.5, "b": 1.0}),
        ([{"kind": "a"}, {"kind": "b"}], "CA", {"a": 1.0, "b": 0.0}),
        ([{"url": f"https://{k}.example", "part": "I"} for k in "ab"], "CA", {"I": 0.5}),
    ],
)
def test_accuracy_is_reported_by_kind(sampler, monkeypatch, metadata, answers, by):
    posed = [
        Problem(id=str(k), question="?", answer="C", metadata=own) for k, own in enumerate(metadata)
    ]
    pose(monkeypatch, lambda split="test": posed)
    assert evaluate(Scripted(sampler, answers), SHORT).by == by


# A prime number of samples, one that fills several batches, one that fills a part of a batch.
@pytest.mark.parametrize(("num_samples", "batch_size"), [(7, 4), (8, 4), (3, 8), (2, 1)])
def test_every_problem_has_its_samples_whatever_the_batches(sampler, num_samples, batch_size):
    task = replace(SHORT, num_samples=num_samples, batch_size=batch_size)
    rows = evaluate(sampler, task).rows
    counts = Counter((row["id"], row["sample"]) for row in rows)
    assert counts == Counter((f"test/{i}", j) for i in range(5) for j in range(num_samples))
    assert len({row["response"] for row in rows}) > len(rows) // 2


def test_an_evaluation_that_starts_at_a_later_batch_gives_the_same_responses(sampler):
    task = replace(SHORT, num_samples=4, batch_size=8)
    with closing(Evaluator(task)) as evaluator:
        assert evaluator.batch_sizes == [8, 8, 4]
        whole = list(evaluator.rows(sampler))
    with closing(Evaluator(task)) as evaluator:
        assert list(evaluator.rows(sampler, 1)) == whole[1:]


def test_the_same_seed_gives_the_same_responses(sampler):
    first, second, other = (evaluate(sampler, replace(SHORT, seed=seed)) for seed in (0, 0, 1))
    assert first.rows == second.rows != other.rows


class Broken(list):
    """Problems of which one cannot be read, as where an image is damaged."""

    def __getitem__(self, index):
        if index == 2:
            raise DataError("letters test, row 2: the image cannot be read")
        return super().__getitem__(index)


# Sampling may be collective over ranks: a batch without a valid problem samples another one, whose
# responses (AA) do not count.
@pytest.mark.parametrize(("batch_size", "answers"), [(8, "CCACCCCC"), (2, "CCACAACCCC")])
def test_a_problem_that_cannot_be_loaded_does_not_affect_the_others(
    sampler, monkeypatch, batch_size, answers
):
    sound = letters.problems("test")
    pose(monkeypatch, lambda split="test": Broken(sound))
    task = replace(SHORT, num_samples=2, batch_size=batch_size)
    scripted = Scripted(sampler, answers)
    result = evaluate(scripted, task)
    assert next(scripted.answers, None) is None
    assert (result.num_problems, result.num_left_out) == (4, 1)
    assert result.accuracy == pytest.approx(7 / 8)
    assert [(row["id"], row["sample"]) for row in result.rows[2:7]] == [
        ("test/1", 0),
        ("test/1", 1),
        ("row 2", 0),
        ("row 2", 1),
        ("test/3", 0),
    ]
    assert result.rows[4]["status"] == "left_out"
    assert result.rows[4]["fault"] == "letters test, row 2: the image cannot be read"


def test_a_prompt_beyond_the_context_counts_as_wrong_and_is_named(sampler, capsys, monkeypatch):
    monkeypatch.setitem(registry, "Faulty-v0", replace(faulty.FAULTY, cluster="enough"))
    _say_once.cache_clear()
    options = {"unreadable": [1], "long": [2, 3], "faulty_split": "test", "size": 5}
    task = EvaluationTask(env=FAULTY, split="test", env_options=options, batch_size=2)
    result = evaluate(Scripted(sampler, "CCCC"), task)
    assert (result.accuracy, result.num_problems, result.num_left_out) == (0.5, 4, 1)
    assert [row["status"] for row in result.rows] == [
        *("ok", "left_out", "no_answer", "no_answer", "ok")
    ]
    assert [row["id"] for row in result.rows if row["status"] == "no_answer"] == [
        "test/2",
        "test/3",
    ]
    scored = [row for row in result.rows if row["status"] != "left_out"]
    assert all(row["cluster"] is not None for row in scored)
    assert str(result).endswith(", 4 problems, 1 left out)")
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "left out: faulty, row 1 (id 'test/1'): the image cannot be read"
    assert said[1].startswith("counts as wrong: problem 'test/2': a prompt of 4")
    assert len(said) == 3


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("long", "do not fit in this model's context"),
        ("unreadable", "no problem can be loaded"),
    ],
)
def test_an_evaluation_of_which_no_problem_can_be_posed_is_an_error(sampler, fault, words):
    options = {fault: [0, 1, 2], "faulty_split": "test", "size": 3}
    task = EvaluationTask(env=FAULTY, split="test", env_options=options)
    with pytest.raises(ValueError, match=words):
        evaluate(sampler, task)


def test_problems_without_an_answer_are_counted_and_reported_once(tmp_path, capsys):
    _say_once.cache_clear()
    content = {"question": "?", "subject": "math", "image": cell()}
    rows = [{"id": str(k), "answer": "A" if k % 2 else " ", **content} for k in range(20)]
    data, is_inside = hub(tmp_path / "mmk12", "train", rows), held_out(0.5, inside=True)
    empty = sum(is_inside(row["id"]) for row in rows if row["answer"] == " ")
    assert 0 < empty < 10
    for split, expected in 2 * (("heldout", empty), ("train", 10 - empty)):
        options = {"holdout": 0.5}
        task = EvaluationTask(env="MMK12-v0", split=split, data=data, env_options=options)
        with closing(Evaluator(task)) as evaluator:
            assert evaluator.num_left_out == expected
    task = EvaluationTask(env="MMK12-v0", data=data, split="train", env_options=INVALID_TOO)
    with closing(Evaluator(task)) as evaluator:
        assert evaluator.num_left_out == 10
    assert len([line for line in capsys.readouterr().err.splitlines() if "left out" in line]) == 10


def test_an_evaluation_counts_what_an_environment_leaves_out_by_default(tmp_path, capsys):
    _say_once.cache_clear()
    rows = [{"id": f"v1_{k}", "question": "?", "answer": "B", "image": cell()} for k in (381, 382)]
    data = hub(tmp_path, "test", [rows[0], {**rows[1], "answer": ""}])
    with closing(Evaluator(EvaluationTask(env="LogicVista-v0", data=data))) as evaluator:
        assert (evaluator.num_problems, evaluator.num_left_out) == (1, 1)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("left out: logicvista test, row 1 (id 'v1_382'): ")


def test_an_evaluation_poses_what_was_held_out_of_the_only_split(monkeypatch, capsys):
    _say_once.cache_clear()
    monkeypatch.setitem(registry, "Letters-v0", replace(letters.LETTERS, splits=("train",)))
    task = EvaluationTask(env="Letters-v0", env_options={"holdout": 0.4})
    trained = make_envs(Run(env="Letters-v0", env_options=task.env_options))[0]
    with closing(trained), closing(Evaluator(task)) as evaluator:
        posed = {problem.id for problem in evaluator._envs.problems}
        assert evaluator.split == "heldout"
        assert len(posed) + len(trained.problems) == 10
        assert not posed & {problem.id for problem in trained.problems}
    assert capsys.readouterr().err == ""
    for _ in range(2):
        Evaluator(replace(task, env_options={})).close()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Letters-v0: these are the training problems, there is no other split;")
    # Who names the split knows it.
    _say_once.cache_clear()
    Evaluator(replace(task, env_options={}, split="train")).close()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("splits", "options", "split"),
    [
        (("train", "test"), {"holdout": 0.1}, "test"),
        (("train",), {"holdout": 0.1}, "heldout"),
        # Splits of a benchmark overlap with the one that a run trains on.
        (("test", "testmini"), {"holdout": 0.1}, "heldout"),
        (("test", "testmini"), {}, "test"),
    ],
)
def test_the_split_to_evaluate_holds_no_training_problem(monkeypatch, splits, options, split):
    monkeypatch.setitem(registry, "Letters-v0", replace(letters.LETTERS, splits=splits))
    assert find("Letters-v0").evaluation_split(options) == split


def test_problems_of_one_id_are_refused_before_anything_is_sampled(monkeypatch):
    twins = [Problem(id="a", question=f"{k}?", answer="C") for k in range(2)]
    pose(monkeypatch, lambda split: twins)
    with pytest.raises(ValueError, match="problems 0 and 1 have the id 'a'"):
        Evaluator(SHORT)


def test_the_interval_is_over_clusters_of_problems(sampler, monkeypatch):
    def pairs(split="test"):
        return [
            Problem(id=str(k), question="?", answer="C", metadata={"pair": k // 2})
            for k in range(8)
        ]

    pose(monkeypatch, pairs, cluster="pair")
    result = evaluate(Scripted(sampler, "CCCCAACA"), replace(SHORT, num_problems=8))
    assert [row["cluster"] for row in result.rows] == ["0", "0", "1", "1", "2", "2", "3", "3"]
    assert result.interval == over_clusters([2, 2, 0, 1], [2] * 4)
    assert result.standard_error == pytest.approx(np.std([2, 2, 0, 1], ddof=1) / 4)
