"""Observations as messages of a chat API, images at their marks in the question."""

import re
from collections.abc import Mapping
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
    content: str | list[dict[str, Any]] = texts[-1]
    if order:
        content = []
        for text, image in zip(texts, [*order, None], strict=True):
            content += [{"type": "text", "text": text}] if text else []
            if image is not None:
                url = png_url(observation["images"][image])
                content.append({"type": "image_url", "image_url": {"url": url}})
    system = [{"role": "system", "content": observation["system"]}] if observation["system"] else []
    return [*system, {"role": "user", "content": content}]


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
