"""Sampler and trainer compared on two ranks, of which one may disagree: run by
test_parity.py.

Usage: torchrun --nproc-per-node 2 parity_ranks.py MODEL_FOLDER EMPTY_FOLDER
"""

import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path

from torch import distributed

from agents.engines.transformers import TransformersSampler
from agents.training import parity
from helpers import tiny_engines


class Rereading(TransformersSampler):
    """Reads the prompts in another order."""

    def encode(self, observations):
        prompts = super().encode(observations)
        return tuple(replace(p, token_ids=p.token_ids[:1] + p.token_ids[:0:-1]) for p in prompts)


def refusal(*parts) -> str:
    try:
        parity.compare(*parts)
    except ValueError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    model, empty, rank = Path(sys.argv[1]), Path(sys.argv[2]), int(os.environ["RANK"])
    engine = tiny_engines.build("deepspeed-2", model)
    parts = engine.policy, engine.chat, engine.sampling, 8
    rows = tiny_engines.observations((0, 1, 2)[: 2 + rank])
    results = {
        "whole": asdict(parity.compare(engine, TransformersSampler(*parts), engine.chat, rows))
    }
    kind = Rereading if rank == 1 else TransformersSampler
    results["refusal"] = refusal(engine, kind(*parts), engine.chat, rows)
    (empty / f"{rank}.json").write_text(json.dumps(results))
    distributed.destroy_process_group()
