"""Observations as prompts of a model: chat template, token ids, image patches."""

import json
import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agents.engines.chat_template import render, unusable_template
from agents.engines.pretrained import one_line
from agents.errors import ModelError
from agents.rollout import Prompt

TEXT = "\ue000"
"""Placeholder of a text in the rendered chat template, from Unicode's private use area."""
_IMAGE_MARK = re.compile(r"<image ([0-9]+)>")
"""Position of an image in an observation's question, counted from 1."""


class Chat:
    """Tokenizer, image processor and chat template of one model."""

    def __init__(
        self, tokenizer: Any, image_processor: Any | None, config: Any, generation: Any = None
    ) -> None:
        """Checks that the parts fit each other; `check` tries them.

        Args:
            tokenizer: Of transformers.
            image_processor: Of transformers; None for a text-only model.
            config: The model's configuration.
            generation: Its generation configuration, which may have further end tokens.

        Raises:
            ModelError: They do not fit.
        """
        self.tokenizer = tokenizer
        self.vocabulary: int = config.get_text_config().vocab_size
        self.image_processor: Any = image_processor
        image_token = getattr(config, "image_token_id", None) or 0
        _check_token("image", image_token, len(tokenizer))
        self.image_token = tokenizer.convert_ids_to_tokens(image_token)
        self.eos = _end_tokens(tokenizer, generation, self.vocabulary)
        self.banned = _banned_tokens(tokenizer, config)
        self._rendered: dict[str, str] = {}

    def check(self) -> tuple[int, ...]:
        """Token ids of a first prompt, so that an unusable chat template is found at once.

        Raises:
            ModelError: One of them cannot be used.
        """
        if not self.tokenize("1"):
            raise ModelError("this model's tokenizer reads no text: its tokenizer.json is missing")
        return self._tokens("", ["1"], [])

    def encode(self, observations: Mapping[str, Sequence]) -> tuple[Prompt, ...]:
        """One prompt per row of a vector observation; equal neighbours share one object.

        Raises:
            ModelError: An observation has images and the model is text-only.
        """
        prompts: list[Prompt] = []
        last: tuple[Any, ...] = ()
        for row in zip(
            observations["system"], observations["question"], observations["images"], strict=True
        ):
            if not (prompts and row[:2] == last[:2] and row[2] is last[2]):
                prompts.append(self._prompt(*row))
            else:
                prompts.append(prompts[-1])
            last = row
        return tuple(prompts)

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of response tokens, special tokens left out."""
        # transformers looks at each element of a list.
        return self.tokenizer.decode(
            np.asarray(tokens, int), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )

    def collapsed(self, prompt: Prompt) -> list[int]:
        """Token ids of a prompt with a single placeholder per image."""
        tokens, index = [], 0
        sizes = [] if prompt.image_grid_thw is None else self._image_sizes(prompt.image_grid_thw)
        image = self.tokenizer.convert_tokens_to_ids(self.image_token)
        while index < len(prompt.token_ids):
            token = prompt.token_ids[index]
            tokens.append(token)
            index += sizes.pop(0) if sizes and token == image else 1
        return tokens

    def tokenize(self, text: str) -> list[int]:
        """Token ids of plain text, in which the name of a special token is ordinary text."""
        return self.tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)

    def _prompt(self, system: str, question: str, images: Sequence[np.ndarray]) -> Prompt:
        if not images:
            return Prompt(self._tokens(system, [question], []))
        if self.image_processor is None:
            raise ModelError(
                "this problem has images and the model is text-only: choose a vision-language model"
            )
        texts, order = split_at_images(question, len(images))
        ordered = tuple(images[k] for k in order)
        pixels, grid = self.patches(ordered)
        tokens = self._tokens(system, texts, self._image_sizes(grid))
        return Prompt(tokens, pixels, grid, ordered)

    def patches(self, images: Sequence[np.ndarray]) -> tuple[Any, Any]:
        """Patches of images `[patches values]`, and the grid of each `[images 3]`.

        Raises:
            ModelError: The image processor cannot be used.
        """
        try:
            output = self.image_processor(images=list(images), return_tensors="pt")
            pixels, grid = output["pixel_values"], output["image_grid_thw"]
        except MemoryError:
            raise
        except Exception as error:  # its settings come from the model's folder
            reason = one_line(error)
            raise ModelError(f"this model's image processor cannot be used: {reason}") from error
        if not pixels.isfinite().all():
            raise ModelError("this model's image processor makes pixels that are not finite")
        return pixels, grid

    def _image_sizes(self, grid: Any) -> list[int]:
        """Number of tokens of each image, from the grid of its patches `[images 3]`."""
        return (grid.prod(-1) // self.image_processor.merge_size**2).tolist()

    def _tokens(self, system: str, texts: Sequence[str], sizes: list[int]) -> tuple[int, ...]:
        """Token ids of a prompt; special tokens come from the chat template alone.

        Args:
            system: System message, "" for none.
            texts: Parts of the question before, between and after the images.
            sizes: Number of tokens of each image.
        """
        messages = [text for text in (system, *texts[:-1]) if text] + [texts[-1]]
        pieces = self._render(bool(system), texts, sizes).split(TEXT)
        if len(pieces) != len(messages) + 1:
            raise unusable_template("it does not repeat each message once")
        tokens = self.tokenizer.encode(pieces[0], add_special_tokens=False)
        for text, piece in zip(messages, pieces[1:], strict=True):
            tokens += self.tokenize(text) + self.tokenizer.encode(piece, add_special_tokens=False)
        if tokens and max(tokens) >= self.vocabulary:
            raise ModelError(
                f"this model's tokenizer gives token {max(tokens)}, and its vocabulary has only "
                f"{self.vocabulary}: they are of different models"
            )
        return tuple(tokens)

    def _render(self, has_system: bool, texts: Sequence[str], sizes: list[int]) -> str:
        """The rendered chat template, with `TEXT` for each text and all image tokens."""
        content: Any = TEXT
        if sizes:
            content = []
            for text in texts[:-1]:
                content += [{"type": "text", "text": TEXT}] if text else []
                content.append({"type": "image"})
            content.append({"type": "text", "text": TEXT})
        messages = [{"role": "system", "content": TEXT}] if has_system else []
        messages.append({"role": "user", "content": content})
        text = self._template(messages)
        if not sizes:
            return text
        pieces = text.split(self.image_token)
        if len(pieces) != len(sizes) + 1:
            raise unusable_template(
                f"it has {len(pieces) - 1} placeholders for {len(sizes)} images"
            )
        placeholders = [self.image_token * size for size in sizes] + [""]
        return "".join(map(operator.add, pieces, placeholders))

    def _template(self, messages: list[dict[str, Any]]) -> str:
        """Messages of placeholders in the chat template, rendered once for each of their forms."""
        form = json.dumps(messages)
        if form not in self._rendered:
            self._rendered[form] = render(self.tokenizer, messages)
        return self._rendered[form]


def split_at_images(question: str, num_images: int) -> tuple[list[str], list[int]]:
    """Splits a question at its image marks, "<image 1>" for the first image.

    An image stands at its first mark; images without a mark come before the text, and a mark
    without an image is text.

    Returns:
        num_images + 1 texts, and the indices (from 0) of the images between them.
    """
    texts, order, end = [], [], 0
    for mark in _IMAGE_MARK.finditer(question):
        image = int(mark[1]) - 1
        if 0 <= image < num_images and image not in order:
            texts.append(question[end : mark.start()])
            order.append(image)
            end = mark.end()
    unmarked = [image for image in range(num_images) if image not in order]
    return [""] * len(unmarked) + [*texts, question[end:]], unmarked + order


def _end_tokens(tokenizer: Any, generation: Any, vocabulary: int) -> tuple[int, ...]:
    """Token ids that end a response, from the tokenizer and the generation configuration."""
    if tokenizer.eos_token_id is None:
        raise ModelError(
            "this model's tokenizer has no end token: name one as eos_token in its "
            "tokenizer_config.json"
        )
    eos = getattr(generation, "eos_token_id", None)
    tokens = {tokenizer.eos_token_id, *([eos] if isinstance(eos, int) else eos or ())}
    for token in tokens:
        _check_token("end", token, vocabulary)
    return tuple(sorted(tokens))


def _check_token(kind: str, token: Any, count: int) -> None:
    """Rejects the id of a token that is not one of the first `count`."""
    if not isinstance(token, int) or not 0 <= token < count:
        raise ModelError(f"this model's {kind} token is {token!r}: it takes 0 to {count - 1}")


def _banned_tokens(tokenizer: Any, config: Any) -> tuple[int, ...]:
    """Token ids that are never sampled: vision placeholders, padding, unused vocabulary rows.

    A sampled placeholder would make the next forward pass look for an image that does not exist.
    """
    names = (
        "image_token_id",
        "video_token_id",
        "vision_start_token_id",
        "vision_end_token_id",
        "vision_token_id",
    )
    vocabulary = config.get_text_config().vocab_size
    tokens: tuple[Any, ...] = tuple(getattr(config, name, None) for name in names)
    banned = {token for token in tokens if token in range(vocabulary)}
    banned |= set(range(len(tokenizer), vocabulary))
    if tokenizer.pad_token_id is not None:
        banned.add(tokenizer.pad_token_id)
    return tuple(sorted(banned - {tokenizer.eos_token_id}))
