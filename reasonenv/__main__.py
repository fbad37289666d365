r"""The command `reasonenv`, also `python -m reasonenv`: checks data sets, asks models, scores.

reasonenv check --env MMK12-v0
reasonenv grade 'so it is \boxed{0.5}' 1/2
reasonenv ask --env AIME25-v0 --url http://localhost:8000/v1 --model M --output r.jsonl
reasonenv score --env AIME25-v0 --responses r.jsonl
reasonenv envs
"""

import importlib
import sys
from collections.abc import Sequence

from reasonenv.console import parse_command, standard_streams

COMMANDS = {
    "check": "grades each reference of a data set against itself and against another's",
    "grade": "grades one response or a file of responses, and says why",
    "score": "official scores of stored responses",
    "ask": "responses of a chat API to the problems of an environment",
    "envs": "lists the environments with their data sets, splits and default models",
    "completion": "completion of commands and flags in bash",
}
"""Modules with a `main` that takes the remaining arguments and returns an exit status."""


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command with the arguments after its name; without any, lists them.

    Returns:
        Exit status of the command.
    """
    about = "Environments and grader for mathematics in words and images."
    name, *words = parse_command("reasonenv", "reasonenv", about, COMMANDS, arguments)
    module = "envs.__main__" if name == "envs" else name
    return importlib.import_module(f"reasonenv.{module}").main(words)


if __name__ == "__main__":
    sys.exit(main())
