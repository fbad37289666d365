"""GDPO, a learner and a command: python -m agents gdpo --help."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from agents.advantages import STD_EPSILON, batch_centered, standardized
from agents.errors import UsageError
from agents.grpo import GRPO
from agents.reductions import Reduction, token_mean
from agents.rollout import Group


@dataclass(frozen=True, kw_only=True)
class GDPO(GRPO):
    """GRPO on components of the reward that are standardized one by one.

    Where a group's sums of components are equal, or in equal proportions, GRPO cannot tell the
    components apart. Here z_n = (R_n - mean) / std of the group for each component n, and

        A = (Z - mean) / std of the rollout,    Z = Σ_n v_n z_n.

    `advantage_function` is not used. TRL's and the authors' code add 1e-4 to each std; verl takes
    the last mean and std over tokens, so that long responses count more. Dynamic sampling
    (`max_generations`) still keeps the groups with right and wrong responses alone.

    Source: Liu et al., GDPO (arXiv:2601.05242); released code: NVlabs/GDPO.
    """

    reads = ("reward_parts",)

    parts: tuple[str, ...] = ("accuracy", "format")
    """Names of the components."""
    weights: tuple[float, ...] = (1.0, 0.5)
    """v_n, the weight of each."""
    reduction: Reduction = token_mean
    """From the losses of tokens to a scalar."""
    beta: float | None = None
    """β, the weight of the penalty to the reference policy, >= 0."""

    def __post_init__(self) -> None:
        """Raises UsageError for another number of weights than of components."""
        super().__post_init__()
        if len(self.parts) != len(self.weights):
            raise UsageError(f"GDPO got {len(self.weights)} weights for parts {self.parts}")

    def advantage_from_parts(self, reward: Group, parts: Mapping[str, Group]) -> Group:
        """A, from the components of the rewards of all ranks."""
        pairs = zip(self.parts, self.weights, strict=True)
        total = torch.stack([weight * standardized(parts[name]) for name, weight in pairs]).sum(0)
        return batch_centered(total) / (total.std() + STD_EPSILON)
