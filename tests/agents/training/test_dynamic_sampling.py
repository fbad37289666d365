"""Dynamic sampling: which groups of which rollouts are trained on, on how many ranks soever."""

import math
import random

import numpy as np
import pytest
import torch

from agents.cpgd import CPGD
from agents.engines.bandit import BanditEngine, ThreadRanks, respond
from agents.rollout import Prompt, Responses, RewardParts
from agents.training.dynamic_sampling import (
    balance_tokens,
    concatenate,
    has_mixed_outcomes,
    select_groups,
)
from agents.training.update import Passes, update

GROUP_SIZE = 2


def engine_of(rank: int, ranks: ThreadRanks | None) -> BanditEngine:
    return BanditEngine(torch.zeros(1, 1, 2), rank=rank, ranks=ranks)


def patches(images):
    """Four patches of each image, of three numbers, and their grids."""
    pixels = [torch.full((4, 3), float(image[0, 0, 0])) for image in images]
    return torch.cat(pixels), torch.tensor([[1, 2, 2]] * len(images))


def prompt_of(number: int) -> Prompt:
    """A prompt with an image that is smaller than its patches, larger, or not there."""
    image = np.full((2 if number % 3 else 20, 2, 3), number, np.uint8)
    return Prompt((number,), *patches([image]), (image,) * (number % 3 < 2))


def responses_of(numbers, size=GROUP_SIZE) -> Responses:
    """Responses to the problems of these numbers, each with an image; lengths differ."""
    prompts, tokens, texts = [], [], []
    for number in numbers:
        prompt = prompt_of(number)
        prompts += [prompt] * size
        tokens += [torch.full((1 + (number + j) % 5,), number) for j in range(size)]
        texts += [f"{number}-{j}" for j in range(size)]
    padded = torch.nn.utils.rnn.pad_sequence(tokens, batch_first=True)
    lengths = torch.tensor([len(row) for row in tokens])
    mask = torch.arange(padded.shape[1]) < lengths[:, None]
    parts = RewardParts(
        accuracy=torch.tensor([1000.0 * n + j for n in numbers for j in range(size)])
    )
    finished = lengths.remainder(2) == 0
    return Responses(tuple(prompts), padded, mask, tuple(texts), -padded.float(), finished, parts)


def rollout_of(solved: dict[int, float], size=GROUP_SIZE):
    """Responses to problems, rewards that tell them apart, and which of them are right.

    Args:
        solved: Of each problem, the part of its responses that are right.
        size: Of its group.
    """
    accuracy = [[float(j < part * size) for j in range(size)] for part in solved.values()]
    reward = [[number + 0.1 * j for j in range(size)] for number in solved]
    return responses_of(solved, size), torch.tensor(reward), torch.tensor(accuracy)


def numbers_of(responses: Responses, size=GROUP_SIZE) -> list[int]:
    return [prompt.token_ids[0] for prompt in responses.prompts[::size]]


def alone(generations, num_groups):
    return select_groups(map(rollout_of, generations), num_groups, engine_of(0, None), patches)


