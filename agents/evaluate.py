"""How many problems of some environments a model solves: python -m agents.evaluate --help."""

import signal
import sys
from collections.abc import Iterator, Mapping, Sequence

from agents.cli.flags import errors_in_one_line, parse
from agents.evaluation.pictures import draw
from agents.evaluation.published import published
from agents.evaluation.samplers import sampler
from agents.evaluation.session import Stopped, run
from agents.evaluation.settings import Evaluate, default_evaluation, envs_and_model
from agents.evaluation.tables import Result, kind_table, rate, result_table


def report(results: Mapping[str, Result], compare: str | None) -> Iterator[str]:
    """The tables that a terminal shows, line by line."""
    yield from result_table(results)
    for env, result in results.items():
        kinds = kind_table(result)
        yield from ("", f"{env} by kind", *kinds) if kinds else ()
    if compare:
        beside = published()[compare].beside({env: rate(r) for env, r in results.items()})
        yield from beside or ("", f"no table of {compare} has these environments")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; `arguments` are those of this process unless given.

    An evaluation that SIGINT or SIGTERM ends exits with 128 plus the signal's number.
    """
    with errors_in_one_line():
        default = default_evaluation(*envs_and_model(arguments))
    settings = parse(Evaluate, "agents.evaluate", arguments, default)
    folder = settings.folder()
    try:
        with errors_in_one_line():
            results = run(settings, lambda: sampler(settings))
    except Stopped as stopped:
        print(f"{stopped}: the responses are in {folder}; the same command goes on")
        sys.exit(128 + signal.Signals[str(stopped)])
    print(*report(results, settings.compare), sep="\n")
    print(f"\nresponses and results: {folder}")
    try:
        tables = published()[settings.compare].tables if settings.compare else ()
        draw(folder / "results.png", results, tables)
        print(f"picture: {folder / 'results.png'}")
    except ImportError as error:
        print(error)


if __name__ == "__main__":
    main()
