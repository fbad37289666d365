"""A toy environment with tools: a scene is a number, which a tool adds to what it is given."""

import numpy as np

from reasonenv.problem import Problem
from reasonenv.rewards import accuracy
from reasonenv.tools import BadCall, Reply, Toolbox

REWARDS = {"accuracy": (1.0, accuracy)}


class Add:
    """Adds the scene to a number; fails at 13, and draws where it is asked to."""

    name = "add"
    usage = "add(number, pictures): the sum and so many pictures"

    def __call__(self, scene, number, pictures) -> Reply:
        if number < 0:
            raise BadCall("Not below zero.")
        if number == 13:
            raise ZeroDivisionError("thirteen")
        return Reply(str(scene + number), [np.zeros((28, 28, 3), np.uint8)] * pictures)


TOOLS = Toolbox(tools=[Add()], max_calls=2, max_characters=120, max_images=1, max_pixels=28 * 28)


def problems(size=12):
    return [
        Problem(id=f"count/{k}", question=f"{k} and {k}?", answer=str(2 * k), scene=k)
        for k in range(size)
    ]
