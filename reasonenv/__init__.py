"""Vectorised Gymnasium environments for mathematics problems in words and images.

    envs = reasonenv.make("Figures-v0", num_envs=64, group_size=8)
    observations, infos = envs.reset(seed=0)
    observations, rewards, terminations, truncations, infos = envs.step(responses)

Importing this package touches no data set and starts no process.
"""

from reasonenv.grading import Grade
from reasonenv.problem import Problem, Problems
from reasonenv.registration import Registration, make, register, registry

__all__ = ["Grade", "Problem", "Problems", "Registration", "make", "register", "registry"]
