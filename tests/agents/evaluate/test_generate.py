"""Responses to a question by the command line."""

import numpy as np
import pytest
from helpers import looks, text_models
from helpers.tiny_runs import train
from PIL import Image

from agents import generate
from agents.cli.model_choice import checkpoint_of
from agents.errors import UsageError


@pytest.fixture
def figure(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (60, 90, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "figure.png")
    return tmp_path / "figure.png"


@pytest.fixture
def said(tiny_folder, capsys):
    """Lines on standard output and on standard error after the command."""

    def call(*words, model=tiny_folder, question="What is the sum?"):
        words = ("--model", model, "--question", question, *words)
        generate.main([*map(str, words), "--max-response-length", "8"])
        output = capsys.readouterr()
        return output.out.splitlines(), output.err.splitlines()

    return call


def test_greedy_responses_are_equal_and_depend_on_question_and_images(said, figure):
    first, remarks = said("--image", figure)
    assert said("--image", figure) == (first, remarks)
    assert said("--image", figure, "--seed", "3") == (first, remarks)
    assert remarks == ["response 1 was cut after 8 tokens: raise --max-response-length"]
    others = [
        said()[0],
        said("--image", figure, figure)[0],
        said("--image", figure, question="What is <image 1> in words?")[0],
        said("--image", figure, "--prompt", "cpgd")[0],
    ]
    assert len({tuple(lines) for lines in [first, *others]}) == 5


def test_sampled_responses_differ_and_have_numbers(said):
    lines, remarks = said("--num-responses", "3", "--temperature", "1")
    heads = sorted(line for line in lines if line.startswith("--- response"))
    assert heads == ["--- response 1", "--- response 2", "--- response 3"]
    assert len(remarks) == 3
    assert said("--num-responses", "3", "--temperature", "1")[0] == lines
    assert said("--num-responses", "3", "--temperature", "1", "--seed", "1")[0] != lines


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--image", "no.png"], "--image no.png: there is no such file"),
        (["--image", "."], "--image .: "),
        (["--image", "text.png"], "--image text.png: the image cannot be read"),
        (["--image", "empty.png"], "--image empty.png: the image is missing"),
        (["--num-responses", "2"], "--num-responses is 2, and without a --temperature above 0"),
        (["--num-responses", "0"], "--num-responses is 0: give at least 1"),
        (["--temperature", "-1"], "--temperature is -1.0: give at least 0"),
        (["--chat-template", "no.jinja"], "no.jinja"),
        (["--model", "/no/such/model"], "there is no such folder"),
    ],
)
def test_what_does_not_fit_is_one_line(said, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.png").write_text("no image")
    (tmp_path / "empty.png").touch()
    with pytest.raises(SystemExit) as stopped:
        said(*words)
    assert message in str(stopped.value)
    assert "\n" not in str(stopped.value)


def test_a_model_of_words_refuses_an_image_in_one_line(said, tmp_path, figure):
    model = text_models.write(tmp_path / "model", "Llama")
    assert said(model=model)[0]
    with pytest.raises(SystemExit, match="this problem has images and the model is text-only"):
        said("--image", figure, model=model)


def test_a_directory_of_a_run_is_its_last_checkpoint(said, tiny_folder, tmp_path):
    train(tiny_folder, tmp_path / "run", num_steps=1, num_test_problems=0)
    last = tmp_path / "run" / "checkpoints" / "step-1"
    lines, remarks = said(model=tmp_path / "run")
    assert f"model: {last}, the last checkpoint of the run" in remarks
    assert said(model=last)[0] == lines
    (tmp_path / "run" / "checkpoints").rename(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=r"^--model .* this run has no checkpoint yet$"):
        checkpoint_of(str(tmp_path / "run"))


def test_an_episode_is_shown_turn_by_turn_with_its_replies_and_its_reward(capsys):
    assert looks.LOOKS.id == "Looks-v0"
    words = ("--env", "Looks-v0", "--max-response-length", "300", "--num-responses", "4")
    generate.main([*words, "--temperature", "1.2", "--seed", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["--- problem", "[image of 56 x 28]", "How many letters, 8?"]
    heads = [line for line in lines if line.startswith("--- re")]
    assert heads[:1] == ["--- response 1"]
    reply = next(head for head in heads if head.startswith("--- reply"))
    later = heads[heads.index(reply) + 1 :]
    assert later.count(reply.replace("reply", "response")) in (1, 2)
    assert "[image of 56 x 28]" in lines[3:]
    assert lines[-1].startswith("--- reward ")
    assert lines[-1].endswith(", reference C")


@pytest.mark.parametrize("words", [(), ("--env", "Sum-v0", "--question", "1+1?")])
def test_a_question_or_an_environment_is_needed(words):
    with pytest.raises(SystemExit, match="by --question, or else an environment by --env"):
        generate.main(words)
