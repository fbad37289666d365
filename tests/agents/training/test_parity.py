"""Sampler and trainer before the first step: pairs that agree, and pairs that do not."""

import copy
import json
from dataclasses import replace

import pytest
import torch
from helpers import tiny_engines, torchrun

from agents.engines.model import Policy
from agents.engines.transformers import TransformersSampler
from agents.training.parity import TOLERANCES, Parity, compare, tolerance

FLOAT32 = TOLERANCES[torch.float32]


@pytest.fixture
def engine(folder):
    """A trainer whose policy is no longer the flat one that it began as."""
    engine = tiny_engines.build("torch", folder)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in engine.policy.parameters():
            weight.add_(0.1 * torch.randn(weight.shape, generator=generator))
    return engine


def sampler_of(engine, policy=None, **changes):
    sampling = replace(engine.sampling, **changes)
    return TransformersSampler(policy or engine.policy, engine.chat, sampling, 100)


def compared(engine, sampler, num_images=(0, 1, 3)) -> Parity:
    observations = tiny_engines.observations(num_images, group_size=2)
    return compare(engine, sampler, engine.chat, observations)


def test_a_sampler_of_the_trainers_own_weights_agrees(engine):
    found = compared(engine, sampler_of(engine))
    assert found.num_prompts == 3
    assert 3 <= found.num_tokens <= 3 * 32
    assert 0 < found.mean <= found.max < 1e-4
    found.check(tolerance(torch.float32))


@pytest.mark.parametrize("cut", [{"top_p": 0.3}, {"top_k": 2}])
def test_what_cuts_the_sampler_off_does_not_count(engine, cut):
    sampler = sampler_of(engine, **cut)
    compared(engine, sampler).check(FLOAT32)
    assert sampler.sampling == replace(engine.sampling, **cut)
    assert sampler.max_response_length == 100


def test_other_weights_are_refused(engine, folder):
    other = Policy(copy.deepcopy(engine.policy.model))
    with torch.no_grad():
        for weight in other.parameters():
            weight.mul_(1.03)
    found = compared(engine, sampler_of(engine, other))
    line = r"^sampler and trainer do not agree: [^\n]* 0\.001 is allowed; check the weights[^\n]*$"
    with pytest.raises(ValueError, match=line):
        found.check(FLOAT32)


@pytest.mark.parametrize("temperature", [0.9, 1.1])
def test_another_temperature_is_refused(engine, temperature):
    found = compared(engine, sampler_of(engine, temperature=temperature))
    with pytest.raises(ValueError, match=f"{found.mean:.3g} nats on average"):
        found.check(FLOAT32)


def test_a_token_that_the_trainer_bans_is_refused_under_any_bound(engine):
    everything = sampler_of(engine, banned=())
    # The policy hardly has another token.
    vocabulary = engine.policy.model.config.get_text_config().vocab_size
    engine.sampling = replace(engine.sampling, banned=tuple(range(1, vocabulary)))
    found = compared(engine, everything)
    assert found.mean == torch.inf
    with pytest.raises(ValueError, match="inf nats"):
        found.check(100.0)


class Rereading(TransformersSampler):
    """Takes the tokens of prompts in another order, and says so or not."""

    def __init__(self, *parts, says: bool) -> None:
        super().__init__(*parts)
        self.says = says

    def generate(self, prompts, seed, finished=None):
        other = {id(p): replace(p, token_ids=self.turned(p.token_ids)) for p in prompts}
        responses = super().generate(tuple(other[id(p)] for p in prompts), seed, finished)
        return responses if self.says else replace(responses, prompts=prompts)

    @staticmethod
    def turned(tokens):
        return tokens[:1] + tokens[:0:-1]


def test_a_prompt_that_is_read_in_another_order_is_refused(engine):
    sampler = Rereading(engine.policy, engine.chat, engine.sampling, 100, says=False)
    with pytest.raises(ValueError, match="do not agree"):
        compared(engine, sampler, (0,)).check(FLOAT32)


