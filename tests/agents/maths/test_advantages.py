import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.advantages import (
    batch_centered,
    centered,
    clip_filter,
    has_spread,
    leave_one_out,
    over_mean,
    raw,
    standardized,
)

ADVANTAGES = [centered, standardized, leave_one_out, clip_filter(3.0), clip_filter(3.0, True)]
# Two prompts that teach something, one that does not.
REWARD = torch.tensor([[0.0, 1.0, 1.0, 0.0], [1.5, 1.5, 1.5, 1.5], [0.0, 0.0, 0.0, 1.0]])

rewards = st.integers(1, 4).flatmap(
    lambda group_size: st.lists(
        st.lists(
            # The rewards of rules: sums of a few weights.
            st.sampled_from([-1.0, 0.0, 0.1, 0.5, 1.0, 1.1, 1.5]),
            min_size=group_size,
            max_size=group_size,
        ),
        min_size=1,
        max_size=5,
    )
)


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize(
    ("advantage", "expected"),
    [
        (raw, [0, 0, 0, 1]),
        (centered, [-0.25, -0.25, -0.25, 0.75]),
        # The variance of (0, 0, 0, 1) is 3/4 over n - 1 = 3: a standard deviation of 1/2.
        (standardized, [-0.5, -0.5, -0.5, 1.5]),
        (leave_one_out, [-1 / 3, -1 / 3, -1 / 3, 1.0]),
        # Two of three prompts have spread.
        (clip_filter(3.0), [-0.375, -0.375, -0.375, 1.125]),
        (clip_filter(1.2), [-0.3, -0.3, -0.3, 0.9]),
        (clip_filter(3.0, divide_by_std=True), [-0.75, -0.75, -0.75, 2.25]),
    ],
)
def test_advantages_of_a_group_by_hand(advantage, expected):
    torch.testing.assert_close(advantage(REWARD)[2], torch.tensor(expected, dtype=torch.float32))


def test_the_mean_of_the_batch_compares_prompts_too():
    # The rewards add up to 9 over 12 responses.
    expected = REWARD - 0.75
    torch.testing.assert_close(batch_centered(REWARD), expected)


@pytest.mark.parametrize("advantage", [batch_centered, *ADVANTAGES])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("value", [0.0, 0.1, 1.1, 1 / 3, 1e-12, 3e4])
@pytest.mark.parametrize("group_size", [1, 3, 8])
def test_a_group_of_equal_rewards_has_advantages_of_exactly_zero(
    advantage, dtype, value, group_size
):
    reward = torch.full((2, group_size), value, dtype=dtype)
    assert torch.equal(advantage(reward), torch.zeros_like(reward))


def sums(*parts):
    """Rewards of one group that are equal in exact arithmetic."""
    return tensor([[sum(part) for part in parts]])


EQUAL = {
    "sums in another order": sums((0.1, 0.2, 0.3), (0.3, 0.2, 0.1), (0.6,)),
    "parts that cancel": sums((0.1, 0.2, -0.3), (0.0,), (0.3, -0.2, -0.1)),
    "parts that cancel but for one": sums((1.0, -0.9, -0.1), (1.0, -0.7, -0.3)),
    "a large offset": sums((1e9, 0.1), (1e9, 0.1, 1e-7), (0.1, 1e9)),
    "negative": sums((-0.7, -0.1), (-0.8,)),
    "float32": torch.tensor([[1.1, 1.0 + 0.1, 1.1000001]]),
    "thirds": (torch.arange(9.0).reshape(1, 9) + 1) / 3 / (torch.arange(9.0) + 1),
    "small": 1e-7 * (1 + 1e-8 * tensor([[0.0, 1.0, -1.0]])),
}


@pytest.mark.parametrize("advantage", [batch_centered, over_mean, *ADVANTAGES])
@pytest.mark.parametrize("name", EQUAL)
def test_rewards_that_differ_by_rounding_have_advantages_of_exactly_zero(advantage, name):
    reward = EQUAL[name]
    assert name == "large offset" or reward.amax() - reward.amin() < 1e-6
    assert torch.equal(advantage(reward), torch.zeros_like(reward))


def test_a_group_of_rounding_errors_is_none_with_spread_for_the_clip_filter():
    reward = torch.cat([tensor([[0.0, 1.0, 0.0]]), EQUAL["sums in another order"]])
    assert torch.equal(clip_filter(3.0)(reward), 2 * centered(reward))
    assert torch.equal(has_spread(reward), torch.tensor([[True], [False]]))


