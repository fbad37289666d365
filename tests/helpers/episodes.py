"""A vector environment whose replies are written, and samplers that tell what they are asked."""

from typing import Any

import numpy as np

from agents.engines.sampling import Sampling
from agents.episodes import Episodes
from agents.rollout import Responses

REPLIES = ("It is 7.", "", "<|im_end|> ok <|image_pad|> <image 1>", "How many?")


def picture(seed: int) -> np.ndarray:
    sides = ((56, 56), (28, 84), (84, 28))[seed % 3]
    return np.random.default_rng(seed).integers(0, 256, (*sides, 3), dtype=np.uint8)


class Written:
    """Sub-environment i ends with its `turns[i]`-th response, or, if asked to, an empty one.

    Its reply to response k has `images[k]` pictures; its reward is 1 in each turn.
    """

    def __init__(self, turns, images=(0,) * 9, *, ends_on_empty=False):
        self.ends_on_empty = ends_on_empty
        self.turns, self.images, self.num_envs = turns, images, len(turns)
        self.actions: list[tuple[str | None, ...]] = []
        self.done = np.zeros(self.num_envs, dtype=int)
        self.is_over = np.zeros(self.num_envs, dtype=bool)

    def step(self, actions):
        assert [action is None for action in actions] == self.is_over.tolist()
        self.actions.append(tuple(actions))
        was_open = ~self.is_over
        self.done += was_open
        self.is_over |= self.done >= self.turns
        self.is_over |= [self.ends_on_empty and action == "" for action in actions]
        turn = len(self.actions)
        shown = tuple(picture(10 * turn + k) for k in range(self.images[turn - 1]))
        new = {
            "system": ("",) * self.num_envs,
            "question": (REPLIES[turn % len(REPLIES)],) * self.num_envs,
            "images": (shown,) * self.num_envs,
        }
        infos = {
            "turn": self.done.copy(),
            "tool": np.array(["" if over else "look" for over in self.is_over], dtype=object),
            "tool_status": np.array(["" if over else "ok" for over in self.is_over], dtype=object),
            "answer": np.array([f"answer {turn}"] * self.num_envs, dtype=object),
            "grade": {"ok": np.full(self.num_envs, turn % 2 == 0)},
        }
        return new, was_open * 1.0, self.is_over.copy(), np.zeros(self.num_envs, bool), infos


class Asked:
    """A sampler that keeps the prompts that it was asked for, turn by turn."""

    def __init__(self, sampler: Any) -> None:
        self.sampler, self.prompts, self.seeds = sampler, [], []
        self.chat, self.max_response_length = sampler.chat, sampler.max_response_length

    def generate(self, prompts, seed, finished=None):
        self.prompts.append(prompts)
        self.seeds.append(seed)
        return self.sampler.generate(prompts, seed, finished)


def brief(chat: Any) -> Sampling:
    """Of few tokens besides the end token, so that responses end soon."""
    few = {*chat.eos, *chat.tokenize("What is the sum? How many?")[:12]}
    return Sampling(1.0, tuple(sorted({*range(chat.vocabulary)} - few)))


def play(envs: Any, sampler: Any, prompts, seed=(0,), engine=None) -> tuple[Responses, Episodes]:
    episodes = Episodes(envs, sampler, prompts, seed, engine)
    while not episodes.is_over:
        episodes.step(episodes.respond())
    return episodes.responses(), episodes
