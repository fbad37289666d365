"""What the sampler drew from, and the weight that makes up for it, by enumeration."""

import pytest
import torch
from helpers import oracle, tiny_engines
from helpers.recorded_logits import record_logits
from helpers.tiny_runs import train
from transformers import TopKLogitsWarper, TopPLogitsWarper

from agents.advantages import leave_one_out, raw
from agents.corrections import truncated_weight
from agents.engines.sampling import Sampling
from agents.engines.transformers import TransformersSampler
from agents.grpo import GRPO
from agents.reductions import sequence_mean
from agents.rollout import Batch
from agents.storage.json_files import read_json
from agents.training.update import Passes, update

OLD = torch.tensor([0.5, 0.25, 0.125, 0.125], dtype=torch.float64).log()
SAMPLER = torch.tensor([0.25, 0.25, 0.125, 0.375], dtype=torch.float64).log()
LOGITS = torch.tensor([0.1, -0.2, 0.3, 0.0], dtype=torch.float64)
REWARD = torch.tensor([1.0, -1.0, 0.5, 2.0], dtype=torch.float64)
PLAIN = GRPO(
    advantage_function=raw, reduction=sequence_mean, clip_low=None, clip_high=None, beta=None
)
NO_CAP = 1e9


def gradient(learner: GRPO, sampler: torch.Tensor, total: int) -> torch.Tensor:
    """Of the loss in the logits, averaged over all that the sampler draws, as often as it does."""
    logits = LOGITS.clone().requires_grad_()
    rows = torch.arange(4).repeat_interleave((sampler.exp() * total).round().long())
    assert len(rows) == total
    learner.compute_loss(
        logits.log_softmax(-1)[rows][:, None],
        OLD[rows][:, None],
        REWARD[rows],
        torch.ones(total, 1, dtype=torch.bool),
        group_size=1,
        sampler_log_prob=sampler[rows][:, None],
    ).backward()
    assert logits.grad is not None
    return logits.grad


def exact(kept=(True,) * 4) -> torch.Tensor:
    """-∇ Σ π R over the responses that can be drawn: the loss under π_old, by importance."""
    logits = LOGITS.clone().requires_grad_()
    part = torch.tensor(kept)
    (-oracle.expected_reward(logits.log_softmax(-1)[part], REWARD[part])).backward()
    assert logits.grad is not None
    return logits.grad


def corrected(cap: float) -> GRPO:
    return GRPO(**{**vars(PLAIN), "sampler_correction": cap})


def test_a_sampler_that_is_the_trainer_needs_no_correction():
    torch.testing.assert_close(gradient(PLAIN, OLD, total=8), exact())
    torch.testing.assert_close(gradient(corrected(NO_CAP), OLD, total=8), exact())


def test_the_uncapped_correction_makes_the_gradient_exact_where_sampler_and_trainer_differ():
    torch.testing.assert_close(gradient(corrected(NO_CAP), SAMPLER, total=8), exact())
    assert (gradient(PLAIN, SAMPLER, total=8) - exact()).abs().max() > 0.1


def test_the_cap_cuts_the_weight_of_what_the_sampler_draws_too_rarely():
    ones = torch.ones(4, 1, dtype=torch.bool)
    old, sampler = OLD[:, None], SAMPLER[:, None]
    batch = Batch(ones, old, old, old, sampler_log_prob=sampler)
    weight = truncated_weight(1.5)(batch, old)[:, 0]
    torch.testing.assert_close(weight, torch.tensor([1.5, 1, 1, 1 / 3], dtype=torch.float64))


def test_the_weight_of_padding_is_one_whatever_stands_there():
    mask = torch.tensor([[True, False]])
    old = torch.tensor([[-1.0, torch.nan]])
    batch = Batch(mask, old, old, old, sampler_log_prob=torch.tensor([[-2.0, 7.0]]))
    assert truncated_weight(2.0)(batch, old).tolist() == [[2.0, 1.0]]


