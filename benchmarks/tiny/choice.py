"""Choice of the problems of each step of a warm start."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

LEAST_WEIGHT = 0.15
"""Frequency of a family that the model has learnt, where that of an unknown one is 1 more."""
MEMORY = 50
"""Solutions of a family over which their probability is averaged."""


@dataclass
class FamilyBalance:
    """Choice of problems in favour of the families whose solutions the model would not sample."""

    problems: Sequence[Any]
    """Of a `reasonenv` environment."""
    probability: dict[Any, float] = field(default_factory=dict)
    """Mean probability of the solutions of a family, exponentially weighted."""

    def draw(self, count: int, batch_size: int, rng: np.random.Generator) -> list[int]:
        """Indices below `count`, of each family with a frequency that grows with its deficit."""
        most = 1 + LEAST_WEIGHT - min(self.probability.values(), default=0.0)
        indices: list[int] = []
        while len(indices) < batch_size:
            index = int(rng.integers(count))
            weight = 1 + LEAST_WEIGHT - self.probability.get(self._family(index), 0.0)
            if rng.random() * most < weight:
                indices.append(index)
        return indices

    def update(self, indices: Sequence[int], probabilities: Sequence[float]) -> None:
        """Counts the probabilities of some problems' solutions."""
        for index, probability in zip(indices, probabilities, strict=True):
            family = self._family(index)
            mean = self.probability.get(family, 0.0)
            self.probability[family] = mean + (probability - mean) / MEMORY

    def _family(self, index: int) -> tuple[Any, bool]:
        """The family of a problem; its multiple choices count as another."""
        problem = self.problems[index]
        return problem.metadata.get("family"), bool(problem.options)


class ProblemChoice:
    """Problems of each step, drawn at random."""

    def __init__(
        self,
        problems: Sequence[Any],
        num_problems: int,
        batch_size: int,
        seed: int,
        *,
        balance: bool,
    ) -> None:
        """Begins with the first step.

        Args:
            problems: Of an environment.
            num_problems: That are used at most, the first ones.
            batch_size: Problems of a step, at most.
            seed: Of the random numbers.
            balance: Draw families in favour of those that the model has not learnt.
        """
        self._count = min(num_problems, len(problems))
        self._batch_size = min(batch_size, self._count)
        self._rng = np.random.default_rng(seed)
        self._balance = FamilyBalance(problems) if balance else None

    def draw(self) -> list[int]:
        """Indices of the problems of a step."""
        if self._balance is None:
            return self._rng.choice(self._count, self._batch_size, replace=False).tolist()
        return self._balance.draw(self._count, self._batch_size, self._rng)

    def update(self, indices: Sequence[int], probabilities: Sequence[float]) -> None:
        """Counts the probabilities of the solutions of some problems."""
        if self._balance is not None:
            self._balance.update(indices, probabilities)
