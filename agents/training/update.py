"""The optimizer steps on one rollout, the same for every learner."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from agents.corrections import rejected
from agents.engines import TrainEngine
from agents.engines.frozen_models import Distillation, ReferencePolicy, Teacher
from agents.errors import UsageError
from agents.learner import Learner
from agents.losses import clipped_tokens
from agents.monitoring.metrics import Statistics, rollout_metrics, token_kl
from agents.monitoring.traces import Trace
from agents.rollout import Batch, Group, PerResponse, PerToken, Responses, RewardParts
from agents.training import microbatches
from agents.training.microbatches import Load

Policy = Callable[[Responses], PerToken]
"""Log-probability of each token under a policy."""


@dataclass(frozen=True, kw_only=True)
class Passes:
    """Minibatches, microbatches and epochs of an update."""

    minibatch_size: int
    """Responses per optimizer step, over all ranks; whole groups."""
    microbatch_size: int
    """Responses per forward pass on one rank; changes memory and speed, never the result."""
    tokens_per_microbatch: int | None = None
    """Prompt and response tokens of a forward pass on one rank, a shared prompt counted once; None
    counts responses. A longer response has a pass of its own."""
    epochs: int = 1
    """Passes over one rollout."""

    def __post_init__(self) -> None:
        """Raises UsageError for a budget that holds no token."""
        tokens = self.tokens_per_microbatch
        if tokens is not None and tokens < 1:
            raise UsageError(f"tokens_per_microbatch is {tokens}: give at least 1")

    def cut(self, responses: Responses, group_size: int, engine: TrainEngine) -> list[list[slice]]:
        """Microbatches of each minibatch of this rank, as many on every rank.

        Ranks that share weights make their forward passes together, so a rank with fewer tokens
        cuts them into more and smaller microbatches.

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
            counts = torch.tensor([[len(microbatches.fitting(load, budget)) for load in loads]])
            counts = engine.all_gather(counts).amax(0).tolist()
            pairs = zip(loads, counts, strict=True)
            cuts = [microbatches.cut(load, budget, count) for load, count in pairs]
        pairs = zip(starts, cuts, strict=True)
        return [[slice(k + part.start, k + part.stop) for part in parts] for k, parts in pairs]


def update(  # noqa: PLR0913 - a rollout, its engine, and some that few runs have
    learner: Learner,
    engine: TrainEngine,
    responses: Responses,
    reward: Group,
    passes: Passes,
    reference: Policy | None = None,
    *,
    extras: Mapping[str, Any] | None = None,
    teacher: Teacher | None = None,
    trace: Trace | None = None,
    before_step: Callable[[], object] = lambda: None,
) -> dict[str, float]:
    """Trains on one rollout and returns its metrics.

    The result does not depend on microbatches, nor on how many ranks share the rollout:
    advantages and denominators are those of the whole. A step whose gradient is not finite
    changes nothing and is counted by `train/skipped`.

    A minibatch without a signal changes nothing either: neither weights nor optimizer nor learning
    rate. It is one whose loss has a slope of exactly zero in the log-probability of each token, and
    in the entropy where the learner reads it, on all ranks: its advantages are zero, and no
    divergence acts. `train/no_signal` is the share of such minibatches.

    Args:
        learner: The algorithm.
        engine: Holds the policy.
        responses: Of this rank; those of a prompt are consecutive. With the components of their
            rewards where the learner reads them.
        reward: Of this rank, one row a prompt.
        passes: Minibatches, microbatches, epochs.
        reference: Needed when the learner `uses_reference`. A minibatch is trained with the
            reference of its turn; token-level advantages are those of the start.
        extras: Values besides `EXTRAS` for a learner whose `reads` names them: on the CPU, of each
            token or of each response.
        teacher: For a learner with a `second_context`; None for the policy itself.
        trace: Filled with the update's effect on each token, where it is given.
        before_step: Called before each optimizer step.

    Raises:
        UsageError: In one line, when `reference` is missing, or a minibatch would not be whole
            groups, or the learner lacks log-probabilities of the sampler, or a learner
            reads a value that is not given.
    """
    if learner.uses_reference and reference is None:
        raise UsageError(f"{type(learner).__name__} with a reference constraint needs a reference")
    context = learner.second_context
    if context is not None and context.required:
        responses = responses.with_loss(responses.distilled)
    if learner.uses_sampler:
        is_missing = responses.sampler_log_prob[responses.mask].isnan().any()[None]
        learner.check_sampler(bool(engine.all_gather(is_missing).any()))
    reference = reference if learner.uses_reference else None
    parts = learner, engine, responses, reward, passes, reference, extras or {}
    return _Update(*parts, teacher or Teacher(), trace, before_step).run()


