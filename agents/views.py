"""Views: other prompts after which a teacher reads the responses to a problem.

A view makes of a group, once it is answered, an observation for each of its responses. The response
stays, token by token; what a teacher says about it after the other prompt is a learner's target.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from agents.errors import UsageError

Observation = Mapping[str, Any]
"""`system` and `question`, texts, and `images`, a tuple of arrays [height width 3], uint8."""


@dataclass(frozen=True, eq=False)
class AnsweredGroup:
    """A problem, the responses to it, and what the environment tells after its step."""

    observation: Observation
    """Of the problem."""
    texts: Sequence[str]
    """Of the responses."""
    rewards: Sequence[float]
    """Of the responses."""
    infos: Mapping[str, Sequence[Any]]
    """Infos of the step, a value for each response: `reference`, the answer; `solution`, a worked
    one or None; `accuracy`, and others."""
    seed: tuple[int, ...] = (0,)
    """Of random choices: those of the run, the step and the problem."""


View = Callable[[AnsweredGroup], Sequence[Observation | None]]
"""An observation for each response, None where there is none; equal neighbours are best one
object, whose prompt is then computed once."""


def same_prompt(group: AnsweredGroup) -> list[Observation | None]:
    """The prompt itself: an ablation of what other views add."""
    return [group.observation] * len(group.texts)


def reference_answer(group: AnsweredGroup) -> list[Observation | None]:
    """The question with the reference answer; the papers' words are others."""
    words = "The answer is {}. Find it by reasoning of your own, and show every step."
    return [_with(group, words, group.infos["reference"][0])] * len(group.texts)


def worked_solution(group: AnsweredGroup) -> list[Observation | None]:
    """The question with a worked solution, where the problem has one; the papers' words differ."""
    solution = group.infos["solution"][0]
    words = "A worked solution:\n{}\nUnderstand it, then solve the problem in your own words."
    return [_with(group, words, solution) if solution else None] * len(group.texts)


def right_sibling(group: AnsweredGroup) -> list[Observation | None]:
    """The question with the first right response of the group other than the response itself."""
    right = [i for i, accuracy in enumerate(group.infos["accuracy"]) if accuracy == 1]
    words = "A right solution:\n{}\nSolve the problem."
    views = {i: _with(group, words, group.texts[i]) for i in right[:2]}
    places = (next((i for i in right if i != j), None) for j in range(len(group.texts)))
    return [None if i is None else views[i] for i in places]


@dataclass(frozen=True)
class masked_image:  # noqa: N801 - reads like its siblings, which are functions
    """The images with random patches black, the same for the group; none without an image."""

    share: float = 0.6
    """Probability of a patch to be black, in [0, 1]."""
    size: int = 14
    """Height and width of a patch, in pixels of the image as it is observed."""

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1 or self.size < 1:
            raise UsageError(
                f"masked_image got {self.share} of patches of {self.size} pixels: give a share in "
                "[0, 1] and at least 1 pixel"
            )

    def __call__(self, group: AnsweredGroup) -> list[Observation | None]:
        """An observation with masked images for the whole group."""
        if not group.observation["images"]:
            return [None] * len(group.texts)
        seed = random.Random(repr(group.seed)).getrandbits(63)
        generator = torch.Generator().manual_seed(seed)
        images = tuple(self._masked(image, generator) for image in group.observation["images"])
        return [{**group.observation, "images": images}] * len(group.texts)

    def _masked(self, image: Any, generator: torch.Generator) -> Any:
        height, width = (-(-side // self.size) for side in image.shape[:2])
        black = torch.rand(height, width, generator=generator) < self.share
        pixels = black.repeat_interleave(self.size, 0).repeat_interleave(self.size, 1)
        return image * ~pixels[: image.shape[0], : image.shape[1], None].numpy()


def _with(group: AnsweredGroup, words: str, text: str) -> Observation:
    question = group.observation["question"]
    return {**group.observation, "question": f"{question}\n\n{words.format(text)}"}
