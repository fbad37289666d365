"""CPGD and its ablations against the golden numbers."""

import json

import pytest
import torch
from golden_cases import FOLDER, GOLDEN, case, loss_and_gradient, tensor

from agents.advantages import centered, clip_filter, raw, standardized
from agents.cpgd import CPGD
from agents.reductions import prompt_mean, sequence_mean, token_mean

SMALL = json.loads((FOLDER / "cpgd.json").read_text())
REDUCTIONS = {
    "token_mean": token_mean,
    "sequence_mean": sequence_mean,
    "prompt_mean": prompt_mean,
}


def weight(settings):
    return {
        "std": standardized,
        "equal": centered,
        "raw": raw,
        "clip_filter": clip_filter(settings.get("weight_cap", 3.0)),
        "std * clip_filter": clip_filter(settings.get("weight_cap", 3.0), divide_by_std=True),
    }[settings["weight"]]


def learner_of(settings):
    return CPGD(
        advantage_function=weight(settings),
        reduction=REDUCTIONS[settings["reduction"]],
        clip_schedule=settings.get("clip_schedule_lambda"),
        beta=settings.get("beta"),
        **{name: settings[name] for name in ("clip_low", "clip_high")},
        **{name: settings[name] for name in ("drift_coefficient", "drift_cap")},
    )


def assert_golden(actual, expected):
    torch.testing.assert_close(actual, tensor(expected), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", GOLDEN["cases"])
@pytest.mark.parametrize("algorithm", GOLDEN["algorithms"])
def test_loss_and_gradient_are_those_of_the_paper_and_of_the_released_code(algorithm, name):
    golden = GOLDEN["algorithms"][algorithm]
    learner, arguments = learner_of(golden["settings"]), case(name)
    if not learner.uses_reference:
        arguments = (*arguments[:-1], None)
    loss, gradient = loss_and_gradient(learner, *arguments)
    expected = golden["results"][name]
    assert_golden(gradient, expected["paper"]["gradient"])
    assert_golden(gradient, expected.get("released_code", expected["paper"])["gradient"])
    if learner.clip_low is not None:  # without a clip the golden loss has ln pi in place of ln w
        assert_golden(loss, expected["paper"]["loss"])


def test_the_defaults_are_the_papers_loss_with_the_numbers_of_the_released_code():
    assert CPGD() == learner_of(GOLDEN["algorithms"]["cpgd_prompt_mean"]["settings"])


@pytest.mark.parametrize("drift_coefficient", [None, 0.01])
@pytest.mark.parametrize("signs", SMALL["cases"])
def test_one_group_with_given_advantages_agrees_with_the_released_code(signs, drift_coefficient):
    expected = SMALL["cases"][signs]
    learner = CPGD(advantage_function=raw, drift_coefficient=drift_coefficient)
    log_prob, old, mask = (tensor(SMALL[k]) for k in ("logp", "old_logp", "mask"))
    loss, gradient = loss_and_gradient(
        learner, log_prob, old, tensor(expected["adv"]), mask.bool(), 3
    )
    key = "cpg" if drift_coefficient is None else "cpgd_a0.01_c2"
    # The file holds 8 digits.
    torch.testing.assert_close(gradient, tensor(expected[key]["grad"]), rtol=0, atol=1e-8)
    if drift_coefficient:
        paper = tensor(expected["paper_eq2_single_prompt"]["loss"])
        torch.testing.assert_close(loss, paper, rtol=0, atol=1e-8)
