"""Whole runs with what the plain one lacks: adapters, several ranks, vLLM."""

import importlib.util
import json
import subprocess
import sys

import pytest
import torch
from helpers import (
    interrupted_runs,
    letters,
    text_models,
    vllm_model,
    vowels,  # noqa: F401 - registers the environment
)
from helpers.tiny_runs import SMALL, before_response, flags, numbers, refusal, same, train

from agents.cli.flags import parse_run
from agents.cpgd import CPGD
from agents.engines.load import load_model
from agents.storage.checkpoints import latest
from agents.storage.json_files import read_json_lines
from agents.training.setup import prepare

PER_STEP = 16
ADAPTERS = {
    "lora": '{"r": 4, "target_modules": "all-linear"}',
    "beta": 0.1,
    "reference": "fixed",
    "minibatch_size": 16,
    "num_steps": 4,
    "save_every": 2,
}
WITHOUT_PEFT = """
import sys
sys.modules["peft"] = None
from transformers import AutoModelForImageTextToText
AutoModelForImageTextToText.from_pretrained(sys.argv[1])
"""
needs_peft = pytest.mark.skipif(importlib.util.find_spec("peft") is None, reason="needs peft")


@pytest.fixture(scope="module")
def adapted(tmp_path_factory, tiny_folder):
    """A run that trains adapters, held to the model without them."""
    folder = tmp_path_factory.mktemp("adapted") / "run"
    train(tiny_folder, folder, **ADAPTERS)
    return folder


@needs_peft
def test_adapters_are_trained_and_held_to_the_base_without_a_second_model(adapted, tiny_folder):
    rows = numbers(adapted)
    assert rows[0]["policy/kl_ref"] == pytest.approx(0, abs=1e-9)
    assert all(row["policy/kl_ref"] > 1e-9 and row["train/grad_norm"] > 0 for row in rows[1:])
    words = flags(
        **SMALL | ADAPTERS | {"model": tiny_folder, "output_dir": adapted, "resume": True}
    )
    state = prepare(*parse_run(CPGD, words))
    state.envs.close()
    assert state.engines.reference is not None
    assert not state.engines.reference.model.state_dict()
    trained = sum(p.numel() for p in state.engines.policy.parameters() if p.requires_grad)
    assert 0 < trained < 0.2 * sum(p.numel() for p in state.engines.policy.parameters())


@needs_peft
def test_a_run_with_adapters_that_was_stopped_goes_on_exactly(
    adapted, tiny_folder, tmp_path, monkeypatch
):
    with monkeypatch.context() as patch:
        ringing = before_response(2 * PER_STEP + 5, interrupted_runs.FAULTS["terminate"])
        patch.setitem(letters.REWARDS, "letters", ringing)
        with pytest.raises(SystemExit):
            train(tiny_folder, tmp_path, **ADAPTERS)
    assert latest(tmp_path) == tmp_path / "checkpoints" / "step-3"
    train(tiny_folder, tmp_path, **ADAPTERS, resume=True)
    assert numbers(tmp_path) == numbers(adapted)
    assert same(tmp_path, adapted)


@needs_peft
@pytest.mark.slow(reason="reads the checkpoint in a process of its own")
def test_a_checkpoint_of_adapters_is_a_model_without_peft(adapted):
    checkpoint = latest(adapted)
    subprocess.run([sys.executable, "-c", WITHOUT_PEFT, str(checkpoint)], timeout=120, check=True)