def test_only_groups_with_right_and_wrong_responses_are_mixed():
    accuracy = torch.tensor([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    assert has_mixed_outcomes(accuracy).tolist() == [False, False, True, True]


def test_a_single_response_is_always_kept_and_never_mixed():
    assert has_mixed_outcomes(torch.tensor([[0.0], [1.0]])).tolist() == [False, False]
    rollouts = (rollout_of({0: 0, 1: 1}, size=1) for _ in range(2))
    responses, _, metrics = select_groups(rollouts, 2, engine_of(0, None), patches)
    assert numbers_of(responses, size=1) == [0, 1]
    assert metrics == {
        "rollout/generations": 1,
        "rollout/mixed": pytest.approx(math.nan, nan_ok=True),
    }


def test_rollouts_are_joined_until_there_are_enough_and_what_is_over_is_dropped():
    generations = [{0: 0, 1: 0.5, 2: 1}, {3: 0.5, 4: 1, 5: 0}, {6: 0.5, 7: 0.5, 8: 0.5}, {9: 0.5}]
    responses, reward, metrics = alone(generations, 3)
    assert numbers_of(responses) == [1, 3, 6]
    assert reward[:, 0].tolist() == [1, 3, 6]
    assert metrics == {"rollout/generations": 3, "rollout/mixed": pytest.approx(5 / 9)}


def test_what_is_missing_at_the_end_is_filled_by_the_latest_of_the_others():
    generations = [{0: 1, 1: 0.5, 2: 0}, {3: 0, 4: 0.5, 5: 1}, {6: 1, 7: 0, 8: 0}]
    responses, reward, metrics = alone(generations, 4)
    assert numbers_of(responses) == [1, 4, 7, 8]
    assert reward[:, 1].tolist() == pytest.approx([1.1, 4.1, 7.1, 8.1])
    assert metrics["rollout/mixed"] == pytest.approx(2 / 9)


def test_one_rollout_alone_is_taken_as_it_is():
    solved = {0: 1, 1: 0.5, 2: 0, 3: 0.5}
    responses, reward, _ = alone([solved], 4)
    given, expected, _ = rollout_of(solved)
    assert torch.equal(reward, expected)
    assert responses.texts == given.texts
    for name in ("tokens", "mask", "sampler_log_prob", "finished"):
        assert torch.equal(getattr(responses, name), getattr(given, name))


def test_right_and_wrong_count_whatever_the_reward_is_shaped_by():
    responses, _, _ = rollout_of({0: 1, 1: 0.5})
    accuracy = torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    reward = torch.tensor([[1.0, 0.3], [0.5, 0.5]])  # the long one of two right ones pays
    second = rollout_of({2: 0.5, 3: 1})
    rollouts = [(responses, reward, accuracy), second]
    taken, _, _ = select_groups(rollouts, 2, engine_of(0, None), patches)
    assert numbers_of(taken) == [1, 2]


def test_joined_responses_are_padded_to_the_longest():
    parts = [responses_of([1, 2]), responses_of([4])]
    whole = concatenate(parts)
    assert numbers_of(whole) == [1, 2, 4]
    assert whole.lengths.tolist() == [*parts[0].lengths.tolist(), *parts[1].lengths.tolist()]
    assert whole.tokens.shape == whole.mask.shape == whole.sampler_log_prob.shape
    assert whole.tokens[~whole.mask].eq(0).all()


def over_ranks(generations, num_groups, num_ranks):
    """What each rank picks, when problem i of a rollout is asked on rank i % num_ranks."""
    ranks = ThreadRanks(num_ranks)

    def work(rank):
        mine = [dict(list(solved.items())[rank::num_ranks]) for solved in generations]
        return select_groups(map(rollout_of, mine), num_groups, engine_of(rank, ranks), patches)

    return ranks.run(work)


def check_whole(responses, reward):
    """Each group is what it was, wherever it was sampled."""
    numbers = numbers_of(responses)
    expected = responses_of(numbers)
    assert responses.texts == expected.texts
    assert torch.equal(responses.lengths, expected.lengths)
    assert torch.equal(responses.tokens, expected.tokens)
    assert torch.equal(responses.sampler_log_prob, expected.sampler_log_prob)
    assert torch.equal(responses.finished, expected.finished)
    assert responses.reward_parts.keys() == {"accuracy"}
    assert torch.equal(responses.reward_parts["accuracy"], expected.reward_parts["accuracy"])
    torch.testing.assert_close(reward[:, 1] - 0.1, torch.tensor(numbers, dtype=torch.float32))
    for i, number in enumerate(numbers):
        prompt, sibling = responses.prompts[2 * i : 2 * i + 2]
        assert prompt is sibling
        assert prompt.pixel_values is not None
        assert prompt.pixel_values.eq(number).all()


def test_the_sampler_frees_its_memory_before_groups_move():
    ranks, events = ThreadRanks(2), []

    def work(rank):
        engine = engine_of(rank, ranks)
        gather = engine.all_gather
        engine.all_gather = lambda values: events.append(values.dtype) or gather(values)
        rollout = rollout_of({2: 0.5, 4: 0.5} if rank else {1: 0, 3: 0})
        select_groups(iter([rollout]), 2, engine, patches, release=lambda: events.append("free"))

    ranks.run(work)
    assert torch.uint8 in events  # the dtype of groups that move
    assert "free" not in events[events.index(torch.uint8) :]


@pytest.mark.parametrize(("number", "smaller"), [(1, "image"), (3, "patches"), (2, "patches")])
def test_a_group_moves_with_its_image_or_with_the_patches_whichever_are_smaller(number, smaller):
    ranks, moved = ThreadRanks(2), []

    def work(rank):
        engine = engine_of(rank, ranks)
        gather = engine.all_gather
        engine.all_gather = lambda values: moved.append(values.numpy().tobytes()) or gather(values)
        rollout = rollout_of({number + 9: 0.5, number: 0.5} if rank else {5: 0, 7: 1})
        return select_groups(iter([rollout]), 2, engine, patches)

    for responses, _, _ in ranks.run(work):
        prompt = responses.prompts[0]
        expected = prompt_of(prompt.token_ids[0])
        assert torch.equal(prompt.pixel_values, expected.pixel_values)
        assert torch.equal(prompt.image_grid_thw, expected.image_grid_thw)
    parts = {"image": np.full((2, 2, 3), number, np.uint8).tobytes()}
    parts |= {"patches": torch.full((4, 3), float(number)).numpy().tobytes()}
    sent = {name for name, part in parts.items() if any(part in message for message in moved)}
    assert sent == {smaller}


@pytest.mark.parametrize("num_ranks", [1, 2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_ranks_share_what_one_would_train_on(seed, num_ranks):
    draw = random.Random(seed)
    num_groups, most = 6, draw.randint(1, 4)
    useful = draw.choice([0.0, 0.2, 0.5, 1.0])
    parts = [
        {6 * k + i: 0.5 if draw.random() < useful else draw.choice([0, 1]) for i in range(6)}
        for k in range(most)
    ]
    results = over_ranks(parts, num_groups, num_ranks)
    taken = [numbers_of(responses) for responses, _, _ in results]
    for responses, reward, metrics in results:
        assert metrics == results[0][2]
        check_whole(responses, reward)
    assert [len(numbers) for numbers in taken] == [num_groups // num_ranks] * num_ranks
    everything = sorted(number for numbers in taken for number in numbers)
    assert len(set(everything)) == num_groups
    counts = [sum(part == 0.5 for part in solved.values()) for solved in parts]
    needed = next((k for k in range(1, most + 1) if sum(counts[:k]) >= num_groups), most)
    assert results[0][2]["rollout/generations"] == needed
    found = {n for solved in parts[:needed] for n, part in solved.items() if part == 0.5}
    assert found <= set(everything) or set(everything) <= found
    if num_ranks == 1 and len(found) >= num_groups:
        assert everything == sorted(found)[:num_groups]


def dealt_out(num_ranks, num_groups, minibatch_size):
    """What each rank holds in the end, where problem i begins on rank i % num_ranks."""
    ranks = ThreadRanks(num_ranks)

    def work(rank):
        responses, reward, _ = rollout_of(dict.fromkeys(range(rank, num_groups, num_ranks), 0.5))
        return balance_tokens(responses, reward, minibatch_size, engine_of(rank, ranks), patches)

    return ranks.run(work)


@pytest.mark.parametrize(("num_ranks", "num_minibatches"), [(2, 1), (2, 3), (3, 2), (4, 1)])
def test_groups_change_ranks_and_never_minibatches(num_ranks, num_minibatches):
    size = 3
    num_groups = num_ranks * num_minibatches * size
    results = dealt_out(num_ranks, num_groups, num_ranks * size * GROUP_SIZE)
    for responses, reward in results:
        check_whole(responses, reward)
        assert len(reward) == num_minibatches * size
    for k in range(num_minibatches):
        rows = slice(k * size, (k + 1) * size)
        held = {number for responses, _ in results for number in numbers_of(responses)[rows]}
        assert held == set(range(k * num_ranks * size, (k + 1) * num_ranks * size))


def test_one_rank_and_even_ones_keep_what_they_have():
    responses, reward, _ = rollout_of({4: 0.5, 2: 0.5})
    same, rows = balance_tokens(responses, reward, 4, engine_of(0, None), patches)
    assert same is responses
    assert rows is reward
    for (responses, _), numbers in zip(dealt_out(2, 2, 4), ([0], [1]), strict=True):
        assert numbers_of(responses) == numbers


def test_evened_ranks_have_fewer_tokens_to_wait_for_and_train_as_before():
    lengths = torch.tensor([1, 2, 40, 30, 3, 2, 20, 35, 1, 8, 39, 10, 2, 1, 37, 38])
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(8, 40, 3, generator=generator, dtype=torch.float64)
    tokens = torch.randint(3, (16, 40), generator=generator)
    reward = torch.rand(8, 2, generator=generator, dtype=torch.float64)

    def trained(even):
        ranks = ThreadRanks(2)

        def work(rank):
            problems = torch.arange(rank, 8, 2)
            rows = (2 * problems[:, None] + torch.arange(2)).flatten()
            problems = problems.repeat_interleave(2)
            responses = respond(problems.tolist(), tokens[rows], lengths[rows].tolist())
            engine = BanditEngine(logits, 4.0, rank, ranks)
            given = responses, reward[rank::2]
            mine = balance_tokens(*given, 8, engine, patches) if even else given
            passes = Passes(minibatch_size=8, microbatch_size=3)
            metrics = update(CPGD(), engine, *mine, passes)
            return engine.logits.detach(), metrics, int(mine[0].lengths[:4].sum())

        return ranks.run(work)

    uneven, after = trained(even=False), trained(even=True)
    (expected, one, _), before = uneven[0], [load for *_, load in uneven]
    for table, metrics, _ in after:
        torch.testing.assert_close(table, expected, rtol=1e-9, atol=1e-10)
        assert metrics == pytest.approx(one, rel=1e-9, abs=1e-10)
    loads = [load for *_, load in after]
    assert sum(loads) == sum(before)
    assert max(loads) - min(loads) < 0.5 * (max(before) - min(before))
