"""Does each reference grade as right against itself, and wrong against another's?

python -m reasonenv.check --env MMK12-v0 --data DIR
"""

import argparse
import sys
from collections.abc import Sequence

import gymnasium

import reasonenv
from reasonenv.answers import normal
from reasonenv.problem import Problem
from reasonenv.workers import Grader

_SHOWN = 10


def written(answer: str) -> str:
    """A response that gives an answer in the form that every environment pays for."""
    return f"<think>It is known.</think><answer>\\boxed{{{answer}}}</answer>"


def check(problems: Sequence[Problem], grader: Grader) -> tuple[list[Problem], list[Problem]]:
    """The problems whose reference fails itself, and those that pay another's reference.

    The other's is the next reference of the split that reads differently; two that are equal in
    value, such as 1/2 and 0.5, count against the second list though nothing is wrong.
    """
    references = [problem.answer for problem in problems]
    options = [problem.options for problem in problems]
    others = [_other(references, index) for index in range(len(references))]
    own = grader.grade([written(answer) for answer in references], references, options)
    foreign = grader.grade([written(answer) for answer in others], references, options)
    failing = [problem for problem, grade in zip(problems, own, strict=True) if not grade.correct]
    paying = [problem for problem, grade in zip(problems, foreign, strict=True) if grade.correct]
    return failing, paying


def _other(references: list[str], index: int) -> str:
    mine = normal(references[index])
    later = (references[(index + k) % len(references)] for k in range(1, len(references)))
    return next((other for other in later if normal(other) != mine), "no such answer")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 when a reference fails itself, 2 when nothing could be checked."""
    parser = argparse.ArgumentParser(prog="python -m reasonenv.check", description=__doc__)
    parser.add_argument("--env", required=True, help="such as MMK12-v0")
    parser.add_argument("--data", help="folder of local files")
    parser.add_argument("--split", default="train")
    parser.add_argument("--num-problems", type=int, default=1000, help="at most; the first ones")
    options = parser.parse_args(arguments)
    try:
        env = reasonenv.make(options.env, num_envs=1, split=options.split, data=options.data)
        problems = [env.problems[i] for i in range(min(options.num_problems, len(env.problems)))]
    except (ValueError, OSError, gymnasium.error.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    with Grader() as grader:
        failing, paying = check(problems, grader)
    env.close()
    print(f"{'':34}problems  of {len(problems)}")
    _print_row("reference right against itself", problems, failing)
    _print_row("wrong against another's", problems, paying)
    return 1 if failing else 0


def _print_row(title: str, problems: Sequence[Problem], exceptions: list[Problem]) -> None:
    good = len(problems) - len(exceptions)
    print(f"{title:34}{good:8}  {good / len(problems):6.1%}")
    for problem in exceptions[:_SHOWN]:
        print(f"    not {problem.id}: reference {problem.answer[:60]!r}")


if __name__ == "__main__":
    sys.exit(main())
