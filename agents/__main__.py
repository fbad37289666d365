"""The command `reasonenv-train COMMAND`, also `python -m agents COMMAND`: trains and evaluates.

`reasonenv-train cpgd --env MMK12-v0` is `python -m agents.cpgd --env MMK12-v0`.
"""

import runpy
import sys
from collections.abc import Sequence

from agents.algorithms import ALGORITHMS, find_learner
from agents.cli.exit import standard_streams
from agents.cli.missing_packages import explain_missing_packages
from reasonenv.console import parse_command

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
    """Trains, or runs the module of another command; without arguments, lists them."""
    about = "Trains a model on an environment, and what belongs to it."
    name, *words = parse_command(
        "reasonenv-train", "agents", about, ALGORITHMS | COMMANDS, arguments
    )
    explain_missing_packages()
    if name in ALGORITHMS:
        from agents.run import main as train

        return train(find_learner(name), words)
    sys.argv[1:] = words
    runpy.run_module(f"agents.{name}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