def test_a_sampler_that_reads_a_prompt_otherwise_is_told_where(engine):
    sampler = Rereading(engine.policy, engine.chat, engine.sampling, 100, says=True)
    line = r"^the sampler encodes prompt 1 as (\d+) tokens, the trainer as \1, [^\n]* token 1 on: "
    with pytest.raises(ValueError, match=line):
        compared(engine, sampler, (0,))


def test_a_sampler_with_other_image_sizes_is_refused(engine):
    chat = copy.copy(engine.chat)
    chat.image_processor = copy.deepcopy(engine.chat.image_processor)
    chat.image_processor.size = {"shortest_edge": 28 * 28, "longest_edge": 2 * 28 * 28}
    sampler = TransformersSampler(engine.policy, chat, engine.sampling, 100)
    with pytest.raises(
        ValueError, match=r"^the sampler encodes prompt 1 as \d+ tokens[^\n]*images?"
    ):
        compared(engine, sampler, (1,))


def test_no_rank_samples_where_another_has_a_prompt_that_does_not_fit(engine, monkeypatch):
    def generate(*_):
        raise AssertionError("a collective of sampling would wait for the other rank for ever")

    sampler = sampler_of(engine)
    monkeypatch.setattr(sampler, "generate", generate)
    two_ranks = [torch.tensor([False, True])]
    with monkeypatch.context() as patch:
        patch.setattr(engine, "all_gather", lambda _: two_ranks.pop())
        with pytest.raises(ValueError, match="failed on rank 1: see its message"):
            compared(engine, sampler)
    text = engine.policy.model.config.get_text_config()
    monkeypatch.setattr(text, "max_position_embeddings", 40)
    with pytest.raises(ValueError, match="do not fit in this model's context of 40 tokens"):
        compared(engine, sampler)


def test_a_sampler_without_log_probabilities_is_refused(engine):
    class Silent(TransformersSampler):
        def generate(self, prompts, seed, finished=None):
            responses = super().generate(prompts, seed, finished)
            unknown = responses.sampler_log_prob.masked_fill(responses.mask, torch.nan)
            return replace(responses, sampler_log_prob=unknown)

    sampler = Silent(engine.policy, engine.chat, engine.sampling, 100)
    with pytest.raises(ValueError, match=r"^the sampler gives no log-probabilities"):
        compared(engine, sampler)


def test_comparing_changes_nothing(engine):
    sampler = sampler_of(engine, top_p=0.9)
    prompts = sampler.encode(tiny_engines.observations())
    expected = sampler.generate(prompts, (3,)).tokens
    weights, state = tiny_engines.vector(engine), torch.get_rng_state()
    before = dict(vars(sampler))
    compared(engine, sampler)
    assert torch.equal(torch.get_rng_state(), state)
    assert vars(sampler) == before
    assert torch.equal(tiny_engines.vector(engine), weights)
    assert torch.equal(sampler.generate(prompts, (3,)).tokens, expected)


def test_the_bound_is_that_of_the_coarser_engine():
    assert tolerance(torch.float32) < tolerance(torch.float16) < tolerance(torch.bfloat16)
    assert tolerance(torch.float32, torch.bfloat16) == tolerance(torch.bfloat16)


def test_bfloat16_stays_within_its_bound(engine):
    rounded = Policy(copy.deepcopy(engine.policy.model).bfloat16())
    found = compared(engine, sampler_of(engine, rounded))
    assert found.mean > FLOAT32
    found.check(tolerance(torch.float32, torch.bfloat16))
    assert "encode 3 prompts alike" in str(found)


@pytest.mark.slow(reason="two more ranks, beside those of test_ranks")
def test_all_ranks_agree_on_whether_they_agree(folder, tmp_path):
    torchrun.run("parity_ranks.py", folder, tmp_path)
    first, second = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1))
    assert first["whole"] == second["whole"]
    assert first["whole"]["num_prompts"] == 5
    assert 0 < first["whole"]["mean"] < FLOAT32
    assert first["refusal"] == (
        "the comparison of sampler and trainer failed on rank 1: see its message"
    )
    assert second["refusal"].startswith("the sampler encodes prompt 1 as")
