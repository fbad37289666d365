"""Properties of an update of a bandit by a learner."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from agents.engines.bandit import BanditEngine, ThreadRanks, respond
from agents.engines.frozen_models import Distillation, Teacher
from agents.learner import Learner
from agents.rollout import PerToken, Responses
from agents.testing.examples import Draw, UpdateExample, parts_of, texts_of, update_examples
from agents.testing.gradients import Outcome, PropertyError, required
from agents.training.update import Passes, update

LEARNING_RATE = 4.0
"""Large enough that the second minibatch is off-policy, with clipped tokens."""
REST = 1e-9
"""Least change of a logit that is no rounding error, in float64."""
UNEQUAL = 0.3
"""Difference of logits, no multiple of that between those of an example."""
LOGIT = "after the update the logit of (problem, position, arm)"


@required("microbatches must not matter")
def _ignores_microbatches(learner: Learner, draw: Draw) -> None:
    example = update_examples(draw)
    size = draw.integer(1, len(example.lengths) - 1)
    other = update_outcome(learner, example, size)
    case = f"in microbatches of {size} responses"
    update_outcome(learner, example, len(example.lengths)).assert_close(other, case)


@required("the number of ranks must not matter")
def _ignores_the_number_of_ranks(learner: Learner, draw: Draw) -> None:
    example = update_examples(draw)
    size = len(example.lengths)
    other = update_outcome(learner, example, size, num_ranks=2)
    update_outcome(learner, example, size).assert_close(other, "with two ranks")


@required("without a signal nothing must change")
def _rests_without_a_signal(learner: Learner, draw: Draw) -> None:
    example = update_examples(draw)
    ref_logits = None if example.ref_logits is None else example.logits
    example = replace(example, reward=torch.ones_like(example.reward), ref_logits=ref_logits)
    if "entropy" in learner.reads:
        # Where all arms are equally likely, the slope of the entropy is a rounding error.
        example = replace(example, logits=example.logits + UNEQUAL * torch.arange(3))
    draw.example = example
    after = update_outcome(learner, example, len(example.lengths))
    change = (after.values - example.logits).abs().max().item()
    if 0 < change < REST:
        raise PropertyError(
            f"a logit changes by {change:.2g}, a rounding error: have advantages, and the slope of "
            "a divergence between equal policies, be exactly 0"
        )


@required("update must train on compute_loss")
def _trains_on_compute_loss(learner: Learner, draw: Draw) -> None:
    example = replace(update_examples(draw), num_minibatches=1, epochs=1)
    policy, responses = BanditEngine(example.logits, LEARNING_RATE), _responses(example)
    reference = _reference(example)
    second = learner.second_context
    options: dict[str, Any] = {"entropy_gradient": True}
    if second is not None and second.divergence is not None:
        options["distillation"] = Distillation(Teacher(), second.divergence)
    log_prob, entropy, *divergence = policy.forward(responses, **options)
    teacher_log_prob = Teacher().log_prob(policy, responses)
    loss = learner.compute_loss(
        log_prob,
        log_prob.detach(),
        example.reward.flatten(),
        responses.mask,
        example.reward.shape[1],
        reference and reference(responses),
        sampler_log_prob=responses.sampler_log_prob.to(log_prob),
        entropy=entropy,
        old_entropy=entropy.detach(),
        texts=responses.texts,
        tokens=responses.tokens,
        reward_parts=responses.reward_parts,
        teacher_log_prob=teacher_log_prob,
        corrupted_log_prob=teacher_log_prob,
        distilled=responses.distilled,
        **dict(zip(("divergence",), divergence, strict=False)),
    )
    policy.backward(loss)
    policy.step()
    expected = Outcome(loss.item(), policy.logits.detach(), LOGIT)
    update_outcome(learner, example, len(example.lengths)).assert_close(expected, "by compute_loss")


def update_outcome(
    learner: Learner, example: UpdateExample, microbatch_size: int, num_ranks: int = 1
) -> Outcome:
    """Mean loss of an update and the logits after it; prompt i goes to rank i % num_ranks."""
    ranks = ThreadRanks(num_ranks)

    def work(rank: int) -> tuple[float, Tensor]:
        policy = BanditEngine(example.logits, LEARNING_RATE, rank, ranks)
        metrics = update(
            learner,
            policy,
            _responses(example, rank, num_ranks),
            example.reward[rank::num_ranks],
            Passes(
                minibatch_size=len(example.lengths) // example.num_minibatches,
                microbatch_size=microbatch_size,
                epochs=example.epochs,
            ),
            _reference(example),
        )
        return metrics["train/loss"], policy.logits.detach()

    return Outcome(*ranks.run(work)[0], LOGIT)


def _reference(example: UpdateExample) -> Callable[[Responses], PerToken] | None:
    if example.ref_logits is None:
        return None
    engine = BanditEngine(example.ref_logits)
    return lambda responses: engine.forward(responses)[0].detach()


def _responses(example: UpdateExample, rank: int = 0, num_ranks: int = 1) -> Responses:
    """Responses of one rank; a teacher reads those of a problem as if they were of the next one."""
    rows = torch.arange(len(example.lengths)).view_as(example.reward)[rank::num_ranks].flatten()
    problems = rows // example.reward.shape[1]
    responses = respond(problems.tolist(), example.tokens[rows], example.lengths[rows].tolist())
    others = (problems + 1) % len(example.reward)
    contexts = respond(others.tolist(), responses.tokens, example.lengths[rows].tolist())
    return replace(
        responses,
        texts=texts_of(responses.tokens, responses.mask),
        contexts=contexts.prompts,
        distilled=rows % 3 > 0,
        reward_parts=parts_of(example.reward.flatten()[rows], example.part_names),
    )
