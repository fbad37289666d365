import errno
import re
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helpers import text_models, torchrun
from helpers.tiny_runs import flags
from transformers import (
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoTokenizer,
    Qwen2Config,
)

import reasonenv
from agents import sft
from agents.engines.chat_template import PLAIN_LINE
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.sampling import Sampling
from agents.engines.torch import TorchEngine
from agents.errors import ModelError, SaveError, UsageError
from agents.sft import FineTuning, example, examples, fine_tune, train_step
from agents.storage.digests import damage
from agents.storage.lock import locked
from agents.training.dynamic_sampling import concatenate
from reasonenv.errors import DataError

FEW = FineTuning(num_steps=2, batch_size=4, num_problems=4)


@pytest.fixture
def model_and_envs(tiny_folder):
    model, chat = load_model(str(tiny_folder), torch.device("cpu"), torch.float32)
    with closing(reasonenv.make("Figures-v2", num_envs=1)) as envs:
        yield model, chat, envs


def weights(folder):
    return AutoModelForImageTextToText.from_pretrained(folder).state_dict()


def test_an_example_is_a_problem_with_its_solution_as_the_response(model_and_envs):
    _, chat, envs = model_and_envs
    responses = concatenate([example(envs, chat, index) for index in (3, 5)])
    for row, index in enumerate((3, 5)):
        problem = envs.problems[index]
        tokens = responses.tokens[row][responses.mask[row]].tolist()
        assert tokens[-1] == chat.tokenizer.eos_token_id
        assert chat.decode(tokens[:-1]) == problem.solution
        prompt = responses.prompts[row]
        assert problem.question in chat.decode(prompt.token_ids)
        assert problem.solution not in chat.decode(prompt.token_ids)
        assert prompt.pixel_values is not None


def test_a_solution_with_calls_is_an_episode_whose_replies_have_no_loss(model_and_envs):
    _, chat, _ = model_and_envs
    with closing(reasonenv.make("Sum-v0", num_envs=1, terms=4)) as envs:
        problems = [envs.problems[index] for index in range(99)]
        index = next(i for i, each in enumerate(problems) if each.metadata["terms"] == 4)
        problem, responses = problems[index], example(envs, chat, index)
    own = chat.tokenizer.decode(responses.tokens[0][responses.mask[0]])
    assert own == "".join(f"{line}<|im_end|>" for line in problem.solution.split("\n"))
    whole = chat.tokenizer.decode(responses.tokens[0])
    for line in problem.solution.split("\n")[:-1]:
        assert f"{line}<|im_end|>\n<|im_start|>user\n" in whole
    assert f"user\n{problem.answer}<|im_end|>" in whole
    assert responses.mask[0].int().diff().eq(1).sum() == 3


def test_the_loss_is_that_of_solutions_by_transformers_and_falls(model_and_envs):
    model, chat, envs = model_and_envs
    engine = TorchEngine(Policy(model), chat, Sampling(), Optimization(1e-3, 12))
    responses = concatenate([example(envs, chat, index) for index in range(4)])
    expected = mean_loss(model, responses)
    likelihoods = engine.forward(responses)[0].sum(-1).exp().tolist()
    losses, probabilities = zip(*(train_step(engine, responses) for _ in range(12)), strict=True)
    assert probabilities[0] == pytest.approx(likelihoods, rel=1e-3)
    assert losses[0] == pytest.approx(expected, rel=1e-4)
    assert losses[-1] < losses[0] - 0.3


