"""The grader in other people's trainers: what TRL and verl call, importing neither."""

import functools
import os

from reasonenv.workers import Grader


def shared_grader() -> Grader:
    """The Grader of whoever brings none: one for this process, made when it is first asked for.

    Its workers start when an answer needs one, and end with the program.
    """
    return _grader_of(os.getpid())


@functools.cache
def _grader_of(pid: int) -> Grader:
    # A process that was forked has its parent's Grader, but not the threads that serve it.
    return Grader()
