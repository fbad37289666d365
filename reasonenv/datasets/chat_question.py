"""A question that a row of data has as chat messages."""

from collections.abc import Mapping
from typing import Any

from reasonenv.errors import DataError


def is_chat(value: Any) -> bool:
    """True for a list of messages."""
    return isinstance(value, list) and bool(value) and all(isinstance(m, Mapping) for m in value)


def chat_question(messages: list[Mapping[str, Any]]) -> tuple[str, list[Any]]:
    """The question of a user message, with a system message in front of it.

    Args:
        messages: With `role` and `content`, a text or a list of parts of text or image.

    Returns:
        The text, in which "<image>" stands for each image, and the images that the messages hold.

    Raises:
        DataError: There is no user message, or more than that, or a part is neither.
    """
    roles = [message.get("role") for message in messages]
    if roles not in (["user"], ["system", "user"]):
        raise DataError(
            f"the messages are of {', '.join(map(str, roles)):.60}: give one of the user, or one "
            "of the system and one of the user"
        )
    images: list[Any] = []
    texts = [_text(message.get("content"), images) for message in messages]
    return "\n\n".join(filter(None, texts)), images


def _text(content: Any, images: list[Any]) -> str:
    """The text of a message; appends its images."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise DataError(f"the content of a message is {content!r:.40}: give a text or parts")
    words = []
    for part in content:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind == "text":
            words.append(str(part["text"]))
        elif kind in ("image", "image_url"):
            image = part.get(kind)
            image = image.get("url", image) if isinstance(image, Mapping) else image
            images += [] if image is None else [image]
            words.append("<image>")
        else:
            raise DataError(f"a part of a message is {part!r:.60}: give a text or an image")
    return "".join(words)
