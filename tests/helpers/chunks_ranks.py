"""Chunked logits on one of two ranks with sharded weights.

Started by torchrun; see `test_chunks_ranks`.
"""

import json
import sys
from pathlib import Path

from agents.engines import token_log_probs
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


def main(folder: Path, results: Path) -> None:
    norm, expected = step(tiny_engines.descent("torch", folder), (0, 1))
    calls, findings = [], {}
    vocabulary = len(tiny_engines.pristine(folder)[1].tokenizer)
    token_log_probs.LOGITS_PER_CHUNK["cpu"] = 16 * vocabulary
    for stage in STAGES:
        engine = tiny_engines.descent(stage, folder)
        calls.clear()
        engine.policy.model.lm_head.register_forward_hook(lambda *_: calls.append(1))
        reached, changed = step(engine, (engine.rank,))
        findings[stage] = {"norm": reached / norm, "difference": difference(changed, expected)}
        findings[stage]["calls"] = len(calls)
    (results / f"rank-{engine.rank}.json").write_text(json.dumps(findings))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
