"""GSPO, a learner and a command: python -m agents gspo --help."""

from dataclasses import dataclass

from agents.grpo import GRPO
from agents.losses import Level, geometric


@dataclass(frozen=True, kw_only=True)
class GSPO(GRPO):
    """Group sequence policy optimization: GRPO with one ratio for a whole response.

    With s = exp(1/|y| Σ_i ln π(y_i) / π_old(y_i)), the geometric mean of the ratios of tokens, the
    loss of a response is

        -min(s A, clip(s, 1 - ε_low, 1 + ε_high) A)

    and that of a rollout their mean (`sequence_mean`). A response is clipped as a whole, and within
    bounds that are a thousandth of PPO's, since s varies little. GSPO-token, for advantages that
    differ within a response, is `level=geometric_token`.

    The paper has no penalty to a reference, and trains on each rollout in four minibatches. verl
    cuts ln s at 10; OpenRLHF, with its correction on, compares with the sampler.

    Source: Zheng et al., Group Sequence Policy Optimization (arXiv:2507.18071).
    """

    clip_low: float | None = 3e-4
    """ε_low, in [0, 1)."""
    clip_high: float | None = 4e-4
    """ε_high, >= 0."""
    beta: float | None = None
    """β, the weight of the penalty to the reference policy, >= 0."""
    level: Level = geometric
    """Importance-sampling level of the ratio: geometric, or geometric_token."""
