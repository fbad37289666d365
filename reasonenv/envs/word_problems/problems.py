"""Word problems as a sequence, drawn on access."""

import random
from dataclasses import dataclass
from typing import ClassVar

from reasonenv.envs.families import DrawnProblems, checksum
from reasonenv.envs.word_problems.family import Family, Operands, draw_operands
from reasonenv.envs.word_problems.scene import draw_scene
from reasonenv.problem import Problem

TEST_PERIOD = 9
"""One in so many questions of "train" and "test" is for "test"."""


@dataclass(frozen=True, kw_only=True)
class WordProblems(DrawnProblems):
    """Problems of one split and level; each a pure function of its id."""

    families: tuple[Family, ...]

    version: ClassVar = "word-problems-v0"

    def draw(self, id: str) -> Problem:
        """The problem of an id."""
        rng = random.Random(id)
        family = rng.choice(self.families)
        while True:
            operands = draw_operands(family, self.split, self.level, rng)
            question, phrasing = self._ask(family, operands, rng)
            if self._has(question):
                break
        steps = family.steps(operands)
        return Problem(
            id=id,
            question=question,
            answer=str(steps[-1].value),
            solution=family.solution(steps),
            metadata={
                "family": family.name,
                "level": self.level,
                "operands": operands,
                "phrasing": phrasing,
                "fact": str(steps[-1].fact),
            },
        )

    def _ask(self, family: Family, operands: Operands, rng: random.Random) -> tuple[str, int]:
        """A question, and the number of its phrasing; held-out ones have the last numbers."""
        count, num_heldout = len(family.phrasings), len(family.heldout_phrasings)
        phrasing = rng.randrange(count)
        if self.split == "heldout_phrasings":
            phrasing = count + rng.randrange(num_heldout)
        text = (*family.phrasings, *family.heldout_phrasings)[phrasing]
        numbers = dict(zip("abcde", operands, strict=False))
        return text.format(**numbers, **draw_scene(rng)), phrasing

    def _has(self, question: str) -> bool:
        """True if a question belongs to the split, by its checksum where two share phrasings."""
        if self.split not in ("train", "test"):
            return True
        return (checksum(question) % TEST_PERIOD == 0) == (self.split == "test")
