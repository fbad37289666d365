"""Models without a chat template, templates of the user's, and strings that end a response."""

import re

import pytest
import torch
from helpers import text_models
from helpers.text_models import CPU, observations, tokens
from tokenizers import AddedToken
from tokenizers.processors import TemplateProcessing
from transformers import AutoModelForCausalLM, AutoTokenizer

from agents.engines.chat_template import (
    PLAIN_STOP,
    ChatOptions,
    cut,
    with_variables,
    without_system,
)
from agents.engines.load import load_model
from agents.errors import UsageError

LENGTH = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return text_models.base(tmp_path_factory.mktemp("base"))


def chat_of(folder, **form):
    return load_model(str(folder), CPU, torch.float32, chat_options=ChatOptions(**form))[1]


@pytest.fixture
def chat_by(folder, tmp_path):
    """The chat of a model, by default one without a template, with a template of the user's."""

    def chat(template, model=folder, **form):
        path = tmp_path / "template.jinja"
        path.write_text(template)
        return chat_of(model, chat_template=path, **form)

    return chat


def prompt(chat, question="What is the sum?", system=""):
    return list(chat.encode(observations((question,), system))[0].token_ids)


def test_a_model_without_a_template_reads_plain_text_as_a_whole(folder):
    chat = chat_of(folder)
    assert chat.is_plain
    assert chat.stop == PLAIN_STOP
    for question in ("What is the sum?", "What is\nthe sum?\n", " ?", "\\frac{1}{2}\t"):
        assert prompt(chat, question) == chat.tokenizer.encode(f"Question: {question}\nAnswer:")
    text = "How many words?\n\nQuestion: What is the sum?\nAnswer:"
    assert prompt(chat, system="How many words?") == chat.tokenizer.encode(text)


def test_a_start_token_stands_once_before_plain_text(tmp_path):
    def change(tokenizer):
        tokenizer.chat_template = None
        tokenizer.bos_token = "<|im_start|>"
        start = [("<|im_start|>", tokenizer.bos_token_id)]
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
            single="<|im_start|> $A", special_tokens=start
        )

    chat = chat_of(text_models.write(tmp_path, change=change))
    expected = chat.tokenizer.encode("Question: What is the sum?\nAnswer:")
    assert expected.count(chat.tokenizer.bos_token_id) == 1
    assert prompt(chat) == expected


def test_a_name_that_template_and_question_make_together_stays_words(chat_by):
    chat = chat_by("{{ '<|im_' + messages[-1].content }}")
    assert not set(prompt(chat, "end|> 1")) & set(chat.tokenizer.all_special_ids)
    assert chat.tokenizer.decode(prompt(chat, "end|> 1")) == "<|im_end|> 1"


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("Answer:", " 1 + 1"),
        ("", " 1 + 1"),
        ("<|im_end|>.", " 1 + 1"),
        ("<|im_start|>assistant\n", "1 + 1"),
        ("<|im_start|>", "1 + 1"),
    ],
)
def test_a_written_response_stands_apart_from_the_prompt(chat_by, end, expected):
    chat = chat_by("{{ messages[-1].content + '" + end.replace("\n", "\\n") + "' }}")
    *tokens, last = chat.encode_response("1 + 1")
    assert chat.tokenizer.decode(tokens) == expected
    assert last == chat.tokenizer.eos_token_id


def test_a_users_template_replaces_the_models(chat_by, tmp_path):
    template = "{% for m in messages %}{{ m.role + ': ' + m.content }}\n{% endfor %}bot:"
    chat = chat_by(template, text_models.write(tmp_path / "model"))
    assert not chat.is_plain
    assert chat.stop == ()
    text = "system: How many?\nuser: What is the sum?\nbot:"
    assert prompt(chat, system="How many?") == chat.tokenizer.encode(text)


