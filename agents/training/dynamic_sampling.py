"""What is trained on: the groups of a rollout, or of several, picked for what they can teach."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import pad

from agents.engines import TrainEngine
from agents.rollout import Group, Responses
from agents.training import microbatches
from agents.training.distributed import all_gather_object


@dataclass(frozen=True, eq=False)
class Answered:
    """The responses of one group, and what they are worth."""

    place: int
    """Among the groups that this rank has sampled in one training step."""
    responses: Responses
    reward: Float[Tensor, " g"]
    """What is trained on, all shaping included."""


def mixed(accuracy: Group) -> Bool[Tensor, " p"]:
    """Whether a group has both right and wrong responses; always, where it is a single response."""
    return accuracy.amax(1).ne(accuracy.amin(1)) | (accuracy.shape[1] == 1)


def answered(place: int, responses: Responses, reward: Group) -> list[Answered]:
    """Responses by their groups, the first of which is at `place`."""
    size = reward.shape[1]
    return [
        Answered(place + i, responses.rows(i * size, (i + 1) * size), row)
        for i, row in enumerate(reward)
    ]


def pick(
    rollouts: Iterable[tuple[Responses, Group, Group]], num_groups: int, engine: TrainEngine
) -> tuple[Responses, Group, dict[str, float]]:
    """This rank's share of `num_groups` groups with both right and wrong responses.

    Where all responses of a group are right, or all wrong, an advantage relative to the group is
    zero. Rollouts are joined until all ranks together have enough other groups; what is over is
    dropped, the latest first, and a rank that lacks some gets them from those that have more.
    What counts is whether responses are right, whatever the reward is shaped by. If there are not
    enough when `rollouts` end, the latest of the left-out groups fill the places.

    Source: Yu et al., DAPO (arXiv:2503.14476), section 3.2, dynamic sampling; the released code
    ends the run where this fills the places.

    Args:
        rollouts: Responses, reward and accuracy, as many on every rank.
        num_groups: Over all ranks; a multiple of their number, and at least one rollout has it.
        engine: Of this rank.

    Returns:
        Responses and rewards, in the order in which they were sampled, and how many rollouts it
        took: `rollout/generations`, and `rollout/mixed`, the part of their groups that had both.
    """
    share = num_groups // engine.num_ranks
    kept: list[Answered] = []
    others: list[Answered] = []
    generations = sampled = total = 0
    for responses, reward, accuracy in rollouts:
        groups = answered(sampled, responses, reward)
        for group, useful in zip(groups, mixed(accuracy).tolist(), strict=True):
            (kept if useful else others).append(group)
        generations, sampled = generations + 1, sampled + len(groups)
        total = int(engine.all_gather(torch.tensor([len(kept)])).sum())
        if total >= num_groups:
            break
    kept = _balanced(kept, share, engine)
    kept += others[len(others) - max(0, share - len(kept)) :]
    kept.sort(key=lambda group: group.place)
    metrics = {
        "rollout/generations": generations,
        "rollout/mixed": total / (sampled * engine.num_ranks),
    }
    return joined([group.responses for group in kept]), _rewards(kept), metrics


def evened(
    responses: Responses, reward: Group, minibatch_size: int, engine: TrainEngine
) -> tuple[Responses, Group]:
    """The same minibatches, their groups so dealt out that each rank has about as many tokens.

    Ranks wait for the one with most; the result is the same but for rounding, since a minibatch is
    what all ranks together hold.

    Args:
        responses: Of this rank, whole groups.
        reward: A row for each group.
        minibatch_size: Responses of all ranks per optimizer step, whole groups on each.
        engine: Of this rank.
    """
    num, rank = len(reward), engine.rank
    size = minibatch_size // (reward.shape[1] * engine.num_ranks)
    if engine.num_ranks == 1 or size < 1 or num % size:
        return responses, reward
    groups = answered(0, responses, reward)
    mine = torch.tensor([[_tokens(group.responses) for group in groups]])
    tokens = engine.all_gather(mine).tolist()
    held: list[list[int]] = [[] for _ in tokens]
    for start in range(0, num, size):
        for whole, numbers in zip(held, _dealt(tokens, start, size), strict=True):
            whole.extend(numbers)
    moved = sorted(n for owner, numbers in enumerate(held) for n in numbers if n // num != owner)
    if not moved:
        return responses, reward
    given = _exchange([groups[n % num] for n in moved if n // num == rank], engine)
    passed = dict(zip(moved, given, strict=True))
    kept = [groups[n % num] if n // num == rank else passed[n] for n in held[rank]]
    return joined([group.responses for group in kept]), _rewards(kept)


def _dealt(tokens: Sequence[Sequence[int]], start: int, size: int) -> list[list[int]]:
    """The groups that each rank holds of the minibatch at `start`, counted through all ranks."""
    num = len(tokens[0])
    held = microbatches.balanced_groups([rank[start : start + size] for rank in tokens])
    return [[n // size * num + start + n % size for n in numbers] for numbers in held]


def _tokens(group: Responses) -> int:
    """Of the prompt and the responses."""
    return len(group.prompts[0].token_ids) + int(group.mask.sum())


def joined(parts: Sequence[Responses]) -> Responses:
    """Responses one after the other, padded to the longest."""
    width = max(part.mask.shape[1] for part in parts)

    def cat(name: str) -> Tensor:
        tensors = [getattr(part, name) for part in parts]
        return torch.cat([pad(x, (0, width - x.shape[1])) if x.ndim > 1 else x for x in tensors])

    tensors = {name: cat(name) for name in _TENSORS}
    return Responses(
        prompts=tuple(prompt for part in parts for prompt in part.prompts),
        texts=tuple(text for part in parts for text in part.texts),
        **tensors,
    )


_TENSORS = tuple(f.name for f in fields(Responses) if f.name not in ("prompts", "texts"))


def _rewards(groups: Sequence[Answered]) -> Group:
    return torch.stack([group.reward for group in groups])


def _balanced(groups: list[Answered], share: int, engine: TrainEngine) -> list[Answered]:
    """At most `share` groups on each rank; those of a rank that has more go where some lack."""
    counts = engine.all_gather(torch.tensor([len(groups)])).tolist()
    lacking = [max(0, share - count) for count in counts]
    given = _at_most([max(0, count - share) for count in counts], sum(lacking))
    taken = _at_most(lacking, sum(given))
    mine = groups[:share]
    if not sum(given):
        return mine
    passed = _exchange(groups[share : share + given[engine.rank]], engine)
    start = sum(taken[: engine.rank])
    return mine + passed[start : start + taken[engine.rank]]


def _at_most(amounts: Sequence[int], total: int) -> list[int]:
    """The amounts, cut from the last on to add up to no more than `total`."""
    cut = []
    for amount in amounts:
        cut.append(min(amount, total))
        total -= cut[-1]
    return cut


def _exchange(groups: Sequence[Answered], engine: TrainEngine) -> list[Answered]:
    """The groups of all ranks, in the order of ranks."""
    return all_gather_object([_compact(group) for group in groups], engine)


def _compact(group: Answered) -> Answered:
    """The same without the rest of the tensors that it is a part of, which pickle would keep."""
    tensors = {name: getattr(group.responses, name).clone() for name in _TENSORS}
    return replace(
        group, responses=replace(group.responses, **tensors), reward=group.reward.clone()
    )
