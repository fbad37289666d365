"""Two ranks whose logits come in different numbers of chunks, against one rank with one chunk."""

import json

import pytest
from helpers import tiny_engines, torchrun

pytestmark = pytest.mark.slow(reason="two ranks with an engine for every stage of ZeRO")


@pytest.fixture(scope="module")
def rank_results(tmp_path_factory):
    """Results of two ranks, from one start of torchrun for all tests."""
    model, results = tmp_path_factory.mktemp("tiny"), tmp_path_factory.mktemp("ranks")
    tiny_engines.write(model)
    torchrun.run("chunks_ranks.py", model, results)
    return [json.loads((results / f"rank-{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize("stage", tiny_engines.STAGES)
def test_chunks_on_two_ranks_make_the_step_of_one(rank_results, stage):
    for rank in rank_results:
        # Six chunks on one rank, of 16 tokens, and one on the other.
        for tokens in (16, 1000000):
            result = rank[f"{stage}, chunks of {tokens}"]
            assert result["norm"] == pytest.approx(1, rel=1e-5)
            assert result["difference"] < 1e-6


@pytest.mark.parametrize("tokens", [16, 1000000])
def test_ranks_gather_the_weights_of_the_head_once_a_pass_whatever_its_chunks(rank_results, tokens):
    for rank in rank_results:
        # Once in the forward pass and once in the backward pass, and as often as embeddings.
        assert rank[f"deepspeed-3, chunks of {tokens}"]["gathers"] == 4
        assert rank[f"deepspeed-2, chunks of {tokens}"]["gathers"] == 0