two_runs = pytest.mark.slow(reason="two whole runs on two ranks, and one on one")
SHARED = {
    "env_options": '{"size": 600}',
    "num_prompts": 8,
    "minibatch_size": 16,
    "num_steps": 2,
    "max_response_length": 40,
    "num_test_problems": 600,
    "learning_rate": 1e-4,
}
"""Three batches of an evaluation for two ranks, and responses of 1 to 40 tokens."""
ZERO = {"zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0}}


PIECES = ({"microbatch_size": 3}, {"tokens_per_microbatch": 150})


@pytest.fixture(scope="module")
def one(tmp_path_factory, tiny_folder):
    """A run of one rank."""
    folder = tmp_path_factory.mktemp("one") / "run"
    train(tiny_folder, folder, **SHARED)
    return folder


@pytest.fixture(scope="module")
def two(tmp_path_factory, tiny_folder):
    """Runs of two ranks that share weights out, in microbatches of either kind."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "zero3.json").write_text(json.dumps(ZERO))
    settings = SHARED | {"deepspeed": folder / "zero3.json", "engine": "auto"}
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    for number, pieces in enumerate(PIECES):
        output = {"model": tiny_folder, "output_dir": folder / str(number)}
        python, *words = interrupted_runs.command("nothing", 0, **settings | pieces | output)
        status, said = interrupted_runs.end([python, *torchrun, *words])
        assert status == 0, said[-3000:]
        assert said.count("sampler and trainer encode") == said.count("done: ") == 1
    return folder / "0", folder / "1"


@two_runs
def test_two_ranks_evaluate_as_one(two, one):
    expected = read_json_lines(one / "evaluations.jsonl")[0]
    assert expected["num_problems"] == 600
    for folder in two:
        found = read_json_lines(folder / "evaluations.jsonl")
        assert [row["step"] for row in found] == [0, 2]
        assert found[0] == expected


@two_runs
def test_microbatches_by_tokens_give_two_ranks_the_numbers_of_those_by_responses(two):
    first, other = (numbers(folder)[0] for folder in two)
    assert first["train/grad_norm"] > 0.01
    assert other == pytest.approx(first, rel=1e-4, abs=1e-6)


@two_runs
def test_a_run_of_two_ranks_leaves_what_one_leaves(two, one):
    for folder in two:
        assert [row.keys() for row in numbers(folder)] == [row.keys() for row in numbers(one)]
        assert (folder / "report.html").is_file()
        assert latest(folder) == folder / "checkpoints" / "step-2"


def test_a_run_of_a_model_that_cannot_be_packed_says_so(tmp_path, capsys):
    model = text_models.write(tmp_path / "model", "Falcon", alibi=False)
    rows = train(model, tmp_path / "run", env="Vowels-v0", num_steps=2)
    assert all(row["train/grad_norm"] > 0 for row in rows)
    assert (
        capsys.readouterr().err.count("\nthe responses of this model are padded, not packed, ") == 1
    )


def test_a_model_whose_layers_carry_a_state_is_for_another_sampler(tmp_path):
    layers = ["conv", "full_attention"]
    model = text_models.write(tmp_path / "model", "Lfm2", layer_types=layers)
    message = refusal(model, tmp_path / "run", env="Vowels-v0")
    assert message.startswith("error: --sampler transformers prefills each prompt once")
    assert message.endswith("use --sampler vllm")
    assert not (tmp_path / "run").exists()


WORDS = {
    "env": "Vowels-v0",
    "env_options": '{"holdout": 0.25}',
    "sampler": "vllm",
    "vllm": '{"max_model_len": 256}',
    "num_steps": 3,
    "num_test_problems": 4,
    "evaluate_every": 2,
    "save_every": 1,
    "keep_checkpoints": 9,
}


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    return vllm_model.write(tmp_path_factory.mktemp("words") / "model")


@pytest.fixture(scope="module")
def by_vllm(words):
    """A run that vLLM samples for: its folder and what it said."""
    folder = words.with_name("run")
    settings = WORDS | {"model": words, "output_dir": folder}
    status, said = interrupted_runs.end(interrupted_runs.command("nothing", 0, **settings))
    assert status == 0, said[-3000:]
    assert "Traceback" not in said
    return folder, said


@pytest.mark.vllm
def test_vllm_samples_for_a_whole_run(by_vllm):
    folder, said = by_vllm
    rows = numbers(folder)
    assert [row["step"] for row in rows] == [1, 2, 3]
    assert all(row["sampler/log_prob_diff_mean"] < 1e-5 for row in rows)
    assert any(row["train/grad_norm"] > 0 for row in rows)
    found = read_json_lines(folder / "evaluations.jsonl")
    assert [row["step"] for row in found] == [0, 2, 3]
    assert said.count("sampler and trainer encode 4 prompts alike") == 1
    assert said.splitlines()[-1] == f"done: {folder}"


@pytest.mark.vllm
def test_a_run_with_vllm_that_was_stopped_goes_on_exactly(by_vllm, words, tmp_path):
    settings = WORDS | {"model": words, "output_dir": tmp_path}
    in_step_1 = 4 + 5  # after the evaluation before it
    status, said = interrupted_runs.end(
        interrupted_runs.command("terminate", in_step_1, **settings)
    )
    assert status == 143
    assert said.splitlines()[-1].startswith("SIGTERM: saved step 1; continue with python -m ")
    status, said = interrupted_runs.end(
        interrupted_runs.command("nothing", 0, **settings, resume=True)
    )
    assert status == 0, said[-3000:]
    assert "Traceback" not in said
    assert numbers(tmp_path) == numbers(by_vllm[0])
    assert same(tmp_path, by_vllm[0])


@pytest.mark.vllm
def test_what_vllm_cannot_sample_in_between_is_left_out_with_a_line(words, tmp_path):
    chat = load_model(str(words), torch.device("cpu"), torch.float32)[1]

    def length(number):
        question = f"How many vowels, {number}?"
        observations = {"system": ("",), "question": (question,), "images": ((),)}
        return len(chat.encode(observations)[0].token_ids)

    longest = length(9) + SMALL["max_response_length"]
    assert length(10) > length(9)  # of eleven problems only the last has one token too many
    options = {"env_options": '{"size": 11}', "vllm": json.dumps({"max_model_len": longest})}
    settings = WORDS | options | {"model": words, "output_dir": tmp_path, "num_test_problems": 0}
    status, said = interrupted_runs.end(interrupted_runs.command("nothing", 0, **settings))
    assert status == 0
    (line,) = [line for line in said.splitlines() if line.startswith("left out:")]
    assert f"'train/10': a prompt of {length(10)} tokens and a response of 12 do not fit" in line
    assert "raise max_model_len" in line
    rows = read_json_lines(tmp_path / "metrics.jsonl")
    assert [row["rollout/left_out"] for row in rows].count(1) == 1
    assert latest(tmp_path) == tmp_path / "checkpoints" / f"step-{len(rows)}"
