"""Exact objectives by enumeration, over policies so small that every expectation is a sum.

n responses to one prompt; v tokens of a vocabulary.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Response = Float[Tensor, " n"]


def expected_reward(log_prob: Response, reward: Response) -> Float[Tensor, ""]:
    """E_{y ~ pi}[R]."""
    return (log_prob.exp() * reward).sum()


def kl(log_prob: Response, other_log_prob: Response) -> Float[Tensor, ""]:
    """KL(pi || other)."""
    return (log_prob.exp() * (log_prob - other_log_prob)).sum()


def forward_divergence(measure: Response, ref: Response) -> Float[Tensor, ""]:
    """Unnormalized KL(ref || measure), of logarithms of masses: that of policies has no last part.

    Σ ref ln(ref / measure) + Σ (measure - ref).
    """
    return kl(ref, measure) + measure.exp().sum() - ref.exp().sum()


def reverse_divergence(measure: Response, ref: Response) -> Float[Tensor, ""]:
    """Unnormalized KL(measure || ref)."""
    return forward_divergence(ref, measure)


def cpgd_objective(
    log_prob: Response,
    old_log_prob: Response,
    reward: Response,
    alpha: float,
    epsilon: float | None = None,
) -> Float[Tensor, ""]:
    """CPGD (arXiv:2505.12504), eq. 1, for one prompt; to be maximised. No clip without epsilon."""
    advantage = reward - expected_reward(old_log_prob, reward)
    log_ratio = log_prob - old_log_prob
    phi = log_ratio * advantage
    if epsilon is not None:
        bounds = torch.tensor([1 - epsilon, 1 + epsilon], dtype=log_prob.dtype).log()
        phi = torch.minimum(phi, log_ratio.clamp(*bounds) * advantage)
    return (old_log_prob.exp() * phi).sum() - alpha * kl(old_log_prob, log_prob)


def ppo_objective(ratio: Tensor, advantage: float, epsilon: float) -> Tensor:
    """PPO-clip (arXiv:1707.06347), eq. 7, of one sample; to be maximised."""
    return torch.minimum(ratio * advantage, ratio.clamp(1 - epsilon, 1 + epsilon) * advantage)


@dataclass(frozen=True, eq=False)
class ShortResponses:
    """All responses of one or two tokens; token 0 ends a response."""

    tokens: Int[Tensor, "n 2"]
    mask: Bool[Tensor, "n 2"]

    @classmethod
    def of(cls, vocabulary: int) -> "ShortResponses":
        longer = [(i, j) for i in range(1, vocabulary) for j in range(vocabulary)]
        mask = torch.tensor([[True, False]] + [[True, True]] * len(longer))
        return cls(torch.tensor([(0, 0), *longer]), mask)

    def token_log_prob(
        self, first: Float[Tensor, " v"], second: Float[Tensor, "v v"]
    ) -> Float[Tensor, "n 2"]:
        """Of each token under the logits of the first and, given the first, of the second."""
        one, two = self.tokens.unbind(-1)
        log_prob = [first.log_softmax(-1)[one], second.log_softmax(-1)[one, two]]
        return torch.stack(log_prob, -1).where(self.mask, 0.0)

    def copies(self, log_prob: Response, total: int) -> Int[Tensor, " total"]:
        """Indices of responses, each as often as is probable: their mean is the expectation.

        The probabilities must be multiples of 1 / total.
        """
        count = log_prob.exp() * total
        torch.testing.assert_close(count, count.round())
        return torch.arange(len(count)).repeat_interleave(count.round().long())
