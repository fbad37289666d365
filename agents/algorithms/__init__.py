"""Algorithms by their names, each a module that runs: `python -m agents gspo --help`.

Those of the two papers and their baselines are modules of `agents` itself, the others of this
package.
"""

from importlib import import_module
from importlib.util import find_spec
from inspect import isclass
from typing import Any

from agents.errors import UsageError

ALGORITHMS = {
    "cpgd": "clipped policy gradient with policy drift",
    "rpg": "regularized policy gradients: four divergences, two estimators",
    "grpo": "group relative policy optimization",
    "dr_grpo": "GRPO without normalization by deviation and length",
    "dapo": "GRPO with decoupled clip, dynamic sampling and overlong shaping",
    "rloo": "REINFORCE with a leave-one-out baseline",
    "reinforce": "REINFORCE without a baseline",
    "reinforce_plus_plus": "REINFORCE with advantages whitened over the rollout",
    "reinforce_plus_plus_baseline": "the same after subtracting the mean of each group",
    "gpg": "group policy gradient",
    "cispo": "REINFORCE with truncated importance weights",
    "gspo": "GRPO whose ratio is the geometric mean over a response",
    "gmpo": "the geometric mean of ratios that are clipped by token",
    "sapo": "a smooth gate in place of a clip",
    "dppo": "a trust region of the sampler's probabilities",
    "maxrl": "advantages over the group's mean: maximum likelihood of success",
    "clip_cov": "GRPO without the gradient of some tokens that would cost entropy",
    "kl_cov": "a penalty on the tokens that would cost the most entropy",
    "sdpg": "a policy gradient, and distillation from the policy that is told the answer",
    "opd": "distillation from another model on the policy's own responses, --teacher",
    "opsd": "distillation from the initial policy that sees a worked solution",
    "sdft": "distillation from the policy that sees a demonstration",
    "sdpo": "distillation from the policy that sees another response that is right",
    "papo": "GRPO away from the policy that reads images with black patches",
    "gdpo": "GRPO on components of the reward, standardized one by one",
}
"""Names of algorithms, each with a summary."""


def find_learner(name: str) -> Any:
    """The learner's class of an algorithm, by name.

    Raises:
        UsageError: There is none of this name.
    """
    if name not in ALGORITHMS:
        raise UsageError(
            f"--learner {name[:200]}: give a module of agents with one, such as cpgd, grpo"
        )
    from agents.learner import Learner

    values = vars(import_module(module := module_of(name))).values()
    own = (value for value in values if getattr(value, "__module__", "") == module)
    return next(value for value in own if isclass(value) and issubclass(value, Learner))


def module_of(name: str) -> str:
    """The module of an algorithm or another command of `agents`, whether it exists or not."""
    path = f"{__name__}.{name}"
    return path if find_spec(path) else f"agents.{name}"
