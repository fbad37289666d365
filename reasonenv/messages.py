"""Observations as messages of a chat API, images where the question marks them."""

import base64
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from PIL import Image

from reasonenv.datasets.images import png

_MARK = re.compile(r"<image ([0-9]+)>")


def messages(observation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a chat API is sent for one observation, in the form that OpenAI's has made common.

    Args:
        observation: `system`, `question` and `images` of one problem, as an environment poses it.

    Returns:
        A system message unless there is nothing to say, and the user's, whose content is text or,
        with images, parts of which each image is a PNG as a data URL.
    """
    texts, order = placed(observation["question"], len(observation["images"]))
    content: str | list[dict[str, Any]] = texts[-1]
    if order:
        content = []
        for text, image in zip(texts, [*order, None], strict=True):
            content += [{"type": "text", "text": text}] if text else []
            if image is not None:
                url = _url(observation["images"][image])
                content.append({"type": "image_url", "image_url": {"url": url}})
    told = [{"role": "system", "content": observation["system"]}] if observation["system"] else []
    return [*told, {"role": "user", "content": content}]


def placed(question: str, num_images: int) -> tuple[list[str], list[int]]:
    """The words around the images, and the images in the order in which they stand there.

    An image stands at its first mark, "<image 1>" for the first; those without a mark stand
    before the words. A mark without an image stays among the words.

    Returns:
        num_images + 1 texts, and between each two of them an image by its number from 0.
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


def _url(image: np.ndarray) -> str:
    data = png(Image.fromarray(image))
    return "data:image/png;base64," + base64.b64encode(data).decode("ascii")
