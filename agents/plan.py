"""What a run needs in memory, before anything is loaded: python -m agents.plan --help.

    python -m agents.plan --learner cpgd --env MMK12-v0 --num-gpus 8 --gpu-memory 80

It takes the flags of a training run, reads a model's configuration and no weights, and tells what
each GPU holds in the parts of a step, whether that fits, and what to change where it does not.
"""

import argparse
import importlib
import inspect
import json
import os
import pkgutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

import agents
from agents.cli.exit import errors_in_one_line
from agents.cli.flags import parse_run
from agents.cli.settings import Run, check_run
from agents.engines.build import needs_reference_model, uses_vllm
from agents.errors import ModelError, UsageError
from agents.learner import Learner
from agents.planning.changes import changes
from agents.planning.phases import Plan, plan
from agents.planning.setting import Machine, setting
from agents.planning.shapes import read
from agents.planning.table import lines, summary, totals
from agents.storage.json_files import json_value

OPTIONS: dict[str, dict[str, Any]] = {
    "num_gpus": {"type": int, "help": "over all nodes; 0 for the CPU (this machine's)"},
    "gpu_memory": {"type": float, "help": "of one GPU, in GiB (this machine's)"},
    "gpus_per_node": {"type": int, "default": 8, "help": "they share a machine's memory (8)"},
    "num_words": {"type": int, "default": 512, "help": "tokens of the longest question (512)"},
    "num_images": {"type": int, "default": 1, "help": "of a problem, for models that see (1)"},
    "json": {"action": "store_true", "help": "print the plan as JSON"},
}
"""Flags beside those of a run."""
LEAST = {"num_gpus": 0, "gpus_per_node": 1, "num_words": 0, "num_images": 0}
"""Smallest values of those that count."""


def brief(run: Run, learner: Learner, num_ranks: int = 1) -> str:
    """The plan of a run on this machine in two or three lines.

    Args:
        run: Resolved settings.
        learner: The algorithm.
        num_ranks: As torchrun tells.

    Raises:
        ModelError: In one line, when weights, gradients and optimizer alone are larger than the
            memory, or the model's configuration cannot be read.
    """
    num_gpus = num_ranks if torch.cuda.is_available() else 0
    memory = here(num_gpus)
    if not num_gpus:
        memory /= int(os.environ.get("LOCAL_WORLD_SIZE", num_ranks))
    machine = Machine(num_gpus=num_gpus, memory=memory, num_processes=num_ranks)
    run = replace(run, sampler="vllm" if uses_vllm(run.sampler) else "transformers")
    reference, shape = needs_reference_model(learner.reference_schedule, run.lora), read(run.model)
    found = plan(setting(run, shape, machine, reference=reference))
    if found.least > memory:
        raise ModelError(refusal(found))
    text = f"plan: {summary(found.setting)}\n      {totals(found)}: {found.verdict}"
    if found.verdict != "fits":
        text += "\n      python -m agents.plan, with the same flags, tells what to change"
    return text


def refusal(found: Plan) -> str:
    """Why a run cannot fit, and the change that helps, in one line."""
    shape, ways = found.setting.shape, changes(found)
    helps = ", ".join(way.words for way in ways) if ways and ways[-1].fits else ""
    return (
        f"{shape.name} has {shape.num_weights / 1e9:.1f} billion weights, which need about "
        f"{found.least:.0f} GiB to train before the first token, and the run has "
        f"{found.setting.where}; use {helps or 'more GPUs, a smaller model'}, or --model tiny"
    )


def here(num_gpus: int) -> float:
    """GiB of this machine's GPU, or of its memory where the CPU is asked for."""
    if num_gpus and torch.cuda.is_available():
        return torch.cuda.get_device_properties(0).total_memory / 2**30
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def find_learner(name: str) -> type[Learner]:
    """The learner of a module of `agents`, by the module's name.

    Raises:
        UsageError: In one line, when there is none.
    """
    known = {module.name for module in pkgutil.iter_modules(agents.__path__)}
    module = vars(importlib.import_module(f"agents.{name}")) if name in known else {}
    classes = [
        value
        for value in module.values()
        if inspect.isclass(value)
        and issubclass(value, Learner)
        and not inspect.isabstract(value)
        and value.__module__ == f"agents.{name}"
    ]
    if len(classes) != 1:
        raise UsageError(f"--learner {name}: give a module of agents with one, such as cpgd, grpo")
    return classes[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the status is 1 where the run does not fit."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    if "--help" in words or "-h" in words:
        parser.print_help()
        print("\nand every flag of the learner:\n")
    asked, rest = parser.parse_known_args(words)
    with errors_in_one_line():
        learner = find_learner(asked.learner)
    run, algorithm = parse_run(learner, rest)
    with errors_in_one_line():
        found = _plan(run, algorithm, asked)
    print(_json(found) if asked.json else "\n".join(lines(found)))
    return 0 if found.fits else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m agents.plan",
        description=(__doc__ or "").splitlines()[0],
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("--learner", default="cpgd", help="module of agents, such as grpo (cpgd)")
    for name, option in OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **option)
    return parser


def _plan(run: Run, learner: Learner, asked: argparse.Namespace) -> Plan:
    check_run(run)
    for name, least in LEAST.items():
        value = getattr(asked, name)
        if value is not None and value < least:
            raise UsageError(f"--{name.replace('_', '-')} is {value}: give at least {least}")
    num_gpus = torch.cuda.device_count() if asked.num_gpus is None else asked.num_gpus
    if num_gpus and asked.gpu_memory is None and not torch.cuda.is_available():
        raise UsageError(f"--num-gpus {num_gpus}: there is none here; give --gpu-memory in GiB")
    memory = here(num_gpus) if asked.gpu_memory is None else asked.gpu_memory
    if not memory > 0:
        raise UsageError(f"--gpu-memory is {memory}: give more than 0 GiB")
    machine = Machine(
        num_gpus=num_gpus,
        memory=memory,
        gpus_per_node=asked.gpus_per_node,
        num_words=asked.num_words,
        num_images=asked.num_images,
    )
    reference, shape = needs_reference_model(learner.reference_schedule, run.lora), read(run.model)
    return plan(setting(run, shape, machine, reference=reference))


def _json(found: Plan) -> str:
    content = json_value(found) | {
        "totals": {phase.name: phase.total for phase in found.phases},
        "verdict": found.verdict,
        "changes": [json_value(change) for change in changes(found)],
    }
    return json.dumps(content, indent=2)


if __name__ == "__main__":
    sys.exit(main())
