import math
from dataclasses import replace

import letters
import numpy as np
import pytest
import torch
from tiny_runs import flags

from agents import evaluate as command
from agents.engines.load import load
from agents.engines.model import Policy, Sampling
from agents.engines.transformers import TransformersSampler
from agents.evaluate import BATCH, Evaluate, evaluate
from agents.logs import read_lines
from reasonenv.problem import Problem

SHORT = Evaluate(env="Letters-v0", num_problems=5, max_response_length=6)


@pytest.fixture(scope="module")
def sampler(tiny_folder):
    model, chat = load(str(tiny_folder), torch.device("cpu"), torch.float32)
    return TransformersSampler(Policy(model), chat, Sampling(1.0, chat.banned), 6)


class Scripted(TransformersSampler):
    """A sampler that gives the answers it is told, in order."""

    def __init__(self, sampler, answers):
        super().__init__(sampler.policy, sampler.chat, sampler.sampling, 1)
        self.answers = iter(answers)

    def generate(self, prompts, seed, finished=None):
        responses = super().generate(prompts, seed)
        texts = tuple(f"\\boxed{{{next(self.answers)}}}" for _ in prompts)
        return replace(responses, texts=texts)


def test_the_first_problems_of_the_split_are_posed_in_order(sampler):
    result = evaluate(sampler, SHORT)
    assert [row["id"] for row in result.rows] == [f"test/{k}" for k in range(5)]
    assert (result.num_problems, result.num_samples) == (5, 1)
    train = evaluate(sampler, replace(SHORT, split="train", num_problems=2))
    assert [row["id"] for row in train.rows] == ["train/0", "train/1"]


def test_no_more_problems_are_posed_than_the_split_has(sampler):
    assert evaluate(sampler, replace(SHORT, num_problems=99)).num_problems == 10


def test_accuracy_is_that_of_the_answers_with_its_standard_error(sampler):
    result = evaluate(Scripted(sampler, "CACCB"), SHORT)
    assert [row["correct"] for row in result.rows] == [True, False, True, True, False]
    assert result.accuracy == pytest.approx(0.6)
    spread = np.std([1, 0, 1, 1, 0], ddof=1)
    assert result.standard_error == pytest.approx(spread / math.sqrt(5))
    assert str(result) == "test accuracy 0.600 ± 0.245"


def test_the_error_of_several_samples_is_that_of_their_means(sampler):
    result = evaluate(Scripted(sampler, "CACC"), replace(SHORT, num_problems=2, num_samples=2))
    assert [row["id"] for row in result.rows] == ["test/0", "test/0", "test/1", "test/1"]
    assert result.accuracy == pytest.approx(0.75)
    assert result.standard_error == pytest.approx(0.25)


def test_accuracy_is_told_by_kind(sampler, monkeypatch):
    def two_kinds(split="test"):
        return [
            Problem(id=str(k), question="?", answer="C", metadata={"kind": "ab"[k % 2]})
            for k in range(4)
        ]

    monkeypatch.setattr(letters, "problems", two_kinds)
    result = evaluate(Scripted(sampler, "CCAC"), SHORT)
    assert result.by == {"a": 0.5, "b": 1.0}


def test_more_samples_than_a_batch_are_different_ones(sampler):
    settings = replace(SHORT, num_problems=1, num_samples=2 * BATCH)
    rows = evaluate(sampler, settings).rows
    assert len(rows) == 2 * BATCH
    texts = [row["response"] for row in rows]
    assert texts[:BATCH] != texts[BATCH:]


def test_the_same_seed_gives_the_same_responses(sampler):
    first, second = evaluate(sampler, SHORT), evaluate(sampler, SHORT)
    assert first.rows == second.rows
    assert first.rows != evaluate(sampler, replace(SHORT, seed=1)).rows


def test_the_command_writes_every_response_with_its_verdict(tiny_folder, tmp_path, capsys):
    output = tmp_path / "deep" / "responses.jsonl"
    words = {"env": "Letters-v0", "model": tiny_folder, "num_problems": 3}
    command.main(flags(**words, max_response_length=6, output=output))
    rows = read_lines(output)
    assert [row["id"] for row in rows] == ["test/0", "test/1", "test/2"]
    assert rows[0].keys() >= {"response", "answer", "reference", "correct", "status", "length"}
    printed = capsys.readouterr().out
    assert "Letters-v0 test accuracy 0.000 ± 0.000 (3 problems)" in printed
    assert str(output) in printed


def test_temperature_zero_is_greedy(tiny_folder, tmp_path):
    words = {"env": "Letters-v0", "model": tiny_folder, "num_problems": 2, "temperature": 0}
    responses = []
    for seed in (0, 1):
        output = tmp_path / f"{seed}.jsonl"
        command.main(flags(**words, max_response_length=6, output=output, seed=seed))
        responses.append([row["response"] for row in read_lines(output)])
    assert responses[0] == responses[1]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": "/no/model"}, "'/no/model': there is no such folder"),
        ({"env": "Letter-v0"}, "did you mean Letters-v0?"),
        ({"split": "val"}, "has no split 'val': there are train, test"),
        ({"env_options": "{"}, "--env-options '{' is no JSON"),
        (
            {"env": "Figures-v0", "env_options": "{", "model": "tiny"},
            "--env-options '{' is no JSON",
        ),
        ({"num_problems": 0}, "--num-problems is 0: give at least 1"),
        ({"num_samples": BATCH + 1}, "257 must be at most 256 or a multiple of it"),
        ({"temperature": -1}, "--temperature is -1.0"),
        ({"top_p": 2}, "--top-p is 2.0: give one in (0, 1]"),
        ({"top_k": -1}, "--top-k is -1: give at least 0"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(settings, words, tiny_folder, tmp_path):
    output = tmp_path / "responses.jsonl"
    with pytest.raises(SystemExit) as refused:
        command.main(
            flags(**{"env": "Letters-v0", "model": tiny_folder, "output": output} | settings)
        )
    message = refused.value.code
    assert isinstance(message, str)
    assert message.startswith("error: ")
    assert words in message
    assert "\n" not in message
    assert not output.exists()


def test_responses_that_are_there_are_not_overwritten(tiny_folder, tmp_path):
    output = tmp_path / "responses.jsonl"
    output.write_text("precious")
    with pytest.raises(SystemExit, match="is there already: give another --output"):
        command.main(flags(env="Letters-v0", model=tiny_folder, output=output))
    assert output.read_text() == "precious"