@pytest.mark.parametrize(
    ("cut", "kept", "total"),
    [
        ({"top_k": 2}, (True, True, False, False), 3),
        ({"top_p": 0.7}, (True, True, False, False), 3),
        ({"top_p": 0.5}, (True, False, False, False), 1),
        ({"top_k": 1}, (True, False, False, False), 1),
    ],
)
def test_a_sampler_that_is_cut_off_is_corrected_up_to_what_it_never_draws(cut, kept, total):
    sampling = Sampling(**cut)
    behaviour = sampling.behaviour(OLD[None])[0].double()
    torch.testing.assert_close(
        behaviour.exp(),
        torch.where(torch.tensor(kept), OLD.exp(), 0.0) / OLD.exp()[list(kept)].sum(),
        rtol=1e-6,
        atol=0,
    )
    weighted = gradient(corrected(NO_CAP), behaviour, total)
    torch.testing.assert_close(weighted, exact(kept), rtol=1e-6, atol=1e-7)
    # Without, every token counts as if the rest did not exist: too much, by the mass kept.
    mass = OLD.exp()[list(kept)].sum()
    torch.testing.assert_close(
        mass * gradient(PLAIN, behaviour, total), weighted, rtol=1e-6, atol=0
    )


@pytest.mark.parametrize("top_k", [0, 1, 5, 99])
@pytest.mark.parametrize("top_p", [1.0, 0.9, 0.3, 1e-6])
def test_what_is_kept_is_what_transformers_keeps(top_k, top_p):
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(200, 40, generator=generator)
    expected = logits / 0.7
    if top_k:
        expected = TopKLogitsWarper(top_k)(torch.empty(0), expected)
    if top_p < 1:
        expected = TopPLogitsWarper(top_p)(torch.empty(0), expected)
    behaviour = Sampling(0.7, (), top_p, top_k).behaviour(logits)
    torch.testing.assert_close(behaviour, expected.log_softmax(-1))
    if top_p < 1 or 0 < top_k < 40:
        assert behaviour.isinf().any(-1).all()


def test_tokens_as_likely_as_the_last_that_is_kept_are_kept_too():
    behaviour = Sampling(top_k=1).behaviour(torch.tensor([[1.0, 2.0, 2.0]]))
    assert behaviour.exp().tolist() == [[0.0, pytest.approx(0.5), pytest.approx(0.5)]]


def test_at_temperature_zero_a_single_token_is_drawn():
    sampling = Sampling(0.0, banned=(3,), top_p=0.9, top_k=2)
    behaviour = sampling.behaviour(torch.tensor([[1.0, 2.0, 2.0, 9.0]]))
    assert behaviour.exp().tolist() == [[0.0, 1.0, 0.0, 0.0]]


def parts(folder, **cut):
    """A trainer, a sampler of the same weights that is cut off, and what it drew."""
    engine = tiny_engines.build("torch", folder, temperature=0.8)
    chat = engine.chat
    sampling = Sampling(0.8, chat.banned, **cut)
    sampler = TransformersSampler(engine.policy, chat, sampling, 12)
    prompts = sampler.encode(tiny_engines.observations((0, 1, 3, 2), group_size=2))
    return engine, sampling, sampler.generate(prompts, (0,))


@pytest.mark.parametrize("cut", [{}, {"top_k": 20}, {"top_p": 0.5}, {"top_p": 0.8, "top_k": 99}])
def test_the_sampler_tells_the_probability_with_which_it_really_drew(folder, cut):
    engine, sampling, responses = parts(folder, **cut)
    seen = []
    record_logits(engine.policy.model.get_output_embeddings(), seen.append)
    with torch.no_grad():
        untruncated = engine.forward(responses)[0][responses.mask]
    behaviour = sampling.behaviour(torch.cat(seen))
    torch.testing.assert_close(behaviour.exp().sum(-1), torch.ones(len(behaviour)))
    drawn = behaviour.gather(-1, responses.tokens[responses.mask][:, None])[:, 0]
    told = responses.sampler_log_prob[responses.mask]
    torch.testing.assert_close(told, drawn, atol=1e-4, rtol=0)
    kept = (untruncated - told).exp()  # the mass of what could be drawn
    if cut:
        assert (kept < 0.95).all()
    else:
        torch.testing.assert_close(kept, torch.ones_like(kept), atol=1e-4, rtol=0)


def test_ratios_and_the_difference_of_sampler_and_trainer_are_right_when_the_sampler_is_cut(folder):
    engine, _, responses = parts(folder, top_p=0.5)
    with torch.no_grad():
        mass = engine.forward(responses)[0] - responses.sampler_log_prob
    mass = mass[responses.mask]
    reward = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.5, 1.0], [0.0, 2.0]])
    whole = Passes(minibatch_size=8, microbatch_size=8)
    metrics = update(corrected(2.0), engine, responses, reward, whole)
    assert metrics["policy/ratio_max"] == pytest.approx(1, abs=1e-5)
    assert metrics["policy/ratio_min"] == pytest.approx(1, abs=1e-5)
    assert metrics["sampler/log_prob_diff_mean"] == pytest.approx(mass.abs().mean().item())
    assert metrics["sampler/log_prob_diff_max"] == pytest.approx(mass.abs().max().item())
    assert metrics["sampler/log_prob_diff_mean"] > 0.3


