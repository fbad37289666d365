"""Chat templates that fail: one line, when the model is loaded."""

import re

import pytest
import torch
from helpers import tiny_engines

from agents.engines.chat import TEXT
from agents.engines.load import load_model
from agents.errors import ModelError

MESSAGES = [{"role": "user", "content": TEXT}]
TEMPLATES = {
    "{% for %}": "TemplateSyntaxError",
    "{{ nothing.at.all }}": "UndefinedError: 'nothing' is undefined",
    "{{ raise_exception('no\nsystem\x1b[31m') }}": r"TemplateError: no system\[31m",
    "{{ ''.__class__.__mro__ }}": "SecurityError",
    "{{ messages.append(1) }}": "SecurityError",
    "{{ 1 / 0 }}": "ZeroDivisionError",
    "{% include 'x' %}": "no loader",
    "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}": "recursion",
    "{{ '\\ud800' }}": "surrogates not allowed",
    "nothing": "does not repeat each message once",
}


@pytest.fixture(scope="module")
def chat(tiny_folder):
    return load_model(str(tiny_folder), torch.device("cpu"), torch.float32)[1]


def test_a_template_gives_the_text_that_transformers_gives(chat):
    expected = chat.tokenizer.apply_chat_template(
        MESSAGES, tokenize=False, add_generation_prompt=True
    )
    assert chat._template(MESSAGES) == expected
    assert TEXT in expected


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template[:20])
def test_a_template_that_fails_is_told_in_one_line(chat, monkeypatch, template):
    monkeypatch.setattr(chat.tokenizer, "chat_template", template)
    words = rf"^this model's chat template cannot be used: .*{TEMPLATES[template]}"
    with pytest.raises(ModelError, match=words) as error:
        chat.check()
    assert str(error.value).isprintable()


def test_a_model_with_an_unusable_template_is_refused_when_it_is_loaded(tmp_path):
    folder = tiny_engines.write(tmp_path / "model")
    (folder / "chat_template.jinja").write_text("{{ 1 / 0 }}")
    with pytest.raises(ModelError, match=re.escape("cannot be used: ZeroDivisionError")):
        load_model(str(folder), torch.device("cpu"), torch.float32)
