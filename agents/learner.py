"""The learner: an algorithm as a value, and the one update that all of them share."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

from jaxtyping import Float
from torch import Tensor

from agents import ranges
from agents.cli.settings import Run
from agents.credits import Total
from agents.engines import TrainEngine
from agents.errors import UsageError
from agents.importance import sampler_weight
from agents.monitoring.traces import Trace
from agents.reductions import Reduction, token_mean
from agents.rollout import Batch, Group, Mask, PerResponse, PerToken, Responses
from agents.training.update import Passes, Reference, Update

Scalar = Float[Tensor, ""]


@dataclass(frozen=True, kw_only=True)
class Learner(ABC):
    """An algorithm: how rewards become advantages, and advantages a loss for each token.

    A learner is a frozen value without state. A subclass gives `advantage` and `loss`; its fields
    are its hyper-parameters and its command line.
    """

    reduction: Reduction = token_mean
    """How the losses of tokens become one number."""
    sampler_correction: float | None = None
    """Cap > 0 of the weights π_old / μ of tokens that a sampler drew from μ."""

    def __post_init__(self) -> None:
        """Raises ValueError for a number outside its range."""
        ranges.check(self)

    @classmethod
    def adapt(cls, run: Run) -> Run:
        """The defaults of a run as this algorithm would have them; a user's words come after."""
        return run

    @property
    def uses_reference(self) -> bool:
        """Whether the loss looks at `ref_log_prob`."""
        return False

    @property
    def credit_uses_old_policy(self) -> bool:
        """Whether `token_advantage` looks at `old_log_prob`, by default where it is overridden.

        Where it does not, one optimizer step a rollout needs no forward pass beside its own; the
        credit is then given before the old policy is known, and finds NaN there.
        """
        return type(self).token_advantage is not Learner.token_advantage

    @abstractmethod
    def advantage(self, reward: Group) -> Group:
        """Credit of each response, from the rewards of the whole rollout on all ranks."""

    def token_advantage(self, batch: Batch, total: Total) -> PerToken:
        """Credit of each token of a rollout, by default that of its response.

        Args:
            batch: This rank's part of the rollout, before it is cut into minibatches; its
                `advantage` is that of the responses.
            total: For what must be known of the rollout of all ranks; each calls it as often.
        """
        return batch.advantage

    @abstractmethod
    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """Loss of each token, to be minimised; what stands outside the mask is ignored."""

    def compute_loss(  # noqa: PLR0913 - the algorithm's quantities, then by name what few need
        self,
        log_prob: PerToken,
        old_log_prob: PerToken,
        reward: PerResponse,
        response_mask: Mask,
        group_size: int,
        ref_log_prob: PerToken | None = None,
        *,
        sampler_log_prob: PerToken | None = None,
    ) -> Scalar:
        """The whole algorithm on tensors: the scalar to be minimised.

        Args:
            log_prob: Under the policy being trained; carries the gradient.
            old_log_prob: Under the policy that sampled, by the trainer.
            reward: Of each response; `group_size` consecutive ones answer the same prompt.
            response_mask: True on response tokens.
            group_size: Responses per prompt.
            ref_log_prob: Under the reference policy, where the learner uses one.
            sampler_log_prob: Under what the sampler drew from; None where that is the old policy.

        Raises:
            UsageError: `group_size` does not divide the number of responses, or the learner uses a
                reference and none is given, or a correction and log-probabilities are NaN.
        """
        if len(reward) % group_size:
            raise UsageError(f"group_size {group_size} does not divide {len(reward)} responses")
        if self.uses_reference and ref_log_prob is None:
            raise UsageError(
                f"{type(self).__name__} with a reference constraint needs ref_log_prob"
            )
        advantage = (
            self.advantage(reward.reshape(-1, group_size)).flatten()[:, None].expand_as(log_prob)
        )
        self._check(sampler_log_prob, response_mask, lambda part: part)
        others = ref_log_prob, sampler_log_prob
        batch = Batch(response_mask, advantage, old_log_prob, old_log_prob, *others)
        batch = replace(batch, advantage=self.token_advantage(batch, total=lambda part: part))
        weight = self.reduction(response_mask.sum(-1), group_size)
        return self.weighted(log_prob, batch, weight)

    def update(
        self,
        engine: TrainEngine,
        responses: Responses,
        reward: Group,
        passes: Passes,
        reference: Reference | None = None,
        trace: Trace | None = None,
    ) -> dict[str, float]:
        """Trains on one rollout and gives what is logged of it.

        The result does not depend on microbatches, nor on how many ranks share the rollout:
        advantages and denominators are those of the whole. A step whose gradient is not finite
        changes nothing and is counted by `train/skipped`.

        Args:
            engine: Holds the policy.
            responses: Of this rank; those of a prompt are consecutive.
            reward: Of this rank, one row a prompt.
            passes: Minibatches, microbatches, epochs.
            reference: Needed when `uses_reference`. The tokens of a minibatch are held to the one
                that stands when its turn comes; a token's credit knows that of the start.
            trace: Filled with what the update does to each token, where it is wanted.

        Raises:
            UsageError: In one line, when it is missing, or a minibatch would not be whole groups,
                or `sampler_correction` has no log-probabilities of the sampler.
        """
        if self.uses_reference and reference is None:
            raise UsageError(f"{type(self).__name__} with a reference constraint needs a reference")
        self._check(responses.sampler_log_prob, responses.mask, engine.all_gather)
        return Update(self, engine, responses, reward, passes, reference, trace).run()

    def weighted(self, log_prob: PerToken, batch: Batch, weight: PerResponse) -> Scalar:
        """Sum over tokens, weighted by response; off the mask is neither value nor gradient."""
        log_prob = log_prob.where(batch.mask, batch.old_log_prob.where(batch.mask, 0.0))
        loss = self.loss(log_prob, batch)
        if self.sampler_correction is not None:
            loss = loss * sampler_weight(batch, self.sampler_correction)
        return (weight * loss.where(batch.mask, 0.0).sum(-1)).sum()

    def _check(
        self, sampler_log_prob: PerToken | None, mask: Mask, gather: Callable[[Tensor], Tensor]
    ) -> None:
        """Raises UsageError on all ranks where one lacks what a correction needs."""
        if self.sampler_correction is None or sampler_log_prob is None:
            return
        if gather(sampler_log_prob[mask].isnan().any()[None]).any():
            raise UsageError(
                f"{type(self).__name__} with sampler_correction {self.sampler_correction} needs "
                "sampler_log_prob, and the sampler gave none: have it tell log-probabilities, or "
                "leave the correction out"
            )
