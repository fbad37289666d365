"""Problems with one response each, as lines on the terminal."""

from collections.abc import Iterator, Sequence
from typing import Any

from tqdm.utils import disp_len, disp_trim

from reasonenv.console import printable

LINES = 2
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
        yield cut(f"  question: {question}{images}", LINES * width)
        yield cut(f"  response: {response}", LINES * width)
        yield cut(f"  {grade} ({status})", width)


def cut(text: str, width: int) -> str:
    """A text without control characters in some columns; "…" stands for what is left out.

    A third of what is kept is the end of the text, where the answer is.
    """
    text = printable(text)
    if disp_len(text) <= width:
        return text
    end = max(0, (width - 1) // 3)
    tail = disp_trim(text[: -end - 1 : -1], end)[::-1] if end else ""
    return f"{disp_trim(text, max(0, width - 1 - disp_len(tail)))}…{tail}"
