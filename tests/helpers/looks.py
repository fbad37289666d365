"""An environment whose episodes have several turns with any model that ends its responses."""

from dataclasses import dataclass

import numpy as np

from helpers import letters
from reasonenv import Environment, register
from reasonenv.tools import Reply, Toolbox


class Look:
    """A part of the picture, and how much of it that is."""

    name = "look"
    usage = "look(x): a part of the picture"

    def __call__(self, scene, place) -> Reply:
        return Reply(f"part {place}", (np.roll(scene[0], place, 0),))


@dataclass(frozen=True, kw_only=True)
class Generous(Toolbox):
    """A toolbox for which a response is a call unless a third of its letters are left over."""

    def call(self, response):
        number = len(response) % 3
        return (self.tools[0], f"{number})") if response and number else None


TOOLS = Generous(tools=[Look()], max_calls=2, max_images=1, max_pixels=28 * 56)
LOOKS = register(
    Environment(
        id="Looks-v0",
        problems=letters.problems,
        splits=letters.SPLITS,
        rewards=letters.REWARDS,
        tools=TOOLS,
    )
)
