"""PAPO, a learner and a command: python -m agents papo --help."""

from dataclasses import dataclass

from agents.distillation import SecondContext
from agents.divergences import k3
from agents.grpo import GRPO
from agents.reductions import Reduction, token_mean
from agents.rollout import Batch, PerToken
from agents.views import View, masked_image


@dataclass(frozen=True, kw_only=True)
class PAPO(GRPO):
    """Perception-aware policy optimization: GRPO that moves the policy away from a blind one.

    With π_mask, the policy before the update that reads the image with 60 % of its 14 x 14 patches
    black, a token's loss is that of GRPO with PPO's dual clip and

        -γ (π_mask / π - 1 - ln(π_mask / π)) - η ln π

    The paper names the term KL(π || π_mask); as a loss on samples of π its gradient is that of
    KL(π_mask || π). On policy the expected gradient of the entropy term η is 0, and the paper's
    second one, of π_mask, has none in the released code, so it is left out. Problems without an
    image have neither. The released code cuts both estimates at 10.

    PAPO-D: `beta=None, clip_high=0.28, gamma=0.01, entropy_weight=0.03`, with `--max-generations`.

    Source: PAPO (arXiv:2507.06448); released code: MikeWangWZHL/PAPO, for a model of 3B.
    """

    reduction: Reduction = token_mean
    """From the losses of tokens to a scalar."""
    clip_high: float | None = 0.3
    """ε above, >= 0."""
    dual_clip: float | None = 3.0
    """Largest ratio where the advantage is negative, > 1."""
    beta: float | None = 0.01
    """β, the weight of the penalty to the reference policy, >= 0."""
    gamma: float = 0.02
    """γ, the weight of the divergence from the policy that reads masked images."""
    entropy_weight: float = 0.0
    """η."""
    view: View = masked_image()  # noqa: RUF009 - frozen
    """What π_mask reads."""

    @property
    def second_context(self) -> SecondContext:
        """π_old after the prompt with masked images."""
        return SecondContext(self.view, name="corrupted_log_prob")

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """The loss above."""
        loss = super().loss(log_prob, batch)
        corrupted = batch.extras["corrupted_log_prob"]
        terms = -self.gamma * k3(log_prob, batch.old_log_prob, corrupted)
        terms = terms - self.entropy_weight * log_prob
        return loss + terms.where(batch.distilled[:, None], 0.0)
