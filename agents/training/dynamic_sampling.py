"""Dynamic sampling, and load balancing of the sampled groups over ranks.

Groups move over the host, with their images or with the patches of these, whichever are smaller:
patches take eight times the memory of an image of their size, and are made again where they arrive.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import pad

from agents.engines import TrainEngine, all_gather_object
from agents.rollout import Group, Prompt, Responses, RewardParts
from agents.training import microbatches

Patches = Callable[[Sequence[Any]], tuple[Tensor, Tensor]]
"""From images to their patches and grids, the same on every rank; see `Chat.patches`."""
Place = tuple[int, int]
"""Rank of a group, and its index there."""


@dataclass(frozen=True, eq=False)
class ResponseGroup:
    """Responses to one prompt, and their rewards."""

    index: int
    """Position among the groups of this rank in one training step."""
    responses: Responses
    reward: Float[Tensor, " g"]
    """Including penalties."""


def has_mixed_outcomes(accuracy: Group) -> Bool[Tensor, " p"]:
    """True for groups with both right and wrong responses."""
    return accuracy.amax(1).ne(accuracy.amin(1))


def split_groups(first_index: int, responses: Responses, reward: Group) -> list[ResponseGroup]:
    """Groups of a rollout, with indices from `first_index` on."""
    size = reward.shape[1]
    return [
        ResponseGroup(first_index + i, responses.rows(i * size, (i + 1) * size), row)
        for i, row in enumerate(reward)
    ]


def select_groups(
    rollouts: Iterable[tuple[Responses, Group, Group]],
    num_groups: int,
    engine: TrainEngine,
    patches: Patches,
    *,
    release: Callable[[], object] = lambda: None,
) -> tuple[Responses, Group, dict[str, float]]:
    """This rank's share of `num_groups` groups with both right and wrong responses.

    A group with equal rewards has an advantage of zero. So rollouts are drawn until all ranks
    together have enough groups with mixed outcomes. Surplus groups are dropped, the latest first,
    and groups move from ranks with a surplus to ranks with a deficit. Outcomes are right or wrong,
    independent of reward shaping. If `rollouts` end early, the latest of the other groups fill up.
    Groups of one response, which cannot be mixed, are taken as they come.

    Source: Yu et al., DAPO (arXiv:2503.14476), section 3.2, dynamic sampling; the released code
    ends the run instead of filling up.

    Args:
        rollouts: Responses, reward and accuracy; equally many on every rank.
        num_groups: Over all ranks; a multiple of their number, at most the size of one rollout.
        engine: Of this rank.
        patches: Of the model.
        release: Called after the last rollout, before groups move.

    Returns:
        Responses and rewards in the order of sampling, and the metrics `rollout/generations`, the
        number of rollouts, and `rollout/mixed`, the share of groups with mixed outcomes, NaN for
        groups of one response.
    """
    share = num_groups // engine.num_ranks
    selection: list[ResponseGroup] = []
    others: list[ResponseGroup] = []
    num_rollouts = num_sampled = num_selected = size = 0
    for responses, reward, accuracy in rollouts:
        groups = split_groups(num_sampled, responses, reward)
        size = accuracy.shape[1]
        for group, mixed in zip(groups, has_mixed_outcomes(accuracy).tolist(), strict=True):
            (selection if mixed or size == 1 else others).append(group)
        num_rollouts, num_sampled = num_rollouts + 1, num_sampled + len(groups)
        num_selected = int(engine.all_gather(torch.tensor([len(selection)])).sum())
        if num_selected >= num_groups:
            break
    release()
    selection = _redistribute(selection, share, engine, patches)
    selection += others[len(others) - max(0, share - len(selection)) :]
    selection.sort(key=lambda group: group.index)
    metrics = {
        "rollout/generations": num_rollouts,
        "rollout/mixed": num_selected / (num_sampled * engine.num_ranks) if size > 1 else math.nan,
    }
    return *_rows(selection), metrics


def balance_tokens(
    responses: Responses,
    reward: Group,
    minibatch_size: int,
    engine: TrainEngine,
    patches: Patches,
) -> tuple[Responses, Group]:
    """Moves groups between ranks, within each minibatch, to even out their tokens.

    Ranks wait for the slowest. A minibatch is the union over all ranks, so the update is the same
    up to rounding.

    Args:
        responses: Of this rank, in whole groups.
        reward: A row for each group.
        minibatch_size: Responses of all ranks per optimizer step, in whole groups on each.
        engine: Of this rank.
        patches: Of the model.
    """
    num = len(reward)
    size = minibatch_size // (reward.shape[1] * engine.num_ranks)
    if engine.num_ranks == 1 or size < 1 or num % size:
        return responses, reward
    groups = split_groups(0, responses, reward)
    parts = [group.responses for group in groups]
    counts = [len(part.prompts[0].token_ids) + int(part.present.sum()) for part in parts]
    tokens = engine.all_gather(torch.tensor([counts])).tolist()
    assignment: list[list[Place]] = [[] for _ in tokens]
    for start in range(0, num, size):
        balanced = microbatches.balanced_groups([row[start : start + size] for row in tokens])
        for places, numbers in zip(assignment, balanced, strict=True):
            places += [(n // size, start + n % size) for n in numbers]
    return _rows(_exchange(groups, assignment, engine, patches))


def concatenate(parts: Sequence[Responses]) -> Responses:
    """Concatenation of responses, padded to the longest."""
    width = max(part.mask.shape[1] for part in parts)

    def cat(name: str) -> Tensor:
        tensors = [getattr(part, name) for part in parts]
        return torch.cat([pad(x, (0, width - x.shape[1])) if x.ndim > 1 else x for x in tensors])

    values: dict[str, Any] = {name: cat(name) for name in _TENSORS}
    for name in _TUPLES:
        values[name] = tuple(value for part in parts for value in getattr(part, name))
    values["reward_parts"] = RewardParts()
    for name in parts[0].reward_parts:
        values["reward_parts"][name] = torch.cat([part.reward_parts[name] for part in parts])
    return Responses(**values)


_TUPLES = ("prompts", "contexts", "replies", "texts")
_TENSORS = tuple(f.name for f in fields(Responses) if f.name not in (*_TUPLES, "reward_parts"))


def _rows(groups: Sequence[ResponseGroup]) -> tuple[Responses, Group]:
    """Responses of groups, and their rewards, a row for each group."""
    reward = torch.stack([group.reward for group in groups])
    return concatenate([group.responses for group in groups]), reward


def _redistribute(
    groups: list[ResponseGroup], share: int, engine: TrainEngine, patches: Patches
) -> list[ResponseGroup]:
    """At most `share` groups on each rank, after moving surplus groups to ranks with a deficit."""
    counts = engine.all_gather(torch.tensor([len(groups)])).tolist()
    surplus = [(rank, i) for rank, count in enumerate(counts) for i in range(share, count)]
    assignment: list[list[Place]] = []
    for rank, count in enumerate(counts):
        deficit = max(0, share - count)
        own = [(rank, i) for i in range(min(share, count))]
        assignment.append(own + surplus[:deficit])
        del surplus[:deficit]
    return _exchange(groups, assignment, engine, patches)


def _exchange(
    groups: Sequence[ResponseGroup],
    assignment: Sequence[Sequence[Place]],
    engine: TrainEngine,
    patches: Patches,
) -> list[ResponseGroup]:
    """The groups of this rank after those of all ranks have moved to where they are assigned."""
    moves = [p for rank, places in enumerate(assignment) for p in places if p[0] != rank]
    arrived: dict[Place, ResponseGroup] = {}
    if moves:
        outgoing = [_pack(groups[i]) for rank, i in sorted(moves) if rank == engine.rank]
        arrived = dict(zip(sorted(moves), all_gather_object(outgoing, engine), strict=True))
    return [
        groups[i] if rank == engine.rank else _unpack(arrived[rank, i], patches)
        for rank, i in assignment[engine.rank]
    ]


def _pack(group: ResponseGroup) -> ResponseGroup:
    """A copy without views, since pickle would store the whole tensor behind each."""
    copy = concatenate([group.responses])
    return replace(group, responses=_with_prompts(copy, _smaller), reward=group.reward.clone())


def _with_prompts(responses: Responses, change: Callable[[Prompt], Prompt]) -> Responses:
    """The same with other prompts, contexts and replies; those that were one object still are."""
    prompts, contexts = responses.prompts, responses.contexts
    changed = {prompt: change(prompt) for prompt in {*prompts, *contexts}}
    return replace(
        responses,
        prompts=tuple(changed[prompt] for prompt in prompts),
        contexts=tuple(changed[prompt] for prompt in contexts),
        replies=tuple(tuple(map(change, replies)) for replies in responses.replies),
    )


def _smaller(prompt: Prompt) -> Prompt:
    """A prompt with its images or with their patches."""
    if prompt.pixel_values is None or not prompt.images:
        return prompt
    if sum(image.nbytes for image in prompt.images) < prompt.pixel_values.nbytes:
        return replace(prompt, pixel_values=None, image_grid_thw=None)
    return replace(prompt, images=())


def _unpack(group: ResponseGroup, patches: Patches) -> ResponseGroup:
    """A group from another rank, with the patches of its images."""

    def whole(prompt: Prompt) -> Prompt:
        if prompt.pixel_values is not None or not prompt.images:
            return prompt
        pixels, grid = patches(prompt.images)
        return replace(prompt, pixel_values=pixels, image_grid_thw=grid)

    return replace(group, responses=_with_prompts(group.responses, whole))
