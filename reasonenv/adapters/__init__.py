"""The grader in other people's trainers: what TRL and verl call, importing neither."""

import functools

from reasonenv.workers import Grader


@functools.cache
def shared_grader() -> Grader:
    """The Grader of whoever brings none, made when it is first asked for.

    Its workers start when an answer needs one, and end with the program.
    """
    return Grader()
