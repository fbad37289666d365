"""The table as a policy, ranks as threads, and slopes by finite differences."""

import threading

import pytest
import torch

from agents.advantages import centered
from agents.cpgd import CPGD
from agents.engines import TrainEngine
from agents.engines.bandit import BanditEngine, ThreadRanks, respond
from agents.reductions import constant_length
from agents.testing.gradients import slopes
from agents.training.update import Passes, update

LOGITS = torch.tensor(
    [[[0.0, 1.0, -1.0], [0.5, 0.0, 0.0]], [[1.0, 1.0, 0.0], [0.0, 0.0, 2.0]]], dtype=torch.float64
)


def test_a_token_has_the_log_probability_and_the_entropy_of_its_bandit():
    responses = respond([1, 0], torch.tensor([[2, 1], [1, 0]]), [2, 1])
    log_prob, entropy = BanditEngine(LOGITS).forward(responses)
    policy = LOGITS.log_softmax(-1)
    expected = torch.stack(
        [
            torch.stack([policy[1, 0, 2], policy[1, 1, 1]]),
            torch.stack([policy[0, 0, 1], LOGITS[0, 0, 0]]),
        ]
    )
    torch.testing.assert_close(log_prob, expected.where(responses.mask, 0.0))
    torch.testing.assert_close(entropy[0, 1], -(policy[1, 1].exp() * policy[1, 1]).sum())
    assert entropy[1, 1] == 0
    assert not entropy.requires_grad


def test_a_step_on_every_arm_once_is_that_of_the_expected_reward():
    uniform, reward = torch.zeros(1, 1, 3, dtype=torch.float64), [1.0, 0.0, 0.5]
    engine = BanditEngine(uniform, learning_rate=3.0)
    learner = CPGD(advantage_function=centered, reduction=constant_length(1))
    metrics = update(
        learner,
        engine,
        respond([0, 0, 0], torch.tensor([[0], [1], [2]]), [1, 1, 1]),
        torch.tensor([reward], dtype=torch.float64),
        Passes(minibatch_size=3, microbatch_size=2),
    )
    logits = uniform.clone().requires_grad_()
    expected = (logits.softmax(-1)[0, 0] * torch.tensor(reward, dtype=torch.float64)).sum()
    (gradient,) = torch.autograd.grad(expected, logits)
    torch.testing.assert_close(engine.logits.detach(), 3.0 * gradient)
    assert metrics["train/grad_norm"] == pytest.approx(gradient.norm().item())


def test_a_loaded_table_goes_on_where_the_saved_one_was(tmp_path):
    saved, loaded = BanditEngine(LOGITS), BanditEngine(torch.zeros_like(LOGITS))
    saved.save(tmp_path)
    loaded.load(tmp_path)
    before = LOGITS.clone()
    for engine in (saved, loaded):
        assert isinstance(engine, TrainEngine)
        engine.backward(engine.forward(respond([0], torch.tensor([[1, 1]]), [2]))[0].sum())
        engine.step()
    assert torch.equal(saved.logits, loaded.logits)
    assert torch.equal(LOGITS, before)


def test_ranks_gather_in_their_order_and_step_together():
    ranks = ThreadRanks(3)

    def work(rank):
        engine = BanditEngine(LOGITS, rank=rank, ranks=ranks)
        engine.backward((rank + 1) * engine.logits.sum())
        engine.step()
        return engine.all_gather(torch.tensor([rank, 10 * rank])).tolist(), engine.logits.detach()

    for gathered, logits in ranks.run(work):
        assert gathered == [0, 0, 1, 10, 2, 20]
        torch.testing.assert_close(logits, LOGITS - 6)


def test_a_rank_that_fails_does_not_leave_the_others_waiting():
    ranks = ThreadRanks(2)

    def work(rank):
        if rank:
            raise KeyError("here")
        ranks.all_gather(rank, torch.zeros(1))

    with pytest.raises(KeyError, match="here"):
        ranks.run(work)
    gathered = ranks.run(lambda rank: ranks.all_gather(rank, torch.tensor([rank])).tolist())
    assert gathered == [[0, 1]] * 2  # they meet again
    assert threading.active_count() < 10


def test_a_rank_that_gathers_alone_is_told():
    ranks = ThreadRanks(2)

    def work(rank):
        if not rank:
            ranks.all_gather(rank, torch.zeros(1))

    with pytest.raises(RuntimeError, match="rank 0 calls all_gather and another rank does not"):
        ranks.run(work)


def test_a_rank_without_a_single_token_does_not_stop_an_update():
    ranks = ThreadRanks(2)
    lengths = ([2, 1], [0, 0])

    def work(rank):
        engine = BanditEngine(LOGITS, rank=rank, ranks=ranks)
        responses = respond([rank] * 2, torch.tensor([[0, 1], [2, 0]]), lengths[rank])
        reward = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
        passes = Passes(minibatch_size=4, microbatch_size=1)
        return update(CPGD(), engine, responses, reward, passes), engine.logits.detach()

    (one, table), (two, other) = ranks.run(work)
    assert one == two
    assert torch.equal(table, other)
    assert torch.equal(table[1], LOGITS[1])


def test_slopes_are_those_of_the_function_with_what_is_detached_held():
    point = torch.tensor([[0.3, -1.0, 2.0]], dtype=torch.float64)
    mask = torch.tensor([[True, True, False]])

    def loss(x):
        with torch.no_grad():
            weight = x.exp()
        return (weight * x + x.detach() * x.square()).sum()

    derivative = slopes(loss, point, mask)
    torch.testing.assert_close(derivative, (point.exp() + 2 * point.square()).where(mask, 0.0))


def test_at_a_kink_there_is_no_slope():
    point = torch.tensor([[0.0, 0.5]], dtype=torch.float64)
    derivative = slopes(lambda x: x.abs().sum(), point, torch.ones(1, 2, dtype=torch.bool))
    assert derivative[0, 0].isnan()
    assert derivative[0, 1].item() == pytest.approx(1)