@pytest.mark.parametrize("cap", [0.0, -1.0, float("inf"), float("nan")])
def test_a_cap_out_of_range_is_refused_in_one_line(cap):
    with pytest.raises(ValueError, match=r"^sampler_correction is [^\n]*: give a number > 0"):
        corrected(cap)


def test_a_run_whose_sampler_is_cut_off_is_corrected_and_says_so(tiny_folder, tmp_path, capsys):
    plain = train(tiny_folder, tmp_path / "plain", num_steps=1)[0]
    cut = {"top_p": 0.5, "top_k": 50, "num_steps": 1}
    rows = [
        train(tiny_folder, tmp_path / f"{cap}", **cut, sampler_correction=cap)[0]
        for cap in ("uncorrected", None)
    ]
    assert plain["sampler/log_prob_diff_max"] < 1e-5
    for row in rows:
        assert row["sampler/log_prob_diff_mean"] > 0.3
    assert rows[0]["reward/mean"] == rows[1]["reward/mean"]  # the same responses
    assert rows[1]["train/grad_norm"] < 0.8 * rows[0]["train/grad_norm"]
    line = "sampler correction: 2, since top_p and top_k cut the sampler off; --sampler-correction"
    assert capsys.readouterr().err.count(line) == 1
    settings = [read_json(tmp_path / name / "run.json")["settings"] for name in ("plain", "None")]
    assert [part["learner"]["sampler_correction"] for part in settings] == [None, 2.0]


TOKENS = torch.cartesian_prod(torch.arange(3), torch.arange(3))
"""All responses of two tokens."""
PAIRS = torch.cartesian_prod(torch.arange(9), torch.arange(9))
"""All groups of two of them."""


def response_log_probs(table: torch.Tensor) -> torch.Tensor:
    """Of each token of each response, `[9 2]`, for a table of logits `[2 3]`."""
    return table.log_softmax(-1)[torch.arange(2), TOKENS]


def stale_gradient(learner: GRPO, tables: list[torch.Tensor], reward: torch.Tensor):
    """Expected gradient in the last table, of groups that a policy of `tables[0]` draws."""
    sampler = response_log_probs(tables[0])
    table = tables[-1].clone().requires_grad_()
    log_prob, old = response_log_probs(table), response_log_probs(tables[-1])
    total = torch.zeros_like(table)
    for pair in PAIRS:
        loss = learner.compute_loss(
            log_prob[pair],
            old[pair],
            reward[pair],
            torch.ones(2, 2, dtype=torch.bool),
            group_size=2,
            sampler_log_prob=sampler[pair],
        )
        (slope,) = torch.autograd.grad(loss, table, retain_graph=True)
        total += sampler[pair].sum().exp() * slope
    return total


@pytest.mark.parametrize("staleness", [0, 1, 2])
@pytest.mark.parametrize("advantage", [raw, leave_one_out])
def test_whole_responses_of_a_policy_of_some_updates_before_give_the_gradient_of_this_one(
    advantage, staleness
):
    generator = torch.Generator().manual_seed(0)
    reward = torch.randn(9, generator=generator).double()
    tables = [torch.randn(2, 3, generator=generator).double()]
    uncapped = truncated_weight(NO_CAP, level="response")
    learner = GRPO(
        **{**vars(PLAIN), "advantage_function": advantage, "sampler_correction": uncapped}
    )
    for _ in range(staleness):
        tables.append(tables[-1] - stale_gradient(learner, tables[-1:], reward))
    table = tables[-1].clone().requires_grad_()
    expected = (response_log_probs(table).sum(-1).exp() * -reward).sum() / 2  # two tokens each
    (exact,) = torch.autograd.grad(expected, table)
    torch.testing.assert_close(stale_gradient(learner, tables, reward), exact)
    if staleness:
        capped = GRPO(**{**vars(learner), "sampler_correction": 1.0})
        assert (stale_gradient(capped, tables, reward) - exact).abs().max() > 1e-3
