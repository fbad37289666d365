"""Optimizer steps without a signal: rewards all equal, and policies equal to one another."""

import copy
from dataclasses import dataclass, replace

import pytest
import torch
from helpers import letters, tiny_engines
from helpers.recording import RecordsBatches
from helpers.tiny_engines import vector
from helpers.tiny_runs import train

from agents.advantages import batch_centered, centered
from agents.cispo import CISPO
from agents.cpgd import CPGD
from agents.dapo import DAPO
from agents.dr_grpo import DrGRPO
from agents.engines.bandit import BanditEngine, ThreadRanks, respond
from agents.engines.frozen_models import ReferencePolicy
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.gpg import GPG
from agents.grpo import GRPO
from agents.losses import reinforce
from agents.references import every, fixed
from agents.reinforce import Reinforce
from agents.reinforce_plus_plus import ReinforcePlusPlus, ReinforcePlusPlusBaseline
from agents.rloo import RLOO
from agents.rpg import RPG
from agents.training.update import Passes, update

LEARNERS = [
    *(CPGD(), CPGD(beta=0.1), GRPO(), GRPO(drift_coefficient=0.01), DAPO(), DrGRPO(), CISPO()),
    *(RLOO(), RLOO(whiten=True), ReinforcePlusPlus(), ReinforcePlusPlusBaseline(beta=0.1), GPG()),
    *(RPG(), RPG(estimator=reinforce), RPG(beta=0.1, reference=fixed)),
    *(Reinforce(advantage_function=centered), Reinforce(advantage_function=batch_centered)),
]
REWARD = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.5, 1.0], [0.0, 2.0]])
EQUAL = torch.tensor([[0.1, 0.1], [1.1, 1.1], [0.0, 0.0], [1.1, 1.1]])
NOISE = 3e-7 * torch.tensor([[-1.0, 1.0], [1.0, -1.0], [0.0, 0.0], [0.5, 0.0]])
"""Relative: a few units in the last place of float32."""
HALVES = Passes(minibatch_size=4, microbatch_size=2)
SIX_STEPS = Passes(minibatch_size=4, microbatch_size=4, epochs=3)


def responses_of(engine):
    """Two responses to each of four prompts of words."""
    return tiny_engines.responses_of(engine, (0, 0, 0, 0), (3, 1, 4, 2, 2, 3, 1, 5))


def reference_of(engine, learner, folder) -> ReferencePolicy | None:
    """The first policy, by forward passes whose rounding is that of another device."""
    if not learner.uses_reference:
        return None
    policy = Policy(copy.deepcopy(tiny_engines.pristine(folder)[0]))

    def log_prob(part):
        return policy(part, engine.sampling)[0] * (1 + 1e-7)

    return ReferencePolicy(policy.model, log_prob, learner.reference, is_policy=True)


def state_of(engine) -> list:
    """Weights, moments and schedule, as they are."""
    deepspeed = getattr(engine, "engine", None)
    optimizer = deepspeed.basic_optimizer if deepspeed else engine.optimizer
    schedule = deepspeed.lr_scheduler if deepspeed else engine.schedule
    moments = [value.clone() for state in optimizer.state.values() for value in state.values()]
    rates = [group["lr"] for group in optimizer.param_groups]
    return [vector(engine), *moments, torch.tensor([schedule.last_epoch, *rates])]


def is_equal(state, other) -> bool:
    return len(state) == len(other) and all(map(torch.equal, state, other))


def rewards_of(learner) -> torch.Tensor:
    """Rewards without a signal: those of all groups are one for a baseline over all of them."""
    is_global = not torch.equal(learner.advantage(EQUAL), torch.zeros(4, 2))
    reward = torch.full((4, 2), 1.1) if is_global else EQUAL
    return reward * (1 + NOISE)


@pytest.mark.parametrize(
    ("kind", "has_stepped"),
    [
        ("torch", False),
        *(
            pytest.param(*case, marks=pytest.mark.slow(reason="six steps of each learner again"))
            for case in [("torch", True), *((f"deepspeed-{n}", b) for n in (0, 2) for b in (0, 1))]
        ),
    ],
)
def test_six_steps_with_equal_rewards_leave_weights_moments_and_schedule(kind, has_stepped, folder):
    engine, other = (tiny_engines.build(kind, folder) for _ in range(2))
    responses = responses_of(engine)
    learners = [each for each in LEARNERS if not (has_stepped and each.uses_reference)]
    if has_stepped:
        for each in (engine, other):
            update(CPGD(), each, responses, REWARD, HALVES)
    before = state_of(engine)
    for learner in learners[:10:3] if kind == "deepspeed-2" else learners:
        reference = reference_of(engine, learner, folder)
        reward = rewards_of(learner)
        metrics = update(learner, engine, responses, reward, SIX_STEPS, reference)
        assert metrics["train/no_signal"] == 1, learner
        assert metrics["train/grad_norm"] == 0, learner
        assert metrics["train/skipped"] == 0, learner
        assert is_equal(state_of(engine), before), learner
    for each in (engine, other):  # nor is anything left in buffers of gradients
        metrics = update(CPGD(), each, responses, REWARD, HALVES)
        assert metrics["train/no_signal"] == 0
    assert is_equal(state_of(engine), state_of(other))
    assert not is_equal(state_of(engine), before)