@pytest.mark.parametrize(("width", "recomputes"), [(64, False), (1024, True)])
def test_activations_are_recomputed_where_runs_of_the_model_do_so(tmp_path, width, recomputes):
    config = Qwen2Config(
        **{"hidden_size": width, "intermediate_size": 64, "num_hidden_layers": 1},
        **{"num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 64},
    )
    config.save_pretrained(tmp_path)
    model = AutoModelForCausalLM.from_config(config)
    assert sft._policy(FineTuning(model=str(tmp_path)), model).ready().training == recomputes


@torch.no_grad()
def mean_loss(model, responses):
    """Mean over the tokens of all solutions of their cross-entropy, one sequence at a time."""
    total = torch.zeros(())
    for prompt, tokens, mask in zip(
        responses.prompts, responses.tokens, responses.mask, strict=True
    ):
        answer = tokens[mask]
        whole = torch.cat([torch.tensor(prompt.token_ids), answer])[None]
        logits = model(
            whole,
            pixel_values=prompt.pixel_values,
            image_grid_thw=prompt.image_grid_thw,
            mm_token_type_ids=(whole == model.config.image_token_id).int(),
        ).logits[0, len(prompt.token_ids) - 1 : -1]
        total += torch.nn.functional.cross_entropy(logits, answer, reduction="sum")
    return (total / responses.mask.sum()).item()


def test_the_same_seed_gives_the_same_fine_tune(tiny_folder, tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        fine_tune(replace(FEW, model=str(tiny_folder), output_dir=tmp_path / name, seed=seed))
    a, b, c = (weights(tmp_path / name) for name in "abc")
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert not all(torch.equal(a[name], c[name]) for name in a)


def test_two_warm_starts_do_not_write_one_folder(tiny_folder, tmp_path, capsys):
    with locked(tmp_path / "warm"), pytest.raises(SystemExit, match="is in use by process"):
        sft.main(flags(model=tiny_folder, num_steps=1, output_dir=tmp_path / "warm"))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"env": "Letters-v0", "env_options": "{}"}, " has no worked solution: choose an"),
        ({"env": "Figure-v1"}, "did you mean Figures-v2?"),
        ({"env_options": "[]"}, "--env-options is []: give a JSON object"),
        ({"num_steps": 0}, "--num-steps is 0: give at least 1"),
        ({"seed": -1}, "--seed is -1"),
        ({"model": "/no/model"}, "there is no such folder"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(settings, words, tmp_path):
    with pytest.raises(SystemExit) as refused:
        sft.main(flags(output_dir=tmp_path / "warm", **settings))
    message = refused.value.code
    assert isinstance(message, str)
    assert message.startswith("error: ")
    assert words in message
    assert "\n" not in message
    assert not (tmp_path / "warm").exists()


class Rows(list):
    """Problems of which some cannot be read."""

    def __getitem__(self, index):
        if index % 2:
            raise DataError(f"row {index} is broken")
        return super().__getitem__(index)


def test_problems_come_in_passes_and_bad_rows_are_left_out_in_a_line_each(tiny_folder, capsys):
    _, chat = load_model(str(tiny_folder), torch.device("cpu"), torch.float32)
    with closing(reasonenv.make("Letters-v0", num_envs=1)) as envs:
        rows = [
            replace(p, solution=None if k == 2 else p.answer) for k, p in enumerate(envs.problems)
        ]
        envs.problems = Rows(rows[:8])
        stream = examples(envs, chat, FEW)
        drawn = [chat.decode(next(stream).tokens[0, :-1].tolist()) for _ in range(6)]
    assert sorted(drawn[:3]) == sorted(drawn[3:]) == sorted(rows[k].answer for k in (0, 4, 6))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(set(lines)) <= 5
    assert all(line.startswith("left out: ") for line in lines)


@pytest.fixture(scope="module")
def base_model(tmp_path_factory):
    return text_models.base(tmp_path_factory.mktemp("base") / "model")


def tune_on_words(model, folder, **settings):
    words = {"env": "WordProblems-v0", "model": str(model), "output_dir": folder}
    return fine_tune(replace(FEW, **words | settings))


def posed(folder):
    """The prompt of a model in a folder, in words, and its stop strings."""
    _, chat = load_model(str(folder), torch.device("cpu"), torch.float32)
    tokens = chat.encode(text_models.observations(("1 + 1?",), "Add."))[0].token_ids
    return chat.tokenizer.decode(tokens), chat.stop


def test_a_template_and_stop_strings_are_trained_with_and_saved(base_model, tmp_path, monkeypatch):
    path = tmp_path / "template.jinja"
    path.write_text("{% for m in messages %}Q: {{ m.content }}\n{% endfor %}A:")
    trained = []

    def joined(batch):
        trained.append(concatenate(batch))
        return trained[-1]

    monkeypatch.setattr(sft, "concatenate", joined)
    stop = ("e", "\nQ:")
    folder = tune_on_words(base_model, tmp_path / "out", chat_template=path, stop=stop)
    assert posed(folder) == ("Q: Add.\nQ: 1 + 1?\nA:", ("e", "\nQ:"))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for responses in trained:
        for prompt in responses.prompts:
            assert re.fullmatch(r"(Q: (?s:.*)\n)+A:", tokenizer.decode(prompt.token_ids))
    # What is saved needs no flag.
    again = tune_on_words(folder, tmp_path / "again")
    assert posed(again) == posed(folder)


def test_a_base_model_is_fine_tuned_on_plain_text_and_a_line_says_so(base_model, tmp_path, capsys):
    folder = tune_on_words(base_model, tmp_path / "out")
    assert PLAIN_LINE in capsys.readouterr().err
    assert posed(folder) == ("Add.\n\nQuestion: 1 + 1?\nAnswer:", ("\nQuestion:",))
    tune_on_words(folder, tmp_path / "again", stop=())
    assert PLAIN_LINE not in capsys.readouterr().err
    assert posed(tmp_path / "again")[1] == ()


def test_a_solution_stands_apart_from_plain_text_and_directly_after_a_template(
    base_model, tiny_folder
):
    for folder, between in ((base_model, "Answer: "), (tiny_folder, "assistant\n")):
        _, chat = load_model(str(folder), torch.device("cpu"), torch.float32)
        with closing(reasonenv.make("WordProblems-v0", num_envs=1)) as envs:
            solution = example(envs, chat, 0)
            tokens = [*solution.prompts[0].token_ids, *solution.tokens[0].tolist()]
            text = chat.tokenizer.decode(tokens)
            assert text.endswith(f"{between}{envs.problems[0].solution}<|im_end|>")


@pytest.mark.slow(reason="a process that trains; test_run_failures has one for runs")
def test_a_training_whose_log_nobody_reads_any_more_goes_on_to_its_end(tiny_folder, tmp_path):
    sizes = {"num_steps": 2, "batch_size": 2, "num_problems": 2}
    words = flags(model=tiny_folder, output_dir=tmp_path / "out", **sizes)
    with subprocess.Popen(
        [sys.executable, "-m", "agents.sft", *words],
        env=torchrun.ENVIRONMENT,
        stderr=subprocess.PIPE,
    ) as process:
        process.stderr.close()
    assert process.returncode == 0
    assert (tmp_path / "out/model.safetensors").is_file()


def test_a_model_that_cannot_be_written_leaves_no_half(tiny_folder, tmp_path, monkeypatch):
    settings = replace(FEW, model=str(tiny_folder), output_dir=tmp_path / "out")

    def full(folder, *_):
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(sft, "save_model", full)
        with pytest.raises(SaveError, match=r"cannot save the model to .*No space left.*try again"):
            fine_tune(settings)
    assert not list((tmp_path / "out").iterdir())
    assert damage(fine_tune(settings)) == ""


def test_a_kill_as_files_are_moved_leaves_no_model_that_loads(tiny_folder, tmp_path, monkeypatch):
    settings = replace(FEW, model=str(tiny_folder), output_dir=tmp_path / "out")
    rename = Path.rename

    def interrupted(path, goal):
        if path.name == "config.json":
            raise KeyboardInterrupt
        return rename(path, goal)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fine_tune(settings)
    with pytest.raises(ModelError):
        load_model(str(tmp_path / "out"), torch.device("cpu"), torch.float32)
    with pytest.raises(UsageError, match="is not empty: give another --output-dir"):
        fine_tune(settings)


def test_the_folder_in_which_one_stands_gets_a_model_that_has_learned(
    tiny_folder, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    words = flags(model=tiny_folder, num_steps=1, batch_size=1, num_problems=1, output_dir=".")
    sft.main(words)
    assert "wrote ." in capsys.readouterr().out
    before, after = weights(tiny_folder), weights(tmp_path)
    assert any(not torch.equal(before[name], after[name]) for name in before)


def test_ctrl_c_leaves_no_model_that_has_not_learned(tmp_path, monkeypatch, capsys):
    step = TorchEngine.step

    def ringing(engine):
        signal.raise_signal(signal.SIGINT)
        return step(engine)

    monkeypatch.setattr(TorchEngine, "step", ringing)
    with pytest.raises(SystemExit) as stopped:
        sft.main(flags(num_steps=2, batch_size=4, num_problems=4, output_dir=tmp_path / "warm"))
    assert stopped.value.code == 130
    assert not (tmp_path / "warm").exists()
    assert (
        capsys.readouterr().err.splitlines()[-1] == "stopped; files that were written are complete"
    )
