"""Properties of an algorithm in training, through `update` on a bandit."""

from dataclasses import replace

import torch
from hypothesis import strategies as st
from torch import Tensor

from agents.contract.examples import Draw, Rollout, rollouts
from agents.contract.outcomes import Outcome
from agents.engines.bandit import BanditEngine, Meeting, respond
from agents.learner import Learner, Passes
from agents.rollout import Responses

LEARNING_RATE = 4.0
"""Of the bandits: the second minibatch is off-policy, and some of its tokens are clipped."""


def ignores_microbatches(learner: Learner, draw: Draw) -> None:
    """An update in pieces is that of the whole."""
    rollout = rollouts(draw)
    size = draw(st.integers(1, len(rollout.lengths) - 1))
    other = trained(learner, rollout, size)
    how = f"in microbatches of {size} responses"
    trained(learner, rollout, len(rollout.lengths)).expect(other, how)


def ignores_the_number_of_ranks(learner: Learner, draw: Draw) -> None:
    """An update by two ranks is that of one."""
    rollout = rollouts(draw)
    size = len(rollout.lengths)
    other = trained(learner, rollout, size, num_ranks=2)
    trained(learner, rollout, size).expect(other, "with two ranks")


def trains_on_its_loss(learner: Learner, draw: Draw) -> None:
    """The first step of an update follows the gradient of `compute_loss`."""
    rollout = replace(rollouts(draw), num_minibatches=1, epochs=1)
    policy = BanditEngine(rollout.logits, LEARNING_RATE)
    reference = BanditEngine(rollout.ref_logits)
    responses = _responses(rollout)
    log_prob, ref = (engine.forward(responses)[0] for engine in (policy, reference))
    value = learner.compute_loss(
        log_prob,
        log_prob.detach(),
        rollout.reward.flatten(),
        responses.mask,
        rollout.reward.shape[1],
        ref.detach() if learner.uses_reference else None,
        sampler_log_prob=responses.sampler_log_prob.to(ref),
    )
    policy.backward(value)
    policy.step()
    expected = Outcome(value.item(), policy.logits.detach())
    trained(learner, rollout, len(rollout.lengths)).expect(expected, "by compute_loss")


def trained(
    learner: Learner, rollout: Rollout, microbatch_size: int, num_ranks: int = 1
) -> Outcome:
    """The mean loss of an update, and the table after it; prompt i goes to rank i % num_ranks."""
    meeting = Meeting(num_ranks)

    def work(rank: int) -> tuple[float, Tensor]:
        policy = BanditEngine(rollout.logits, LEARNING_RATE, rank, meeting)
        reference = BanditEngine(rollout.ref_logits)
        metrics = learner.update(
            policy,
            _responses(rollout, rank, num_ranks),
            rollout.reward[rank::num_ranks],
            Passes(
                minibatch_size=len(rollout.lengths) // rollout.num_minibatches,
                microbatch_size=microbatch_size,
                epochs=rollout.epochs,
            ),
            (lambda part: reference.forward(part)[0]) if learner.uses_reference else None,
        )
        return metrics["train/loss"], policy.logits.detach()

    return Outcome(*meeting.run(work)[0], "after the update the logit of (problem, position, arm)")


def _responses(rollout: Rollout, rank: int = 0, num_ranks: int = 1) -> Responses:
    """Those of one rank."""
    rows = torch.arange(len(rollout.lengths)).view_as(rollout.reward)[rank::num_ranks].flatten()
    return respond(
        (rows // rollout.reward.shape[1]).tolist(),
        rollout.tokens[rows],
        [rollout.lengths[row] for row in rows.tolist()],
    )
