import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForImageTextToText, Qwen2_5_VLForConditionalGeneration

import reasonenv
from benchmarks.tiny import model as tiny_model

WORDS = ["What is the sum of the numbers? 12 + 34 = 46, so <answer>\\boxed{46}</answer>."]


@pytest.fixture(scope="module")
def tokenizer():
    """As it is for Figures: whole words, all merges."""
    envs = reasonenv.make("Figures-v2", num_envs=1)
    texts = tiny_model.tokenizer_corpus(envs, count=50)
    envs.close()
    return tiny_model.tokenizer(texts)


@given(st.text())
@settings(max_examples=300, deadline=None)
def test_any_text_comes_back_unchanged(tokenizer, text):
    tokens = tokenizer.encode(text, add_special_tokens=False)
    assert tokenizer.decode(tokens, clean_up_tokenization_spaces=False) == text


@pytest.mark.parametrize(
    "text",
    [
        "  two  spaces \n\n",
        " 's n't . , ?",
        "角度 ∠ABC = 30°",
        "\x00\ufffd\U0001f600",
        "\\boxed{½}",
    ],
)
def test_unusual_text_comes_back_unchanged(tokenizer, text):
    tokens = tokenizer.encode(text, add_special_tokens=False)
    assert tokenizer.decode(tokens, skip_special_tokens=True) == text


def test_every_digit_is_one_token(tokenizer):
    tokens = tokenizer.encode("0123456789", add_special_tokens=False)
    assert [tokenizer.decode([token]) for token in tokens] == list("0123456789")
    number = tokenizer.encode("= 77", add_special_tokens=False)
    assert number[-1] == number[-2] == tokens[7]


@pytest.mark.parametrize("tag", tiny_model.TAGS)
def test_the_marks_of_an_answer_are_one_token_each(tokenizer, tag):
    (token,) = tokenizer.encode(tag, add_special_tokens=False)
    assert tokenizer.decode([token], skip_special_tokens=True) == tag


def test_frequent_words_are_one_token(tokenizer):
    texts = [" the", " answer"]
    assert [len(tokenizer.encode(text, add_special_tokens=False)) for text in texts] == [1, 1]


def test_the_same_texts_give_the_same_tokenizer():
    first, second = tiny_model.tokenizer(WORDS), tiny_model.tokenizer(WORDS)
    assert first.backend_tokenizer.to_str() == second.backend_tokenizer.to_str()


def test_the_model_is_a_small_one_of_the_class_of_the_large_one(tokenizer):
    model = Qwen2_5_VLForConditionalGeneration(tiny_model.config(tokenizer))
    assert sum(parameter.numel() for parameter in model.parameters()) < 1_000_000
    assert model.config.get_text_config().vocab_size == len(tokenizer)


def test_the_same_seed_gives_the_same_model(tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        tiny_model.save_untrained(tmp_path / name, WORDS, seed)
    a, b, c = (
        AutoModelForImageTextToText.from_pretrained(tmp_path / name).state_dict() for name in "abc"
    )
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert not all(torch.equal(a[name], c[name]) for name in a)


def test_making_a_model_leaves_the_random_numbers_of_others_alone(tmp_path):
    state = torch.get_rng_state()
    tiny_model.save_untrained(tmp_path, WORDS, seed=0)
    assert torch.equal(torch.get_rng_state(), state)