@pytest.mark.parametrize("learner", [each for each in LEARNERS if each.uses_reference])
def test_a_reference_that_the_policy_has_left_acts_on_equal_rewards(learner, folder):
    engine = tiny_engines.build("torch", folder)
    responses, reference = responses_of(engine), reference_of(engine, learner, folder)
    update(learner, engine, responses, REWARD, HALVES, reference)
    before = vector(engine)
    metrics = update(learner, engine, responses, rewards_of(learner), HALVES, reference)
    assert metrics["train/no_signal"] == 0
    assert metrics["policy/kl_ref"] > 0
    assert not torch.equal(vector(engine), before)


def test_the_drift_acts_in_a_minibatch_without_advantages_once_the_policy_has_moved(folder):
    half = REWARD * torch.tensor([[1.0], [1.0], [0.0], [0.0]])
    ends = []
    for learner in (CPGD(), CPGD(drift_coefficient=None)):
        engine = tiny_engines.build("torch", folder)
        metrics = update(learner, engine, responses_of(engine), half, HALVES)
        ends.append(metrics["train/no_signal"])
    assert ends == [0, 0.5]


@dataclass(frozen=True, kw_only=True)
class Witness(RecordsBatches, GRPO):
    """GRPO that keeps the batches that it trains on."""


@pytest.mark.parametrize("refresh", [fixed, every(1)])
def test_equal_policies_have_equal_log_probabilities(refresh, folder):
    late = REWARD * torch.tensor([[0.0], [0.0], [1.0], [1.0]])
    engine, witness = tiny_engines.build("torch", folder), Witness(reference=refresh)
    reference = reference_of(engine, witness, folder)
    passes = replace(HALVES, microbatch_size=4, epochs=2)
    update(witness, engine, responses_of(engine), late, passes, reference)
    one, two, three, four = [
        [torch.equal(log_prob, x) for x in (batch.old_log_prob, batch.ref_log_prob)]
        for log_prob, batch in witness.batches
    ]
    # The first minibatch has no signal, so that the policy moves after the second.
    assert one == two == [True, True]
    assert three == four == [False, refresh is not fixed]


class Imitation(RLOO):
    """A loss that does not read the advantage."""

    def loss(self, log_prob, batch):
        return -log_prob


def test_a_loss_without_advantages_is_a_signal(folder):
    engine = tiny_engines.build("torch", folder)
    before = vector(engine)
    metrics = update(Imitation(), engine, responses_of(engine), EQUAL, HALVES)
    assert metrics["train/no_signal"] == 0
    assert not torch.equal(vector(engine), before)


@pytest.mark.parametrize("has_signal", [(False, False), (False, True), (True, False)])
def test_all_ranks_step_where_one_has_a_signal(has_signal):
    tokens, ranks = torch.tensor([[0], [1]]), ThreadRanks(2)

    def work(rank):
        engine = BanditEngine(torch.zeros(2, 1, 3), 1.0, rank, ranks)
        reward = torch.tensor([[1.0, float(not has_signal[rank])]])
        metrics = update(
            RLOO(),
            engine,
            respond([rank] * 2, tokens, [1, 1]),
            reward,
            Passes(minibatch_size=4, microbatch_size=2),
        )
        return metrics["train/no_signal"], engine.logits.detach()

    (share, logits), (other_share, other_logits) = ranks.run(work)
    assert share == other_share == float(not any(has_signal))
    assert torch.equal(logits, other_logits)
    assert bool(logits.any()) is any(has_signal)


def test_a_reference_is_not_refreshed_by_steps_that_are_not_taken(folder):
    engine, learner = tiny_engines.build("torch", folder), GRPO(reference=every(3))
    reference = reference_of(engine, learner, folder)
    for reward in (REWARD, EQUAL):
        update(replace(learner, beta=0.0), engine, responses_of(engine), reward, HALVES)
    update(learner, engine, responses_of(engine), EQUAL, HALVES, reference)
    assert reference.token_kl == []


@pytest.mark.parametrize("size", [2e-7, 1e-6])
def test_an_epsilon_above_rounding_errors_makes_no_full_steps_of_them(size):
    moved = []
    for epsilon in (1e-8, 1e-6):
        weight = torch.nn.Parameter(torch.zeros(1))
        adamw, _ = Optimization(1.0, 1, epsilon=epsilon, weight_decay=0.0).build([weight])
        weight.grad = torch.tensor([size * 1e-2])
        adamw.step()
        moved.append(weight.abs().item())
    assert moved[1] < 0.02
    assert moved[1] < moved[0] / 10


def test_a_run_says_once_that_there_is_nothing_to_learn(tiny_folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(letters.REWARDS, "constant", (0.0, lambda *_: 0.1))
    rows = train(tiny_folder, tmp_path / "run", env_options='{"rewards": {"constant": 1.0}}')
    assert all(row["train/no_signal"] == 1 for row in rows)
    lines = capsys.readouterr().err.splitlines()
    assert sum("nothing to learn" in line for line in lines) == 1
