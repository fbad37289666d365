"""Are two answers equal? Pure functions over exact arithmetic and math-verify."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Grade:
    """The verdict on one response.

    Args:
        correct: Whether the final answer equals the reference; False unless `status` is "ok".
        answer: The final answer as it stands in the response, None when there is none.
        status: "ok", "no_answer", "unparseable", "timeout", "memory" or "error".
    """

    correct: bool
    answer: str | None
    status: str
