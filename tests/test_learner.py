"""`Learner.update`: what it logs, what it refuses, and that it is the algorithm."""

import inspect
import math
from dataclasses import dataclass, field

import pytest
import tiny_engines
import torch
from tiny_engines import difference, respond, vector

from agents.advantages import centered
from agents.cpgd import CPGD
from agents.learner import Learner, Passes
from agents.reductions import token_mean
from agents.rollout import Batch, Group, PerToken

REWARD = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.5, 1.0], [0.0, 2.0]])
LENGTHS = (9, 1, 4, 6, 2, 7, 3, 8)
WHOLE = Passes(minibatch_size=8, microbatch_size=8)
METRICS = {
    "train/loss",
    "train/grad_norm",
    "train/lr",
    "policy/ratio_max",
    "policy/ratio_min",
    "policy/clip_fraction",
    "policy/kl_old",
    "policy/entropy",
    "response/length_mean",
    "response/truncated",
    "sampler/log_prob_diff_mean",
    "sampler/log_prob_diff_max",
}


@dataclass(frozen=True, kw_only=True)
class CISPO(Learner):
    """Policy gradient with clipped importance weights: an algorithm that the library lacks."""

    clip_high: float = 0.28

    def advantage(self, reward: Group) -> Group:
        return centered(reward)

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        ratio = (log_prob - batch.old_log_prob).exp().clamp(max=1 + self.clip_high)
        return -ratio.detach() * batch.advantage * log_prob


