"""Other libraries: environments for TRL, verl and verifiers, and the tasks of reasoning-gym."""

import functools

from reasonenv.workers import Grader


@functools.cache
def shared_grader() -> Grader:
    """The Grader of the process for callers without one, made on the first call.

    Its workers start with the first answer that needs one, and end with the process.
    """
    return Grader()
