import pytest
import torch
from helpers.golden_cases import tensor
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.advantages import largest, return_to_go, whitened
from agents.engines.bandit import ThreadRanks

CREDIT = tensor([[1.0, 1.0, 9.0], [4.0, 9.0, 9.0]])
MASK = torch.tensor([[True, True, False], [True, False, False]])


def alone(part):
    """Sum over the only rank."""
    return part


def test_tokens_are_whitened_over_the_mask_with_the_std_over_n():
    # Mean 2, variance (1 + 1 + 4) / 3.
    result = whitened(CREDIT, MASK, alone)
    torch.testing.assert_close(result[MASK], tensor([-1.0, -1.0, 2.0]) / 2**0.5)


def test_nan_on_padding_has_no_influence():
    spoiled = CREDIT.masked_fill(~MASK, float("nan"))
    expected = whitened(CREDIT, MASK, alone)[MASK]
    torch.testing.assert_close(whitened(spoiled, MASK, alone)[MASK], expected)


@settings(deadline=None)
@given(
    st.lists(st.floats(-10, 10), min_size=4, max_size=20),
    st.integers(1, 3),
)
def test_the_sums_of_all_ranks_make_the_result_that_of_the_whole(values, cut):
    credit, mask = tensor([values]), torch.ones(1, len(values)).bool()
    parts = [slice(0, cut), slice(cut, None)]
    sums: list[list] = []

    def rank(i, totals):
        """What a rank computes; its sums go into `sums`, those of all come from `totals`."""
        mine, asked = [], iter(totals)

        def total(part):
            mine.append(part)
            return next(asked, part)

        sums.append(mine)
        return whitened(credit[:, parts[i]], mask[:, parts[i]], total)

    totals: list = []
    for _ in range(2):  # the second sum needs the first
        sums.clear()
        for i in range(2):
            rank(i, totals)
        totals.append(sums[0][len(totals)] + sums[1][len(totals)])
    together = torch.cat([rank(i, totals) for i in range(2)], -1)
    torch.testing.assert_close(together, whitened(credit, mask, alone))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 3e4])
def test_equal_credit_is_whitened_to_nothing(value, dtype):
    credit = torch.full((3, 7), value, dtype=dtype)
    result = whitened(credit, torch.ones(3, 7).bool(), alone)
    assert result.dtype == dtype
    assert torch.equal(result, torch.zeros_like(result))


def test_a_small_spread_is_divided_by_the_floor():
    result = whitened(1 + 1e-5 * CREDIT, MASK, alone)
    torch.testing.assert_close(result[MASK], tensor([-0.1, -0.1, 0.2]))


@pytest.mark.parametrize("value", [0.0, 0.1, -1 / 3, 3e4])
def test_rounding_errors_are_whitened_to_nothing(value):
    errors = tensor([[1e-8, -1e-8, 0.0], [2e-8, 0.0, 0.0]])
    result = whitened(value * (1 + errors) + 1e-3 * errors, MASK, alone)
    assert torch.equal(result, torch.zeros_like(result))


def test_without_any_token_there_is_nothing_to_whiten():
    assert (whitened(CREDIT, torch.zeros_like(MASK), alone) == 0).all()


def test_a_return_counts_what_follows_and_the_token_itself():
    value = tensor([[1.0, 2.0, 4.0, float("nan")], [8.0, 1.0, 1.0, 1.0]])
    mask = torch.tensor([[True, True, True, False], [True, False, False, False]])
    assert return_to_go(value, mask)[mask].tolist() == [7.0, 6.0, 4.0, 8.0]


ENTROPIES = tensor([[0.5, 0.1, 0.9, 0.0, 0.3], [0.2, 0.8, 0.4, 0.7, 0.6]])
EVERY = torch.ones_like(ENTROPIES).bool()


@pytest.mark.parametrize("count", range(1, 11))
def test_the_largest_are_a_share_of_all_tokens(count):
    expected = (9.5 - count) / 10 < ENTROPIES
    assert torch.equal(largest(ENTROPIES, EVERY, count / 10, alone), expected)
    assert torch.equal(largest(1e-6 * ENTROPIES, EVERY, count / 10 - 0.01, alone), expected)


def test_the_largest_of_all_ranks_are_those_of_the_whole():
    ranks = ThreadRanks(2)

    def work(rank):
        def total(part):
            return ranks.all_gather(rank, part[None]).sum(0)

        return largest(ENTROPIES[rank:][:1], EVERY[:1], 0.3, total)

    assert torch.equal(torch.cat(ranks.run(work)), ENTROPIES > 0.65)


def test_ties_and_rounding_do_not_split_the_largest():
    values = tensor([[1.0, 1 + 1e-9, 1 - 1e-9, 0.4, 7.0]])
    mask = torch.tensor([[True] * 4 + [False]])
    assert largest(values, mask, 0.25, alone).tolist() == [[True] * 3 + [False] * 2]
    assert torch.equal(largest(0 * values, mask, 0.25, alone), mask)
    nothing = torch.zeros_like(mask)
    assert torch.equal(largest(values, nothing, 0.25, alone), nothing)
