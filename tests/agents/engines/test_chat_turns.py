"""The bridge from a response to the next, against the chat template's own whole conversation."""

from dataclasses import replace

import pytest
import torch
from helpers.episodes import REPLIES, picture
from transformers import AutoTokenizer

from agents.engines.chat import Chat
from agents.engines.chat_template import ChatOptions
from agents.engines.load import load_model
from agents.errors import ModelError

PARTS = (
    "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
    "{% if p.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ p.text }}{% endif %}{% endfor %}{% endif %}"
)


def template(before, role, after, start, **others):
    """Each message between its marks, and the start of a response at the end."""
    content, name = others.get("content", PARTS), others.get("name", "m.role")
    message = f"{before}{{{{ {name} }}}}{role}{content}{after}"
    return (
        f"{others.get('first', '')}{{% for m in messages %}}{message}"
        f"{{% endfor %}}{{% if add_generation_prompt %}}{start}{{% endif %}}"
    )


FAMILIES = {
    "Qwen": template("<|im_start|>", "\n", "<|im_end|>\n", "<|im_start|>assistant\n"),
    "Llama": template(
        *("<|head|>", "<|/head|>\n\n", "<|im_end|>", "<|head|>assistant<|/head|>\n\n"),
        first="<|begin|>",
    ),
    "Gemma": template(
        *("<|turn|>", "\n", "<|im_end|>\n", "<|turn|>model\n"),
        first="<|begin|>",
        name="'model' if m.role == 'assistant' else m.role",
    ),
    "Mistral": "<|begin|>{% for m in messages %}{% if m.role == 'user' %}<|head|>"
    + PARTS
    + "<|/head|>{% else %}{{ m.content }}<|im_end|>{% endif %}{% endfor %}",
}
REFUSED = {
    "changes earlier ones, such as by dropping thoughts": template(
        *("<|im_start|>", "\n", "<|im_end|>\n", "<|im_start|>assistant\n"),
        content="{% set c = m.content %}{% if c is string %}{% if loop.last %}{{ c }}"
        "{% else %}{{ c.split('</think>')[-1] }}{% endif %}{% else %}{{ c[1].text }}{% endif %}",
    ),
    "earlier ones": FAMILIES["Qwen"] + "{% if add_generation_prompt %}<think></think>{% endif %}",
    "it changes": template(
        *("<|im_start|>", "\n", "<|im_end|>\n", "<|im_start|>assistant\n"),
        content="{{ loop.index }}" + PARTS,
    ),
    "no end token behind a response": template(
        *("<|im_start|>", "\n", "\n", "<|im_start|>assistant\n")
    ),
}
TEXTS = ("What is <think> the sum</think>?", "How many?\n", " 7", "numbers")
"""Of questions and responses: the tokenizer's text of their tokens is the text."""


@pytest.fixture(scope="module")
def chat_of(tiny_folder, tmp_path_factory):
    model, chat = load_model(str(tiny_folder), torch.device("cpu"), torch.float32)

    def make(text, *, sees=True, **options):
        path = tmp_path_factory.mktemp("chat") / "template.jinja"
        path.write_text(text)
        tokenizer = AutoTokenizer.from_pretrained(tiny_folder)
        names = ["<|head|>", "<|/head|>", "<|begin|>", "<|turn|>"]
        tokenizer.add_special_tokens({"extra_special_tokens": names}, False)
        config = replace_vocabulary(model.config, len(tokenizer))
        parts = tokenizer, chat.image_processor if sees else None, config
        return Chat(*parts, options=ChatOptions(path, **options))

    return make


def replace_vocabulary(config, size):
    config = type(config).from_dict(config.to_dict())
    config.get_text_config().vocab_size = size
    return config


@pytest.mark.parametrize("num_images", [0, 2])
@pytest.mark.parametrize("turns", [1, 2, 4])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_row_is_the_template_s_rendering_of_the_whole_conversation(
    chat_of, family, turns, num_images
):
    chat = chat_of(FAMILIES[family])
    chat.check_turns()
    images = tuple(picture(seed) for seed in range(num_images))
    (prompt,) = chat.encode({"system": ("",), "question": (TEXTS[0],), "images": (images,)})
    messages = [user(TEXTS[0], num_images)]
    for turn in range(turns):
        response = [*chat.tokenize(TEXTS[turn]), chat.eos[0]]
        messages.append({"role": "assistant", "content": TEXTS[turn]})
        if turn < turns - 1:
            reply = chat.reply(response, TEXTS[turn - 1], images[:turn])
            prompt = prompt.followed_by(response, reply)
            messages.append(user(TEXTS[turn - 1], len(images[:turn])))
        else:
            prompt = prompt.followed_by(response, chat.reply(response, "end"))
            messages.append(user("end", 0))
    text = chat.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    expected = chat.tokenizer.encode(text, add_special_tokens=False)
    assert chat.collapsed(prompt) == expected
    placeholder = chat.tokenizer.convert_tokens_to_ids(chat.image_token)
    sizes = 0 if prompt.image_grid_thw is None else int(prompt.image_grid_thw.prod(-1).sum()) // 4
    assert prompt.token_ids.count(placeholder) == sizes


def user(text, num_images):
    if not num_images:
        return {"role": "user", "content": text}
    content = [{"type": "image"}] * num_images + [{"type": "text", "text": text}]
    return {"role": "user", "content": content}


@pytest.mark.parametrize("message", REFUSED)
def test_a_template_that_does_not_keep_what_was_sampled_is_refused_by_name(chat_of, message):
    chat = chat_of(REFUSED[message], sees="loop" not in REFUSED[message])
    with pytest.raises(ModelError, match=message) as error:
        chat.check_turns()
    assert "--chat-template" in str(error.value)
    assert "\n" not in str(error.value)


def test_stop_strings_end_no_turn(chat_of):
    with pytest.raises(ModelError, match="stop string, 'calc', does not end a turn"):
        chat_of(FAMILIES["Qwen"], stop=("calc",)).check_turns()


@pytest.mark.parametrize("words", [*REPLIES, "\x00", "\u202e7", "\ue000\ue001", "7" * 100_000])
@pytest.mark.parametrize("num_images", [0, 1])
def test_words_of_a_reply_make_no_special_token(chat_of, words, num_images):
    chat = chat_of(FAMILIES["Qwen"])
    images = tuple(picture(seed) for seed in range(num_images))
    harmless, reply = (chat.reply([5], text, images) for text in ("7", words))
    special = set(chat.tokenizer.all_special_ids)
    count = [token for token in reply.token_ids if token in special]
    assert count == [token for token in harmless.token_ids if token in special]
    assert reply.token_ids[0] in chat.eos


def test_the_end_token_comes_once_and_tokens_that_no_text_gives_stay(chat_of):
    chat = chat_of(FAMILIES["Qwen"])
    letters = [chat.tokenizer.convert_tokens_to_ids(letter) for letter in "sum"]
    assert letters != chat.tokenize("sum")
    (prompt,) = chat.encode({"system": ("",), "question": ("?",), "images": ((),)})
    cut, whole = chat.reply(letters, "7"), chat.reply([*letters, chat.eos[0]], "7")
    assert cut.token_ids == (chat.eos[0], *whole.token_ids)
    tokens = prompt.followed_by([*letters, chat.eos[0]], whole).token_ids
    assert list(tokens[len(prompt.token_ids) :][:4]) == [*letters, chat.eos[0]]
    assert tokens == prompt.followed_by(letters, cut).token_ids
    assert replace(cut, token_ids=()).images == ()
