"""Which option a response names, by the rules of VLMEvalKit.

open-compass/VLMEvalKit, vlmeval/utils/matching_util.py: `can_infer`.
"""

import re
from collections.abc import Sequence

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
_PUNCTUATION = re.compile(r"[.()\[\],:;!*#{}]")


def inferred(response: str, options: Sequence[str]) -> str | None:
    """The letter of the one option that a response names by letter, or else by its text.

    "Z" where it refuses, or names Z; None where it names none or several.
    """
    if any(refusal in response for refusal in _REFUSALS):
        return "Z"
    letters = LETTERS[: len(options)]
    words = set(_PUNCTUATION.sub(" ", response).split())
    named = [letter for letter in letters if letter in words]
    if len(named) == 1:
        return named[0]
    if not named and "Z" in words:
        return "Z"
    told = response.lower()
    texts = [letter for letter, text in zip(letters, options, strict=True) if text.lower() in told]
    return texts[0] if len(texts) == 1 else None
