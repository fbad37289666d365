"""Observations as prompts of a model: token ids, image patches."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np
from PIL import Image

from agents.engines.chat_template import (
    PLAIN_LINE,
    PLAIN_STOP,
    SYSTEM_LINE,
    ChatOptions,
    banned_tokens,
    cut,
    end_tokens,
    plain_template,
    read_template,
    saved_stop_strings,
    special_tokens,
    with_variables,
    without_system,
)
from agents.engines.pretrained import one_line
from agents.errors import ModelError
from agents.rollout import Prompt
from reasonenv.messages import split_at_images

TEXT = "\ue000"
"""Placeholder of the first text in the rendered chat template, from Unicode's private use area; the
next characters are those of the others."""
_IMAGE_MARK = re.compile(r"<image [0-9]+>")
"""Position of an image in an observation's question, counted from 1."""


class Chat:
    """Tokenizer, image processor and chat template of one model."""

    def __init__(
        self,
        tokenizer: Any,
        image_processor: Any | None,
        config: Any,
        generation: Any = None,
        options: ChatOptions | None = None,
    ) -> None:
        """Joins the parts of transformers; `check` tries them.

        The tokenizer gets the chat template of `options`, or a plain one where it has none; a
        text-only model has no image processor. The generation configuration may have further end
        tokens.

        Raises:
            ModelError: The tokenizer has no end token.
            UsageError: The user's chat template cannot be read or has no such variable, or a stop
                string would end nothing.
        """
        options = options or ChatOptions()
        self.tokenizer = tokenizer
        self.vocabulary: int = config.get_text_config().vocab_size
        self.image_processor: Any = image_processor
        self.image_token = tokenizer.convert_ids_to_tokens(
            getattr(config, "image_token_id", None) or 0
        )
        self._template_name = "this model's chat template"
        self.is_plain = options.chat_template is None and tokenizer.chat_template is None
        """True if the model has no chat template, so that prompts are plain text."""
        if options.chat_template is not None:
            tokenizer.chat_template = read_template(options.chat_template)
            self._template_name = f"--chat-template {options.chat_template}"
        elif self.is_plain:
            tokenizer.chat_template = plain_template(tokenizer)
        if options.variables:
            tokenizer.chat_template = with_variables(tokenizer.chat_template, options.variables)
        own = saved_stop_strings(generation) or (PLAIN_STOP if self.is_plain else ())
        self.stop: tuple[str, ...] = own if options.stop is None else options.stop
        """Strings that end a response."""
        special = special_tokens(tokenizer)
        self.eos = end_tokens(tokenizer, generation, special, self.stop)
        self.banned = banned_tokens(tokenizer, config, self.eos)
        self._special = re.compile("|".join(map(re.escape, special)) or "(?!)")

    def check(self) -> tuple[int, ...]:
        """Token ids of a first prompt, so that an unusable chat template is found at once.

        Raises:
            ModelError: One of them cannot be used.
        """
        if not self.tokenize("1"):
            raise ModelError("this model's tokenizer reads no text: its tokenizer.json is missing")
        return self._tokens("", ["1"], [])

    def check_turns(self) -> None:
        """Checks that a conversation begins with all of what it was before its last turn.

        Only then are the tokens of an episode, to which replies are appended, those of the chat
        template. Some drop the thoughts of earlier responses, or number images.

        Raises:
            ModelError: It does not, or responses do not end with an end token.
        """
        if self.stop:
            raise ModelError(
                f"a stop string, {self.stop[0]!r}, does not end a turn: episodes of several turns "
                "need a model with a chat template, without --stop"
            )
        user, thinking, answer = islice(_marks(), 3)
        response = f"<think>\n{thinking}\n</think>\n\n{answer}"
        content: Any = [{"type": "image"}, {"type": "text", "text": user}]
        question = {"role": "user", "content": content if self.image_processor else user}
        turn = [question, {"role": "assistant", "content": response}]
        one, two, three = (self._template([*turn * num, question]) for num in range(3))
        bridge = two.removeprefix(one + response)
        if bridge == two or three != two + response + bridge:
            raise self._unusable(
                "in an episode of several turns it changes earlier ones, such as by dropping "
                "thoughts; give one that keeps them by --chat-template"
            )
        if self.tokenizer.encode(bridge, add_special_tokens=False)[0] not in self.eos:
            reason = "in an episode of several turns it puts no end token behind a response"
            raise self._unusable(reason)

    @cached_property
    def takes_system(self) -> bool:
        """False if the chat template fails on a system message (Gemma, Mistral) or drops it."""
        system, user = islice(_marks(), 2)
        roles = {"system": system, "user": user}
        try:
            text = self._template([{"role": r, "content": mark} for r, mark in roles.items()])
        except ModelError:
            return False
        return system in text

    @cached_property
    def _separator(self) -> str:
        """Space before a written response, none after white space or a special token."""
        ends_apart = rf"(\s|{self._special.pattern})\Z"
        return "" if re.search(ends_apart, self._render((), [""], [])) else " "

    def remarks(self) -> list[str]:
        """Lines on a missing chat template, and on one that takes no system message."""
        return [PLAIN_LINE] * self.is_plain + [SYSTEM_LINE] * (not self.takes_system)

    def encode(self, observations: Mapping[str, Sequence]) -> tuple[Prompt, ...]:
        """One prompt per row of a vector observation; equal neighbours share one object.

        Raises:
            ModelError: An observation has images and the model is text-only.
        """
        prompts: list[Prompt] = []
        last: tuple[Any, ...] = ()
        columns = (observations[name] for name in ("system", "question", "images"))
        for row in zip(*columns, strict=True):
            is_equal = prompts and row[:2] == last[:2] and row[2] is last[2]
            prompts.append(prompts[-1] if is_equal else self._prompt(*row))
            last = row
        return tuple(prompts)

    def reply(
        self, response: Sequence[int], question: str, images: Sequence[np.ndarray] = ()
    ) -> Prompt:
        """Tokens and images that a reply of the environment appends to a response.

        The end token, unless that was sampled, the reply's words and images as a message of the
        user, and the start of the next response. No words make a special token.

        Args:
            response: Its tokens.
            question: Words of the reply, with marks of the images as in a first question.
            images: `[height width 3]`.

        Raises:
            ModelError: There are images and the model is text-only.
        """
        reply = self._read(question, images, self._reply_tokens)
        was_sampled = [*response[-1:]] == [*reply.token_ids[:1]]
        return replace(reply, token_ids=reply.token_ids[was_sampled:])

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of response tokens up to a stop string, special tokens left out; see `cut`."""
        return cut(self._decode(tokens), self.stop)

    def ended(self, tokens: Sequence[int]) -> bool:
        """True if a response has its end token or a stop string, False if it was truncated."""
        return tokens[-1] in self.eos or self.has_stop(tokens)

    def has_stop(self, tokens: Sequence[int]) -> bool:
        """True if the text of some tokens has a stop string."""
        return bool(self.stop) and any(map(self._decode(tokens).__contains__, self.stop))

    @property
    def stop_length(self) -> int:
        """Last tokens of a response that suffice to find the end of a stop string in it."""
        # A token is a byte at least; the first one may be part of a character, or lose its space.
        return 4 + max((len(string.encode()) for string in self.stop), default=0)

    def _decode(self, tokens: Sequence[int]) -> str:
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

    def encode_response(self, text: str) -> list[int]:
        """Token ids of a written response, such as a worked solution, up to its end token."""
        return [*self.tokenize(self._separator + text), self.tokenizer.eos_token_id]

    def patches(self, images: Sequence[np.ndarray]) -> tuple[Any, Any]:
        """Patches of images `[patches values]`, and the grid of each `[images 3]`."""
        # Of an array, 3 pixels high, processors take the height for the channels.
        pictures = [Image.fromarray(image) for image in images]
        output = self.image_processor(images=pictures, return_tensors="pt")
        return output["pixel_values"], output["image_grid_thw"]

    def _prompt(self, system: str, question: str, images: Sequence[np.ndarray]) -> Prompt:
        return self._read(question, images, partial(self._tokens, system))

    def _read(
        self,
        question: str,
        images: Sequence[np.ndarray],
        encode: Callable[[Sequence[str], list[int]], tuple[int, ...]],
    ) -> Prompt:
        """Token ids and patches of a question, by a function of its texts and its images' sizes."""
        if not images:
            return Prompt(encode([question], []))
        if self.image_processor is None:
            raise ModelError(
                "this problem has images and the model is text-only: choose a vision-language model"
            )
        texts, order = split_at_images(question, len(images))
        ordered = tuple(images[k] for k in order)
        pixels, grid = self.patches(ordered)
        return Prompt(encode(texts, self._image_sizes(grid)), pixels, grid, ordered)

    def _image_sizes(self, grid: Any) -> list[int]:
        """Number of tokens of each image, from the grid of its patches `[images 3]`."""
        return (grid.prod(-1) // self.image_processor.merge_size**2).tolist()

    def _tokens(self, system: str, texts: Sequence[str], sizes: list[int]) -> tuple[int, ...]:
        """Token ids of a prompt; special tokens come from the chat template alone.

        `system` may be "" for none; `texts` stand before, between and after the images of `sizes`
        tokens each.
        """
        template = self._render(("system",) * bool(system), texts, sizes)
        tokens = self._fill(template, (system, *texts), _marks())
        if tokens and max(tokens) >= self.vocabulary:
            raise ModelError(
                f"this model's tokenizer gives token {max(tokens)}, and its vocabulary has only "
                f"{self.vocabulary}: they are of different models"
            )
        return tuple(tokens)

    def _reply_tokens(self, texts: Sequence[str], sizes: list[int]) -> tuple[int, ...]:
        """Token ids of the chat template from the end of a response to the start of the next."""
        _, response, *marks = islice(_marks(), 3 + len(texts))
        _, _, rest = self._render(("user", "assistant"), texts, sizes).partition(response)
        return tuple(self._fill(rest, texts, iter(marks)))

    def _fill(self, template: str, texts: Sequence[str], marks: Iterator[str]) -> list[int]:
        """Token ids of a rendered template with texts, but for empty ones, at their marks."""
        given = [*filter(None, texts[:-1]), texts[-1]]
        messages = dict(zip(islice(marks, len(given)), given, strict=True))
        if any(template.count(mark) != 1 for mark in messages):
            raise self._unusable("it does not repeat each message once")
        return self._encode(template, messages)

    def _encode(self, template: str, messages: Mapping[str, str]) -> list[int]:
        """Token ids of a rendered template with messages in place of their marks.

        They are those of the whole text, unless a message has, or makes with what surrounds it, the
        name of a special token.
        """
        text = template.translate(str.maketrans(dict(messages)))
        if len(self._special.findall(text)) == len(self._special.findall(template)):
            return self.tokenizer.encode(text, add_special_tokens=False)
        tokens = []
        for piece in re.split(f"([{''.join(messages)}])", template):
            if piece in messages:
                tokens += self.tokenize(messages[piece])
            else:
                tokens += self.tokenizer.encode(piece, add_special_tokens=False)
        return tokens

    def _render(self, roles: Sequence[str], texts: Sequence[str], sizes: list[int]) -> str:
        """The rendered chat template, with a mark for each text and all image tokens.

        `roles` are of the messages before that of the user, whose `texts` stand around the images.
        """
        marks = _marks()
        messages: list[dict[str, Any]] = [{"role": r, "content": next(marks)} for r in roles]
        content: Any = []
        for text in texts[:-1]:
            content += [{"type": "text", "text": next(marks)}] if text else []
            content.append({"type": "image"})
        content = [*content, {"type": "text", "text": next(marks)}] if sizes else next(marks)
        messages.append({"role": "user", "content": content})
        folds = "system" in roles and not self.takes_system
        text = self._template(without_system(messages) if folds else messages)
        if not sizes:
            return text
        pieces = text.split(self.image_token)
        if len(pieces) != len(sizes) + 1:
            reason = f"it has {len(pieces) - 1} placeholders for {len(sizes)} images"
            raise self._unusable(reason)
        placeholders = [self.image_token * size for size in sizes] + [""]
        return "".join(map(operator.add, pieces, placeholders))

    def _template(self, messages: list[dict[str, Any]]) -> str:
        """Messages in the chat template, up to the start of the response."""
        try:
            return self.tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
        except Exception as error:  # a template is a program
            raise self._unusable(one_line(error)) from error

    def _unusable(self, reason: str) -> ModelError:
        return ModelError(f"{self._template_name} cannot be used: {reason}")


def without_image_marks(question: str) -> str:
    """The words of a question, all image marks taken out."""
    return _IMAGE_MARK.sub("", question)


def _marks() -> Iterator[str]:
    """Placeholders of the texts of a prompt, in their order."""
    return map(chr, range(ord(TEXT), 0xF900))
