"""Problems that are drawn by program are drawn for the next step while responses arrive."""

import threading
from contextlib import closing

import numpy as np
import pytest

from reasonenv.problem import LazyProblems, Problem
from reasonenv.rewards import accuracy
from reasonenv.vector import ReasonVectorEnv


class Drawn(LazyProblems):
    is_drawn = True

    def __init__(self):
        self.drawn, self.threads = [], set()
        self.is_enough = threading.Event()

    def __len__(self):
        return 50

    def make(self, index, with_images):
        self.drawn.append(index)
        self.threads.add(threading.current_thread())
        if len(self.drawn) == 8:
            self.is_enough.set()
        image = np.full((28, 28, 3), index, np.uint8)
        return Problem(id=str(index), question=str(index), answer=str(index), images=(image,))


class Read(Drawn):
    is_drawn = False


def make(problems):
    rewards = {"accuracy": (1.0, accuracy)}
    return closing(ReasonVectorEnv(problems, rewards, num_envs=8, group_size=2, num_workers=1))


def test_the_next_problems_are_drawn_once_before_the_step_that_poses_them():
    problems, twin = Drawn(), Read()
    with make(problems) as envs, make(twin) as others:
        first, _ = envs.reset(seed=3)
        assert others.reset(seed=3)[0]["question"] == first["question"]
        for _ in range(3):
            before = len(problems.drawn)
            problems.is_enough.clear()
            envs.submit(0, "1")
            envs.submit(1, "1")
            observations = envs.step(["1"] * 8)[0]
            assert observations["question"] == others.step(["1"] * 8)[0]["question"]
            assert len(problems.drawn) == before + 4
    assert len(problems.threads) == 1 + 3  # the first batch was drawn by this one
    assert twin.threads == {threading.current_thread()}


def test_drawing_begins_with_the_first_response():
    problems = Drawn()
    with make(problems) as envs:
        envs.reset(seed=0)
        assert len(problems.drawn) == 4
        envs.submit(5, "7")
        assert problems.is_enough.wait(timeout=30)
        assert len(problems.drawn) == 8


@pytest.mark.parametrize("options", [{"subset": [1, 2, 3, 4]}, {"indices": [9, 8, 7, 6]}, None])
def test_a_reset_poses_its_own_problems_whatever_was_drawn_ahead(options):
    with make(Drawn()) as envs, make(Read()) as others:
        for each in (envs, others):
            each.reset(seed=0)
        envs.submit(0, "1")
        expected = others.reset(seed=1, options=options)[0]
        assert envs.reset(seed=1, options=options)[0]["question"] == expected["question"]
