"""Accuracy of a model on the problems of some environments: python -m agents.evaluate --help."""

import json
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from agents import warm_start
from agents.cli.defaults import GENERATED
from agents.cli.exit import errors_in_one_line, standard_streams
from agents.cli.flags import parse
from agents.cli.settings import Run
from agents.engines import RolloutEngine
from agents.engines.chat import Chat
from agents.engines.chat_template import ChatOptions
from agents.engines.load import check_size, load_model, local_device
from agents.engines.memory import keep_freed_memory
from agents.engines.model import Policy, Sampling
from agents.engines.precision import computation_dtype, has_half_weights
from agents.engines.threads import set_threads
from agents.engines.transformers import TransformersSampler
from agents.engines.vllm import uses_vllm
from agents.errors import MissingPackageError, typed_errors
from agents.evaluation.arguments import EvaluationArguments, default_arguments, envs_and_model
from agents.evaluation.presentation import draw_results, evaluation_tables
from agents.evaluation.published import published
from agents.evaluation.session import Stopped, run_evaluation
from agents.evaluation.statistics import Result
from reasonenv.console import print_line
from reasonenv.score_tables import table_lines

ALONE = {"gpu_memory_utilization": 0.9, "enable_sleep_mode": False}
"""Options of vLLM on a GPU that no trainer shares."""


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; `arguments` are those of this process unless given.

    An evaluation that SIGINT, SIGTERM or SIGHUP ends exits with 128 plus the signal's number.
    """
    with errors_in_one_line():
        default = default_arguments(*envs_and_model(arguments))
    options = parse(EvaluationArguments, "agents.evaluate", arguments, default)
    folder = options.folder()
    try:
        with errors_in_one_line(), typed_errors("sampling"):
            results = run_evaluation(options, lambda: loaded_sampler(options))
    except Stopped as stopped:
        print_line(f"{stopped}: the responses are in {folder}; repeat the command to resume")
        sys.exit(128 + signal.Signals[str(stopped)])
    for line in printed_lines(results, options):
        print_line(line)
    # Tables to paste stand alone on standard output.
    stream = sys.stdout if options.format == "text" else sys.stderr
    print_line(f"responses and results: {folder}", stream)
    try:
        tables = published()[options.compare].tables if options.compare else ()
        if tables and not any(table.comparison(results) for table in tables):
            print_line(f"no table of {options.compare} has these environments", stream)
        draw_results(folder / "results.png", results, tables)
        print_line(f"picture: {folder / 'results.png'}", stream)
    except MissingPackageError as error:
        print_line(str(error), stream)


def printed_lines(results: Mapping[str, Result], options: EvaluationArguments) -> Iterable[str]:
    """Lines of the results in the format of the options."""
    if options.format == "json":
        return json.dumps(results, indent=2, allow_nan=False).splitlines()
    return table_lines(evaluation_tables(results, options.compare), options.format)


@contextmanager
def loaded_sampler(options: EvaluationArguments) -> Iterator[RolloutEngine]:
    """The sampler of an evaluation with the model loaded, closed at the end.

    Raises:
        AgentsError: In one line, when the model or the engine cannot be loaded.
    """
    keep_freed_memory()
    if message := set_threads():
        print(message, file=sys.stderr)
    folder = options.model
    if folder in GENERATED:
        env = Run.env if Run.env in options.env else options.env[0]
        folder = str(warm_start.folder(env, options.env_options, options.seed, model=folder))
    if uses_vllm(options.sampler):
        yield from _vllm(options, folder)
    else:
        yield _transformers(options, folder)


def _transformers(options: EvaluationArguments, folder: str) -> RolloutEngine:
    device = local_device()
    trust: Any = {"trust_remote_code": options.trust_remote_code}
    check_size(folder, device, trains=False, **trust)
    model, chat = _load(options, folder, device)
    length, batch_size = options.max_response_length, options.sampler_batch_size
    sampling, dtype = _sampling(options, chat.banned), model.dtype
    if dtype == torch.float32:
        dtype = computation_dtype(options.dtype, device, model.num_parameters())
    return TransformersSampler(Policy(model, dtype), chat, sampling, length, batch_size)


def _vllm(options: EvaluationArguments, folder: str) -> Iterator[RolloutEngine]:
    from agents.engines.vllm.sampler import VLLMSampler

    # Only the chat of this copy is used: vLLM reads the weights itself.
    defaults: Any = {"trust_remote_code": options.trust_remote_code}
    if options.dtype != "auto":
        defaults["dtype"] = options.dtype
    _, chat = _load(options, folder, torch.device("meta"))
    defaults |= ALONE if torch.cuda.is_available() else {}
    sampler = VLLMSampler(
        folder,
        chat,
        _sampling(options, chat.banned),
        options.max_response_length,
        log_probs=False,
        options=defaults | options.vllm,
    )
    try:
        yield sampler
    finally:
        sampler.close()


def _load(options: EvaluationArguments, folder: str, device: torch.device) -> tuple[Any, Chat]:
    model, chat = load_model(
        folder,
        device,
        _weight_dtype(options),
        options.max_pixels,
        trust_remote_code=options.trust_remote_code,
        chat_options=ChatOptions(options.chat_template, options.stop),
    )
    for line in chat.remarks():
        print_line(line, sys.stderr)
    return model, chat


def _sampling(options: EvaluationArguments, banned: tuple[int, ...]) -> Sampling:
    return Sampling(options.temperature, banned, options.top_p, options.top_k)


def _weight_dtype(options: EvaluationArguments) -> torch.dtype:
    """bfloat16 on GPUs unless another is asked for; on the CPU the model computes in it at most."""
    device = local_device().type
    is_half = device == "cuda" and has_half_weights(options.dtype, device)
    return torch.bfloat16 if is_half else torch.float32


if __name__ == "__main__":
    main()
