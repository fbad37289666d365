"""Two ranks with DeepSpeed, started by torchrun, against one."""

import json

import pytest
from helpers import tiny_engines, torchrun
from helpers.kept_state import KEPT

import reasonenv
from agents.plan.formulas import Sharding, state_bytes


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    model, results = tmp_path_factory.mktemp("tiny"), tmp_path_factory.mktemp("ranks")
    return tiny_engines.write(model), results


def findings(folders, *words) -> list[dict]:
    """What each of two ranks found: one start of torchrun."""
    torchrun.run("ranks.py", *folders, *words)
    return [json.loads((folders[1] / f"rank-{rank}.json").read_text()) for rank in range(2)]


@pytest.fixture(scope="module")
def found(folders):
    return findings(folders)


@pytest.fixture(scope="module")
def uneven(tmp_path_factory, folders):
    """Of ranks with very unequal tokens, or with a loss that is no number on one."""
    return findings((folders[0], tmp_path_factory.mktemp("uneven")), "uneven")


unequal_ranks = pytest.mark.slow(reason="a dozen engines on each of two ranks")


def test_both_ranks_find_the_same(found):
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "case",
    [
        *(f"{stage} with mixed ranks" for stage in tiny_engines.STAGES),
        "prompt_mean",
        "sequence_mean",
        "token_mean",
        "two minibatches",
        "whitened over all ranks",
    ],
)
def test_two_ranks_take_the_step_of_one(found, case):
    result = found[0][case]
    assert result["difference"] < 1e-5
    assert result["two"] == pytest.approx(result["one"], rel=1e-4, abs=1e-6)
    assert result["two"]["train/loss"] == pytest.approx(result["one"]["train/loss"], rel=1e-5)


@pytest.mark.parametrize("stage", ["deepspeed-1", "deepspeed-3"])
def test_two_ranks_move_their_reference_as_one_does(found, stage):
    result = found[0][f"{stage} held to a reference"]
    assert result["one"]["policy/kl_ref"] == pytest.approx(0, abs=1e-6)
    assert result["two"] == pytest.approx(result["one"], rel=1e-4, abs=1e-6)
    assert result["two"]["steps"] == 0
    assert result["two"]["equal"]


@pytest.mark.parametrize("stage", tiny_engines.STAGES)
def test_each_of_two_ranks_keeps_between_steps_what_is_planned(found, stage):
    sharding = Sharding(2, tiny_engines.STAGES[stage]["stage"], half=True)
    for held, *counts in found[0][f"{stage} kept"]:
        planned = state_bytes(*counts, sharding)
        assert held == pytest.approx(sum(planned[name] for name in KEPT), rel=0.03)


@pytest.mark.parametrize("stage", ["deepspeed-2", "deepspeed-3"])
def test_two_ranks_train_and_sample_as_one_does(found, stage):
    results = found[0][f"{stage} sampled"]
    for result in results:
        assert result["same tokens"]
        assert result["log_prob"] < 1e-4
        assert result["difference"] < 1e-5
    assert results[0]["lengths"] != results[1]["lengths"]


@pytest.mark.parametrize("stage", ["deepspeed-2", "deepspeed-3"])
def test_two_ranks_train_adapters_as_one_does(found, stage):
    pytest.importorskip("peft", reason="needs peft")
    assert found[0][f"{stage} with adapters"] < 1e-4


@pytest.mark.parametrize(
    "case",
    ["deepspeed-0 in bf16", "deepspeed-2 in fp32", "deepspeed-2 in bf16", "deepspeed-3 in bf16"],
)
def test_a_gradient_that_is_no_number_on_one_rank_moves_nothing_on_any(found, case):
    assert found[0][f"{case} hurt"] == {"finite": False, "still": True, "unharmed": True}


@pytest.mark.parametrize("stage", ["deepspeed-0", "deepspeed-2", "deepspeed-3"])
def test_ranks_rest_together_and_step_together_where_one_has_a_signal(found, stage):
    one, two = (result[f"{stage} at rest"] for result in found)
    assert one == two
    assert one["no_signal"] == [1, 0]
    assert one["moved"] == [False, True]


@unequal_ranks
@pytest.mark.parametrize("stage", ["deepspeed-1", "deepspeed-3"])
@pytest.mark.parametrize("budget", ["1", "150", "10000"])
def test_ranks_of_very_unequal_tokens_take_the_steps_of_one_in_as_many_passes(
    uneven, stage, budget
):
    assert uneven[0] == uneven[1]
    result = uneven[0][f"{stage} cut by tokens"][budget]
    assert result["difference"] < 1e-5
    assert result["two"] == pytest.approx(result["one"], rel=1e-4, abs=1e-6)
    one, two = result["calls"]
    assert one == two
    # Two epochs of two minibatches; the second is looked at before each epoch.
    passes = {"1": 2 * (2 + 1) * 2, "10000": 2 * (2 + 1)}
    assert passes.get(budget, 7) <= one <= passes.get(budget, 11)


@unequal_ranks
@pytest.mark.parametrize("stage", ["deepspeed-1", "deepspeed-3"])
def test_an_update_whose_loss_is_no_number_on_one_rank_skips_its_steps_on_all(uneven, stage):
    result = uneven[0][f"{stage} spoiled"]
    assert result == {"skipped": 2, "same": True, "as if never": True}


def test_a_rank_without_mixed_groups_is_lent_one(found):
    assert found[0]["lent"] == [True, True]


def test_a_rank_waits_an_hour_for_another(found):
    assert found[0]["patience"] == 3600


def test_values_on_the_cpu_are_gathered_there_in_the_order_of_ranks(found):
    assert found[0]["gathered"] == [[0], [1], [10], [11]]


@pytest.mark.parametrize("stage", ["deepspeed-1", "deepspeed-3"])
def test_two_ranks_go_on_after_loading_as_if_never_interrupted(found, stage):
    assert found[0][f"{stage} resumed"] == [True, True]


def test_a_checkpoint_of_two_ranks_does_not_fit_one(found, folders):
    engine = tiny_engines.build("deepspeed-1", folders[0])
    with pytest.raises(ValueError, match=r"^the checkpoint [^\n]* does not fit this run[^\n]*$"):
        engine.load(folders[1] / "deepspeed-1")


def test_two_ranks_walk_the_problems_of_one():
    def walk(num_envs, **ranks):
        envs = reasonenv.make("Figures-v2", num_envs=num_envs, group_size=2, **ranks)
        observations, _ = envs.reset(seed=3)
        later, *_ = envs.step(("",) * num_envs)
        envs.close()
        return [observations["question"][::2], later["question"][::2]]

    one = walk(8)
    two = [walk(4, rank=rank, num_ranks=2) for rank in range(2)]
    for step in range(2):
        assert [two[i % 2][step][i // 2] for i in range(4)] == list(one[step])
