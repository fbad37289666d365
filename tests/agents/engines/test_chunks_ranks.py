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
        assert rank[stage]["norm"] == pytest.approx(1, rel=1e-5)
        assert rank[stage]["difference"] < 1e-6


@pytest.mark.parametrize("stage", tiny_engines.STAGES)
def test_ranks_gather_the_weights_of_the_head_equally_often(rank_results, stage):
    calls = [rank[stage]["calls"] for rank in rank_results]
    # Six chunks, five of them twice; a rank with one chunk calls once, unless others wait for it.
    assert calls == ([11, 11] if stage == "deepspeed-3" else [11, 1])
