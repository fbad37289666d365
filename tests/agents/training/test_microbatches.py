"""Cuts by tokens: whole, few, even, as many on every rank, and without a trace in the result."""

import itertools
import random
from dataclasses import replace

import pytest
import torch
from helpers.golden_cases import EVERY

from agents.cpgd import CPGD
from agents.engines.bandit import BanditEngine, ThreadRanks, respond
from agents.rollout import Prompt
from agents.testing.examples import parts_of
from agents.training.microbatches import Load, balanced_groups, by_count, cut, fitting
from agents.training.update import Passes, update


def drawn(seed, most=8) -> tuple[Load, int]:
    """Tokens of some responses, of which some share a prompt, and a budget."""
    draw = random.Random(seed)
    num = draw.randint(1, most)
    prompts, repeats = [], []
    for i in range(num):
        repeats.append(i > 0 and draw.random() < 0.6)
        prompts.append(prompts[-1] if repeats[-1] else draw.randint(1, 20))
    longest = draw.choice([5, 40])
    return Load(prompts, repeats, [draw.randint(0, longest) for _ in prompts]), draw.randint(1, 70)


def every_cut(load):
    """All ways to cut responses into slices."""
    inner = range(1, len(load))
    for count in range(len(load)):
        for ends in itertools.combinations(inner, count):
            yield [slice(*pair) for pair in itertools.pairwise((0, *ends, len(load)))]


def fits(load, part, budget):
    return load.tokens(part) <= budget or part.stop - part.start == 1


@pytest.mark.parametrize("seed", range(20))
def test_a_cut_is_whole_as_few_slices_as_fit_and_the_largest_of_them_is_smallest(seed):
    load, budget = drawn(seed)
    parts = cut(load, budget)
    assert [i for part in parts for i in range(part.start, part.stop)] == list(range(len(load)))
    assert all(fits(load, part, budget) for part in parts)
    others = [other for other in every_cut(load) if all(fits(load, p, budget) for p in other)]
    fewest = min(len(other) for other in others)
    assert len(parts) == fewest == len(fitting(load, budget))

    def largest(cuts):
        several = [part for part in cuts if part.stop - part.start > 1]
        return max((load.tokens(part) for part in several), default=0)

    best = min(largest(other) for other in others if len(other) == fewest)
    alone = max(load.tokens(slice(i, i + 1)) for i in range(len(load)))
    assert largest(parts) <= max(best, min(alone, budget))


@pytest.mark.parametrize("seed", range(10))
def test_as_many_slices_as_another_rank_has_are_made_and_none_is_empty(seed):
    load, budget = drawn(seed)
    for count in range(1, len(load) + 1):
        parts = cut(load, budget, count)
        assert len(parts) == max(count, len(fitting(load, budget)))
        assert parts[0].start == 0
        assert parts[-1].stop == len(load)
        assert all(a.stop == b.start for a, b in itertools.pairwise(parts))
        assert all(part.stop > part.start and fits(load, part, budget) for part in parts)


def test_equal_responses_are_shared_out_equally():
    load = Load([10] * 8, [False, *[True] * 3, False, *[True] * 3], [20] * 8)
    parts = cut(load, budget=100)
    assert parts == [slice(0, 4), slice(4, 8)]  # 90 tokens, and not 110 of five and a prompt
    assert [load.tokens(part) for part in cut(load, 100, count=4)] == [50] * 4


def test_a_response_longer_than_the_budget_is_alone():
    load = Load([5] * 5, [False] * 5, [10, 10, 500, 10, 10])
    assert cut(load, 60) == [slice(0, 2), slice(2, 3), slice(3, 5)]


def test_a_prompt_counts_once_for_the_responses_beside_each_other_that_answer_it():
    one, equal = Prompt((7, 7, 7)), Prompt((7, 7, 7))
    made = respond(range(4), torch.zeros(4, 6, dtype=torch.long), [6, 1, 2, 3])
    responses = replace(made, prompts=(one, one, equal, one))
    load = Load.of(responses)
    assert load == Load([3] * 4, [False, True, False, False], [6, 1, 2, 3])
    assert load.tokens(slice(0, 4)) == 12 + 3 * 3
    assert load.tokens(slice(1, 3)) == 3 + 2 * 3


def test_by_count_the_last_slice_may_be_smaller():
    assert by_count(5, 2) == [slice(0, 2), slice(2, 4), slice(4, 5)]


