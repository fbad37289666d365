"""An environment of additions, for the tests: as small as an environment can be."""

from reasonenv.environment import Environment
from reasonenv.problem import Problem
from reasonenv.rewards import accuracy

REWARDS = {"accuracy": (1.0, accuracy)}


def problems(split: str = "train", size: int = 7) -> list[Problem]:
    return [
        Problem(id=f"{split}/{k}", question=f"{k}+{k}?", answer=str(2 * k), metadata={"k": k})
        for k in range(10, 10 + size)
    ]


TOY = Environment(id="Toy-v0", problems=problems, splits=("train", "test"), rewards=REWARDS)
