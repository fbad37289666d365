"""The learner: an algorithm as a value, and the one update that all of them share."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from agents import ranges
from agents.credits import Total
from agents.diagnostics import Statistics, clipped, rollout_metrics, token_kl
from agents.engines import TrainEngine
from agents.importance import sampler_weight
from agents.reductions import Reduction, token_mean
from agents.references import ReferencePolicy
from agents.rollout import Batch, Group, Mask, PerResponse, PerToken, Responses
from agents.settings import Run

Scalar = Float[Tensor, ""]
Reference = Callable[[Responses], PerToken]
"""Log-probability of each token under the reference policy; a `ReferencePolicy` may change."""


@dataclass(frozen=True, kw_only=True)
class Passes:
    """How often and in what pieces an update goes through its responses."""

    minibatch_size: int
    """Responses per optimizer step, over all ranks; whole groups."""
    microbatch_size: int
    """Responses per forward pass on one rank; changes memory and speed, never the result."""
    epochs: int = 1
    """Passes over one rollout."""


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
            ValueError: `group_size` does not divide the number of responses, or the learner uses a
                reference and none is given.
        """
        if len(reward) % group_size:
            raise ValueError(f"group_size {group_size} does not divide {len(reward)} responses")
        if self.uses_reference and ref_log_prob is None:
            raise ValueError(
                f"{type(self).__name__} with a reference constraint needs ref_log_prob"
            )
        advantage = (
            self.advantage(reward.reshape(-1, group_size)).flatten()[:, None].expand_as(log_prob)
        )
        others = ref_log_prob, sampler_log_prob
        batch = Batch(response_mask, advantage, old_log_prob, old_log_prob, *others)
        batch = replace(batch, advantage=self.token_advantage(batch, total=lambda part: part))
        weight = self.reduction(response_mask.sum(-1), group_size)
        return self._scalar(log_prob, batch, weight)

    def update(
        self,
        engine: TrainEngine,
        responses: Responses,
        reward: Group,
        passes: Passes,
        reference: Reference | None = None,
    ) -> dict[str, float]:
        """Trains on one rollout and gives what is logged of it.

        The result does not depend on `microbatch_size`, nor on how many ranks share the rollout:
        advantages and denominators are those of the whole.

        Args:
            engine: Holds the policy.
            responses: Of this rank; those of a prompt are consecutive.
            reward: Of this rank, one row a prompt.
            passes: Minibatches, microbatches, epochs.
            reference: Needed when `uses_reference`. The tokens of a minibatch are held to the one
                that stands when its turn comes; a token's credit knows that of the start.

        Raises:
            ValueError: In one line, when it is missing, or a minibatch would not be whole groups.
        """
        if self.uses_reference and reference is None:
            raise ValueError(f"{type(self).__name__} with a reference constraint needs a reference")
        size, rest = divmod(passes.minibatch_size, engine.num_ranks)
        if rest or size < 1 or size % reward.shape[1] or len(responses) % size:
            raise ValueError(
                f"minibatch_size {passes.minibatch_size} must hold whole groups of "
                f"{reward.shape[1]} on each of {engine.num_ranks} ranks and divide the "
                f"{len(responses) * engine.num_ranks} responses"
            )
        batch = self._batch(engine, responses, reward, passes.microbatch_size, reference)
        statistics = Statistics()
        steps: list[dict[str, float]] = []
        moved = False
        for epoch in range(passes.epochs):
            if epoch:
                current = _log_prob(
                    lambda part: engine.forward(part)[0], responses, passes.microbatch_size
                )
                batch = replace(batch, epoch_log_prob=current)
            for start in range(0, len(responses), size):
                rows = (start, start + size, responses.mask.shape[1])
                part, seen = responses.rows(start, start + size), batch.rows(*rows)
                if moved and reference is not None:
                    seen = seen.held_to(_log_prob(reference, part, passes.microbatch_size))
                steps.append(
                    self._step(
                        engine, part, seen, reward.shape[1], passes.microbatch_size, statistics
                    )
                )
                moved |= _moves(reference, engine, steps[-1])
        means = {name: sum(step[name] for step in steps) / len(steps) for name in steps[0]}
        return (
            means
            | statistics.metrics(engine)
            | rollout_metrics(responses, batch.old_log_prob, engine)
        )

    def _batch(
        self,
        engine: TrainEngine,
        responses: Responses,
        reward: Group,
        microbatch_size: int,
        reference: Reference | None,
    ) -> Batch:
        """Advantages from the rewards of all ranks, and what the old and reference policies say."""
        mine = slice(engine.rank * len(reward), (engine.rank + 1) * len(reward))
        advantage = self.advantage(engine.gather(reward))[mine].flatten()
        old = _log_prob(lambda part: engine.forward(part)[0], responses, microbatch_size)
        ref = None
        if reference is not None and self.uses_reference:
            ref = _log_prob(reference, responses, microbatch_size).to(old)
        credit = advantage.to(old)[:, None].expand_as(old)
        sampler = responses.sampler_log_prob.to(old)
        batch = Batch(responses.mask.to(old.device), credit, old, old, ref, sampler)
        return replace(
            batch,
            advantage=self.token_advantage(batch, lambda part: engine.gather(part[None]).sum(0)),
        )

    def _step(
        self,
        engine: TrainEngine,
        responses: Responses,
        batch: Batch,
        group_size: int,
        microbatch_size: int,
        statistics: Statistics,
    ) -> dict[str, float]:
        """One optimizer step on a minibatch, microbatch by microbatch."""
        lengths = engine.gather(responses.lengths)
        mine = slice(engine.rank * len(responses), (engine.rank + 1) * len(responses))
        weight = self.reduction(lengths, group_size)[mine].to(batch.old_log_prob)
        totals = torch.zeros(1, 2, dtype=torch.float64)
        for start in range(0, len(responses), microbatch_size):
            rows = slice(start, start + microbatch_size)
            part = responses.rows(rows.start, min(rows.stop, len(responses)))
            log_prob, entropy = engine.forward(part)
            seen = batch.rows(rows.start, rows.stop, log_prob.shape[1])
            loss = self._scalar(log_prob, seen, weight[rows])
            engine.backward(loss)
            statistics.add(log_prob, entropy, clipped(self, log_prob, seen), seen)
            totals += torch.tensor([[loss.item(), token_kl(log_prob, seen)]], dtype=torch.float64)
        loss, kl = engine.gather(totals).sum(0).tolist()
        metrics = {"train/loss": loss}
        if batch.ref_log_prob is not None:
            metrics["policy/kl_ref"] = kl / max(1, int(lengths.sum()))
        return metrics | engine.step()

    def _scalar(self, log_prob: PerToken, batch: Batch, weight: PerResponse) -> Scalar:
        """Sum over tokens, weighted by response; off the mask is neither value nor gradient."""
        log_prob = log_prob.where(batch.mask, batch.old_log_prob.where(batch.mask, 0.0))
        loss = self.loss(log_prob, batch)
        if self.sampler_correction is not None:
            loss = loss * sampler_weight(batch, self.sampler_correction)
        return (weight * loss.where(batch.mask, 0.0).sum(-1)).sum()


def _moves(reference: Reference | None, engine: TrainEngine, step: dict[str, float]) -> bool:
    """Whether the reference is another one after an optimizer step."""
    if not isinstance(reference, ReferencePolicy) or "policy/kl_ref" not in step:
        return False
    return reference.stepped(engine, step["policy/kl_ref"])


@torch.no_grad()
def _log_prob(policy: Reference, responses: Responses, microbatch_size: int) -> PerToken:
    """Log-probability of each token under a policy, microbatch by microbatch, without gradient."""
    parts = []
    for start in range(0, len(responses), microbatch_size):
        part = responses.rows(start, min(start + microbatch_size, len(responses)))
        log_prob = policy(part)
        parts.append(
            torch.nn.functional.pad(log_prob, (0, responses.mask.shape[1] - log_prob.shape[1]))
        )
    return torch.cat(parts)
