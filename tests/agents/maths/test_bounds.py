"""Which bound of a clip holds which tokens, in every learner that has both."""

from math import log

import pytest
import torch

from agents.cpgd import CPGD
from agents.dapo import DAPO
from agents.dr_grpo import DrGRPO
from agents.grpo import GRPO
from agents.reinforce_plus_plus import ReinforcePlusPlus
from agents.reinforce_plus_plus_baseline import ReinforcePlusPlusBaseline
from agents.rloo import RLOO
from agents.rollout import Batch
from agents.rpg import RPG

BOUNDS = {"clip_low": 0.1, "clip_high": 0.5}
LEARNERS = [
    CPGD(**BOUNDS, drift_coefficient=None),
    DAPO(**BOUNDS),
    DrGRPO(**BOUNDS),
    GRPO(**BOUNDS, beta=None),
    ReinforcePlusPlus(**BOUNDS, beta=None),
    ReinforcePlusPlusBaseline(**BOUNDS),
    RLOO(**BOUNDS),
    RPG(**BOUNDS, beta=None),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize(
    ("ratio", "advantage", "moves"),
    [
        (1.3, 1.0, True),
        (1.6, 1.0, False),
        (0.6, 1.0, True),
        (0.95, -1.0, True),
        (0.8, -1.0, False),
        (1.6, -1.0, True),
    ],
)
def test_the_lower_bound_holds_negative_advantages_and_the_upper_one_positive(
    learner, ratio, advantage, moves
):
    old = torch.full((1, 1), -2.0, dtype=torch.float64)
    log_prob = (old + log(ratio)).requires_grad_()
    batch = Batch(torch.ones(1, 1, dtype=torch.bool), torch.full_like(old, advantage), old, old)
    (slope,) = torch.autograd.grad(learner.loss(log_prob, batch).sum(), log_prob)
    assert (slope.item() != 0) == moves
