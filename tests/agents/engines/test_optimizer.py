import dataclasses
import math

import pytest
import torch
from torch.nn import Parameter

from agents.cli.checks import check_run
from agents.cli.settings import Run
from agents.engines.deepspeed import complete
from agents.engines.optimizer import Optimization


@pytest.mark.parametrize(
    ("schedule", "ratios"),
    [
        ("cosine", [1 / 3, 2 / 3, 1, 0.85, 0.5, 0.15, 0, 0]),
        ("linear", [1 / 3, 2 / 3, 1, 0.75, 0.5, 0.25, 0, 0]),
        ("constant", [1 / 3, 2 / 3, 1, 1, 1, 1, 1, 1]),
    ],
)
def test_each_schedule_follows_warm_up(schedule, ratios):
    optimization = Optimization(
        1e-3, 6, warmup_steps=2, min_ratio=0.0, learning_rate_schedule=schedule
    )
    values = [optimization.ratio(step) for step in range(8)]
    assert values == pytest.approx(ratios, abs=5e-3)


def test_a_gradient_is_not_clipped_where_the_limit_is_infinite():
    optimization = Optimization(1e-3, 1, max_grad_norm=math.inf)
    assert complete({}, optimization, cuda=False)["gradient_clipping"] == 0.0
    weight = Parameter(torch.zeros(2))
    weight.grad = torch.tensor([3e3, 4e3])
    torch.nn.utils.clip_grad_norm_([weight], optimization.max_grad_norm)
    assert weight.grad.tolist() == [3e3, 4e3]


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer_options": {"betas": (1.0, 0.9)}},
        {"optimizer_options": {"betas": (0.9, -0.1)}},
        {"optimizer_options": {"betas": (0.9, math.nan)}},
        {"optimizer_options": {"min_ratio": 1.1}},
        {"optimizer_options": {"weight_decays": 0.1}},
        {"max_grad_norm": 0.0},
        {"max_grad_norm": math.nan},
        {"max_grad_norm": math.inf},
        {"warmup_steps": 501},
        {"warmup_steps": -1},
    ],
)
def test_what_no_optimizer_can_use_is_refused_with_its_flag(settings):
    flag = next(iter(settings)).replace("_", "-")
    with pytest.raises(ValueError, match=rf"^--{flag} "):
        check_run(dataclasses.replace(Run(), **settings))


def test_settings_of_the_optimizer_that_may_be_extreme_are_accepted():
    check_run(
        dataclasses.replace(
            Run(), max_grad_norm=None, warmup_steps=500, optimizer_options={"betas": (0.0, 0.9)}
        )
    )
