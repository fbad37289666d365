"""Observations of an environment as prompts of a model: chat template, token ids, image patches."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agents.errors import ModelError
from agents.rollout import Prompt
from reasonenv.messages import placed

WORDS = "\ue000"
"""Stands for the words of a problem in a chat template; a character of no language."""


class Chat:
    """The words and images of a problem in the units of one model, and its tokens back in words."""

    def __init__(
        self, tokenizer: Any, image_processor: Any | None, config: Any, generation: Any = None
    ) -> None:
        self.tokenizer = tokenizer
        self.image_processor: Any = image_processor
        self.image_token = tokenizer.convert_ids_to_tokens(
            getattr(config, "image_token_id", None) or 0
        )
        self.eos = _end_tokens(tokenizer, generation)
        self.banned = _banned_tokens(tokenizer, config)

    def encode(self, observations: Mapping[str, Sequence]) -> tuple[Prompt, ...]:
        """One prompt for each row of a vector observation; equal neighbours share one object.

        Raises:
            ModelError: An observation has images and the model cannot see.
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
        return self.tokenizer.decode(
            tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )

    def collapsed(self, prompt: Prompt) -> list[int]:
        """Token ids of a prompt in which each image has one placeholder, whatever its size."""
        tokens, place = [], 0
        places = [] if prompt.image_grid_thw is None else self._places(prompt.image_grid_thw)
        image = self.tokenizer.convert_tokens_to_ids(self.image_token)
        while place < len(prompt.token_ids):
            token = prompt.token_ids[place]
            tokens.append(token)
            place += places.pop(0) if places and token == image else 1
        return tokens

    def words(self, text: str) -> list[int]:
        """Token ids of a text by itself; what reads like a special token in it is not one."""
        return self.tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)

    def _prompt(self, system: str, question: str, images: Sequence[np.ndarray]) -> Prompt:
        if not images:
            return Prompt(self._tokens(system, [question], []))
        if self.image_processor is None:
            raise ModelError(
                "this problem has images and the model cannot see; choose a vision-language model"
            )
        texts, order = placed(question, len(images))
        pictures = tuple(images[k] for k in order)
        pixels = self.image_processor(images=list(pictures), return_tensors="pt")
        grid = pixels["image_grid_thw"]
        tokens = self._tokens(system, texts, self._places(grid))
        return Prompt(tokens, pixels["pixel_values"], grid, pictures)

    def _places(self, grid: Any) -> list[int]:
        """Tokens that each image takes, from its patches `[images 3]`."""
        return (grid.prod(-1) // self.image_processor.merge_size**2).tolist()

    def _tokens(self, system: str, texts: Sequence[str], merged: list[int]) -> tuple[int, ...]:
        """Token ids of a prompt whose images take `merged` places; only the template ends turns."""
        words = [text for text in (system, *texts[:-1]) if text] + [texts[-1]]
        pieces = self._frame(bool(system), texts, merged).split(WORDS)
        if len(pieces) != len(words) + 1:
            raise ModelError("this model's chat template does not repeat each message once")
        tokens = self.tokenizer.encode(pieces[0], add_special_tokens=False)
        for text, piece in zip(words, pieces[1:], strict=True):
            tokens += self.words(text) + self.tokenizer.encode(piece, add_special_tokens=False)
        return tuple(tokens)

    def _frame(self, has_system: bool, texts: Sequence[str], merged: list[int]) -> str:
        """What the chat template writes around the words, with as many image tokens as needed."""
        content: Any = WORDS
        if merged:
            content = []
            for text in texts[:-1]:
                content += [{"type": "text", "text": WORDS}] if text else []
                content.append({"type": "image"})
            content.append({"type": "text", "text": WORDS})
        messages = [{"role": "system", "content": WORDS}] if has_system else []
        messages.append({"role": "user", "content": content})
        text = self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
        if not merged:
            return text
        pieces = text.split(self.image_token)
        if len(pieces) != len(merged) + 1:
            raise ModelError(
                f"the chat template made {len(pieces) - 1} image places for {len(merged)} images"
            )
        marks = [self.image_token * count for count in merged] + [""]
        return "".join(piece + mark for piece, mark in zip(pieces, marks, strict=True))


def _end_tokens(tokenizer: Any, generation: Any) -> tuple[int, ...]:
    """Ids that end a response: the tokenizer's, and what the generation configuration adds."""
    ends = getattr(generation, "eos_token_id", None)
    ends = [ends] if isinstance(ends, int) else list(ends or ())
    return tuple(sorted({tokenizer.eos_token_id, *ends}))


def _banned_tokens(tokenizer: Any, config: Any) -> tuple[int, ...]:
    """Ids that a response must not hold: vision placeholders, padding, rows without a token.

    A sampled placeholder would make the next forward pass look for an image that is not there.
    """
    names = (
        "image_token_id",
        "video_token_id",
        "vision_start_token_id",
        "vision_end_token_id",
        "vision_token_id",
    )
    found = (getattr(config, name, None) for name in names)
    banned = {token for token in found if token is not None}
    vocabulary = config.get_text_config().vocab_size
    banned |= set(range(len(tokenizer), vocabulary))
    if tokenizer.pad_token_id is not None:
        banned.add(tokenizer.pad_token_id)
    return tuple(sorted(banned - {tokenizer.eos_token_id}))
