"""The code of a model card, run as it stands there."""

import importlib.util
import re
import shlex
from typing import get_args, get_type_hints

import numpy as np
import pytest
import torch
from helpers import text_models
from helpers.tiny_runs import train
from PIL import Image

from agents import generate
from agents.engines.chat_template import ChatOptions
from agents.engines.load import load_model
from agents.storage.checkpoints import latest
from agents.training.model_usage import QUESTION, usage_section
from reasonenv.prompts import PROMPTS, Instruction, find_prompt

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, tiny_folder):
    folder = tmp_path_factory.mktemp("usage") / "run"
    train(tiny_folder, folder, num_steps=1, env_options='{"prompt": "cpgd"}')
    return latest(folder)


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """Folder and chat of a model of words."""
    model = text_models.write(tmp_path_factory.mktemp("words"), "Llama")
    return model, load_model(str(model), CPU, torch.float32)[1]


@pytest.fixture
def figure(tmp_path, monkeypatch):
    """A picture that is resized, in the current folder."""
    monkeypatch.chdir(tmp_path)
    pixels = np.random.default_rng(0).integers(0, 256, (75, 131, 3), dtype=np.uint8)
    Image.fromarray(pixels).save("figure.png")
    return pixels


def blocks(card, language):
    return re.findall(rf"```{language}\n(.*?)\n```", card, re.DOTALL)


def executed(code, model):
    """Variables of the code of a card, with a model in place of its folder."""
    variables = {}
    exec(code.replace('NAME = "."', f"NAME = {str(model)!r}"), variables)
    return variables


def prompt_of(model, question, images, options=None):
    """The prompt of a checkpoint as a trainer makes it."""
    _, chat = load_model(str(model), CPU, torch.float32, None, chat_options=options)
    system, user = PROMPTS[question].system, PROMPTS[question].user(QUESTION)
    observations = {"system": (system,), "question": (user,), "images": (images,)}
    return chat.encode(observations)[0]


def test_the_code_of_a_card_gives_the_response_of_the_command(checkpoint, figure, capsys):
    card = (checkpoint / "README.md").read_text()
    code = blocks(card, "python")[0]
    inputs = executed(code, checkpoint)["inputs"]
    said = capsys.readouterr().out
    prompt = prompt_of(checkpoint, "cpgd", (figure,))
    assert inputs["input_ids"].tolist() == [list(prompt.token_ids)]
    assert torch.equal(inputs["pixel_values"], prompt.pixel_values)
    assert torch.equal(inputs["image_grid_thw"], prompt.image_grid_thw)
    (command,) = (line for line in card.splitlines() if line.startswith("python -m agents.gen"))
    words = shlex.split(command.replace("--model .", f"--model {checkpoint}"))[3:]
    generate.main([*words, "--max-response-length", "12", "--dtype", "float32"])
    assert capsys.readouterr().out.split() == said.split()


@pytest.mark.skipif(importlib.util.find_spec("torchvision") is None, reason="needs torchvision")
def test_with_torchvision_a_processor_makes_the_same_tensors(checkpoint, figure):
    code, with_torchvision = blocks((checkpoint / "README.md").read_text(), "python")
    first = executed(code, checkpoint)
    expected = dict(first["inputs"])
    exec(with_torchvision, first)
    assert first["inputs"].keys() == expected.keys()
    for name, tensor in first["inputs"].items():
        assert torch.equal(tensor, expected[name]), name


@pytest.mark.parametrize("prompt", ["plain", "boxed", "cpgd"])
def test_the_code_for_words_makes_the_prompt_of_training(words, prompt):
    model, chat = words
    card = usage_section(chat, PROMPTS[prompt], 5)
    assert ("--prompt" in card, "--image" in card) == (True, False)
    inputs = executed(blocks(card, "python")[0], model)["inputs"]
    assert inputs["input_ids"].tolist() == [list(prompt_of(model, prompt, ()).token_ids)]


NO_SYSTEM = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('none') }}{% endif %}"
    "<|im_start|>{{ m.role }} {{ m.content }}<|im_end|>{% endfor %}"
)


def test_a_template_without_a_system_message_and_stop_strings_are_in_the_code(tmp_path):
    def change(tokenizer):
        tokenizer.chat_template = NO_SYSTEM

    model = text_models.write(tmp_path / "model", "Llama", change)
    options = ChatOptions(stop=("\n\n", "</answer>"))
    _, chat = load_model(str(model), CPU, torch.float32, chat_options=options)
    card = usage_section(chat, PROMPTS["cpgd"], 5)
    assert 'stop_strings=["\\n\\n", "</answer>"], tokenizer=tokenizer' in card
    inputs = executed(blocks(card, "python")[0], model)["inputs"]
    assert inputs["input_ids"].tolist() == [list(prompt_of(model, "cpgd", ()).token_ids)]


def test_the_command_takes_every_prompt_that_a_card_names(words):
    _, chat = words
    known = get_args(get_type_hints(generate.GenerationArguments)["prompt"])
    for prompt in PROMPTS.values():
        (name,) = re.findall(r"--prompt (\w+)", usage_section(chat, prompt, 5))
        assert name in known
        assert PROMPTS[name].user("Q") == prompt.user("Q")


def test_a_prompt_of_the_users_own_has_no_name(words):
    _, chat = words
    card = usage_section(chat, Instruction(template="Say: {question}"), 5)
    assert "--prompt" not in card
    assert f"Say: {QUESTION}" in card
    assert "has no name: the code for transformers has it, and the command asks" in card


def test_a_prompt_with_code_of_its_own_is_not_in_a_card(words):
    class Own:
        def ask(self, problem):
            return "", problem.question[::-1]

    _, chat = words
    assert "is not in them: they ask the bare question" in usage_section(chat, Own(), 5)


def test_a_system_text_in_the_user_text_is_in_the_code_and_the_command(words):
    model, chat = words
    card = usage_section(chat, find_prompt("cpgd:user"), 5)
    inputs = executed(blocks(card, "python")[0], model)["inputs"]
    options = generate.GenerationArguments(question=QUESTION, prompt="cpgd:user")
    observation = generate._observation(options)
    expected = chat.encode({name: (value,) for name, value in observation.items()})[0]
    assert "--prompt cpgd:user" in card
    assert observation["system"] == ""
    assert inputs["input_ids"].tolist() == [list(expected.token_ids)]


def test_a_model_with_code_of_its_own_is_trusted_in_code_and_command(words):
    _, chat = words
    card = usage_section(chat, PROMPTS["plain"], 5, trust_remote_code=True)
    assert card.count("from_pretrained(NAME, trust_remote_code=True)") == 2
    assert "--prompt plain --trust-remote-code --question" in card

    class Ask:
        def ask(self, problem):
            return "", problem.question

    assert "that of the training" not in usage_section(chat, Ask(), 5)
