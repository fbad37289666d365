"""Examples of problems: python -m reasonenv.envs.word_problems --level 2 --split heldout."""

import argparse
from collections.abc import Sequence

from reasonenv.console import exit_status, new_parser, print_line, standard_streams
from reasonenv.envs.word_problems import problems


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = new_parser("envs.word_problems", __doc__)
    parser.add_argument("--split", default="train")
    parser.add_argument("--level", type=int, default=1)
    parser.add_argument("--problem-seed", type=int, default=0)
    parser.add_argument("--families", nargs="*")
    parser.add_argument("--num-problems", type=int, default=20)
    options = parser.parse_args(arguments)
    return exit_status(lambda: _print_problems(options))


def _print_problems(options: argparse.Namespace) -> int:
    selection = problems(options.split, options.level, options.problem_seed, options.families)
    for problem in selection[: options.num_problems]:
        print_line(f"{problem.metadata['family']}: {problem.question}")
        print_line(f"    {problem.solution}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
