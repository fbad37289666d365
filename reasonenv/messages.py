"""Observations as messages of a chat API, images at their marks in the question."""

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from reasonenv.datasets.images import png_url

_MARK = re.compile(r"<image ([0-9]+)>")


def messages(observation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages of one observation, in the form of OpenAI's chat API.

    Args:
        observation: `system`, `question` and `images` of one problem.

    Returns:
        A system message, unless it is empty, and the user message, whose content is text or, with
        images, a list of parts, each image a PNG as a data URL.
    """
    texts, order = split_at_images(observation["question"], len(observation["images"]))
    urls = [png_url(observation["images"][number]) for number in order]
    images = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return conversation(observation["system"], content(texts, images))


def grow(
    messages_before: Sequence[dict[str, Any]], response: str, observation: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The messages of an episode with one more turn.

    Args:
        messages_before: Those that were answered, of the first observation by `messages`.
        response: Their answer.
        observation: The reply to it, from the environment's step.
    """
    return [*messages_before, {"role": "assistant", "content": response}, *messages(observation)]


def conversation(system: str, user: Any) -> list[dict[str, Any]]:
    """The messages of a system text, unless it is empty, and of the content of the user."""
    first = [{"role": "system", "content": system}] if system else []
    return [*first, {"role": "user", "content": user}]


def content(texts: Sequence[str], images: Sequence[dict[str, Any]]) -> Any:
    """Text alone, or a list of parts: the images and the texts around them that are not empty."""
    if not images:
        return texts[-1]
    words = [{"type": "text", "text": text} if text else None for text in texts]
    return [part for pair in zip_longest(words, images) for part in pair if part]


def split_at_images(question: str, num_images: int) -> tuple[list[str], list[int]]:
    """The texts around the images, and the order of the images.

    An image stands at its first mark, `<image 1>` for the first; images without a mark stand
    before the text. A mark without an image stays in the text.

    Returns:
        num_images + 1 texts, and the number, from 0, of the image between each two of them.
    """
    texts, order, end = [], [], 0
    for mark in _MARK.finditer(question):
        image = int(mark[1]) - 1
        if 0 <= image < num_images and image not in order:
            texts.append(question[end : mark.start()])
            order.append(image)
            end = mark.end()
    first = [image for image in range(num_images) if image not in order]
    return [""] * len(first) + [*texts, question[end:]], first + order
