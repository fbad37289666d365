"""Problems with one response each, as lines on the terminal."""

import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tqdm.utils import disp_len, disp_trim

from agents.monitoring.timing import Interval
from reasonenv.console import printable

SECONDS = 60.0
"""Least time between two problems on the terminal."""
LINES = 2
"""Lines of a question, and of a response."""


class ResponseDisplay:
    """Shows the first response to each of some problems, at most once in `SECONDS`."""

    def __init__(self, count: int, say: Callable[[str], None]) -> None:
        """Args: number of problems, 0 for none; and a function that prints a line."""
        self._count, self._say = count, say
        self._interval = Interval(SECONDS, last=-math.inf)

    def show(
        self,
        step: int,
        observations: Mapping[str, Sequence[Any]],
        responses: Sequence[str],
        rewards: Sequence[float],
        infos: Mapping[str, Any],
        group_size: int = 1,
    ) -> None:
        """Shows the first problems of a rollout, unless others were shown moments ago."""
        if not self._count or not self._interval.is_due():
            return
        width = shutil.get_terminal_size().columns - 1
        for i in range(0, len(responses), group_size)[: self._count]:
            row = {name: values[i] for name, values in infos.items() if name in _VERDICT}
            row |= {"reward": f"{rewards[i]:.3g}", "response": responses[i]}
            row |= {"question": observations["question"][i]}
            row |= {"num_images": len(observations["images"][i])}
            for line in response_lines(step, row, width):
                self._say(line)
        self._interval.restart()


_VERDICT = ("problem_id", "answer", "reference", "status")


def response_lines(step: int, row: Mapping[str, Any], width: int) -> Iterator[str]:
    """A problem, a response and its grade, without control characters, cut to a width."""
    count = row["num_images"]
    images = f" [{count} image{'s' * (count > 1)}]" if count else ""
    grade = f"reward {row['reward']}, answer {row['answer']}, reference {row['reference']}"
    yield cut(f"step {step}, problem {row['problem_id']}", width)
    yield cut(f"  question: {_one_line(row['question'])}{images}", LINES * width)
    yield cut(f"  response: {_one_line(row['response'])}", LINES * width)
    yield cut(f"  {grade} ({row['status']})", width)


def _one_line(text: str) -> str:
    return " ".join(text.split())


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
