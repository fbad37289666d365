"""Contract tests of a learner, also for users' own algorithms."""

from collections.abc import Sequence

from agents.errors import MissingPackageError
from agents.learner import Learner

REWARD_PARTS = ("accuracy", "format", "overlong_penalty")
"""Components of the reward that every environment reports, and the penalty of a run."""


def check_learner(
    learner: Learner, max_examples: int = 30, reward_parts: Sequence[str] = REWARD_PARTS
) -> None:
    """Tests a learner on small random examples, through `compute_loss` and an update of a bandit.

        check_learner(MyLearner(clip_high=0.3))

    The properties: invariance to values outside the mask, to the amount and side of padding, to
    tokens without a loss among others, to the order of responses in a group and of groups, to
    microbatches and to the number of ranks; invariance to a shift of the rewards where the
    advantages have it, and then to their rounding errors; no change by an update with equal rewards
    and equal policies, unless the loss truly trains on them; finite numbers for groups of equal
    rewards, responses without tokens and log-ratios of ±50; and a gradient equal to the slope of
    the loss, with detached values held constant.

    Examples come from hypothesis, without randomness between runs; the error shows the smallest
    failing one. Takes seconds.

    Args:
        learner: Computes in the dtype of its arguments.
        max_examples: Examples to try for each property.
        reward_parts: Names of the components of the reward, for a learner that reads them.

    Raises:
        AssertionError: A property fails; the message has the property, tensors and both results.
        MissingPackageError: Hypothesis is not installed.
    """
    try:
        from agents.testing.contract import check_property
        from agents.testing.gradients import PROPERTIES
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise MissingPackageError(
            "check_learner needs hypothesis: pip install hypothesis"
        ) from None
    for title, holds in PROPERTIES.items():
        check_property(learner, title, holds, max_examples, reward_parts)