def test_rounding_grows_with_the_size_of_rewards_of_either_sign():
    for sign in (1, -1):
        assert not has_spread(sign * tensor([[1e4, 1e4 + 1e-3]])).any()


@pytest.mark.parametrize("advantage", [batch_centered, *ADVANTAGES])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_small_differences_of_rewards_are_no_rounding(advantage, scale):
    reward = scale * tensor([[1.0, 1.0 + 1e-5, 1.0]])
    assert (advantage(reward) != 0).all()


def test_a_reward_beyond_all_others_does_not_silence_their_groups():
    reward = tensor([[0.0, 1.0], [1e12, -1e12]])
    assert torch.equal(centered(reward)[0], tensor([-0.5, 0.5]))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("advantage", [batch_centered, *ADVANTAGES])
def test_a_reward_that_is_not_finite_gives_no_advantage_of_zero(advantage, value):
    reward = tensor([[value, 1.0, 2.0]])
    assert not advantage(reward).isfinite().all()


def test_rewards_whose_variance_underflows_give_finite_advantages():
    reward = torch.tensor([[0.0, 1e-30]])
    assert standardized(reward).isfinite().all()


@pytest.mark.parametrize("advantage", ADVANTAGES)
@settings(deadline=None)
@given(rewards)
def test_the_advantages_of_a_group_add_up_to_zero(advantage, reward):
    result = advantage(tensor(reward))
    torch.testing.assert_close(result.sum(-1), torch.zeros(len(reward), dtype=torch.float64))


@pytest.mark.parametrize("advantage", [batch_centered, *ADVANTAGES])
@settings(deadline=None)
@given(rewards, st.floats(-10, 10))
def test_a_shift_of_the_rewards_does_not_matter(advantage, reward, shift):
    reward = tensor(reward)
    torch.testing.assert_close(advantage(reward + shift), advantage(reward))


@settings(deadline=None)
@given(rewards, st.floats(1, 10))
def test_a_scale_of_the_rewards_does_not_matter_once_standardized(reward, scale):
    reward = tensor(reward)
    torch.testing.assert_close(standardized(scale * reward), standardized(reward))


@pytest.mark.parametrize("advantage", [raw, batch_centered, *ADVANTAGES])
@settings(deadline=None)
@given(rewards, st.randoms())
def test_the_order_of_prompts_and_of_responses_only_orders_the_advantages(
    advantage, reward, random
):
    reward = tensor(reward)
    prompts = random.sample(range(len(reward)), len(reward))
    responses = random.sample(range(reward.shape[1]), reward.shape[1])
    shuffled = advantage(reward[prompts][:, responses])
    torch.testing.assert_close(shuffled, advantage(reward)[prompts][:, responses])


@settings(deadline=None)
@given(rewards)
def test_leaving_one_out_compares_with_the_mean_of_the_others(reward):
    reward = tensor([[*row, 0.5, 1.0] for row in reward])
    others = (reward.sum(-1, keepdim=True) - reward) / (reward.shape[1] - 1)
    torch.testing.assert_close(leave_one_out(reward), reward - others)


@settings(deadline=None)
@given(rewards, st.floats(1, 4))
def test_the_clip_filter_weight_is_one_factor_between_one_and_its_cap(reward, cap):
    reward = tensor(reward)
    with_spread = sum(len(set(row)) > 1 for row in reward.tolist())
    factor = min(cap, len(reward) / with_spread) if with_spread else 1.0
    torch.testing.assert_close(clip_filter(cap)(reward), factor * centered(reward))


def test_a_clip_filter_is_a_value():
    assert clip_filter(2.0) == clip_filter(2.0) != clip_filter(3.0)
    assert repr(clip_filter(2.0)) == "clip_filter(cap=2.0, divide_by_std=False)"
    assert len({clip_filter(), clip_filter(3.0), clip_filter(3.0, divide_by_std=True)}) == 2


@pytest.mark.parametrize("cap", [0.5, -1.0, float("nan")])
def test_a_clip_filter_that_would_weaken_every_prompt_is_refused(cap):
    with pytest.raises(ValueError, match=f"cap of {cap}: give it at least 1"):
        clip_filter(cap)
