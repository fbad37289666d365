"""A generated Qwen2.5-VL of 0.7 or 28 million parameters with its tokenizer, without a download.

Its classes are those of the 7B model. Untrained it outputs noise; its warm start has it read and
write.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    GenerationConfig,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.utils import logging

from reasonenv.prompts import PROMPTS

SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
TAGS = ("<think>", "</think>", "<answer>", "</answer>", "\\boxed{")
MERGES = 400
TILE = 28
"""Pixels of one visual token: 2 x 2 patches of 14."""

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokenizer(corpus: list[str]) -> PreTrainedTokenizerFast:
    """Byte-level BPE tokenizer, lossless on Unicode text, with one token per digit.

    Args:
        corpus: Training texts; the same texts give the same tokenizer.
    """
    bpe = Tokenizer(models.BPE())
    digits = pre_tokenizers.Digits(individual_digits=True)
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [digits, pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    bpe.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    size = len(SPECIAL) + len(alphabet) + MERGES
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(SPECIAL),
        initial_alphabet=alphabet,
        show_progress=False,
    )
    bpe.train_from_iterator(corpus, trainer)
    bpe.add_tokens([AddedToken(tag, normalized=False, special=False) for tag in TAGS])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=list(SPECIAL[1:]),
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def tokenizer_corpus(envs: Any, count: int = 2000) -> list[str]:
    """Training texts of the tokenizer: instructions, questions, solutions."""
    prompts = [f"{p.system} {p.template}" for p in PROMPTS.values()]
    problems = (envs.problems[index] for index in range(min(count, len(envs.problems))))
    return ["system user assistant", *prompts] * 20 + [
        f"{p.question} {p.solution}" for p in problems
    ]


def image_processor(max_tokens: int = 64) -> Qwen2VLImageProcessorPil:
    """Qwen's own image processor; images of 1 to `max_tokens` visual tokens keep their size."""
    area = TILE * TILE
    return Qwen2VLImageProcessorPil(size={"shortest_edge": area, "longest_edge": max_tokens * area})


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """Sizes of a generated model."""

    hidden_size: int = 128
    num_layers: int = 2
    num_heads: int = 4
    num_key_value_heads: int = 2
    vision_hidden_size: int = 64
    vision_depth: int = 2
    initializer_range: float = 0.06
    """Above the default of 0.02: a tiny model then reads glyphs in a third of the steps."""
    rope_theta: float = 10.0
    """Base of the rotary frequencies. At the usual 10,000 the sections of height and width have
    such low frequencies that the model cannot tell neighbouring columns of an image apart."""
    mrope_section: tuple[int, int, int] = (4, 6, 6)
    """Rotary frequencies for time, height and width; half of a head's size in all."""


TINY = Architecture()
"""0.7 million parameters, tuned for speed on two cores."""
SMALL = Architecture(
    hidden_size=512,
    num_layers=8,
    num_heads=8,
    num_key_value_heads=4,
    vision_hidden_size=256,
    vision_depth=4,
    initializer_range=0.03,
    mrope_section=(8, 12, 12),
)
"""28 million parameters, for a GPU."""
GENERATED = {"tiny": TINY, "small": SMALL}
"""Architecture of each generated model, by the name that stands for it on a command line."""


def config(tokens: PreTrainedTokenizerFast, size: Architecture = TINY) -> Qwen2_5_VLConfig:
    """Configuration of a generated model."""
    ids: dict[str, Any] = {token: tokens.convert_tokens_to_ids(token) for token in SPECIAL}
    end, pad = ids["<|im_end|>"], ids["<|endoftext|>"]
    text = {
        "hidden_size": size.hidden_size,
        "intermediate_size": 3 * size.hidden_size,
        "num_hidden_layers": size.num_layers,
        "num_attention_heads": size.num_heads,
        "num_key_value_heads": size.num_key_value_heads,
        "vocab_size": len(tokens),
        "max_position_embeddings": 32768,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": size.rope_theta,
            "mrope_section": list(size.mrope_section),
        },
        "tie_word_embeddings": True,
        "initializer_range": size.initializer_range,
        "bos_token_id": None,
        "eos_token_id": end,
        "pad_token_id": pad,
    }
    vision = {
        "depth": size.vision_depth,
        "hidden_size": size.vision_hidden_size,
        "intermediate_size": 2 * size.vision_hidden_size,
        "num_heads": 4,
        "out_hidden_size": size.hidden_size,
        "patch_size": 14,
        "spatial_merge_size": 2,
        "fullatt_block_indexes": list(range(size.vision_depth)),
        "window_size": 10 * TILE,
        "initializer_range": size.initializer_range,
    }
    combined = Qwen2_5_VLConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
        tie_word_embeddings=True,
    )
    combined.initializer_range = size.initializer_range
    return combined


def save_untrained(folder: Path, corpus: list[str], seed: int, size: Architecture = TINY) -> None:
    """Writes an untrained model, its tokenizer and its image processor in Hugging Face format.

    Args:
        folder: Created if missing.
        corpus: Training texts of the tokenizer.
        seed: Of the random weights.
        size: Of the model.
    """
    logging.disable_progress_bar()
    tokens = tokenizer(corpus)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen2_5_VLForConditionalGeneration(config(tokens, size))
    end, pad = tokens.eos_token_id, tokens.pad_token_id
    model.generation_config = GenerationConfig(eos_token_id=end, pad_token_id=pad)
    model.save_pretrained(folder)
    tokens.save_pretrained(folder)
    image_processor().save_pretrained(folder)
