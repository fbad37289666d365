"""Reward functions and data sets for the trainers of TRL and verl, neither of which is imported."""

import functools

from reasonenv.workers import Grader


@functools.cache
def shared_grader() -> Grader:
    """The Grader of the process for callers without one, made on the first call.

    Its workers start with the first answer that needs one, and end with the process.
    """
    return Grader()
