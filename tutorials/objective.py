# %% [markdown]
# # A loss against its objective
#
# RPG ([arXiv:2505.17508](https://arxiv.org/abs/2505.17508)) maximises the expected reward minus a
# divergence from a reference policy. Four divergences are in use: forward and reverse KL (FKL,
# RKL), and the unnormalized form of each (UFKL, URKL). The loss is a number for each sampled
# token, and it is right when its mean gradient is that of the objective. With five actions both
# can be written down exactly.

# %%
import matplotlib.pyplot as plt
import torch

from agents import divergences
from agents.references import fixed
from agents.rollout import Batch
from agents.rpg import RPG

DIVERGENCES = {
    "FKL": divergences.forward_kl,
    "RKL": divergences.reverse_kl,
    "UFKL": divergences.unnormalized_forward_kl,
    "URKL": divergences.unnormalized_reverse_kl,
}
BETA = 0.5
reward = torch.tensor([0.0, 0.0, 1.0, 0.5, 0.0], dtype=torch.float64)


def learner(divergence) -> RPG:
    """RPG without a clip, which would be a bias on purpose."""
    return RPG(
        divergence=divergence,
        beta=BETA,
        reference=fixed,
        clip_low=None,
        clip_high=None,
        dual_clip=None,
    )


def losses(rpg: RPG, logits, old, ref):
    """The loss of each of the five actions, were it the one that is sampled."""
    advantage = reward - (old.softmax(-1) * reward).sum()
    log_prob, old, ref = (x.log_softmax(-1)[:, None] for x in (logits, old, ref))
    mask = torch.ones(5, 1, dtype=torch.bool)
    return rpg.loss(log_prob, Batch(mask, advantage[:, None], old, old, ref))[:, 0]


# %% [markdown]
# ## The mean gradient is the exact one
#
# The objective, by its definition, against the losses, weighed with the probabilities of the
# policy that samples. For policies that add up to one, normalized and unnormalized forms have one
# gradient.

# %%
torch.manual_seed(0)
logits, old, ref = torch.randn(3, 5, dtype=torch.float64)


def objective(name: str, logits, ref):
    policy, reference = logits.log_softmax(-1), ref.log_softmax(-1)
    forward = (reference.exp() * (reference - policy)).sum()
    reverse = (policy.exp() * (policy - reference)).sum()
    return (policy.exp() * reward).sum() - BETA * (forward if "F" in name else reverse)


def gradient(function, at):
    point = at.clone().requires_grad_()
    return torch.autograd.grad(function(point), point)[0]


for name, divergence in DIVERGENCES.items():
    rpg = learner(divergence)
    exact = gradient(lambda x, name=name: -objective(name, x, ref), logits)
    mean = gradient(lambda x, r=rpg: (old.softmax(-1) * losses(r, x, old, ref)).sum(), logits)
    print(f"{name:5}largest difference {(mean - exact).abs().max():.1e}")

# %% [markdown]
# ## The same mean, not the same noise
#
# What a training step sees is a sample. Below, the spread of the gradient of one sample, for
# policies on the way from the reference to the optimum of the reverse KL, with the policy itself
# as the sampler.

# %%
reference = torch.zeros(5, dtype=torch.float64)
optimum = reward / BETA  # reference times exp(R / beta), in logits


def noise(rpg: RPG, at) -> float:
    """Standard deviation of the gradient of a single sample, over the whole vector."""
    each = torch.stack(
        [gradient(lambda x, a=a: losses(rpg, x, at, reference)[a], at) for a in range(5)]
    )
    chance = at.softmax(-1)[:, None]
    off = each - (chance * each).sum(0)
    return (chance * off.square()).sum().sqrt().item()


way = torch.linspace(0, 1, 11)
for name, divergence in DIVERGENCES.items():
    rpg = learner(divergence)
    plt.plot(way, [noise(rpg, part * optimum) for part in way], label=name)
plt.xlabel("part of the way to the optimum")
plt.ylabel("noise of one sample")
plt.legend()
plt.gcf().set_size_inches(6, 2.8)

# %% [markdown]
# ## Learning curves
#
# Stochastic training from samples, each curve the mean distance of eight runs from the best value
# that their objective can have.

# %%


def best(name: str) -> float:
    """The largest value of an objective, by exact ascent."""
    point = reference.clone()
    for _ in range(1000):
        point += gradient(lambda x: objective(name, x, reference), point)
    return objective(name, point, reference).item()


def regret(name: str, seed: int, steps: int = 150) -> list[float]:
    """Distance of the objective from its best value, after each step of eight samples."""
    random = torch.Generator().manual_seed(seed)
    rpg, point, top = learner(DIVERGENCES[name]), reference.clone(), best_of[name]
    curve = []
    for _ in range(steps):
        draws = torch.multinomial(point.softmax(-1), 8, replacement=True, generator=random)
        at = point.clone()
        point -= 0.5 * gradient(lambda x, d=draws, o=at: losses(rpg, x, o, reference)[d].mean(), at)
        curve.append(top - objective(name, point, reference).item())
    return curve


best_of = {name: best(name) for name in DIVERGENCES}
for name in DIVERGENCES:
    curves = torch.tensor([regret(name, seed) for seed in range(8)])
    plt.plot(curves.mean(0), label=name)
    print(f"{name:5}regret over the last 50 steps: {curves[:, -50:].mean():.4f}")
plt.yscale("log")
plt.xlabel("step")
plt.ylabel("regret")
plt.legend()
plt.gcf().set_size_inches(6, 2.8)

# %% [markdown]
# ## Why forward KL is noisy at the end
#
# What a sample adds to the weight is the slope of its divergence in ln π. That of forward KL is
# -v, minus the weight of the reference: every sample is pulled with a strength that does not fade
# as the policy nears its goal, and only the mean over samples is right. Reverse KL has w (ln ρ +
# 1), whose 1 does the same. The unnormalized forms have w - v and w ln ρ, which are zero where
# policy and reference agree. Each pair has one mean gradient and two noises; the unnormalized
# reverse KL is what RPG takes here by default.

# %%
u = torch.linspace(-1.0, 1.0, 101, dtype=torch.float64)
zero = torch.zeros_like(u)
for name, divergence in DIVERGENCES.items():
    plt.plot(u, gradient(lambda x, d=divergence: d(x, zero, zero).sum(), u), label=name)
plt.axhline(0, color="gray", linewidth=0.5)
plt.xlabel("ln ratio of policy and reference")
plt.ylabel("slope")
plt.legend()
plt.gcf().set_size_inches(6, 2.8)
