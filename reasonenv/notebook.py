"""Observations and infos as short texts, and as pictures in a notebook."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import numpy as np

from reasonenv.datasets.images import png_url

_SHOWN, _LONGEST = 3, 60


class ShortDict(dict[str, Any]):
    """A dict whose `repr` is short, of any number of texts and images."""

    def __repr__(self) -> str:
        return brief(self)


class Observation(ShortDict):
    """An observation, or those of several sub-environments: `system`, `question`, `images`."""

    def _repr_html_(self) -> str:
        """The first problems as HTML: their figures and questions."""
        if isinstance(self["question"], str):
            return _html(self["images"], self["question"])
        pairs = list(dict(zip(self["question"], self["images"], strict=True)).items())
        first = "".join(_html(images, question) for question, images in pairs[:_SHOWN])
        return f"{first}<p>{len(self['question'])} observations of {len(pairs)} problems</p>"


def brief(value: Any) -> str:
    """A value as a short text: the first few elements of sequences, the size of images."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name!r}: {brief(each)}" for name, each in value.items()) + "}"
    if isinstance(value, np.ndarray) and value.ndim != 1:
        return f"<array {'x'.join(map(str, value.shape))}>"
    if isinstance(value, np.ndarray | tuple | list):
        more = [f"... {len(value)} in all"] if len(value) > _SHOWN else []
        return "(" + ", ".join([*map(brief, value[:_SHOWN]), *more]) + ")"
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def frames_html(frames: Iterable[np.ndarray]) -> str:
    """Frames of an environment as HTML."""
    return "".join(f'<img src="{png_url(frame)}">' for frame in frames)


def _html(images: Iterable[np.ndarray], question: str) -> str:
    return f'{frames_html(images)}<pre style="white-space: pre-wrap">{escape(question)}</pre>'
