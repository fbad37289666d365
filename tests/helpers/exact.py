"""Losses of single samples, and their gradients, to be compared with exact ones."""

import torch

from agents.losses import differentiable
from agents.rollout import Batch
from agents.rpg import RPG
from helpers.golden_cases import DIVERGENCES, WITHOUT_CLIP


def normal(*shape, seed, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(*shape, generator=generator, dtype=torch.float64)


def gradient(value, *parameters):
    parts = torch.autograd.grad(value, parameters, retain_graph=True)
    return torch.cat([part.flatten() for part in parts])


def assert_exact(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-8, atol=1e-12)


def bare(divergence, estimator=differentiable, **settings):
    """RPG without a clip."""
    fields = {"divergence": DIVERGENCES[divergence], "estimator": estimator}
    return RPG(**WITHOUT_CLIP | fields | settings)


def losses(learner, log_prob, old, credit, ref=None):
    """Of responses of one token."""
    mask = torch.ones(len(log_prob), 1, dtype=torch.bool)
    rows = [None if part is None else part[:, None] for part in (credit, old, old, ref)]
    return learner.loss(log_prob[:, None], Batch(mask, *rows))[:, 0]
