"""Microbatches by tokens: a minibatch cut into slices of responses, as few as fit, and even.

A slice is of consecutive responses, so that a group stays together and its prompt is read once.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from agents.rollout import Responses

WORTH = 0.02
"""Part of a rank's tokens for which it is worth to move a group, images and all."""


@dataclass(frozen=True)
class Load:
    """Tokens of responses to prompts, of which a forward pass reads each run of equal ones once."""

    prompts: Sequence[int]
    """Tokens of the prompt of each response."""
    repeats: Sequence[bool]
    """Whether a response answers the prompt of the one before it."""
    responses: Sequence[int]
    """Tokens of each response."""

    @classmethod
    def of(cls, responses: Responses) -> "Load":
        """That of all responses in a forward pass."""
        prompts = responses.prompts
        return cls(
            [len(prompt.token_ids) for prompt in prompts],
            [i > 0 and prompt is prompts[i - 1] for i, prompt in enumerate(prompts)],
            responses.lengths.tolist(),
        )

    def __len__(self) -> int:
        return len(self.responses)

    def tokens(self, part: slice) -> int:
        """Tokens of a forward pass on a slice."""
        rows = range(part.start, part.stop)
        read = (self.prompts[i] for i in rows if i == part.start or not self.repeats[i])
        return sum(read) + sum(self.responses[part])


def fitting(load: Load, budget: int) -> list[slice]:
    """As few slices as have at most `budget` tokens each; what is longer alone stays alone."""
    starts: list[int] = []
    held = 0
    for i, (prompt, repeats, response) in enumerate(
        zip(load.prompts, load.repeats, load.responses, strict=True)
    ):
        held += response + (0 if repeats else prompt)
        if not starts or held > budget:
            starts.append(i)
            held = prompt + response
    return [slice(*ends) for ends in zip(starts, [*starts[1:], len(load)], strict=True)]


def cut(load: Load, budget: int, count: int = 1) -> list[slice]:
    """Slices of at most `budget` tokens, in number `count` or as many as that takes, and even.

    Of all cuts into so many slices it is one whose largest slice is smallest. A response that is
    longer than the budget with its prompt has a slice of its own.

    Args:
        load: Of the responses.
        budget: Tokens, >= 1.
        count: Slices wanted, at most one for each response; more may be needed, never fewer given.
    """
    count = max(count, len(fitting(load, budget)))
    budgets = range(1, budget + 1)
    least = bisect_left(budgets, True, key=lambda tokens: len(fitting(load, tokens)) <= count)
    parts = fitting(load, budgets[least])
    while len(parts) < count:
        parts = _split(load, parts)
    return parts


def _split(load: Load, parts: list[slice]) -> list[slice]:
    """One slice more: the largest of several responses in two that are as even as can be."""
    largest = max((part for part in parts if part.stop - part.start > 1), key=load.tokens)

    def halves(middle: int) -> tuple[slice, slice]:
        return slice(largest.start, middle), slice(middle, largest.stop)

    middle = min(
        range(largest.start + 1, largest.stop),
        key=lambda middle: max(load.tokens(half) for half in halves(middle)),
    )
    place = parts.index(largest)
    return [*parts[:place], *halves(middle), *parts[place + 1 :]]


def evened(tokens: Sequence[Sequence[int]]) -> list[list[int]]:
    """Who holds which groups, once ranks have swapped some to have about equally many tokens.

    The rank with most and the one with least swap the two groups that bring them closest, until
    that would gain less than `WORTH`; each keeps its number of groups.

    Args:
        tokens: Of the groups of each rank, as many on every rank.

    Returns:
        For each rank the numbers of its groups, counted through all ranks as they stood.
    """
    num, count = len(tokens[0]), [group for rank in tokens for group in rank]
    held = [list(range(rank * num, (rank + 1) * num)) for rank in range(len(tokens))]

    def load(groups: Sequence[int]) -> int:
        return sum(count[group] for group in groups)

    while True:
        most, least = max(held, key=load), min(held, key=load)
        gap = load(most) - load(least)

        def left(pair: tuple[int, int], gap: int = gap) -> int:
            return abs(gap - 2 * (count[pair[0]] - count[pair[1]]))

        given, taken = min(product(most, least), key=left)
        if gap - left((given, taken)) <= WORTH * load(most):
            return held
        most[most.index(given)], least[least.index(taken)] = taken, given


def by_count(num_responses: int, size: int) -> list[slice]:
    """Slices of `size` responses; the last may have fewer."""
    starts = range(0, num_responses, size)
    return [slice(start, min(start + size, num_responses)) for start in starts]
