r"""The command `reasonenv`, also `python -m reasonenv`: checks data sets, asks models, scores.

reasonenv check --env MMK12-v0
reasonenv grade 'so it is \boxed{0.5}' 1/2
reasonenv ask --env AIME25-v0 --url http://localhost:8000/v1 --model M --output r.jsonl
reasonenv score --env AIME25-v0 --responses r.jsonl
"""

import argparse
import importlib
import sys
from collections.abc import Sequence

import reasonenv
from reasonenv.console import standard_streams

COMMANDS = {
    "check": "grades each reference of a data set against itself and against another's",
    "grade": "grades one response or a file of responses, and says why",
    "score": "official scores of stored responses",
    "ask": "responses of a chat API to the problems of an environment",
}
"""Modules with a `main` that takes the remaining arguments and returns an exit status."""


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command with the arguments after its name and returns its exit status."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(
        prog="reasonenv",
        description="Environments and grader for mathematics in words and images.",
        epilog="reasonenv COMMAND --help shows the options of a command.",
    )
    version = f"reasonenv {reasonenv.__version__}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary)
    command = parser.parse_args(words[:1]).command
    return importlib.import_module(f"reasonenv.{command}").main(words[1:])


if __name__ == "__main__":
    sys.exit(main())
