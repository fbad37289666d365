"""REINFORCE, a learner and a command: python -m agents.reinforce --help."""

from dataclasses import dataclass

from agents.advantages import Advantage, raw
from agents.learner import GroupLearner
from agents.losses import policy_gradient
from agents.reductions import Reduction, constant_length
from agents.rollout import Batch, PerToken


@dataclass(frozen=True, kw_only=True)
class Reinforce(GroupLearner):
    """The policy gradient itself: -A Σ_i ln π(y_i | x, y_<i), by default with the bare reward.

    On samples of π the gradient is that of the expected reward; any baseline that does not depend
    on the response leaves it so and makes it less noisy. There is no ratio and no clip: after the
    first optimizer step on a rollout it is a little off.

    The PG of the CPGD paper has the STD weight and the prompt mean: `python -m agents.cpgd
    --clip-low None --clip-high None --drift-coefficient None`.

    Source: Williams, Simple Statistical Gradient-Following Algorithms for Connectionist
    Reinforcement Learning (1992).
    """

    advantage_function: Advantage = raw
    """A: raw, leave_one_out, centered, batch_centered."""
    reduction: Reduction = constant_length(1)  # noqa: RUF009 - frozen
    """From the losses of tokens to a scalar: by default summed over each response."""

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """-A ln π."""
        return policy_gradient(log_prob, batch.advantage)


if __name__ == "__main__":
    from agents.run import main

    main(Reinforce)