@dataclass(frozen=True, kw_only=True)
class Witness(CISPO):
    """Keeps the batches that it is shown."""

    batches: list = field(default_factory=list)

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        if not log_prob.is_leaf:  # the diagnostics look at the loss too
            self.batches.append((log_prob.detach(), batch))
        return super().loss(log_prob, batch)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_engines.write(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def engine(folder):
    return tiny_engines.build("torch", folder)


@pytest.fixture
def responses(engine):
    prompts = engine.chat.encode(tiny_engines.observations((0, 1, 3, 2), group_size=2))
    return respond(prompts, LENGTHS, engine.chat)


@torch.no_grad()
def log_prob_of(engine, responses):
    return engine.forward(responses)[0]


def test_an_update_logs_finite_numbers_under_the_names_of_the_design(engine, responses):
    # The made-up responses say that the sampler gave each token a probability of one.
    apart = -log_prob_of(engine, responses)
    metrics = CPGD().update(engine, responses, REWARD, WHOLE)
    assert set(metrics) == METRICS
    assert all(math.isfinite(value) for value in metrics.values())
    assert metrics["response/length_mean"] == sum(LENGTHS) / len(LENGTHS)
    assert metrics["response/truncated"] == 0
    assert metrics["sampler/log_prob_diff_max"] == pytest.approx(apart.max().item())
    assert metrics["sampler/log_prob_diff_mean"] == pytest.approx(apart.sum().item() / sum(LENGTHS))


def test_the_loss_logged_is_that_of_the_algorithm_on_tensors(engine, responses):
    old = log_prob_of(engine, responses)
    expected = CPGD().compute_loss(old, old, REWARD.flatten(), responses.mask, 2)
    metrics = CPGD().update(engine, responses, REWARD, WHOLE)
    assert metrics["train/loss"] == pytest.approx(expected.item(), rel=1e-5)


def test_the_first_minibatch_is_on_policy(engine, responses):
    metrics = CPGD().update(engine, responses, REWARD, WHOLE)
    assert metrics["policy/ratio_max"] == pytest.approx(1, abs=1e-5)
    assert metrics["policy/ratio_min"] == pytest.approx(1, abs=1e-5)
    assert metrics["policy/clip_fraction"] == 0
    assert metrics["policy/kl_old"] == pytest.approx(0, abs=1e-9)


def test_later_minibatches_are_off_policy(engine, responses):
    metrics = CPGD().update(engine, responses, REWARD, Passes(minibatch_size=2, microbatch_size=2))
    assert metrics["policy/ratio_max"] > 1.001
    assert metrics["policy/ratio_min"] < 0.999
    assert metrics["policy/kl_old"] > 0


def test_equal_rewards_give_no_gradient(engine, responses):
    before = vector(engine)
    metrics = CPGD().update(engine, responses, torch.ones(4, 2), WHOLE)
    assert metrics["train/grad_norm"] == 0
    assert metrics["train/loss"] == 0
    assert (vector(engine) - before).norm() < 1e-3 * before.norm()  # weight decay alone


@pytest.mark.parametrize("learner", [CPGD(), CISPO()])
def test_an_update_makes_better_responses_likelier_and_worse_ones_less(folder, responses, learner):
    engine = tiny_engines.descent("torch", folder, rate=1e-2)
    before = log_prob_of(engine, responses).sum(-1)
    learner.update(engine, responses, REWARD, WHOLE)
    change = (log_prob_of(engine, responses).sum(-1) - before).reshape(4, 2)
    better = centered(REWARD)
    assert (change * better).sum() > 0
    assert change[0, 0] > change[0, 1]
    assert change[3, 1] > change[3, 0]


def test_a_new_algorithm_takes_less_than_twenty_lines():
    assert len(inspect.getsource(CISPO).splitlines()) < 20


def test_the_second_epoch_knows_the_policy_at_the_end_of_the_first(folder, responses):
    witness = Witness()
    engine = tiny_engines.build("torch", folder)
    old = log_prob_of(engine, responses)
    witness.update(engine, responses, REWARD, Passes(minibatch_size=4, microbatch_size=4, epochs=2))
    after_one = tiny_engines.build("torch", folder)
    CISPO().update(after_one, responses, REWARD, Passes(minibatch_size=4, microbatch_size=4))
    expected = log_prob_of(after_one, responses)
    batches = [batch for _, batch in witness.batches]
    assert len(batches) == 4
    for i, epoch_log_prob in enumerate((old, old, expected, expected)):
        rows = slice(4 * (i % 2), 4 * (i % 2) + 4)
        width = batches[i].mask.shape[1]
        for seen, wanted in (
            (batches[i].old_log_prob, old),
            (batches[i].epoch_log_prob, epoch_log_prob),
        ):
            torch.testing.assert_close(seen, wanted[rows, :width], atol=1e-5, rtol=0)
    assert (expected - old).abs().max() > 1e-3


def step_of(learner, folder, responses, reference=None):
    """How an update moves the weights, in multiples of the gradient."""
    engine = tiny_engines.descent("torch", folder)
    before = vector(engine)
    learner.update(engine, responses, REWARD, WHOLE, reference)
    return vector(engine) - before


def test_the_reference_constraint_pulls_to_the_reference(engine, folder, responses):
    without = step_of(CPGD(), folder, responses)

    def pull(shift):
        def reference(part):
            return log_prob_of(engine, part) + shift

        return difference(step_of(CPGD(beta=0.5), folder, responses, reference), without)

    assert pull(0.0) < 1e-5  # the policy is its own reference
    assert pull(1.0) > 0.1


def test_a_missing_reference_is_refused_in_one_line(engine, responses):
    with pytest.raises(ValueError, match=r"^CPGD with a reference constraint needs[^\n]*$"):
        CPGD(beta=0.1).update(engine, responses, REWARD, WHOLE)


@pytest.mark.parametrize("minibatch_size", [0, 1, 3, 6, 16])
def test_minibatches_of_broken_groups_are_refused_in_one_line(engine, responses, minibatch_size):
    passes = Passes(minibatch_size=minibatch_size, microbatch_size=2)
    with pytest.raises(ValueError, match=rf"^minibatch_size {minibatch_size} must hold[^\n]*$"):
        CPGD().update(engine, responses, REWARD, passes)


def test_tokens_outside_the_mask_have_no_influence(folder, responses):
    steps = []
    for token in (0, 7):
        responses.tokens[~responses.mask] = token
        steps.append(step_of(CPGD(reduction=token_mean), folder, responses))
    assert torch.equal(*steps)