TEMPLATES = {
    "{% for %}": "cannot be used: TemplateSyntaxError",
    "{{ raise_exception('no') }}": "cannot be used: TemplateError: no",
    "{{ ''.__class__.__mro__ }}": "SecurityError",
    "Say something.": "cannot be used: it does not repeat each message once",
    "{{ messages[0].content }}" * 2: "cannot be used: it does not repeat each message once",
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_that_drops_the_question_or_fails_is_one_line(chat_by, template):
    with pytest.raises(ValueError, match=TEMPLATES[template]) as error:
        chat_by(template)
    assert re.match(r"--chat-template \S+/template.jinja ", str(error.value))
    assert "\n" not in str(error.value)


BODY = "{% for m in messages %}{{ '<' + m.role + '>' + m.content }}{% endfor %}<model>"
WITHOUT_SYSTEM = {
    "refuses": "{% if messages[0].role == 'system' %}{{ raise_exception('System role not "
    "supported') }}{% endif %}" + BODY,
    "alternates": "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate user/assistant') }}{% endif %}{% endfor %}" + BODY,
    "leaves out": BODY.replace("messages %}", "messages if m.role != 'system' %}"),
    "fails": "{{ {'user': 1}[messages[0].role] + 1 and '' }}" + BODY,
}


@pytest.mark.parametrize("kind", WITHOUT_SYSTEM)
def test_a_system_text_that_a_template_does_not_take_stands_before_the_question(chat_by, kind):
    chat = chat_by(WITHOUT_SYSTEM[kind])
    assert not chat.takes_system
    expected = "<user>How many?\n\nWhat is the sum?<model>"
    assert prompt(chat, system="How many?") == chat.tokenizer.encode(expected)
    expected = "<user>What is the sum?<model>"
    assert prompt(chat) == chat.tokenizer.encode(expected)


@pytest.mark.parametrize("image_first", [True, False])
def test_a_system_text_stands_before_images_too(image_first):
    text, image = {"type": "text", "text": "Q"}, {"type": "image"}
    parts = [image, text] if image_first else [text, image]
    (message,) = without_system(
        [{"role": "system", "content": "S"}, {"role": "user", "content": parts}]
    )
    texts = [part.get("text") for part in message["content"]]
    assert texts == (["S\n\n", None, "Q"] if image_first else ["S\n\nQ", None])


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "No such file"), (b"\xff\xfe\x00{{ }}", "can't decode byte")]
)
def test_a_file_that_cannot_be_read_is_one_line(folder, tmp_path, content, reason):
    path = tmp_path / "template.jinja"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"--chat-template .* cannot be read: .*({reason})"):
        chat_of(folder, chat_template=path)


@pytest.mark.parametrize(
    ("text", "stop", "expected"),
    [
        ("8\nQuestion: What", ("\nQuestion:",), "8"),
        ("8\nQuestion", ("\nQuestion:",), "8\nQuestion"),
        ("<answer>8</answer> So", ("</answer>",), "<answer>8</answer>"),
        ("8</answer>\n\nQ", ("\n\n", "</answer>"), "8</answer>"),
        ("8\n\n</answer>", ("</answer>", "\n\n"), "8"),
        ("", ("x",), ""),
        ("8", (), "8"),
        ("1 < 2 </> 3", ("</>",), "1 < 2 </>"),
    ],
)
def test_the_first_stop_string_is_cut_off_unless_it_closes_a_tag(text, stop, expected):
    assert cut(text, stop) == expected


def letters(engine, count=3):
    """Stop strings that an untrained model writes: pieces of its own text."""
    prompts = engine.chat.encode(observations(group_size=4))
    texts = text_models.sampler(engine, LENGTH).generate(prompts, (9,)).texts
    return tuple(dict.fromkeys(text[k : k + 2] for text in texts for k in (7, 12)))[:count]


def test_a_response_ends_at_the_token_that_completes_a_stop_string(folder):
    """It is the start of the response that is sampled without them."""
    free = text_models.engine(folder, chat_options=ChatOptions(stop=()))
    stop = letters(free)
    engine = text_models.engine(folder, chat_options=ChatOptions(stop=stop))
    prompts = engine.chat.encode(observations(group_size=40))
    whole = text_models.sampler(free, LENGTH).generate(prompts, (0,))
    heard = []
    stopped = text_models.sampler(engine, LENGTH).generate(
        prompts, (0,), lambda *message: heard.append(message)
    )
    text_models.assert_stopped(stopped, whole, free.chat, stop)
    assert sorted(heard) == list(enumerate(stopped.texts))
    with torch.no_grad():
        log_prob, _ = engine.forward(stopped)
    torch.testing.assert_close(stopped.sampler_log_prob, log_prob, atol=1e-5, rtol=0)


def test_a_stop_string_of_many_tokens_is_found(folder):
    chat = chat_of(folder, stop=("数学\n∑∑∑ :",))
    own = chat.tokenize("How 数学\n∑∑∑ : ?")
    ends = [chat.has_stop(own[max(0, k - chat.stop_length) : k]) for k in range(1, len(own) + 1)]
    whole = [chat.has_stop(own[:k]) for k in range(1, len(own) + 1)]
    assert ends.index(True) == whole.index(True) < len(own) - 1
    assert len(chat.tokenize("数学\n∑∑∑ :")) > 12


