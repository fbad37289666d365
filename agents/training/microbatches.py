"""Microbatches by tokens: a minibatch cut into slices of responses, as few as fit, and balanced.

A slice is of consecutive responses, so that a group stays together and its prompt is read once.
"""

import operator
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from agents.rollout import Responses

MIN_GAIN = 0.02
"""Part of a rank's tokens that swapping two groups, images and all, must save."""


@dataclass(frozen=True)
class Load:
    """Token counts of responses and their prompts, of which equal neighbours are read once."""

    prompts: Sequence[int]
    """Tokens of the prompt of each response."""
    repeats: Sequence[bool]
    """True on responses to the prompt of the one before."""
    responses: Sequence[int]
    """Tokens of each response."""

    @classmethod
    def of(cls, responses: Responses) -> "Load":
        """Token counts of `responses`; of prompt and context the longer one, read in turn."""
        pairs = list(zip(responses.prompts, responses.in_context().prompts, strict=True))
        return cls(
            [max(len(prompt.token_ids) for prompt in pair) for pair in pairs],
            [i > 0 and all(map(operator.is_, pair, pairs[i - 1])) for i, pair in enumerate(pairs)],
            responses.sizes.tolist(),
        )

    def __len__(self) -> int:
        return len(self.responses)

    def tokens(self, part: slice) -> int:
        """Tokens of a forward pass on a slice."""
        rows = range(part.start, part.stop)
        prompts = (self.prompts[i] for i in rows if i == part.start or not self.repeats[i])
        return sum(prompts) + sum(self.responses[part])


def fitting(load: Load, budget: int) -> list[slice]:
    """Fewest slices of at most `budget` tokens each; a longer response has one of its own."""
    starts: list[int] = []
    total = 0
    rows = zip(load.prompts, load.repeats, load.responses, strict=True)
    for i, (prompt, repeats, response) in enumerate(rows):
        total += response + (0 if repeats else prompt)
        if not starts or total > budget:
            starts.append(i)
            total = prompt + response
    return [slice(*ends) for ends in zip(starts, [*starts[1:], len(load)], strict=True)]


def by_count(num_responses: int, size: int) -> list[slice]:
    """Slices of `size` responses; the last may have fewer."""
    starts = range(0, num_responses, size)
    return [slice(start, min(start + size, num_responses)) for start in starts]


def cut(load: Load, budget: int, count: int = 1) -> list[slice]:
    """Balanced slices of at most `budget` tokens, `count` of them or as many as that takes.

    Of all cuts into so many slices it is one whose largest slice is smallest. A response that is
    longer than the budget with its prompt has a slice of its own.

    Args:
        load: Of the responses.
        budget: Tokens, >= 1.
        count: Least number of slices, at most one for each response.
    """
    count = max(count, len(fitting(load, budget)))
    budgets = range(1, budget + 1)
    least = bisect_left(budgets, True, key=lambda tokens: len(fitting(load, tokens)) <= count)
    parts = fitting(load, budgets[least])
    while len(parts) < count:
        parts = _split(load, parts)
    return parts


def _split(load: Load, parts: list[slice]) -> list[slice]:
    """One slice more: the largest of several responses, halved as evenly as possible."""
    largest = max((part for part in parts if part.stop - part.start > 1), key=load.tokens)
    start, stop, place = largest.start, largest.stop, parts.index(largest)
    halves = [(slice(start, middle), slice(middle, stop)) for middle in range(start + 1, stop)]
    most_even = min(halves, key=lambda both: max(map(load.tokens, both)))
    return [*parts[:place], *most_even, *parts[place + 1 :]]


def balanced_groups(tokens: Sequence[Sequence[int]]) -> list[list[int]]:
    """Assignment of groups to ranks with about equally many tokens on each.

    The rank with most tokens and the one with least swap the pair of groups that brings them
    closest, until that would gain less than `MIN_GAIN`; each keeps its number of groups.

    Args:
        tokens: Of the groups of each rank, as many on every rank.

    Returns:
        For each rank the numbers of its groups, counted through all ranks before the swaps.
    """
    num, count = len(tokens[0]), [group for rank in tokens for group in rank]
    groups = [list(range(rank * num, (rank + 1) * num)) for rank in range(len(tokens))]

    def load(numbers: Sequence[int]) -> int:
        return sum(count[number] for number in numbers)

    while True:
        most, least = max(groups, key=load), min(groups, key=load)
        gap = load(most) - load(least)

        def gap_after(pair: tuple[int, int], gap: int = gap) -> int:
            return abs(gap - 2 * (count[pair[0]] - count[pair[1]]))

        outgoing, incoming = min(product(most, least), key=gap_after)
        if gap - gap_after((outgoing, incoming)) <= MIN_GAIN * load(most):
            return groups
        most[most.index(outgoing)], least[least.index(incoming)] = incoming, outgoing
