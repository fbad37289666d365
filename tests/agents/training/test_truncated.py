"""Responses that the length limit cut, with a loss and without."""

from dataclasses import replace

import pytest
import torch
from helpers import tiny_runs

from agents.dapo import DAPO
from agents.engines.bandit import BanditEngine, respond
from agents.grpo import GRPO
from agents.reductions import constant_length, token_mean
from agents.training.update import Passes, update

LOGITS = torch.tensor([[[0.5, -0.2, 0.1]] * 3, [[0.0, 0.4, -1.0]] * 3], dtype=torch.float64)
REWARD = torch.tensor([[1.0, 0.0, 0.5], [0.0, 2.0, 1.0]], dtype=torch.float64)
FINISHED = torch.tensor([True, False, True, True, True, False])


@pytest.mark.parametrize(
    "learner", [DAPO(), GRPO(beta=None), GRPO(beta=None, reduction=constant_length(8))]
)
def test_an_update_is_compute_loss_with_the_responses_that_are_truncated(learner):
    tokens = torch.tensor([[0, 1, 2], [1, 1, 0], [2, 0, 0], [0, 0, 1], [1, 2, 0], [2, 2, 2]])
    responses = respond([0] * 3 + [1] * 3, tokens, [3, 3, 1, 3, 2, 3])
    responses = replace(responses, finished=FINISHED)
    trained, by_hand = BanditEngine(LOGITS), BanditEngine(LOGITS)
    passes = Passes(minibatch_size=6, microbatch_size=2)
    metrics = update(learner, trained, responses.with_loss(FINISHED), REWARD, passes)
    log_prob, _ = by_hand.forward(responses)
    arguments = log_prob, log_prob.detach(), REWARD.flatten(), responses.mask, 3
    by_hand.backward(learner.compute_loss(*arguments, truncated=~FINISHED))
    by_hand.step()
    torch.testing.assert_close(trained.logits, by_hand.logits)
    assert metrics["response/length_mean"] == 15 / 6
    assert metrics["response/truncated"] == pytest.approx(1 / 3)


def test_a_run_with_truncated_masked_differs_in_the_update_alone(tiny_folder, tmp_path):
    same = {"num_steps": 1, "max_response_length": 5, "seed": 3}
    rows = [
        tiny_runs.train(tiny_folder, tmp_path / name, truncated=name, **same)[0]
        for name in ("keep", "mask")
    ]
    assert 0 < rows[0]["response/truncated"] < 1
    differing = {name for name in rows[0] if rows[0][name] != rows[1][name]}
    others = {name for name in differing if not name.startswith(tiny_runs.VARYING)}
    assert {"train/loss", "train/grad_norm"} <= others
    assert not {name for name in others if name.startswith(("reward/", "response/", "grade/"))}


def test_with_every_response_truncated_nothing_changes():
    engine = BanditEngine(LOGITS)
    responses = respond([0] * 3 + [1] * 3, torch.zeros(6, 3, dtype=torch.long), [3] * 6)
    nothing = responses.with_loss(torch.zeros(6, dtype=torch.bool))
    passes = Passes(minibatch_size=6, microbatch_size=6)
    metrics = update(GRPO(beta=None, reduction=token_mean), engine, nothing, REWARD, passes)
    assert metrics["train/no_signal"] == 1
    assert torch.equal(engine.logits, LOGITS)
