"""Forward passes of sampling: prompts once for each group, then one token of each response."""

from collections.abc import Sequence
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import DynamicCache

from agents.engines.attention import empty_mask
from agents.engines.group_cache import GroupCache
from agents.engines.model import Policy
from agents.engines.packing import pack
from agents.engines.sampling import unique_prompts
from agents.rollout import Prompt


def decoder(
    policy: Policy, prompts: Sequence[Prompt], max_length: int
) -> "PackedDecoder | PaddedDecoder":
    """The decoder of a policy, which has read the prompts of responses of up to `max_length`."""
    if policy.packs:
        return PackedDecoder(policy, prompts, max_length)
    return PaddedDecoder(policy, prompts)


class PackedDecoder:
    """Decoder in packed rows, which computes a prompt's keys and values once for its group."""

    hidden: Tensor
    """Hidden states `[r h]` that predict the next token of each response."""

    def __init__(self, policy: Policy, prompts: Sequence[Prompt], max_length: int) -> None:
        """Reads the prompts, one for each of r responses; those of a group are one object."""
        unique, rows = unique_prompts(prompts)
        sizes = torch.tensor([len(prompt.token_ids) for prompt in unique])
        packing = pack(sizes.tolist(), range(len(unique)), [0] * len(unique), policy.device)
        self._policy, self._mask = policy, empty_mask(policy.device)
        self._embed = policy.model.get_input_embeddings()
        self._cache = GroupCache(packing, rows, max_length)
        no_tokens = torch.zeros(len(unique), 0, dtype=torch.long)
        embedded, positions, deepstack = policy.row(unique, range(len(unique)), no_tokens, packing)
        options = {"packing": packing, "cache_of_groups": self._cache, **deepstack}
        hidden = policy.hidden(embedded, positions, self._mask, **options)[0]
        last = (sizes.cumsum(0) - 1)[rows].to(policy.device)
        self.hidden = hidden[last]
        ends = [
            positions[:, 0, start : start + size].amax(1) for start, size, *_ in packing.segments
        ]
        self._position = torch.stack(ends, 1)[:, rows]

    def step(self, token: Tensor) -> None:
        """Reads the next token `[r]` of each response."""
        self._cache.length += 1
        self._position = self._position + 1
        embedded = self._embed(token[None])
        options = {"cache_of_groups": self._cache}
        positions = self._position[:, None]
        self.hidden = self._policy.hidden(embedded, positions, self._mask, **options)[0]

    def select(self, rows: Tensor) -> None:
        """Keeps some responses, by their indices in ascending order."""
        self._cache.select(rows)
        self._position = self._position[:, rows]


class PaddedDecoder:
    """The same for models that cannot be packed, with transformers' cache and left padding."""

    hidden: Tensor

    def __init__(self, policy: Policy, prompts: Sequence[Prompt]) -> None:
        """Reads the prompts."""
        self._policy = policy
        self._embed = policy.model.get_input_embeddings()
        self._cache = DynamicCache(config=policy.model.config.get_text_config())
        unique, rows = unique_prompts(prompts)
        pad = {"batch_first": True, "padding_side": "left"}
        tokens = pad_sequence([torch.tensor(p.token_ids) for p in unique], **pad).to(policy.device)
        attention = pad_sequence(
            [torch.ones(len(p.token_ids), dtype=torch.long) for p in unique], **pad
        )
        self._attention = attention.to(policy.device)
        positions = pad_sequence([policy.positions(p).T for p in unique], **pad).permute(2, 0, 1)
        self._position = positions.amax(-1).to(policy.device)
        embedded, deepstack = policy.embed(tokens, unique)
        self._read(embedded, positions.to(policy.device), **deepstack)
        self.select(torch.tensor(rows, device=policy.device))

    def step(self, token: Tensor) -> None:
        """Reads the next token `[r]` of each response."""
        self._position = self._position + 1
        self._attention = nn.functional.pad(self._attention, (0, 1), value=1)
        embedded = self._embed(token[:, None])
        self._read(embedded, self._position[..., None])

    def select(self, rows: Tensor) -> None:
        """Keeps some responses, by their indices."""
        self._cache.batch_select_indices(rows)
        self._attention, self.hidden = self._attention[rows], self.hidden[rows]
        self._position = self._position[:, rows]

    def _read(self, embedded: Tensor, positions: Tensor, **deepstack: Any) -> None:
        # transformers 5.24 renamed it.
        names = signature(self._policy.model.get_decoder().forward).parameters
        name = "cache" if "cache" in names else "past_key_values"
        options = {name: self._cache, "use_cache": True, **deepstack}
        hidden = self._policy.hidden(embedded, positions, self._attention, **options)
        self.hidden = hidden[:, -1]
