"""Memory of a run, estimated before anything is loaded: python -m agents.plan --help.

    python -m agents.plan --learner cpgd --env MMK12-v0 --num-gpus 8 --gpu-memory 80

It takes the flags of a training run, reads a model's configuration and no weights, and prints the
memory of each GPU in the phases of a step, whether it fits, and changes where it does not.
"""

import argparse
import importlib
import inspect
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import torch

from agents.cli.checks import check_integer, check_run
from agents.cli.exit import errors_in_one_line, short, standard_streams
from agents.cli.flags import parse_run
from agents.cli.json_flags import json_object
from agents.cli.settings import Run
from agents.engines.reference_policy import needs_reference_model
from agents.engines.vllm import uses_vllm
from agents.errors import ModelError, UsageError
from agents.learner import Learner
from agents.planning.changes import suggest_changes
from agents.planning.phases import Plan, make_plan
from agents.planning.setting import MOST_GPUS, Setting, make_sharding
from agents.planning.shapes import read_shape
from agents.planning.table import machine_text, plan_lines, plan_title, totals
from agents.storage.json_files import json_value
from reasonenv.console import print_line

COUNTS = {
    "num-gpus": (0, None, "over all nodes; 0 for the CPU (this machine's)"),
    "gpus-per-node": (1, 8, "which share the memory of a machine (8)"),
    "num-words": (0, 512, "text tokens of the longest prompt (512)"),
    "num-images": (0, 1, "of a problem, for vision models (1)"),
}
"""Minimum, default and help of integer flags."""
MOST_MEMORY = 2**20
"""GiB of one GPU at most."""


def local_plan(run: Run, learner: Learner, num_ranks: int = 1) -> Plan:
    """The plan of a run on `num_ranks` GPUs of this machine, or on its CPU in one process.

    Raises:
        ModelError: Weights, gradients, optimizer and one response alone exceed the memory, or the
            model's configuration cannot be read.
    """
    num_gpus = num_ranks if torch.cuda.is_available() else 0
    run = replace(run, sampler="vllm" if uses_vllm(run.sampler) else "transformers")
    plan = _plan(run, learner, num_gpus=num_gpus, memory=local_memory(num_gpus))
    if plan.minimum > plan.setting.memory:
        raise ModelError(_refusal(plan))
    return plan


def short_text(plan: Plan) -> str:
    """A plan in two or three lines."""
    text = f"plan: {plan_title(plan.setting)}\n      {totals(plan)}: {plan.verdict}"
    if plan.verdict != "fits":
        text += "\n      python -m agents.plan with the same flags suggests changes"
    return text


def local_memory(num_gpus: int) -> float:
    """GiB of this machine's first GPU, or of its memory for a run on the CPU."""
    if num_gpus and torch.cuda.is_available():
        return torch.cuda.get_device_properties(0).total_memory / 2**30
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def find_learner(name: str) -> type[Learner]:
    """The learner of a module of `agents`, by the module's name.

    Raises:
        UsageError: There is none.
    """
    path = f"agents.{name}"
    exists = name.isidentifier() and find_spec(path) is not None
    for value in vars(importlib.import_module(path)).values() if exists else ():
        is_own = inspect.isclass(value) and value.__module__ == path
        if is_own and issubclass(value, Learner) and not inspect.isabstract(value):
            return value
    raise UsageError(
        f"--learner {short(name)}: give a module of agents with one, such as cpgd, grpo"
    )


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the exit status is 1 if the run does not fit."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    if "--help" in words or "-h" in words:
        parser.print_help()
        print("\nand every flag of the learner:\n")
    options, rest = parser.parse_known_args(words)
    with errors_in_one_line():
        learner = find_learner(options.learner)
    run, algorithm = parse_run(learner, rest)
    with errors_in_one_line():
        check_run(run)
        plan = _plan(run, algorithm, **_machine(options))
    for line in _json(plan).splitlines() if options.json else plan_lines(plan):
        print_line(line)
    return 0 if plan.fits else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m agents.plan",
        description=(__doc__ or "").splitlines()[0],
        add_help=False,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--learner", default="cpgd", help="module of agents, such as grpo (cpgd)")
    add("--gpu-memory", type=float, help="of one GPU, in GiB (this machine's)")
    add("--json", action="store_true", help="print the plan as JSON")
    for flag, (_, default, text) in COUNTS.items():
        add(f"--{flag}", type=int, default=default, help=text)
    return parser


def _machine(options: argparse.Namespace) -> dict[str, Any]:
    for flag, (minimum, _, _) in COUNTS.items():
        value = vars(options)[flag.replace("-", "_")]
        if value is not None:
            check_integer(flag, value, minimum, MOST_GPUS)
    num_gpus = torch.cuda.device_count() if options.num_gpus is None else options.num_gpus
    memory = options.gpu_memory
    if memory is None:
        if num_gpus and not torch.cuda.is_available():
            raise UsageError(f"--num-gpus {num_gpus}: no GPU here; give --gpu-memory in GiB")
        memory = local_memory(num_gpus)
    if not memory > 0:
        raise UsageError(f"--gpu-memory is {memory}: give more than 0 GiB")
    if memory > MOST_MEMORY:
        raise UsageError(f"--gpu-memory is {memory}: give at most {MOST_MEMORY} GiB")
    counts = {name: vars(options)[name] for name in ("gpus_per_node", "num_words", "num_images")}
    return counts | {"num_gpus": num_gpus, "memory": memory}


def _plan(run: Run, learner: Learner, *, num_gpus: int, **machine: Any) -> Plan:
    """The plan of a run; `machine` has the other fields of `Setting`."""
    adapters = None if run.lora is None else json_object("lora", run.lora)
    setting = Setting(
        run=run,
        shape=read_shape(run.model, trust_remote_code=run.trust_remote_code),
        sharding=make_sharding(run, num_gpus),
        reference=needs_reference_model(learner.reference_schedule, adapters),
        num_gpus=num_gpus,
        **machine,
    )
    return make_plan(setting)


def _refusal(plan: Plan) -> str:
    """The reason why a run cannot fit, and changes with which it does, in one line."""
    shape, changes = plan.setting.shape, suggest_changes(plan)
    fits = bool(changes) and changes[-1].fits
    words = ", ".join(c.words for c in changes) if fits else "more GPUs, a smaller model"
    work = "train and sample" if plan.setting.sampler == "vllm" else "train"
    return (
        f"{shape.name} has {shape.num_weights / 1e9:.1f} billion weights, which need about "
        f"{plan.minimum:.0f} GiB to {work} before the first token, and the run has "
        f"{machine_text(plan.setting)}; use {words}, or --model tiny"
    )


def _json(plan: Plan) -> str:
    content = json_value(plan) | {
        "totals": {phase.name: phase.total for phase in plan.phases},
        "verdict": plan.verdict,
        "changes": [json_value(change) for change in suggest_changes(plan)],
    }
    return json.dumps(content, indent=2)


if __name__ == "__main__":
    sys.exit(main())
