"""A response to be scored, with the label of its problem."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A response and what it is scored against.

    Args:
        id: Of the problem.
        label: The problem's row in the data set; its question and images may be missing.
        response: What the model wrote.
        extraction: The answer in it where somebody else extracted it, such as a judge model.
    """

    id: str
    label: Row
    response: str
    extraction: str | None = None
