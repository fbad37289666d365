"""The command `reasonenv-train ALGORITHM`, also `python -m agents ALGORITHM`: runs a learner.

`reasonenv-train cpgd --env MMK12-v0` is `python -m agents.cpgd --env MMK12-v0`.
"""

import argparse
import runpy
import sys
from collections.abc import Sequence

import agents
from agents.cli.exit import standard_streams
from agents.cli.missing_packages import explain_missing_packages

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


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the module of an algorithm with the arguments after its name."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(
        prog="reasonenv-train",
        description="Trains a model on an environment.",
        epilog="reasonenv-train ALGORITHM --help shows the options of an algorithm.",
    )
    version = f"reasonenv {agents.__version__}"
    parser.add_argument("--version", action="version", version=version)
    algorithms = parser.add_subparsers(dest="algorithm", metavar="ALGORITHM", required=True)
    for name, summary in ALGORITHMS.items():
        algorithms.add_parser(name, help=summary)
    algorithm = parser.parse_args(words[:1]).algorithm
    explain_missing_packages()
    sys.argv[1:] = words[1:]
    runpy.run_module(f"agents.{algorithm}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
