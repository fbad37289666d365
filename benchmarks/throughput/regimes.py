"""What a step brings, the same on both sides: how long each response is, and what is graded.

Lengths are forced, the same way on both sides: while sampling, the end of a response has
probability 0 before its last token and 1 there. The trainers know nothing of it. Hostile responses
take the place of sampled ones on their way to the grader.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

REGIMES = ("fixed", "long-tailed", "hostile")
SPREAD = 1.0
"""Standard deviation of the logarithm of a long-tailed length."""
MEDIAN = 0.6
"""Of long-tailed lengths, as a part of the fixed one: the means are then about the same."""


def lengths(regime: str, step: int, count: int, fixed: int, longest: int) -> np.ndarray:
    """Tokens of each of `count` responses of a step.

    Args:
        regime: One of `REGIMES`.
        step: Of the regime, from 0; another step has other lengths.
        count: Responses.
        fixed: Length of all of them where they are not long-tailed.
        longest: Where long-tailed ones are cut.
    """
    if regime != "long-tailed":
        return np.full(count, fixed)
    draw = np.random.default_rng([3, step])
    drawn = np.exp(draw.normal(np.log(MEDIAN * fixed), SPREAD, count))
    return np.clip(drawn.round(), 1, longest).astype(int)


class Regime:
    """The present step: told by the side that works, asked by its sampler and its grader."""

    def __init__(self, count: int, fixed: int, longest: int, enemies: Sequence[str]) -> None:
        """Args: responses of a step, their lengths, and hostile texts."""
        self.count, self.fixed, self.longest, self.enemies = count, fixed, longest, enemies
        self.name, self.step = "fixed", 0
        self.lengths = lengths("fixed", 0, count, fixed, longest)

    def begin(self, name: str, step: int) -> None:
        """A step, the number of which is that of its regime."""
        self.name, self.step = name, step
        self.lengths = lengths(name, step, self.count, self.fixed, self.longest)

    def text(self, index: int, text: str) -> str:
        """What is graded of a response: one of twenty is replaced under attack."""
        if self.name != "hostile" or index % 20 != 19:
            return text
        per_step = self.count // 20
        return self.enemies[(self.step * per_step + index // 20) % len(self.enemies)]

    def ends(self, rows: Sequence[int], number: int) -> Tensor:
        """Whether token `number`, from 1, is the last of each of the responses `rows`."""
        return torch.from_numpy(self.lengths[np.asarray(rows)] == number)


def force(logits: Tensor, ends: Tensor, eos: Sequence[int]) -> Tensor:
    """Logits `[n v]` with which the rows in `ends` end and the others do not."""
    ends = ends.to(logits.device)
    logits = logits.masked_fill(ends[:, None], -torch.inf)
    logits[:, list(eos)] = -torch.inf
    logits[:, eos[0]] = logits[:, eos[0]].masked_fill(ends, 0.0)
    return logits
