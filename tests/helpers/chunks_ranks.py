"""Chunked logits on one of two ranks with sharded weights.

Started by torchrun; see `test_chunks_ranks`.
"""

import json
import sys
from functools import partial
from pathlib import Path

from agents.engines import sampling
from helpers import tiny_engines
from helpers.tiny_engines import STAGES, difference, vector

LENGTHS = ((40, 33, 7, 9), (1, 1, 1, 0))
"""Of the responses on each rank: six chunks here, and three tokens there, fewer than chunks."""
IMAGES = ((1, 0), (0, 3))


def step(engine, ranks) -> tuple[float, object]:
    """Norm of the gradient, and what a step changes, from the responses of some ranks."""
    before = vector(engine)
    for rank in ranks:
        prompts = engine.chat.encode(tiny_engines.observations(IMAGES[rank], 2))
        responses = tiny_engines.respond(prompts, LENGTHS[rank], engine.chat, seed=rank)
        engine.backward(engine.forward(responses)[0].sum() / 10)
    return engine.step()["train/grad_norm"], vector(engine) - before


def gathers_of(engine) -> list[bool]:
    """For each all-gather of weights from now on, whether that of the head is among them."""
    gathers, head = [], engine.policy.model.lm_head.weight

    def count(gather, weights, **options):
        weights = list(weights)
        gathers.append(any(weight is head for weight in weights))
        return gather(weights, **options)

    for weight in engine.policy.parameters():
        if hasattr(weight, "ds_id"):
            weight.all_gather_coalesced = partial(count, weight.all_gather_coalesced)
    return gathers


def main(folder: Path, results: Path) -> None:
    norm, expected = step(tiny_engines.descent("torch", folder), (0, 1))
    findings = {}
    vocabulary = len(tiny_engines.pristine(folder)[1].tokenizer)
    for tokens in (16, 10**6):
        sampling.LOGITS_PER_CHUNK["cpu"] = tokens * vocabulary
        for stage in STAGES:
            engine = tiny_engines.descent(stage, folder)
            gathers = gathers_of(engine)
            reached, changed = step(engine, (engine.rank,))
            apart = {"norm": reached / norm, "difference": difference(changed, expected)}
            findings[f"{stage}, chunks of {tokens}"] = apart | {"gathers": sum(gathers)}
    (results / f"rank-{engine.rank}.json").write_text(json.dumps(findings))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
