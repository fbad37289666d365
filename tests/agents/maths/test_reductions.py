import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.reductions import constant_length, prompt_mean, sequence_mean, token_mean

REDUCTIONS = [token_mean, sequence_mean, prompt_mean, constant_length(16)]
LENGTHS = torch.tensor([1, 3, 4, 2])

lengths = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=6).map(
    lambda groups: torch.tensor(groups).flatten()
)


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [
        (token_mean, [1 / 10, 1 / 10, 1 / 10, 1 / 10]),
        (sequence_mean, [1 / 4, 1 / 12, 1 / 16, 1 / 8]),
        (prompt_mean, [1 / 8, 1 / 8, 1 / 12, 1 / 12]),
        (constant_length(16), [1 / 64, 1 / 64, 1 / 64, 1 / 64]),
    ],
)
def test_weights_of_two_groups_of_two_by_hand(reduction, expected):
    expected = torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(reduction(LENGTHS, 2), expected)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@settings(deadline=None)
@given(lengths)
def test_weights_are_finite_and_positive_even_of_empty_responses(reduction, lengths):
    weight = reduction(lengths, 2)
    assert weight.shape == lengths.shape
    assert weight.isfinite().all()
    assert (weight > 0).all()


@pytest.mark.parametrize("reduction", [token_mean, sequence_mean, prompt_mean])
@settings(deadline=None)
@given(lengths)
def test_the_weights_of_all_tokens_add_up_to_one(reduction, lengths):
    lengths = lengths + 1
    total = (reduction(lengths, 2) * lengths).sum()
    torch.testing.assert_close(total, torch.tensor(1.0, dtype=torch.float64))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@settings(deadline=None)
@given(lengths, st.randoms())
def test_the_order_of_groups_only_orders_the_weights(reduction, lengths, random):
    order = random.sample(range(len(lengths) // 2), len(lengths) // 2)
    groups = lengths.view(-1, 2)[order].flatten()
    expected = reduction(lengths, 2).view(-1, 2)[order].flatten()
    torch.testing.assert_close(reduction(groups, 2), expected)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_batch_without_any_response_has_no_weights(reduction):
    assert reduction(torch.zeros(0, dtype=torch.int64), 2).shape == (0,)


def test_groups_of_one_make_the_prompt_mean_a_sequence_mean():
    torch.testing.assert_close(prompt_mean(LENGTHS, 1), sequence_mean(LENGTHS, 1))


def test_one_group_makes_the_prompt_mean_a_token_mean():
    torch.testing.assert_close(prompt_mean(LENGTHS, 4), token_mean(LENGTHS, 4))


def test_the_prompt_mean_refuses_half_a_group():
    with pytest.raises(ValueError, match=r"4 responses in groups of 3: give it whole groups"):
        prompt_mean(LENGTHS, 3)


def test_a_constant_length_is_a_value():
    assert constant_length(100) == constant_length(100) != constant_length(99)
    assert repr(constant_length(100)) == "constant_length(length=100)"
    assert len({constant_length(100), constant_length(100)}) == 1


@pytest.mark.parametrize("length", [0, -1])
def test_a_constant_length_below_one_token_is_refused(length):
    with pytest.raises(ValueError, match=f"got {length} tokens: give it at least 1"):
        constant_length(length)
