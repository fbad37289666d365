"""The contract of a learner, for anyone's own."""

from agents.errors import MissingPackageError
from agents.learner import Learner


def check_learner(learner: Learner, max_examples: int = 30) -> None:
    """Fails with an AssertionError that says what a learner does wrong, and on which numbers.

        check_learner(MyLearner(clip_high=0.3))

    What is asked of an algorithm, through `compute_loss` on tensors and `update` on a bandit: that
    nothing outside the mask matters, nor how much padding there is and on which side, nor the order
    of responses within a group and of groups, nor microbatches, nor the number of ranks; that a
    shift of the rewards does not matter where its advantages do not change by one; that groups of
    equal rewards, responses without a token and log-ratios of ±50 give finite numbers; and that the
    gradient is the slope of the loss, with what is detached held constant.

    The numbers are drawn by hypothesis, always the same ones; those that are told are the smallest
    found. It takes seconds.

    Args:
        learner: Computes in the dtype that it is given.
        max_examples: Numbers to try for each property.

    Raises:
        AssertionError: The property that does not hold, the tensors, the two numbers.
        MissingPackageError: Without hypothesis.
    """
    try:
        from agents.testing.contract import PROPERTIES
        from agents.testing.search import hold
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise MissingPackageError(
            "check_learner needs hypothesis: pip install hypothesis"
        ) from None
    for title, check in PROPERTIES.items():
        hold(learner, title, check, max_examples)
