"""How many problems of some environments a model solves: python -m agents.evaluate --help."""

import signal
import sys
from collections.abc import Iterator, Mapping, Sequence

import torch

from agents.command_line import errors_in_one_line, parse
from agents.engines import RolloutEngine
from agents.engines.load import check_size, load, place
from agents.engines.model import Policy, Sampling
from agents.engines.transformers import TransformersSampler
from agents.evaluation.pictures import draw
from agents.evaluation.published import published
from agents.evaluation.session import Stopped, run
from agents.evaluation.settings import Evaluate, default_evaluation, envs_and_model
from agents.evaluation.tables import Result, kind_table, rate, result_table
from agents.settings import Run
from agents.sft import recipe, tiny_model


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


def sampler(settings: Evaluate) -> RolloutEngine:
    """What gives the responses: the model, loaded onto this machine."""
    folder = settings.model
    if folder == "tiny":
        env = Run.env if Run.env in settings.env else settings.env[0]
        folder = str(tiny_model(recipe(env, settings.env_options, settings.seed)))
    device = place()
    check_size(folder, device, trains=False)
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    model, chat = load(folder, device, dtype, settings.max_pixels)
    sampling = Sampling(settings.temperature, chat.banned, settings.top_p, settings.top_k)
    return TransformersSampler(
        Policy(model), chat, sampling, settings.max_response_length, settings.sampler_batch_size
    )


if __name__ == "__main__":
    main()