@dataclass(eq=False)
class _Update:
    """The state of an update: its batch, and the sums behind its metrics.

    Values of the whole rollout are kept in float64 on the CPU; a microbatch takes its rows in the
    dtype and on the device of its own log-probabilities.

    An epoch's first minibatch is trained at the weights with which the epoch begins, so its forward
    pass gives that epoch's `epoch_log_prob`, and in the first epoch `old_log_prob` as well: no
    other pass is made for them. Until then they are NaN in `batch`. So is it for all minibatches
    until a step changes the policy, and for `ref_log_prob` while the policy is its own reference:
    equal policies have exactly equal log-probabilities, where those of two passes differ by
    rounding, of which Adam would make full steps.
    """

    learner: Learner
    engine: TrainEngine
    responses: Responses
    reward: Group
    passes: Passes
    reference: Policy | None
    extras: Mapping[str, Any]
    teacher: Teacher
    trace: Trace | None
    before_step: Callable[[], object]

    def __post_init__(self) -> None:
        """Cuts the rollout into minibatches and computes its batch."""
        self.has_moved = self.has_moved_in_epoch = self.has_new_reference = False
        self.group_size = self.reward.shape[1]
        reads_entropy = "entropy" in self.learner.reads
        self.forward_options: dict[str, Any] = {"entropy_gradient": True} if reads_entropy else {}
        context = self.learner.second_context
        if context is not None and context.divergence is not None:
            self.forward_options["distillation"] = Distillation(self.teacher, context.divergence)
        self.minibatches = self.passes.cut(self.responses, self.group_size, self.engine)
        self.lengths = self.engine.all_gather(self.responses.lengths[None])
        self.statistics = Statistics()
        self.batch = self._initial_batch()

    def run(self) -> dict[str, float]:
        """Trains, and returns the metrics."""
        steps: list[dict[str, float]] = []
        for epoch in range(self.passes.epochs):
            if epoch:
                log_prob = self._unknown()
                self._write(self.engine.forward, self.minibatches[1:], log_prob)
                self.batch = replace(self.batch, epoch_log_prob=log_prob)
                self.has_moved_in_epoch = False
            for parts in self.minibatches:
                if self.has_new_reference and self.reference and not self._is_reference():
                    ref_log_prob = self._log_prob(self.reference, [parts])
                    self.batch = replace(self.batch, ref_log_prob=ref_log_prob)
                steps.append(self._step(parts))
                self._count(steps[-1])
        metrics = _mean_metrics(steps)
        if self.responses.contexts:
            shares = self.engine.all_gather(self.responses.distilled.double())
            metrics["response/context"] = shares.mean().item()
        metrics |= self.statistics.metrics(self.engine)
        return metrics | rollout_metrics(self.responses, self.batch.old_log_prob, self.engine)

    def _initial_batch(self) -> Batch:
        """Advantages from the rewards of all ranks, and log-probabilities before the first step."""
        learner, mask = self.learner, self.responses.mask
        first = 0 if learner.token_advantage_uses_old_policy else 1
        extras = learner.select_extras(
            old_entropy=self._unknown(),
            texts=self.responses.texts,
            tokens=self.responses.tokens,
            reward_parts=self.responses.reward_parts,
            **self._of_second_context(),
            **self.extras,
        )
        advantage = self._advantage(extras.get("reward_parts", {})).flatten().double().cpu()
        old_log_prob = self._unknown()
        old = [old_log_prob, *(extras[name] for name in extras if name == "old_entropy")]
        self._write(self.engine.forward, self.minibatches[first:], *old)
        ref_log_prob = self.reference and self._log_prob(self.reference, self.minibatches)
        if self._is_reference() and first == 0:
            ref_log_prob = old_log_prob.clone()
        batch = Batch(
            mask,
            advantage[:, None].expand(mask.shape),
            old_log_prob,
            epoch_log_prob=old_log_prob.clone(),
            ref_log_prob=ref_log_prob,
            sampler_log_prob=self.responses.sampler_log_prob.double(),
            extras=extras,
        )
        return learner.prepare(batch, self._all_reduce, old_log_prob)

    def _of_second_context(self) -> dict[str, Any]:
        """The mask of responses with a context, and the teacher's values where they are read.

        They are those of the teacher at the start, though it be the policy.
        """
        context = self.learner.second_context
        values: dict[str, Any] = {"distilled": self.responses.distilled}
        if context is not None and context.divergence is None:
            teacher = partial(self.teacher.log_prob, self.engine)
            values[context.name] = self._log_prob(teacher, self.minibatches)
        return values

    def _advantage(self, parts: Mapping[str, PerResponse]) -> Group:
        """Advantages of this rank's responses, from the rewards of all ranks."""
        num, groups = len(self.reward), RewardParts()
        reward = self.engine.all_gather(self.reward)
        for name, x in parts.items():
            groups[name] = self.engine.all_gather(x.view_as(self.reward))
        return self.learner.checked_advantage(reward, groups)[self.engine.rank * num :][:num]

    def _step(self, parts: Sequence[slice]) -> dict[str, float]:
        """One optimizer step on a minibatch, microbatch by microbatch; none without a signal."""
        first, last = parts[0].start, parts[-1].stop
        lengths = self.lengths[:, first:last]
        weights = self.learner.reduction(lengths.flatten(), self.group_size)
        weight = weights.view_as(lengths)[self.engine.rank]
        sums, slopes = torch.zeros(3, dtype=torch.float64), []
        for part in parts:
            part_sums, slope = self._backward(part, weight[part.start - first : part.stop - first])
            sums += torch.tensor(part_sums, dtype=torch.float64)
            slopes.append(slope)
        # Read at last: a microbatch is prepared while the one before is in its backward pass.
        signal = torch.stack(slopes).any().cpu().double()
        totals = torch.cat([sums, signal[None]])[None]
        loss, kl, divergence, signals = self.engine.all_gather(totals).sum(0).tolist()
        metrics = {"train/loss": loss, "train/no_signal": float(not signals)}
        num_tokens = max(1, int(lengths.sum()))
        if self.reference is not None:
            metrics["policy/kl_ref"] = kl / num_tokens
        if "distillation" in self.forward_options:
            metrics["policy/divergence"] = divergence / num_tokens
        if signals:
            self.before_step()
        metrics |= self.engine.step() if signals else self.engine.discard()
        return metrics | {"train/skipped": float(not math.isfinite(metrics["train/grad_norm"]))}

    def _backward(self, part: slice, weight: PerResponse) -> tuple[list[float], Tensor]:
        """Adds the gradient of a microbatch.

        Returns:
            Its loss, its token KL to the reference and its divergence from the teacher; and, on the
            device, whether the slope of some token is not 0.
        """
        log_prob, entropy, *others = self.engine.forward(
            self.responses.rows(part.start, part.stop), **self.forward_options
        )
        self._store(part, log_prob.detach(), entropy.detach())
        batch = self.batch.rows(part.start, part.stop, log_prob.shape[1]).to(log_prob)
        with clipped_tokens() as masks:
            loss = self.learner.weighted(log_prob, batch, weight.to(log_prob), entropy, *others)
        clipped = torch.zeros_like(batch.mask)
        for mask in masks:
            clipped |= mask
        self.statistics.add(log_prob, entropy, clipped, batch)
        if self.learner.uses_sampler and callable(self.learner.sampler_correction):
            rejection = rejected(self.learner.sampler_correction, batch, log_prob)
            self.statistics.add_rejected(rejection, batch.mask)
        if self.trace is not None:
            self.trace.add(part, log_prob, clipped, batch)
        distance = [values.sum().item() for values in others] or [0.0]
        sums = [loss.item(), token_kl(log_prob, batch), *distance]
        inputs = [values for values in (log_prob, entropy, *others) if values.requires_grad]
        for values in inputs:
            values.retain_grad()
        self.engine.backward(loss)
        has_slope = log_prob.new_zeros((), dtype=torch.bool)
        for values in inputs:
            has_slope |= values.grad.any() if values.grad is not None else False
        return sums, has_slope

    def _store(self, part: slice, log_prob: PerToken, entropy: PerToken) -> None:
        """Writes values of the policy for those of policies that it still equals."""
        batch, width = self.batch, log_prob.shape[1]
        equals = (
            (batch.old_log_prob, log_prob, not self.has_moved),
            (batch.extras.get("old_entropy"), entropy, not self.has_moved),
            (batch.epoch_log_prob, log_prob, not self.has_moved_in_epoch),
            (batch.ref_log_prob, log_prob, self._is_reference()),
        )
        for values, new, is_policy in equals:
            if is_policy and values is not None:
                values[part, :width] = new.to(values)

    def _log_prob(self, policy: Policy, minibatches: Iterable[Sequence[slice]]) -> PerToken:
        """Log-probability of each token under a policy; NaN for tokens of other minibatches."""
        log_prob = self._unknown()
        self._write(lambda responses: (policy(responses),), minibatches, log_prob)
        return log_prob

    @torch.no_grad()
    def _write(
        self,
        forward: Callable[[Responses], Sequence[PerToken]],
        minibatches: Iterable[Sequence[slice]],
        *outputs: PerToken,
    ) -> None:
        """Writes the first values of a forward pass on minibatches into rows of `outputs`."""
        for part in (part for parts in minibatches for part in parts):
            values = forward(self.responses.rows(part.start, part.stop))
            for output, new in zip(outputs, values, strict=False):
                output[part, : new.shape[1]] = new.to(output)

    def _unknown(self) -> PerToken:
        """NaN for each token, 0 elsewhere."""
        mask = self.responses.mask
        return torch.zeros(mask.shape, dtype=torch.float64).masked_fill(mask, math.nan)

    def _all_reduce(self, part: Tensor) -> Tensor:
        return self.engine.all_gather(part[None]).sum(0)

    def _is_reference(self) -> bool:
        """True while the policy has the weights, and the prompts, of its reference."""
        return isinstance(self.reference, ReferencePolicy) and self.reference.is_policy

    def _count(self, step: dict[str, float]) -> None:
        """Counts an optimizer step for the policies, unless it was skipped or had no signal."""
        if step["train/skipped"] or step["train/no_signal"]:
            return
        self.has_moved = self.has_moved_in_epoch = True
        if isinstance(self.reference, ReferencePolicy):
            is_new = self.reference.stepped(self.engine, step["policy/kl_ref"])
            self.has_new_reference |= is_new


def _mean_metrics(steps: Sequence[dict[str, float]]) -> dict[str, float]:
    """Number of skipped steps, and means over the others, or over all where all are skipped."""
    finite = [step for step in steps if not step["train/skipped"]] or steps
    means = {name: sum(step[name] for step in finite) / len(finite) for name in steps[0]}
    return means | {"train/skipped": sum(step["train/skipped"] for step in steps)}
