"""The optimizer steps on one rollout, the same for every learner."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from agents.engines import TrainEngine
from agents.errors import UsageError
from agents.monitoring.metrics import Statistics, clipped, rollout_metrics, token_kl
from agents.monitoring.traces import Trace
from agents.references import ReferencePolicy
from agents.rollout import Batch, Group, PerResponse, PerToken, Responses
from agents.training import microbatches
from agents.training.microbatches import Load

if TYPE_CHECKING:
    from agents.learner import Learner

Reference = Callable[[Responses], PerToken]
"""Log-probability of each token under the reference policy; a `ReferencePolicy` may change."""


@dataclass(frozen=True, kw_only=True)
class Passes:
    """How often and in what pieces an update goes through its responses."""

    minibatch_size: int
    """Responses per optimizer step, over all ranks; whole groups."""
    microbatch_size: int
    """Responses per forward pass on one rank; changes memory and speed, never the result."""
    tokens_per_microbatch: int | None = None
    """Prompt and response tokens of a forward pass on one rank, a shared prompt counted once; None
    counts responses. A response that is longer has a pass of its own."""
    epochs: int = 1
    """Passes over one rollout."""

    def __post_init__(self) -> None:
        """Raises UsageError for a budget that holds no token."""
        if self.tokens_per_microbatch is not None and self.tokens_per_microbatch < 1:
            raise UsageError(
                f"tokens_per_microbatch is {self.tokens_per_microbatch}: give at least 1"
            )

    def cut(self, responses: Responses, group_size: int, engine: TrainEngine) -> list[list[slice]]:
        """The microbatches of each minibatch of this rank, as many on every rank.

        Forward passes of ranks go together where ranks share weights: a rank with fewer tokens
        makes more and smaller ones. It never lacks responses, for all ranks have as many.

        Raises:
            UsageError: In one line, when a minibatch would not be whole groups.
        """
        size, rest = divmod(self.minibatch_size, engine.num_ranks)
        if rest or size < 1 or size % group_size or len(responses) % size:
            raise UsageError(
                f"minibatch_size {self.minibatch_size} must hold whole groups of {group_size} on "
                f"each of {engine.num_ranks} ranks and divide the "
                f"{len(responses) * engine.num_ranks} responses"
            )
        starts = range(0, len(responses), size)
        budget = self.tokens_per_microbatch
        if budget is None:
            cuts = [microbatches.by_count(size, self.microbatch_size) for _ in starts]
        else:
            loads = [Load.of(responses.rows(start, start + size)) for start in starts]
            mine = torch.tensor([[len(microbatches.fitting(load, budget)) for load in loads]])
            counts = engine.all_gather(mine).amax(0).tolist()
            cuts = [
                microbatches.cut(load, budget, count)
                for load, count in zip(loads, counts, strict=True)
            ]
        return [
            [slice(start + part.start, start + part.stop) for part in parts]
            for start, parts in zip(starts, cuts, strict=True)
        ]


@dataclass(eq=False)
class Update:
    """A learner at work on one rollout.

    The first minibatch of an epoch is trained at the weights with which the epoch begins: what it
    finds before its step is the old log-probability, and no pass is made for that. What is known
    of the whole rollout is kept in float64 on the CPU; a microbatch takes its part in the dtype and
    on the device of its own log-probabilities.
    """

    learner: "Learner"
    engine: TrainEngine
    responses: Responses
    reward: Group
    passes: Passes
    reference: Reference | None = None
    trace: Trace | None = None

    def __post_init__(self) -> None:
        """Cuts the rollout up, and finds what must be known of it before the first step."""
        if not self.learner.uses_reference:
            self.reference = None
        self.group_size = self.reward.shape[1]
        self.minibatches = self.passes.cut(self.responses, self.group_size, self.engine)
        self.lengths = self.engine.all_gather(self.responses.lengths[None])
        self.statistics = Statistics()
        self.batch = self._batch()

    def run(self) -> dict[str, float]:
        """Trains, and gives what is logged of it."""
        steps: list[dict[str, float]] = []
        moved = False
        for epoch in range(self.passes.epochs):
            if epoch:
                current = self._log_prob(self._policy, self.minibatches[1:])
                self.batch = replace(self.batch, epoch_log_prob=current)
            for parts in self.minibatches:
                if moved and self.reference is not None:
                    ref = self._log_prob(self.reference, [parts])
                    self.batch = replace(self.batch, ref_log_prob=ref)
                steps.append(self._step(parts))
                moved |= self._moves(steps[-1])
        old_log_prob = self.batch.old_log_prob
        return (
            _joined(steps)
            | self.statistics.metrics(self.engine)
            | rollout_metrics(self.responses, old_log_prob, self.engine)
        )

    def _batch(self) -> Batch:
        """Advantages from the rewards of all ranks, and what the old and reference policies say."""
        learner, engine, mask = self.learner, self.engine, self.responses.mask
        mine = slice(engine.rank * len(self.reward), (engine.rank + 1) * len(self.reward))
        credit = learner.advantage(engine.all_gather(self.reward))[mine].flatten().double().cpu()
        whole = learner.credit_uses_old_policy
        old = self._log_prob(self._policy, self.minibatches[0 if whole else 1 :])
        ref = self.reference and self._log_prob(self.reference, self.minibatches)
        sampler = self.responses.sampler_log_prob.double()
        batch = Batch(mask, credit[:, None].expand(mask.shape), old, old, ref, sampler)
        return replace(batch, advantage=learner.token_advantage(batch, self._total))

    def _step(self, parts: Sequence[slice]) -> dict[str, float]:
        """One optimizer step on a minibatch, microbatch by microbatch."""
        first, last = parts[0].start, parts[-1].stop
        lengths = self.lengths[:, first:last]
        weights = self.learner.reduction(lengths.flatten(), self.group_size)
        weight = weights.view_as(lengths)[self.engine.rank]
        totals = torch.zeros(1, 2, dtype=torch.float64)
        for part in parts:
            totals += self._backward(part, weight[part.start - first : part.stop - first])
        loss, kl = self.engine.all_gather(totals).sum(0).tolist()
        metrics = {"train/loss": loss}
        if self.reference is not None:
            metrics["policy/kl_ref"] = kl / max(1, int(lengths.sum()))
        metrics |= self.engine.step()
        return metrics | {"train/skipped": float(not math.isfinite(metrics["train/grad_norm"]))}

    def _backward(self, part: slice, weight: PerResponse) -> Tensor:
        """Adds the gradient of a microbatch; its loss, and its sum of `token_kl`, as `[1 2]`."""
        log_prob, entropy = self.engine.forward(self.responses.rows(part.start, part.stop))
        width = log_prob.shape[1]
        if part.start < self.minibatches[0][-1].stop:
            # In the first epoch it is `old_log_prob` too, one tensor; a later one brings its own.
            self.batch.epoch_log_prob[part, :width] = log_prob.detach().to(self.batch.old_log_prob)
        batch = self.batch.rows(part.start, part.stop, width).to(log_prob)
        loss = self.learner.weighted(log_prob, batch, weight.to(log_prob))
        self.engine.backward(loss)
        clip = clipped(self.learner, log_prob, batch)
        self.statistics.add(log_prob, entropy, clip, batch)
        if self.trace is not None:
            self.trace.add(part, log_prob, clip, batch)
        return torch.tensor([[loss.item(), token_kl(log_prob, batch)]], dtype=torch.float64)

    @torch.no_grad()
    def _log_prob(self, policy: Reference, minibatches: Iterable[Sequence[slice]]) -> PerToken:
        """Log-probability of each token under a policy; NaN for tokens of other minibatches."""
        mask = self.responses.mask
        log_prob = torch.zeros(mask.shape, dtype=torch.float64).masked_fill(mask, math.nan)
        for parts in minibatches:
            for part in parts:
                said = policy(self.responses.rows(part.start, part.stop))
                log_prob[part, : said.shape[1]] = said.to(log_prob)
        return log_prob

    def _policy(self, responses: Responses) -> PerToken:
        return self.engine.forward(responses)[0]

    def _total(self, part: Tensor) -> Tensor:
        return self.engine.all_gather(part[None]).sum(0)

    def _moves(self, step: dict[str, float]) -> bool:
        """Whether the reference is another one after an optimizer step; one skipped is none."""
        if not isinstance(self.reference, ReferencePolicy) or step["train/skipped"]:
            return False
        return self.reference.stepped(self.engine, step["policy/kl_ref"])


def _joined(steps: Sequence[dict[str, float]]) -> dict[str, float]:
    """How many steps were skipped, and means over the others, or over all where there is none."""
    made = [step for step in steps if not step["train/skipped"]] or steps
    means = {name: sum(step[name] for step in made) / len(made) for name in steps[0]}
    return means | {"train/skipped": sum(step["train/skipped"] for step in steps)}
