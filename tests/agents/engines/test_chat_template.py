"""Chat templates that fail or do not end: one line, in bounded time and memory."""

import os
import re
import shutil
import signal
import time
from types import SimpleNamespace

import pytest
import torch
from transformers import AutoTokenizer

from agents.engines import chat_template
from agents.engines.chat import TEXT
from agents.engines.chat_template import render
from agents.engines.load import load_model

MESSAGES = [{"role": "user", "content": TEXT}]
TEN = "{% for i in range(99999) %}"
TEMPLATES = {
    "{% for %}": "TemplateSyntaxError",
    "{{ nothing.at.all }}": "UndefinedError: 'nothing' is undefined",
    "{{ raise_exception('no\nsystem\x1b[31m') }}": r"TemplateError: no system\[31m",
    "{{ ''.__class__.__mro__ }}": "SecurityError",
    "{{ messages.append(1) }}": "SecurityError",
    "{{ 1 + 'a' }}": "TypeError",
    "{{ 1 / 0 }}": "ZeroDivisionError",
    "{{ 1|nothing }}": "TemplateAssertionError",
    "{% include 'x' %}": "no loader",
    "{% break %}": "SyntaxError",
    "{{ messages[9].content }}": "UndefinedError",
    "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}": "recursion",
    "{{ " + "(" * 9999 + "1" + ")" * 9999 + " }}": "recursion",
    "{{ 'a' * 10**10 }}": "it takes more than 1 GiB",
    "{{ 'a'|center(10**10) }}": "it takes more than 1 GiB",
    "{{ 'ab ' * 10**6 }}": "it writes 3000000 characters",
    "{{ '\\ud800' }}": "surrogates not allowed",
}


@pytest.fixture(scope="module")
def tokenizer(tiny_folder):
    return AutoTokenizer.from_pretrained(tiny_folder)


@pytest.fixture
def of(tokenizer):
    """The tokenizer with another chat template."""
    own = tokenizer.chat_template

    def change(template: str):
        tokenizer.chat_template = template
        return tokenizer

    yield change
    tokenizer.chat_template = own


def failure(tokenizer) -> str:
    with pytest.raises(ValueError, match=r"^this model's chat template cannot be used: ") as error:
        render(tokenizer, MESSAGES)
    assert "\n" not in str(error.value)
    assert str(error.value).isprintable()
    return str(error.value)


def test_a_template_gives_the_text_that_transformers_gives(tokenizer):
    expected = tokenizer.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=True)
    assert render(tokenizer, MESSAGES) == expected
    assert TEXT in expected


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template[:20])
def test_a_template_that_fails_is_told_in_one_line(of, template):
    tokenizer = of(template)
    message = failure(tokenizer)
    assert re.search(TEMPLATES[template], message)


@pytest.mark.parametrize("nested", [TEN * 3 + "{% endfor %}" * 3, "{{ (1, 2)|list * 10**12 }}"])
def test_a_template_that_does_not_end_is_ended(of, monkeypatch, nested):
    monkeypatch.setattr(chat_template, "CPU_SECONDS", 0.3)
    assert "it takes more than" in failure(of(nested))


def test_a_template_that_sleeps_or_crashes_is_ended(monkeypatch):
    monkeypatch.setattr(chat_template, "SECONDS", 0.3)
    for act, words in (
        (lambda *_, **__: time.sleep(60), "it takes more than"),
        (lambda *_, **__: os.kill(os.getpid(), signal.SIGSEGV), "it ends with SIGSEGV"),
    ):
        assert words in failure(SimpleNamespace(apply_chat_template=act))


def test_no_process_remains_and_an_interrupt_ends_the_child(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    act = SimpleNamespace(apply_chat_template=lambda *_, **__: time.sleep(60))
    monkeypatch.setattr(chat_template, "open", interrupt, raising=False)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        render(act, MESSAGES)
    assert time.monotonic() - start < 30
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_model_with_an_unusable_template_is_refused_when_it_is_loaded(tiny_folder, tmp_path, of):
    folder = shutil.copytree(tiny_folder, tmp_path / "model")
    of("{{ 1 / 0 }}").save_pretrained(folder)
    with pytest.raises(ValueError, match="chat template cannot be used: ZeroDivisionError"):
        load_model(str(folder), torch.device("cpu"), torch.float32)


@pytest.fixture
def forms(monkeypatch):
    """Messages of each rendering, by a template that writes their contents."""
    calls = []
    monkeypatch.setattr("agents.engines.chat._RENDERED", {})
    monkeypatch.setattr(
        "agents.engines.chat.render",
        lambda _, form, __: calls.append(form) or "".join(m["content"] for m in form),
    )
    return calls


ROWS = {"system": ("S",) * 9, "question": tuple(map(str, range(9))), "images": ((),) * 9}


def roles(forms) -> list[list[str]]:
    return [[message["role"] for message in form] for form in forms]


def test_a_template_is_rendered_once_for_each_form_of_a_prompt(tiny_folder, forms):
    _, chat = load_model(str(tiny_folder), torch.device("cpu"), torch.float32)
    forms.clear()
    assert len(set(chat.encode(ROWS))) == 9
    assert roles(forms) == [["system", "user"]]


def test_a_template_is_rendered_again_where_it_or_a_special_token_is_another(tiny_folder, forms):
    cpu = torch.device("cpu"), torch.float32
    chats = [load_model(str(tiny_folder), *cpu)[1] for _ in range(4)]
    chats[2].tokenizer.chat_template += " "
    chats[3].tokenizer.pad_token = "<|vision_end|>"
    forms.clear()
    calls = []
    for chat in chats:
        chat.encode(ROWS)
        calls.append(len(forms))
    assert calls == [1, 1, 2, 3]
