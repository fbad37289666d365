"""Two ranks with DeepSpeed, started by torchrun, against one."""

import json
from functools import cache

import pytest
from helpers import tiny_engines, torchrun
from helpers.kept_state import KEPT

import reasonenv
from agents.plan.formulas import Sharding, state_bytes


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    model, results = tmp_path_factory.mktemp("tiny"), tmp_path_factory.mktemp("ranks")
    return tiny_engines.write(model), results


@pytest.fixture(scope="module")
def found(folders):
    """Gives what each of two ranks found in a case; all cases of a part are one start."""

    @cache
    def part(name):
        torchrun.run("ranks.py", *folders, name, num_ranks=0 if name == "few" else 2)
        texts = [(folders[1] / f"{name}-{rank}.json").read_text() for rank in range(2)]
        return [json.loads(text) for text in texts]

    def cases(case):
        if case in PARTS:
            return part(case)
        name = "few" if case in FEW else "uneven" if case.endswith(UNEVEN) else "many"
        return [found[case] for found in part(name)]

    return cases


PARTS = ("few", "many", "uneven")
FEW = {
    *("deepspeed-3 with mixed ranks", "deepspeed-2 at rest", "deepspeed-1 resumed"),
    "deepspeed-3 taught",
    *("lent", "patience", "gathered"),
}
"""The cases of one quick start; all others come with slow ones."""
UNEVEN = ("cut by tokens", "spoiled")
"""Ranks with very unequal tokens, or with a loss that is no number on one."""
many = pytest.mark.slow(reason="dozens of engines on each of two ranks")


def parts(*values, case="{}"):
    """Parameters, of which those whose case is in no quick start are slow."""
    return [v if case.format(v) in FEW else pytest.param(v, marks=many) for v in values]


@pytest.mark.parametrize("part", ["few", *(pytest.param(part, marks=many) for part in PARTS[1:])])
def test_both_ranks_find_the_same(found, part):
    assert found(part)[0] == found(part)[1]


@pytest.mark.parametrize(
    "case",
    parts(
        *(f"{stage} with mixed ranks" for stage in tiny_engines.STAGES),
        "prompt_mean",
        "sequence_mean",
        "token_mean",
        "two minibatches",
        "whitened over all ranks",
        *("deepspeed-3 taught", "deepspeed-1 taught", "deepspeed-3 taught alone"),
    ),
)
def test_two_ranks_take_the_step_of_one(found, case):
    result = found(case)[0]
    assert result["difference"] < 1e-5
    assert result["two"] == pytest.approx(result["one"], rel=1e-4, abs=1e-6)
    assert result["two"]["train/loss"] == pytest.approx(result["one"]["train/loss"], rel=1e-5)


@many
@pytest.mark.parametrize("stage", ["deepspeed-1", "deepspeed-3"])
def test_two_ranks_move_their_reference_as_one_does(found, stage):
    result = found(f"{stage} held to a reference")[0]
    assert result["one"]["policy/kl_ref"] == pytest.approx(0, abs=1e-6)
    assert result["two"] == pytest.approx(result["one"], rel=1e-4, abs=1e-6)
    assert result["two"]["steps"] == 0
    assert result["two"]["equal"]


@many
@pytest.mark.parametrize("stage", tiny_engines.STAGES)
def test_each_of_two_ranks_keeps_between_steps_what_is_planned(found, stage):
    sharding = Sharding(2, tiny_engines.STAGES[stage]["stage"], half=True)
    for held, *counts in found(f"{stage} kept")[0]:
        planned = state_bytes(*counts, sharding)
        assert held == pytest.approx(sum(planned[name] for name in KEPT), rel=0.03)


@many
@pytest.mark.parametrize("stage", ["deepspeed-2", "deepspeed-3"])
def test_two_ranks_train_and_sample_as_one_does(found, stage):
    results = found(f"{stage} sampled")[0]
    for result in results:
        assert result["same tokens"]
        assert result["log_prob"] < 1e-4
        assert result["difference"] < 1e-5
    assert results[0]["lengths"] != results[1]["lengths"]


@many
@pytest.mark.parametrize("stage", ["deepspeed-2", "deepspeed-3"])
def test_two_ranks_train_adapters_as_one_does(found, stage):
    pytest.importorskip("peft", reason="needs peft")
    assert found(f"{stage} with adapters")[0] < 1e-4


@many
@pytest.mark.parametrize(
    "case",
    ["deepspeed-0 in bf16", "deepspeed-2 in fp32", "deepspeed-2 in bf16", "deepspeed-3 in bf16"],
)
def test_a_gradient_that_is_no_number_on_one_rank_moves_nothing_on_any(found, case):
    assert found(f"{case} hurt")[0] == {"finite": False, "still": True, "unharmed": True}


@pytest.mark.parametrize(
    "stage", parts("deepspeed-0", "deepspeed-2", "deepspeed-3", case="{} at rest")
)
def test_ranks_rest_together_and_step_together_where_one_has_a_signal(found, stage):
    one, two = found(f"{stage} at rest")
    assert one == two
    assert one["no_signal"] == [1, 0]
    assert one["moved"] == [False, True]


@many
@pytest.mark.parametrize("stage", ["deepspeed-1", "deepspeed-3"])
@pytest.mark.parametrize("budget", ["1", "150", "10000"])
def test_ranks_of_very_unequal_tokens_take_the_steps_of_one_in_as_many_passes(found, stage, budget):
    result = found(f"{stage} cut by tokens")[0][budget]
    assert result["difference"] < 1e-5
    assert result["two"] == pytest.approx(result["one"], rel=1e-4, abs=1e-6)
    one, two = result["calls"]
    assert one == two
    # Two epochs of two minibatches; the second is looked at before each epoch.
    passes = {"1": 2 * (2 + 1) * 2, "10000": 2 * (2 + 1)}
    assert passes.get(budget, 7) <= one <= passes.get(budget, 11)
    # The head at most once in a forward and once in a backward pass whatever its chunks, and as
    # often as embeddings, to which it is tied.
    assert bool(result["gathers"]) == (stage == "deepspeed-3")
    assert result["gathers"] <= 4 * one


@many
@pytest.mark.parametrize("stage", ["deepspeed-1", "deepspeed-3"])
def test_an_update_whose_loss_is_no_number_on_one_rank_skips_its_steps_on_all(found, stage):
    result = found(f"{stage} spoiled")[0]
    assert result == {"skipped": 2, "same": True, "as if never": True}


def test_a_rank_without_mixed_groups_is_lent_one(found):
    assert found("lent")[0] == [True, True]


def test_a_rank_waits_an_hour_for_another(found):
    assert found("patience")[0] == 3600


def test_values_on_the_cpu_are_gathered_there_in_the_order_of_ranks(found):
    assert found("gathered")[0] == [[0], [1], [10], [11]]


@pytest.mark.parametrize("stage", parts("deepspeed-1", "deepspeed-3", case="{} resumed"))
def test_two_ranks_go_on_after_loading_as_if_never_interrupted(found, stage):
    assert found(f"{stage} resumed")[0] == [True, True]


def test_a_checkpoint_of_two_ranks_does_not_fit_one(found, folders):
    assert found("deepspeed-1 resumed")[0] == [True, True]
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
