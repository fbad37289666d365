from dataclasses import replace

import pytest
from helpers import letters

from agents.cli.settings import Run
from agents.errors import UsageError
from agents.grpo import GRPO
from agents.training.setup import make_envs, prepare
from reasonenv import registry


def splits(**options):
    envs, found = make_envs(Run(env="Letters-v0", env_options=options))
    envs.close()
    return found


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ("test",)),
        ({"split": "test"}, ("train",)),
        ({"holdout": 0.4}, ("test", "heldout")),
        ({"split": "heldout", "holdout": 0.4}, ("train", "test")),
    ],
)
def test_a_run_is_evaluated_on_all_splits_but_the_one_that_it_trains_on(options, expected):
    assert splits(**options) == expected


def test_of_a_benchmark_without_a_training_split_a_part_may_be_held_out(monkeypatch, capsys):
    benchmark = replace(letters.LETTERS, splits=("test", "testmini"))
    monkeypatch.setitem(registry, "Letters-v0", benchmark)
    assert splits() == ()
    assert "no evaluation: Letters-v0 has no training split" in capsys.readouterr().err
    assert splits(holdout=0.4) == ("heldout",)


@pytest.mark.parametrize("options", [{}, {"holdout": 0.4}, {"split": "train"}])
def test_a_run_on_a_mixture_is_evaluated_on_what_its_parts_are_evaluated_on(options, capsys):
    env_options = {"envs": ["Letters-v0"], **options}
    envs, found = make_envs(Run(env="Mixture-v0", env_options=env_options))
    envs.close()
    assert found == ("test",)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("sampler", [{"sampler": "vllm"}, {"vllm_server": "http://localhost:1"}])
def test_a_correction_without_its_log_probabilities_is_refused_before_anything_is_loaded(sampler):
    run = Run(env="Letters-v0", model="no/model", sampler_log_probs=False, **sampler)
    with pytest.raises(UsageError, match=r"--sampler-correction 2\.0 needs the log-probabilities"):
        prepare(run, GRPO(sampler_correction=2.0))


def test_no_evaluation_is_asked_for_by_no_problems():
    envs, found = make_envs(Run(env="Letters-v0", num_test_problems=0))
    envs.close()
    assert found == ()
