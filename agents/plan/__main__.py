"""Memory of a run, estimated before anything is loaded: python -m agents.plan --help.

    python -m agents.plan --learner cpgd --env MMK12-v0 --num-gpus 8 --gpu-memory 80

It takes the flags of a training run, reads a model's configuration and no weights, and prints the
memory of each GPU in the phases of a step, whether it fits, and if not, why.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Gt, Interval, Le

from agents.algorithms import find_learner
from agents.cli.checks import check_run
from agents.cli.exit import errors_in_one_line
from agents.cli.flags import parse_run
from agents.cli.types import validated
from agents.errors import UsageError
from agents.plan.runs import local_memory, plan_run
from agents.plan.text import plan_lines
from agents.storage.json_files import json_value
from reasonenv.console import print_line, standard_streams

RESULTS = ("phases", "totals", "verdict", "kv_bytes", "responses_at_a_time", "vllm_share")
"""Properties of a plan in its JSON, besides its inputs."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Machine and problems of a memory plan."""

    learner: str = "cpgd"
    """Module of agents with a learner, such as grpo."""
    num_gpus: Annotated[int, Interval(ge=0, le=2**20)] = torch.cuda.device_count()
    """GPUs over all nodes; 0 for the CPU. By default this machine's."""
    gpu_memory: Annotated[float, Gt(0), Le(2**20)] | None = None
    """GiB of one GPU, or of the machine for the CPU; by default this machine's."""
    num_words: Annotated[int, Interval(ge=0, le=2**20)] = 512
    """Text tokens of the longest prompt."""
    num_images: Annotated[int, Interval(ge=0, le=2**20)] = 1
    """Images of a problem, for vision models."""
    json: bool = False
    """Print the plan as JSON."""


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the exit status is 1 if the run does not fit."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--learner", default=Machine.learner)
    with errors_in_one_line():
        learner = find_learner(first.parse_known_args(words)[0].learner)
    run, algorithm, machine = parse_run(learner, words, Machine)
    with errors_in_one_line():
        run = check_run(run)
        machine = validated(machine)
        num_gpus, memory = machine.num_gpus, machine.gpu_memory
        if memory is None and num_gpus and not torch.cuda.is_available():
            raise UsageError(f"--num-gpus {num_gpus}: no GPU here; give --gpu-memory")
        lengths = {"num_words": machine.num_words, "num_images": machine.num_images}
        memory = memory or local_memory(num_gpus)
        plan = plan_run(run, algorithm, num_gpus=num_gpus, memory=memory, **lengths)
    content = json_value(plan) | {name: getattr(plan, name) for name in RESULTS}
    for line in json.dumps(content, indent=2).splitlines() if machine.json else plan_lines(plan):
        print_line(line)
    return int(plan.verdict == "does not fit")


if __name__ == "__main__":
    sys.exit(main())
