"""The learner: an algorithm as a value, from rewards and log-probabilities to a scalar loss."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from jaxtyping import Bool, Float
from torch import Tensor

from agents import references
from agents.advantages import Advantage, AllReduce, standardized
from agents.corrections import SamplerCorrection, corrected, uncorrected
from agents.distillation import SecondContext, divergence_of_logits
from agents.errors import UsageError
from agents.losses import per_token
from agents.ranges import check_ranges
from agents.reductions import Reduction, sequence_mean, token_mean
from agents.references import Refresh
from agents.rollout import (
    EXTRAS,
    SECOND_CONTEXT,
    Batch,
    Group,
    Mask,
    PerResponse,
    PerToken,
    RewardParts,
)

Scalar = Float[Tensor, ""]


@dataclass(frozen=True, kw_only=True)
class Learner(ABC):
    """An algorithm: advantages from rewards, and the loss of each token from advantages.

    A learner is a frozen value without state. A subclass gives `advantage` and `loss`; its fields
    are its hyper-parameters and its command line.
    """

    reads: ClassVar[tuple[str, ...]] = ()
    """Names of `EXTRAS`, or of others that an update is given, which loss or advantages read from a
    batch; what is not named is not computed."""

    reduction: Reduction = token_mean
    """From the losses of tokens to a scalar."""
    sampler_correction: SamplerCorrection = None
    """For tokens drawn from the sampler's μ: cap > 0 of their importance weights π_old / μ, or a
    function such as masked_weight(0.5, 5). None, in a run, is 2 where top_p or top_k cut the
    sampler off or staleness > 0, else none; uncorrected is none there too."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Raises UsageError for `reads` that are no tuple of names."""
        super().__init_subclass__(**options)
        if not isinstance(cls.reads, tuple) or not all(cls.reads):
            raise UsageError(
                f"{cls.__name__} has reads = {cls.reads!r}: give a tuple of names, such as "
                f"{', '.join(EXTRAS)}"
            )

    def __post_init__(self) -> None:
        """Raises UsageError for a number outside its range."""
        check_ranges(self)
        level = getattr(self, "level", per_token)
        if level is not per_token and self.reduction is not sequence_mean:
            warnings.warn(
                f"{type(self).__name__} with the level {level.__name__} has the loss of a whole "
                "response or turn at each of its tokens, which only reduction sequence_mean "
                "averages",
                stacklevel=3,
            )

    @classmethod
    def run_defaults(cls, max_response_length: int) -> dict[str, Any]:
        """Settings of a run, by name, that this algorithm has in place of the common defaults.

        Args:
            max_response_length: Of the run, in tokens.
        """
        return {}

    @property
    def uses_reference(self) -> bool:
        """True if the loss or the advantage reads `ref_log_prob`."""
        return False

    @property
    def reference_schedule(self) -> Refresh | None:
        """Schedule of the reference model; None for a learner without such a model."""
        context = self.second_context
        is_teacher = context is not None and context.weights == "initial"
        return references.fixed if self.uses_reference or is_teacher else None

    @property
    def second_context(self) -> SecondContext | None:
        """The teacher and its prompt, for a learner that has one."""
        return None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of all extras of the batch: `reads`, and those of the second context."""
        context = self.second_context
        return self.reads if context is None else (*self.reads, context.value, "distilled")

    def at_step(self, step: int, num_steps: int) -> "Learner":
        """The algorithm of a training step, by default the same in all: a schedule of its fields.

        Args:
            step: From 1.
            num_steps: Of the run.
        """
        return self

    @property
    def uses_sampler(self) -> bool:
        """True if the loss reads `sampler_log_prob`."""
        return self.sampler_correction not in (None, uncorrected)

    @property
    def token_advantage_uses_old_policy(self) -> bool:
        """True if `token_advantage` or `prepare` read `old_log_prob`; by default if overridden.

        Otherwise one optimizer step a rollout takes a single forward pass: token-level advantages
        come before the old log-probabilities, which are NaN there.
        """
        kind = type(self)
        return (kind.token_advantage, kind.prepare) != (Learner.token_advantage, Learner.prepare)

    @abstractmethod
    def advantage(self, reward: Group) -> Group:
        """Advantage of each response, from the rewards of the whole rollout on all ranks."""

    def advantage_from_parts(self, reward: Group, parts: Mapping[str, Group]) -> Group:
        """Advantage of each response from the components of its reward, by default `advantage`.

        Args:
            reward: Weighted sums, with the overlong penalty.
            parts: Components by name, unweighted; none unless `reads` has "reward_parts".
        """
        return self.advantage(reward)

    def token_advantage(self, batch: Batch, all_reduce: AllReduce) -> PerToken:
        """Advantage of each token of a rollout, by default that of its response.

        Args:
            batch: This rank's part of the rollout, before it is cut into minibatches; its
                `advantage` is that of the responses.
            all_reduce: Sum over all ranks; every rank calls it equally often.
        """
        return batch.advantage

    def prepare(self, batch: Batch, all_reduce: AllReduce, log_prob: PerToken) -> Batch:
        """The rollout with all that is decided over the whole of it, once and without gradient.

        By default its token-level advantages; a learner may add others for its loss, by
        `batch.with_extras`.

        Args:
            batch: This rank's part of the rollout, as `token_advantage` has it.
            all_reduce: Sum over all ranks; every rank calls it equally often.
            log_prob: Under the current policy. In a run that is the policy at the start of the
                rollout's update, so of its first minibatch alone.
        """
        return replace(batch, advantage=self.token_advantage(batch, all_reduce))

    def ref_log_prob(self, batch: Batch) -> PerToken:
        """Log-probabilities under the reference policy, which may be the old one.

        Raises:
            UsageError: For another one, where `batch.ref_log_prob` is missing.
        """
        if not self.uses_reference:
            return batch.old_log_prob
        if batch.ref_log_prob is None:
            raise UsageError("this loss needs ref_log_prob: give it, or the reference no weight")
        return batch.ref_log_prob

    def curriculum(
        self, history: Sequence[Mapping[str, Any]], problems: Sequence[Any]
    ) -> Sequence[int] | None:
        """Problems to draw the next step's from, by number; None, the default, for all of them.

        Called before every step where it is overridden, on rank 0. A function of its arguments
        alone, so that a resumed run poses the problems of one that was never stopped. A number
        that stands twice is posed twice as often. The numbers are posed without repetition until
        all have been as long as they stay the same; others begin an order of their own.

        Args:
            history: Metrics of each step so far, the rows of `metrics.jsonl`; None where a value
                is not finite.
            problems: Of the training split.
        """
        return None

    @abstractmethod
    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """Loss of each token, to be minimised; values outside the mask are ignored."""

    def compute_loss(  # noqa: PLR0913 - the algorithm's quantities, rare ones by name
        self,
        log_prob: PerToken,
        old_log_prob: PerToken,
        reward: PerResponse,
        response_mask: Mask,
        group_size: int,
        ref_log_prob: PerToken | None = None,
        *,
        truncated: Bool[Tensor, " b"] | None = None,
        sampler_log_prob: PerToken | None = None,
        token_advantage: PerToken | None = None,
        entropy: PerToken | None = None,
        reward_parts: Mapping[str, PerResponse] | None = None,
        **extras: Any,
    ) -> Scalar:
        """The whole algorithm on tensors: the scalar to be minimised.

        Args:
            log_prob: Under the policy being trained; carries the gradient.
            old_log_prob: Under the policy that sampled, by the trainer.
            reward: Of each response; `group_size` consecutive ones answer the same prompt.
            response_mask: True on response tokens.
            group_size: Responses per prompt.
            ref_log_prob: Under the reference policy, where the learner uses one.
            truncated: True for responses that are to have no loss, as `--truncated mask` has it of
                those that the length limit cut. Their rewards stay in the advantages of the group.
            sampler_log_prob: Under the sampler's distribution; None where that is the old policy.
            token_advantage: Of each token, in place of that of its response.
            entropy: Of the policy being trained; carries a gradient. This and the following are
                read by learners that name them in `reads`.
            reward_parts: Components of the reward of each response, by name.
            extras: `old_entropy` of the policy that sampled, `texts`, `tokens`, and others.

        Raises:
            UsageError: `group_size` does not divide the number of responses, or the learner uses a
                reference or reads a value and none is given, or one is given that there is not, or
                a correction and log-probabilities are NaN, or its loss or its advantage has another
                shape than it should.
        """
        if len(reward) % group_size:
            raise UsageError(f"group_size {group_size} does not divide {len(reward)} responses")
        if self.uses_reference and ref_log_prob is None:
            raise UsageError(
                f"{type(self).__name__} with a reference constraint needs ref_log_prob"
            )
        if unknown := extras.keys() - {*EXTRAS, *SECOND_CONTEXT, *self.reads}:
            raise UsageError(f"{type(self).__name__} does not read {min(unknown)}")
        parts_by_name = RewardParts(reward_parts or {})
        extras |= self._of_second_context(log_prob, extras)
        extras = self.select_extras(entropy=entropy, reward_parts=parts_by_name, **extras)
        parts = extras.get("reward_parts", {}).items()
        groups = RewardParts({name: part.reshape(-1, group_size) for name, part in parts})
        advantage = self.checked_advantage(reward.reshape(-1, group_size), groups)
        advantage = advantage.flatten()[:, None].expand_as(log_prob)
        advantage = advantage if token_advantage is None else token_advantage
        mask = response_mask if truncated is None else response_mask & ~truncated[:, None]
        if self.second_context is not None and self.second_context.required:
            mask = mask & extras["distilled"][:, None]
        if self.uses_sampler and sampler_log_prob is not None:
            self.check_sampler(bool(sampler_log_prob[mask].isnan().any()))
        policies = old_log_prob, old_log_prob, ref_log_prob, sampler_log_prob
        extras.pop("entropy", None)
        divergence = extras.pop("divergence", None)
        batch = Batch(mask, advantage, *policies, extras)
        batch = self.prepare(batch, lambda part: part, log_prob.detach())
        weight = self.reduction(mask.sum(-1), group_size)
        return self.weighted(log_prob, batch, weight, entropy, divergence)

    def _of_second_context(self, log_prob: PerToken, extras: Mapping[str, Any]) -> dict[str, Any]:
        """The mask of responses with a context, by default all, and the divergence, from logits."""
        if self.second_context is None:
            return {}
        every = log_prob.new_ones(len(log_prob)).bool()
        given = {"distilled": extras.get("distilled", every)}
        divergence = self.second_context.divergence
        if divergence is None or "divergence" in extras:
            return given
        logits, teacher = (extras.get(name) for name in ("logits", "teacher_logits"))
        if logits is None or teacher is None:
            raise UsageError(
                f"{type(self).__name__} needs logits and teacher_logits, or their divergence"
            )
        return given | {"divergence": divergence_of_logits(divergence, logits, teacher)}

    def select_extras(self, **values: Any) -> dict[str, Any]:
        """The learner's `inputs`, by name; entropy and divergence may come with the loss.

        Raises:
            UsageError: One of them is missing, None or empty.
        """
        for name in self.inputs:
            value, is_late = values.get(name), name in ("entropy", "divergence")
            if (value is None or not len(value)) and (not is_late or name in values):
                there = "" if name in EXTRAS else f": there are {', '.join(values)}"
                raise UsageError(f"{type(self).__name__} reads {name}, and none is given{there}")
        return {name: value for name, value in values.items() if name in self.inputs}

    def weighted(
        self,
        log_prob: PerToken,
        batch: Batch,
        weight: PerResponse,
        entropy: PerToken | None = None,
        divergence: PerToken | None = None,
    ) -> Scalar:
        """Sum of the token losses, weighted by response; padding has neither value nor gradient."""
        log_prob = log_prob.where(batch.mask, batch.old_log_prob.where(batch.mask, 0.0))
        if entropy is not None and "entropy" in self.reads:
            batch = batch.with_extras(entropy=entropy.where(batch.mask, 0.0))
        if divergence is not None:
            has_value = batch.mask & batch.distilled[:, None]
            batch = batch.with_extras(divergence=divergence.where(has_value, 0.0))
        factor = None
        if self.sampler_correction is not None:
            batch, factor = corrected(self.sampler_correction, batch, log_prob)
        loss = self.loss(log_prob, batch)
        self._check_shape("loss", loss, log_prob, "token, [b t]")
        loss = loss if factor is None else loss * factor
        return (weight * loss.where(batch.mask, 0.0).sum(-1)).sum()

    def checked_advantage(self, reward: Group, parts: Mapping[str, Group]) -> Group:
        """`advantage_from_parts`; raises UsageError for another shape, or a value not finite."""
        advantage = self.advantage_from_parts(reward, parts)
        self._check_shape("advantage", advantage, reward, "response, [p g]")
        if reward.isfinite().all() and not advantage.isfinite().all():
            raise UsageError(
                f"{type(self).__name__}: advantage is not finite for rewards "
                f"{reward[~advantage.isfinite().all(-1)][0].tolist()}: does it divide by their "
                "standard deviation, which may be zero or that of one response?"
            )
        return advantage

    def _check_shape(self, name: str, value: Any, like: Tensor, axes: str) -> None:
        actual = list(value.shape) if isinstance(value, Tensor) else type(value).__name__
        if actual != list(like.shape):
            raise UsageError(
                f"{type(self).__name__}: {name} has shape {actual}; it needs a value for each "
                f"{axes}, here {list(like.shape)}"
            )

    def check_sampler(self, is_missing: bool) -> None:
        """Raises UsageError where the learner lacks the sampler's log-probabilities."""
        if self.uses_sampler and is_missing:
            correction = self.sampler_correction
            reason = "" if correction is None else f" with sampler_correction {correction}"
            advice = "" if correction is None else ", or leave the correction out"
            raise UsageError(
                f"{type(self).__name__}{reason} needs sampler_log_prob, and the sampler gave none: "
                f"have it return log-probabilities{advice}"
            )


@dataclass(frozen=True, kw_only=True)
class GroupLearner(Learner):
    """A learner whose advantages are a function of the rewards of each group."""

    advantage_function: Advantage = standardized
    """A: standardized, or another function of the group's rewards."""

    def advantage(self, reward: Group) -> Group:
        """A of each response."""
        return self.advantage_function(reward)


@dataclass(frozen=True, kw_only=True)
class ReferenceLearner(Learner):
    """A learner with a penalty β to a reference policy, in its loss or in its reward."""

    beta: float | None = None
    """β, the weight of the penalty to the reference policy, >= 0."""
    reference: Refresh = references.fixed
    """The reference policy: fixed, every(steps), when_moved(kappa), or old."""

    @property
    def uses_reference(self) -> bool:
        """True if there is a penalty to another policy than the old one."""
        return bool(self.beta) and self.reference is not references.old

    @property
    def reference_schedule(self) -> Refresh | None:
        """`reference`, or None where no second model is needed."""
        return self.reference if self.uses_reference else None
