"""Every learner against the golden numbers."""

import json

import pytest
import torch
from golden_cases import FOLDER, GOLDEN, LEARNERS, case, loss_and_gradient, padded, tensor

from agents.advantages import raw
from agents.cpgd import CPGD
from agents.dapo import DAPO
from agents.grpo import GRPO

SMALL = json.loads((FOLDER / "cpgd.json").read_text())
OF_PAPERS = {"paper", "std_epsilon_1e-6", "std_epsilon_1e-4", "additive", "sample_std"}
"""Kinds of targets that no code gave."""


def assert_golden(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-6, atol=1e-9)


def run(algorithm, name):
    learner, arguments = LEARNERS[algorithm], case(name)
    assert learner.uses_reference == GOLDEN["algorithms"][algorithm]["uses_ref_log_prob"]
    if not learner.uses_reference:
        arguments = (*arguments[:-1], None)
    return loss_and_gradient(learner, *arguments)


def test_there_is_a_learner_for_every_golden_algorithm():
    assert set(LEARNERS) == set(GOLDEN["algorithms"])


@pytest.mark.parametrize("name", GOLDEN["cases"])
@pytest.mark.parametrize("algorithm", GOLDEN["algorithms"])
def test_loss_and_gradient_are_those_of_the_paper(algorithm, name):
    loss, gradient = run(algorithm, name)
    expected = GOLDEN["algorithms"][algorithm]["results"][name]
    assert_golden(gradient, padded(expected["gradient"], gradient.shape[1]))
    if "loss" in expected:
        assert_golden(loss, tensor(expected["loss"]))


@pytest.mark.parametrize("algorithm", GOLDEN["algorithms"])
def test_the_gradient_is_that_of_the_released_codes_that_are_right(algorithm, shared):
    golden = json.loads((shared / "golden/losses_open.json").read_text())["algorithms"][algorithm]
    gradients = {name: run(algorithm, name)[1] for name in GOLDEN["cases"]}

    def differs(target):
        """Largest difference from a target, as a multiple of the largest gradient."""
        results = {name: tensor(golden["results"][name][target]["gradient"]) for name in gradients}
        return max(
            ((gradients[name] - expected).abs().max() / expected.abs().max()).item()
            for name, expected in results.items()
        )

    codes = set(golden["accept"]) - OF_PAPERS
    differences = {code: differs(code) for code in codes}
    known = DIFFERENT.get(algorithm, {})
    assert {code for code, difference in differences.items() if difference > 1e-6} == set(known)


DIFFERENT: dict[str, dict[str, str]] = {}
"""Codes that are a right answer but not this one, and why."""


def test_the_defaults_are_the_papers_losses():
    assert CPGD() == LEARNERS["cpgd_prompt_mean"]
    assert GRPO(clip_low=0.2, clip_high=0.2, beta=0.04) == LEARNERS["grpo"]
    assert DAPO(clip_low=0.2, clip_high=0.28) == LEARNERS["dapo"]


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