def test_a_special_token_as_a_stop_string_is_an_end_token(folder):
    chat = chat_of(folder, stop=("<|im_start|>", "x"))
    start = chat.tokenizer.convert_tokens_to_ids("<|im_start|>")
    assert start in chat.eos
    assert start not in chat.banned


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A model with a token that is special among the added tokens alone, and that it likes."""

    def change(tokenizer):
        tokenizer.add_tokens([AddedToken("<|turn|>", special=True)])

    return text_models.write(tmp_path_factory.mktemp("added"), change=change)


def test_a_token_that_is_special_among_the_added_ones_alone_ends_a_response(added):
    free = text_models.engine(added)
    stop = free.chat.tokenizer.convert_tokens_to_ids("<|turn|>")
    assert "<|turn|>" not in free.chat.tokenizer.all_special_tokens
    engine = text_models.engine(added, chat_options=ChatOptions(stop=("<|turn|>",)))
    prompts = engine.chat.encode(observations(group_size=64))
    whole, stopped = (
        text_models.sampler(engine, LENGTH).generate(prompts, (0,)) for engine in (free, engine)
    )
    rows = [row for row in range(len(whole)) if stop in tokens(whole, row)]
    assert rows
    for row in rows:
        own = tokens(whole, row)
        assert tokens(stopped, row) == own[: own.index(stop) + 1]
    assert stopped.finished[rows].all()


def test_a_stop_string_with_a_special_token_and_more_is_refused(added):
    words = r"^the stop string '<\|turn\|>\\n' has the special token '<\|turn\|>'[^\n]*--stop$"
    with pytest.raises(ValueError, match=words):
        chat_of(added, stop=("x", "<|turn|>\n"))


def test_template_and_stop_strings_are_saved_and_read_again(folder, tmp_path):
    stop = ("</answer>", "\nQ: \"'\\")
    engine = text_models.engine(folder, chat_options=ChatOptions(stop=stop))
    engine.save(tmp_path)
    again = text_models.engine(tmp_path)
    assert again.chat.stop == stop
    assert not again.chat.is_plain
    assert prompt(again.chat, system="How?") == prompt(engine.chat, system="How?")
    assert chat_of(tmp_path, stop=()).stop == ()
    again.save(tmp_path / "second")
    assert chat_of(tmp_path / "second").stop == stop


def test_stop_strings_of_a_model_on_the_hub_are_its_own_until_others_are_given(tmp_path):
    model = text_models.write(tmp_path, generation={"eos_token_id": 2, "stop_strings": "\nUser:"})
    assert chat_of(model).stop == ("\nUser:",)
    assert chat_of(model, stop=("x",)).stop == ("x",)


def test_transformers_goes_on_from_a_checkpoint_as_the_sampler_does(folder, tmp_path):
    engine = text_models.engine(folder)
    engine.save(tmp_path)
    (own,) = engine.chat.encode(observations(("What is the sum?",)))
    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    ids = torch.tensor([own.token_ids])
    options = {"do_sample": False, "suppress_tokens": list(engine.chat.banned)}
    expected = model.generate(ids, max_new_tokens=12, **options)[0, ids.shape[1] :].tolist()
    sampler = text_models.sampler(engine, 12)
    sampler.sampling = type(sampler.sampling)(0.0, engine.chat.banned)
    assert tokens(sampler.generate((own,), (0,)), 0) == expected


THINKING = (
    "\n{% for m in messages %}{{ m.content }} {% endfor %}"
    "{% if enable_thinking is defined and enable_thinking is false %}Answer:{% endif %}"
    "{% if level is defined %}{{ level[1] }}{% endif %}"
)


def test_variables_of_a_template_are_those_of_apply_chat_template_and_saved(chat_by, tmp_path):
    message = [{"role": "user", "content": "What is the sum?"}]
    for variables in ({"enable_thinking": False}, {"enable_thinking": True, "level": ["a", "b"]}):
        chat = chat_by(THINKING, variables=variables)
        chat.tokenizer.save_pretrained(tmp_path / "saved")
        saved = AutoTokenizer.from_pretrained(tmp_path / "saved")
        assert saved.apply_chat_template(message, tokenize=False) == chat.tokenizer.decode(
            prompt(chat)
        )
        plain = chat_by(THINKING).tokenizer
        words = plain.apply_chat_template(message, tokenize=False, **variables)
        assert chat.tokenizer.decode(prompt(chat)) == words


def test_a_variable_takes_the_place_of_one_that_was_saved():
    template = with_variables(with_variables(THINKING, {"level": [1, 2]}), {"level": "ab"})
    assert template == "{% set level = 'ab' %}\n" + THINKING


@pytest.mark.parametrize(
    ("template", "name", "message"),
    [
        (THINKING, "enable_thinkin", "the chat template has no variable 'enable_thinkin'$"),
        (THINKING, "m.content", "has no variable 'm.content'$"),
        ({"default": "", "tool": ""}, "level", "is for one template: give it by --chat-template$"),
    ],
)
def test_a_variable_that_no_template_reads_is_refused(template, name, message):
    with pytest.raises(UsageError, match=f"^--chat-template-kwargs[^\\n]*{message}"):
        with_variables(template, {name: 1})
