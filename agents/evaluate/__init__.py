"""Accuracy of a model on the problems of some environments: python -m agents.evaluate --help."""

import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace

from agents.cli.exit import errors_in_one_line, standard_streams
from agents.cli.flags import parse
from agents.cli.model_choice import checkpoint_of
from agents.errors import typed_errors
from agents.evaluate.arguments import (
    EvaluationArguments,
    default_arguments,
    leading_flags,
)
from agents.evaluate.sampler import loaded_sampler
from agents.evaluate.session import Stopped, run_evaluation
from agents.evaluate.tables import evaluation_tables
from reasonenv.console import print_line
from reasonenv.scoring import table_lines


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; `arguments` are those of this process unless given.

    An evaluation that SIGINT, SIGTERM or SIGHUP ends exits with 128 plus the signal's number.
    """
    with errors_in_one_line():
        envs, model, data = leading_flags(arguments)
        model = checkpoint_of(model) if model else None
        default = default_arguments(envs, model, data)
    options = parse(EvaluationArguments, "agents.evaluate", arguments, default)
    options = replace(options, model=model or options.model)
    folder = options.folder()
    try:
        with errors_in_one_line(), typed_errors("sampling"):
            results = run_evaluation(options, lambda: loaded_sampler(options))
    except Stopped as stopped:
        print_line(f"{stopped}: the responses are in {folder}; repeat the command to resume")
        sys.exit(128 + signal.Signals[str(stopped)])
    if options.format == "json":
        lines = json.dumps(results, indent=2, allow_nan=False).splitlines()
    else:
        lines = table_lines(evaluation_tables(results), options.format)
    for line in lines:
        print_line(line)
    # Tables to paste stand alone on standard output.
    stream = sys.stdout if options.format == "text" else sys.stderr
    print_line(f"responses and results: {folder}", stream)
