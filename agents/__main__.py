"""The command `reasonenv-train COMMAND`, also `python -m agents COMMAND`: trains and evaluates.

`reasonenv-train cpgd --env MMK12-v0` is `python -m agents.cpgd --env MMK12-v0`.
"""

import runpy
import sys
from collections.abc import Sequence

from agents.cli.exit import standard_streams
from agents.cli.missing_packages import explain_missing_packages
from reasonenv.console import parse_command

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
}
"""Modules of this package that train, each with a summary."""
COMMANDS = {
    "evaluate": "accuracy of a model on benchmarks, with intervals",
    "generate": "responses of a model to a question",
    "report": "a run, or several side by side, as one HTML page",
    "plan": "memory of a run, before anything is loaded",
    "doctor": "checks packages, devices and disks of this machine",
    "sft": "supervised fine-tuning on worked solutions",
    "push": "uploads a checkpoint to the hub",
}
"""Other commands of this package, each with a summary."""


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the module of a command with the arguments after its name; without any, lists them."""
    about = "Trains a model on an environment, and what belongs to it."
    name, *words = parse_command(
        "reasonenv-train", "agents", about, ALGORITHMS | COMMANDS, arguments
    )
    explain_missing_packages()
    sys.argv[1:] = words
    runpy.run_module(f"agents.{name}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
