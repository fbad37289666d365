"""Problems with one response each, as lines on the terminal."""

from collections.abc import Iterator, Sequence
from typing import Any

from reasonenv.console import printable

_LINES = 2
"""Lines of a question, and of a response."""


def response_lines(step: int, rollout: Any, indices: Sequence[int], width: int) -> Iterator[str]:
    """Some responses of a `Rollout` with problem and grade, cut to the columns of a terminal."""
    for i in indices:
        problem, answer, reference, status = (
            rollout.infos[name][i] for name in ("problem_id", "answer", "reference", "status")
        )
        count = len(rollout.observations["images"][i])
        images = f" [{count} image{'s' * (count > 1)}]" if count else ""
        question = " ".join(rollout.observations["question"][i].split())
        response = " ".join(rollout.responses.texts[i].split())
        grade = f"reward {rollout.rewards[i]:.3g}, answer {answer}, reference {reference}"
        yield cut(f"step {step}, problem {problem}", width)
        yield cut(f"  question: {question}{images}", _LINES * width)
        yield cut(f"  response: {response}", _LINES * width)
        yield cut(f"  {grade} ({status})", width)


def cut(text: str, width: int) -> str:
    """A text without control characters in so many; "…" stands for what is left out.

    A third of what is kept is the end of the text, where the answer is.
    """
    text, end = printable(text), max(1, width // 3)
    return text if len(text) <= width else f"{text[: max(0, width - end - 1)]}…{text[-end:]}"
