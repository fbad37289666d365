"""Keys and values of the layers during sampling: a prompt's are kept once for its group.

Axis letters: p prompts, g responses of a prompt, r responses, k key heads, q query heads of a key
head, s prompt tokens, t response tokens, c channels of a head.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.engines.packing import Packing
from agents.errors import ModelError

CAPACITY = 64
"""Response tokens for which memory is first reserved; it doubles when they are full."""


class GroupCache:
    """Cache of all layers, whose attention it computes for one new token of each response."""

    def __init__(self, packing: Packing, prompts: Sequence[int], max_length: int) -> None:
        """An empty cache for responses of up to `max_length` tokens to packed prompts.

        `prompts` is the index of the prompt of each response, non-decreasing.
        """
        device = packing.device
        start, size, *_ = torch.tensor(packing.segments, device=device).T[..., None]
        column = torch.arange(int(size.max()), device=device)
        self._keys = start + column.minimum(size - 1)
        self._sizes = size
        self._layers: dict[nn.Module, _Layer] = {}
        self._prompts = torch.tensor(prompts, device=device)
        self._arrange()
        self._max_length = max_length
        self.length = 0
        """Tokens of each response, the new one included."""

    def add_prompts(self, module: nn.Module, key: Tensor, value: Tensor) -> None:
        """Keeps keys and values `[1 k n c]` of the packed prompts in a layer, once for each."""
        if module in self._layers:
            raise ModelError(
                f"the model computes {type(module).__name__} several times a token, which the "
                "transformers sampler cannot: use --sampler vllm"
            )
        keys, values = (
            part[0][:, self._keys].transpose(0, 1).contiguous() for part in (key, value)
        )
        self._layers[module] = _Layer(keys, values, self._max_length)

    def select(self, rows: Tensor) -> None:
        """Keeps some responses, by their indices in ascending order, and their prompts."""
        kept, self._prompts = self._prompts[rows].unique_consecutive(return_inverse=True)
        self._keys, self._sizes = self._keys[kept], self._sizes[kept]
        self._arrange()
        for layer in self._layers.values():
            layer.select(kept, rows, self.length)

    def attend(
        self,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        scale: float,
        window: int | None,
    ) -> Tensor:
        """Attention output `[1 r heads c]` of the new tokens, whose keys and values it adds.

        The softmax over a prompt and the one over the response are weighted by their sums.
        """
        layer = self._layers[module]
        layer.append(key[0].transpose(0, 1), value[0].transpose(0, 1), self.length)
        first = 0 if window is None else max(0, self.length - window)
        keys, values = (part[:, :, first : self.length] for part in layer.responses)
        query = query[0].transpose(0, 1).unflatten(1, (key.shape[1], -1))
        own, own_total = _attention(query, keys, values, scale)
        grouped = query[self._slots].transpose(1, 2).flatten(2, 3)
        shared = _attention(grouped, *layer.prompts, scale, self._outside(window))
        output, total = (
            part.unflatten(2, (-1, query.shape[2])).transpose(1, 2)[self._places] for part in shared
        )
        share = (total - own_total).sigmoid().to(own.dtype)
        return own.lerp(output, share).flatten(1, 2)[None]

    def _arrange(self) -> None:
        """Places the responses in a table of prompts, padded with the first response."""
        num, device = len(self._keys), self._prompts.device
        counts = self._prompts.bincount(minlength=num)
        column = torch.arange(len(self._prompts), device=device)
        column -= (counts.cumsum(0) - counts)[self._prompts]
        self._places = self._prompts, column
        place = torch.arange(self._keys.shape[1], device=device)
        self._padding = (place >= self._sizes)[:, None, None]
        self._slots = torch.zeros(num, int(counts.max()), dtype=torch.long, device=device)
        self._slots[self._places] = torch.arange(len(column), device=device)

    def _outside(self, window: int | None) -> Tensor:
        """Mask `[p 1 1 s]` of keys that no query attends to: padding, and those before a window."""
        if window is None:
            return self._padding
        column = torch.arange(self._keys.shape[1], device=self._keys.device)
        start = self._sizes + self.length - window
        return self._padding | (column < start)[:, None, None]


class _Layer:
    """Keys and values of a layer: of prompts `[p k s c]`, and of responses `[r k t c]`."""

    def __init__(self, key: Tensor, value: Tensor, max_length: int) -> None:
        self.max_length = max_length
        self.prompts = key, value
        self.responses: list[Tensor] = []

    def append(self, key: Tensor, value: Tensor, length: int) -> None:
        """Adds keys and values `[r k c]` of token number `length`, from 1."""
        if not self.responses:
            self.responses = [part[:, :, None][:, :, :0] for part in (key, value)]
        capacity = self.responses[0].shape[2]
        if length > capacity:
            more = min(max(CAPACITY, 2 * capacity), self.max_length) - capacity
            self.responses = [functional.pad(part, (0, 0, 0, more)) for part in self.responses]
        for kept, part in zip(self.responses, (key, value), strict=True):
            kept[:, :, length - 1] = part

    def select(self, prompts: Tensor, rows: Tensor, length: int) -> None:
        """Keeps some prompts and some responses of `length` tokens, by their indices."""
        if len(prompts) < len(self.prompts[0]):
            key, value = self.prompts
            self.prompts = key[prompts], value[prompts]
        for number, part in enumerate(self.responses):
            kept = part.new_empty(len(rows), *part.shape[1:])
            kept[:, :, :length] = part[rows, :, :length]
            self.responses[number] = kept


def _attention(
    query: Tensor, key: Tensor, value: Tensor, scale: float, outside: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Attention output `[b k q c]`, and the logarithm of the softmax's denominator `[b k q 1]`."""
    scores = query @ key.transpose(-1, -2)
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32)) * scale
    if outside is not None:  # finite, as a window may leave out a whole prompt
        scores = scores.masked_fill_(outside, torch.finfo(scores.dtype).min)
    weight = scores.softmax(-1)
    # The largest weight is exp(largest score - total).
    total = scores.amax(-1, keepdim=True) - weight.amax(-1, keepdim=True).log()
    return weight.to(value.dtype) @ value, total
