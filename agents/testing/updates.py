"""Properties of an algorithm in training, through `update` on a bandit."""

from collections.abc import Callable
from dataclasses import replace

import torch
from hypothesis import strategies as st
from torch import Tensor

from agents.engines.bandit import BanditEngine, ThreadRanks, respond
from agents.learner import Learner
from agents.rollout import PerToken, Responses
from agents.testing.examples import Draw, Rollout, rollouts
from agents.testing.outcomes import Outcome
from agents.training.update import Passes, update

LEARNING_RATE = 4.0
"""Of the bandits: the second minibatch is off-policy, and some of its tokens are clipped."""
LOGIT = "after the update the logit of (problem, position, arm)"


def ignores_microbatches(learner: Learner, draw: Draw) -> None:
    """An update in pieces is that of the whole."""
    rollout = rollouts(draw, learner.uses_reference)
    size = draw(st.integers(1, len(rollout.lengths) - 1))
    other = trained(learner, rollout, size)
    how = f"in microbatches of {size} responses"
    trained(learner, rollout, len(rollout.lengths)).expect(other, how)


def ignores_the_number_of_ranks(learner: Learner, draw: Draw) -> None:
    """An update by two ranks is that of one."""
    rollout = rollouts(draw, learner.uses_reference)
    size = len(rollout.lengths)
    other = trained(learner, rollout, size, num_ranks=2)
    trained(learner, rollout, size).expect(other, "with two ranks")


def trains_on_its_loss(learner: Learner, draw: Draw) -> None:
    """The first step of an update follows the gradient of `compute_loss`."""
    rollout = replace(rollouts(draw, learner.uses_reference), num_minibatches=1, epochs=1)
    policy, responses = BanditEngine(rollout.logits, LEARNING_RATE), _responses(rollout)
    reference = _reference(rollout)
    log_prob = policy.forward(responses)[0]
    loss = learner.compute_loss(
        log_prob,
        log_prob.detach(),
        rollout.reward.flatten(),
        responses.mask,
        rollout.reward.shape[1],
        reference and reference(responses),
        sampler_log_prob=responses.sampler_log_prob.to(log_prob),
    )
    policy.backward(loss)
    policy.step()
    expected = Outcome(loss.item(), policy.logits.detach(), LOGIT)
    trained(learner, rollout, len(rollout.lengths)).expect(expected, "by compute_loss")


def trained(
    learner: Learner, rollout: Rollout, microbatch_size: int, num_ranks: int = 1
) -> Outcome:
    """The mean loss of an update, and the table after it; prompt i goes to rank i % num_ranks."""
    ranks = ThreadRanks(num_ranks)

    def work(rank: int) -> tuple[float, Tensor]:
        policy = BanditEngine(rollout.logits, LEARNING_RATE, rank, ranks)
        metrics = update(
            learner,
            policy,
            _responses(rollout, rank, num_ranks),
            rollout.reward[rank::num_ranks],
            Passes(
                minibatch_size=len(rollout.lengths) // rollout.num_minibatches,
                microbatch_size=microbatch_size,
                epochs=rollout.epochs,
            ),
            _reference(rollout),
        )
        return metrics["train/loss"], policy.logits.detach()

    return Outcome(*ranks.run(work)[0], LOGIT)


def _reference(rollout: Rollout) -> Callable[[Responses], PerToken] | None:
    if rollout.ref_logits is None:
        return None
    engine = BanditEngine(rollout.ref_logits)
    return lambda responses: engine.forward(responses)[0].detach()


def _responses(rollout: Rollout, rank: int = 0, num_ranks: int = 1) -> Responses:
    """Those of one rank."""
    rows = torch.arange(len(rollout.lengths)).view_as(rollout.reward)[rank::num_ranks].flatten()
    problems = rows // rollout.reward.shape[1]
    return respond(problems.tolist(), rollout.tokens[rows], rollout.lengths[rows].tolist())
