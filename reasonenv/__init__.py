"""Vectorised Gymnasium environments for mathematics problems in words and images.

    envs = reasonenv.make("Figures-v2", num_envs=64, group_size=8)
    observations, infos = envs.reset(seed=0)
    observations, rewards, terminations, truncations, infos = envs.step(responses)

Importing this package touches no data set and starts no process.
"""

from reasonenv.environment import Environment
from reasonenv.grading import Grade
from reasonenv.problem import Problem, Problems
from reasonenv.registration import make, register, registry

__all__ = ["Environment", "Grade", "Problem", "Problems", "make", "register", "registry"]


def __getattr__(name: str) -> str:
    """The lazy attribute `__version__`, from the metadata of the installed distribution."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    return version("reasonenv")