def test_a_budget_without_a_token_is_refused_in_one_line():
    with pytest.raises(ValueError, match=r"^tokens_per_microbatch is 0: give at least 1$"):
        Passes(minibatch_size=1, microbatch_size=1, tokens_per_microbatch=0)


@pytest.mark.parametrize("seed", range(8))
def test_swaps_leave_each_rank_its_number_of_groups_and_nearly_as_many_tokens(seed):
    draw = random.Random(seed)
    num_ranks, num = draw.randint(2, 8), draw.randint(4, 8)
    tokens = [[draw.randint(1, 1000) for _ in range(num)] for _ in range(num_ranks)]
    held = balanced_groups(tokens)
    assert [len(groups) for groups in held] == [num] * num_ranks
    assert sorted(itertools.chain(*held)) == list(range(num_ranks * num))
    count = list(itertools.chain(*tokens))
    loads = [sum(count[group] for group in groups) for groups in held]
    assert max(loads) <= max(map(sum, tokens))
    assert max(loads) <= 1.1 * sum(count) / num_ranks


def test_even_ranks_swap_nothing():
    assert balanced_groups([[5, 7], [7, 5]]) == [[0, 1], [2, 3]]
    assert balanced_groups([[0, 0], [0, 0]]) == [[0, 1], [2, 3]]


LENGTHS = torch.tensor([40, 1, 3, 38, 1, 2, 1, 1, 2, 1, 1, 1])
REWARD = torch.tensor([[1.0, 0, 0.5], [0, 1, 1], [1, 0, 0], [0, 0.5, 1]], dtype=torch.float64)


class Counting(BanditEngine):
    """Knows how often it went forward and backward."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.calls = []

    def forward(self, responses, **options):
        self.calls.append("forward" if torch.is_grad_enabled() else "look")
        return super().forward(responses, **options)

    def backward(self, loss):
        self.calls.append("backward")
        super().backward(loss)


def trained(learner, num_ranks, budget, num_minibatches=1, epochs=2):
    """Of each rank the metrics, the policy and the calls; the long responses are all on rank 0."""
    ranks = ThreadRanks(num_ranks)
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(4, 40, 3, generator=generator, dtype=torch.float64)
    tokens = torch.randint(3, (12, 40), generator=generator)
    size = 12 // num_minibatches

    def reference(part):
        return BanditEngine(logits.flip(0)).forward(part)[0].detach()

    def work(rank):
        # Each minibatch is shared out in halves, whatever the number of ranks.
        rows = torch.arange(12).view(num_minibatches, num_ranks, -1)[:, rank].flatten()
        problems = rows // 3
        engine = Counting(logits, 4.0, rank, ranks)
        metrics = update(
            learner,
            engine,
            replace(
                respond(problems.tolist(), tokens[rows], LENGTHS[rows].tolist()),
                reward_parts=parts_of(REWARD.flatten()[rows], ("accuracy", "format")),
                contexts=respond(
                    ((problems + 1) % 4).tolist(), tokens[rows], [1] * len(rows)
                ).prompts,
                distilled=rows % 5 > 0,
            ),
            REWARD[problems[::3]],
            Passes(
                minibatch_size=size,
                microbatch_size=99,
                tokens_per_microbatch=budget,
                epochs=epochs,
            ),
            reference,
        )
        return metrics, engine.logits.detach(), engine.calls

    return ranks.run(work)


@pytest.mark.parametrize("learner", EVERY.values(), ids=EVERY)
def test_budgets_and_ranks_leave_no_trace_in_an_update(learner):
    [(expected, table, _)] = trained(learner, 1, None)
    for num_ranks, budget in ((1, 45), (2, 5)):
        for metrics, other, _ in trained(learner, num_ranks, budget):
            torch.testing.assert_close(other, table, rtol=1e-9, atol=1e-10)
            assert metrics == pytest.approx(expected, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("budget", [5, 20, 1000])
@pytest.mark.parametrize("num_minibatches", [1, 2])
def test_ranks_of_very_unequal_tokens_go_forward_and_backward_together(budget, num_minibatches):
    learner = EVERY["reinforce_plus_plus"]  # looks at everything before its first step
    (_, _, one), (_, _, two) = trained(learner, 2, budget, num_minibatches)
    assert one == two
    assert one.count("forward") == one.count("backward")
    if budget == 20:
        assert one.count("forward") > 2 * num_minibatches  # of two epochs


def test_what_no_rank_needs_to_cut_stays_in_one_pass():
    (_, _, calls), _ = trained(CPGD(), 2, 1000, epochs=1)
    assert calls == ["forward", "backward"]
