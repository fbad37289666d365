"""Values that a learner names in `reads`, and the problems of a curriculum."""

import math
import signal
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
import torch
from helpers import letters
from helpers.tiny_runs import SMALL, flags, noting, numbers, same

from agents import run
from agents.engines.bandit import BanditEngine, ThreadRanks, respond
from agents.errors import UsageError
from agents.grpo import GRPO
from agents.reductions import token_mean
from agents.rollout import EXTRAS, RewardParts
from agents.testing import check_learner
from agents.training import pipeline
from agents.training.state import RunState
from agents.training.update import Passes, update

WHOLE = Passes(minibatch_size=4, microbatch_size=4)


@dataclass(frozen=True, kw_only=True)
class Everything(GRPO):
    """Reads all that there is, and poses problems that depend on all steps so far."""

    reads = EXTRAS
    beta: float | None = None

    def advantage_from_parts(self, reward, parts):
        assert {"accuracy", "format", "overlong_penalty"} <= parts.keys()
        return self.advantage(reward + parts["accuracy"])

    def token_advantage(self, batch, all_reduce):
        texts = torch.tensor([float(len(text)) for text in batch.texts])
        scale = (1 + texts)[:, None] * (batch.tokens % 2) * batch.old_entropy
        return batch.advantage * scale.to(batch.advantage)

    def loss(self, log_prob, batch):
        batch.texts, batch.tokens, batch.reward_parts, batch.old_entropy  # noqa: B018
        return super().loss(log_prob, batch) - 0.01 * batch.entropy.sum(-1, keepdim=True)

    def curriculum(self, history, problems):
        return [len(problems) - 1, *(int(1e6 * row["reward/mean"]) % 10 for row in history)]


class Greedy(GRPO):
    """Reads an entropy that it does not name."""

    def loss(self, log_prob, batch):
        return super().loss(log_prob, batch) - batch.entropy


class Early(GRPO):
    """Reads the entropy of the policy being trained before it is trained."""

    reads = ("entropy",)

    def token_advantage(self, batch, all_reduce):
        return batch.advantage * batch.entropy


def toy(parts=True):
    responses = respond([0, 0, 1, 1], torch.tensor([[0], [1], [2], [2]]), [1] * 4)
    accuracy = torch.tensor([1.0, 0, 1, 0])
    if parts:
        names = ("accuracy", "format", "overlong_penalty")
        responses.reward_parts.update(dict.fromkeys(names, accuracy))
    return BanditEngine(torch.zeros(2, 1, 3)), responses, accuracy.view(2, 2), WHOLE


@pytest.mark.parametrize("names", ["entropy", ("texts", "tokens", "")])
def test_names_that_are_no_tuple_of_names_are_refused(names):
    with pytest.raises(
        UsageError, match=r"^Wrong has reads = .*: give a tuple of names, such as en"
    ):
        type("Wrong", (GRPO,), {"reads": names})


@dataclass(frozen=True, kw_only=True)
class Taught(GRPO):
    """Reads a value of its own."""

    reads = ("teacher_log_prob", "entropy")
    beta: float | None = None

    def loss(self, log_prob, batch):
        return batch.extras["teacher_log_prob"] * log_prob - 0.01 * batch.entropy


def test_a_value_of_ones_own_reaches_the_loss_row_by_row():
    engine, responses, reward, _ = toy()
    teacher, halves = torch.tensor([[0.1], [0.2], [0.3], [0.4]]), replace(WHOLE, microbatch_size=2)
    one = update(Taught(), engine, responses, reward, halves, extras={"teacher_log_prob": teacher})
    ones, log_prob = torch.ones(4, 1), torch.full((4, 1), -math.log(3))
    values = {"entropy": -log_prob * ones, "teacher_log_prob": teacher}
    loss = Taught().compute_loss(log_prob, log_prob, reward.flatten(), responses.mask, 2, **values)
    assert one["train/loss"] == pytest.approx(loss.item())


def test_a_name_that_nobody_gives_is_refused_with_those_that_there_are():
    with pytest.raises(
        UsageError, match=r"Taught reads teacher_log_prob, and none is given: there"
    ):
        update(Taught(), *toy())
    ones = torch.ones(4, 1)
    with pytest.raises(UsageError, match=r"^GRPO does not read teacher$"):
        GRPO().compute_loss(ones, ones, ones[:, 0], ones.bool(), 2, ones, teacher=ones)


def test_a_truncated_response_has_no_loss_and_its_reward_stays_in_its_group():
    log_prob = torch.full((4, 2), -1.0, dtype=torch.float64, requires_grad=True)
    old, reward, mask = log_prob.detach(), torch.tensor([1.0, 0, 1, 0]).double(), torch.ones(4, 2)
    truncated = torch.tensor([False, True, False, False])
    learner = GRPO(beta=None, reduction=token_mean)
    loss = learner.compute_loss(log_prob, old, reward, mask.bool(), 2, truncated=truncated)
    (gradient,) = torch.autograd.grad(loss, log_prob)
    half = 0.5**0.5
    expected = torch.tensor([-half, 0, -half, half], dtype=torch.float64)[:, None] / 6
    torch.testing.assert_close(gradient, expected.expand(4, 2))
    of_responses = GRPO(beta=None).compute_loss(
        log_prob, old, reward, mask.bool(), 2, truncated=truncated
    )
    (gradient,) = torch.autograd.grad(of_responses, log_prob)
    torch.testing.assert_close(gradient, expected.expand(4, 2) * 6 / 8)


def test_advantages_of_tokens_take_the_place_of_those_of_responses():
    log_prob = torch.full((2, 2), -1.0, dtype=torch.float64, requires_grad=True)
    advantage = torch.tensor([[1.0, 2.0], [-1.0, 0.0]], dtype=torch.float64)
    arguments = log_prob.detach(), advantage[:, 0], torch.ones(2, 2).bool(), 2
    loss = GRPO(beta=None).compute_loss(log_prob, *arguments, token_advantage=advantage)
    (gradient,) = torch.autograd.grad(loss, log_prob)
    torch.testing.assert_close(gradient, -advantage / 4)


def test_what_is_not_named_is_not_there():
    with pytest.raises(UsageError, match=r"no entropy: name it in .*, reads = \('entropy',\)"):
        update(Greedy(beta=None), *toy())
    with pytest.raises(UsageError, match=r"no entropy: .*, of which only `loss` has the entropy"):
        update(Early(beta=None), *toy())
    ones = torch.ones(4, 1)
    with pytest.raises(UsageError, match=r"of which only `loss` has the entropy"):
        Early(beta=None).compute_loss(ones, ones, ones[:, 0], ones.bool(), 2, entropy=ones)
    with pytest.raises(AssertionError, match="this batch has no entropy"):
        check_learner(Greedy(beta=None), max_examples=1)


@pytest.mark.parametrize("name", EXTRAS)
def test_a_value_that_is_read_and_not_given_is_named(name):
    _, responses, reward, _ = toy()
    ones = torch.ones(4, 1)
    values = {"entropy": ones, "old_entropy": ones, "texts": ("",) * 4, "tokens": ones.long()}
    values["reward_parts"] = responses.reward_parts
    arguments = ones, ones, reward.flatten(), responses.mask, 2
    Everything().compute_loss(*arguments, **values)
    del values[name]
    with pytest.raises(UsageError, match=f"^Everything reads {name}, and none is given$"):
        Everything().compute_loss(*arguments, **values)


def test_components_of_the_reward_that_are_missing_are_named():
    with pytest.raises(UsageError, match=r"^Everything reads reward_parts, and none is given$"):
        update(Everything(), *toy(parts=False))
    with pytest.raises(UsageError, match=r"called 'colour': there are accuracy, format$"):
        RewardParts(accuracy=1, format=2)["colour"]


def test_learners_that_do_not_read_the_entropy_get_none_with_a_gradient(monkeypatch):
    engine, *others = toy()
    options, forward = [], engine.forward
    monkeypatch.setattr(
        engine, "forward", lambda *given, **kw: (options.append(kw), forward(*given, **kw))[1]
    )
    update(GRPO(beta=None), engine, *others)
    assert options == [{}]
    update(Everything(), engine, *others)
    assert options == [{}, {}, {"entropy_gradient": True}]


def test_the_old_entropy_is_that_of_the_policy_before_its_first_step():
    engine, responses, reward, _ = toy()
    seen = []

    @dataclass(frozen=True, kw_only=True)
    class Watch(GRPO):
        reads = ("entropy", "old_entropy")

        def loss(self, log_prob, batch):
            seen.append((batch.old_entropy, batch.entropy.detach()))
            return super().loss(log_prob, batch)

    update(Watch(beta=None), engine, responses, reward, Passes(minibatch_size=2, microbatch_size=2))
    update(Watch(beta=None), engine, responses, reward, replace(WHOLE, epochs=2))
    for number, (old, new) in enumerate(seen):
        # Problems do not share weights: only the second epoch is of another policy.
        assert torch.equal(old, new) == (number < 3)
    torch.testing.assert_close(seen[2][0], seen[3][0])


def test_a_learner_may_read_everything():
    check_learner(Everything(), max_examples=3)
    with pytest.raises(AssertionError, match="'format'"):
        check_learner(Everything(), 1, reward_parts=("accuracy", "overlong_penalty"))


@pytest.mark.slow(reason="three runs; test_resume has a resumed one")
def test_a_resumed_run_poses_the_problems_of_one_that_nothing_stops(
    tiny_folder, tmp_path, monkeypatch
):
    settings = SMALL | {"num_steps": 3, "save_every": 2, "overlong_buffer": 4, "model": tiny_folder}
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    names: list[str] = []
    monkeypatch.setitem(letters.REWARDS, "letters", noting(names))
    run.main(Everything, flags(**settings, output_dir=whole))
    expected, names[:] = list(names), []
    assert set(expected[:16]) == {"train/9"}
    assert len(set(expected)) > 1
    with monkeypatch.context() as patch:
        patch.setattr(run, "evaluate_and_save", lambda *_: signal.raise_signal(signal.SIGTERM))
        with pytest.raises(SystemExit):
            run.main(Everything, flags(**settings, output_dir=stopped))
    run.main(Everything, flags(**settings, output_dir=stopped, resume=True))
    assert names == expected
    assert numbers(stopped) == numbers(whole)
    assert same(stopped, whole)


def test_the_history_of_rank_0_decides_for_all():
    ranks, resets = ThreadRanks(2), []

    def reset(seed, options):
        resets.append((seed, options))
        return "observations", {}

    def work(rank):
        engine = BanditEngine(torch.zeros(1, 1, 1), rank=rank, ranks=ranks)
        envs = SimpleNamespace(problems=range(10), reset=reset)
        engines, settings = SimpleNamespace(train=engine), SimpleNamespace(seed=5)
        state = RunState.__new__(RunState)
        vars(state).update(learner=Everything(), envs=envs, engines=engines, run=settings)
        state.position = 8
        return pipeline.pose(state, "old", [{"reward/mean": 3.5e-6}] if rank == 0 else [{}])

    assert ranks.run(work) == ["observations"] * 2
    assert resets == [(5, {"start": 8, "subset": [9, 3]})] * 2
