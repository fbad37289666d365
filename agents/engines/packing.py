"""Packing of prompts and responses into one row without padding, each prompt once.

The row holds every distinct prompt, followed by its responses without their last tokens, from
which nothing is predicted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

SHORT = 256
"""Largest number of keys for which segments of different prompts share a batch."""


class Segment(NamedTuple):
    """`size` consecutive queries of a row, whose keys are `shared_size` shared ones and their own.

    Attention is causal: the last query attends to all keys, the one before it to all but the last.
    """

    start: int
    size: int
    shared_start: int = 0
    shared_size: int = 0

    @property
    def num_keys(self) -> int:
        """Number of keys, shared and own."""
        return self.shared_size + self.size


@dataclass(frozen=True, eq=False)
class SegmentBatch:
    """Segments padded to one length."""

    queries: Int[Tensor, "r q"]
    """Indices into the packed row; a segment is padded with its last index."""
    keys: Int[Tensor, "r k"]
    """Of the keys, likewise."""
    shared: Int[Tensor, " r"] | None
    """Number of shared keys; None if no segment has any."""
    _masks: dict[tuple[int | None, torch.dtype], Tensor] = field(default_factory=dict)

    def mask(self, window: int | None, dtype: torch.dtype) -> Tensor | None:
        """Additive attention mask `[r 1 q k]`, cached for all layers; None for a plain causal one.

        `window` is the number of keys that a query attends to, its own included; None for all.
        """
        if self.shared is None and window is None:
            return None
        if (window, dtype) in self._masks:
            return self._masks[window, dtype]
        # Last key that a query attends to. Padding equals the last query, so no row is all -inf.
        reach = (self.queries - self.queries[:, :1])[..., None]
        if self.shared is not None:
            reach = reach + self.shared[:, None, None]
        column = torch.arange(self.keys.shape[1], device=self.keys.device)
        mask = column <= reach
        if window is not None:
            mask &= column > reach - window
        zero = torch.zeros((), dtype=dtype, device=mask.device)
        self._masks[window, dtype] = zero.where(mask, -torch.inf)[:, None]
        return self._masks[window, dtype]


@dataclass(frozen=True, eq=False)
class Packing:
    """Layout of a packed row of n tokens and its attention pattern."""

    responses: tuple[Segment, ...]
    """Responses in order, each without its last token; the prompt is shared."""
    lengths: tuple[int, ...]
    """Number of tokens of each response, the last one included."""
    size: int
    """n."""
    device: torch.device
    """Of the index tensors."""

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """Segments that partition the row; a prompt and its first response are one segment."""
        segments: list[Segment] = []
        current = -1
        for response in self.responses:
            prompt, length = response.shared_start, response.shared_size
            if prompt != current:
                segments.append(Segment(prompt, length + response.size))
            elif response.size:
                segments.append(response)
            current = prompt
        return tuple(segments)

    @cached_property
    def sources(self) -> Int[Tensor, " tokens"]:
        """Index of the position that predicts each token of each response.

        It is the preceding token: for the first one, the last of the prompt.
        """
        indices = []
        for (start, size, *prompt), length in zip(self.responses, self.lengths, strict=True):
            if length:
                indices += [torch.tensor([sum(prompt) - 1]), torch.arange(start, start + size)]
        return torch.cat([torch.zeros(0, dtype=torch.long), *indices]).to(self.device)

    @cached_property
    def sequences(self) -> tuple[Int[Tensor, "b s"], Bool[Tensor, "b s"], Bool[Tensor, "b s"]]:
        """Prompt and response pairs, right-padded: indices, mask of tokens, mask of `sources`."""
        keys = _batch(self.responses, self.device).keys
        column = torch.arange(keys.shape[1], device=self.device)
        ends = torch.tensor([response.num_keys for response in self.responses], device=self.device)
        lengths = torch.tensor(self.lengths, device=self.device)
        mask = column < ends[:, None]
        return keys, mask, mask & (column >= (ends - lengths)[:, None])

    @cached_property
    def varlen(self) -> tuple[Tensor | None, Tensor, Tensor, int, int]:
        """Arguments of kernels for segments of different lengths.

        They are indices of the keys of all segments, or None if they are the row itself; cumulative
        lengths `[segments + 1]` of queries and of keys, int32; and the largest of each.
        """
        keys = None
        if any(segment.shared_size for segment in self.segments):
            keys = torch.cat([_keys(segment) for segment in self.segments]).to(self.device)
        queries = [segment.size for segment in self.segments]
        lengths = [segment.num_keys for segment in self.segments]
        ends, key_ends = (
            torch.tensor([0, *accumulate(counts)], dtype=torch.int32, device=self.device)
            for counts in (queries, lengths)
        )
        return keys, ends, key_ends, max(queries), max(lengths)

    @cached_property
    def batches(self) -> tuple[SegmentBatch, ...]:
        """Padded batches of segments of similar lengths, for kernels without variable lengths."""
        return tuple(_batch(segments, self.device) for segments in self._similar)

    @cached_property
    def order(self) -> Int[Tensor, " n"]:
        """Index of each token of the row in the concatenated queries of all batches."""
        order = torch.empty(self.size, dtype=torch.long)
        begin = 0
        for segments in self._similar:
            width = max(segment.size for segment in segments)
            for segment in segments:
                stop = segment.start + segment.size
                order[segment.start : stop] = torch.arange(begin, begin + segment.size)
                begin += width
        return order.to(self.device)

    @cached_property
    def _similar(self) -> list[list[Segment]]:
        groups: dict[tuple[int, ...], list[Segment]] = {}
        for segment in self.segments:
            groups.setdefault(_shape(segment), []).append(segment)
        return [groups[shape] for shape in sorted(groups)]


def pack(
    prompts: Sequence[int], rows: Sequence[int], lengths: Sequence[int], device: torch.device
) -> Packing:
    """Packs all prompts of so many tokens, each followed by its responses, into one row.

    `rows` has the index of the prompt of each response, non-decreasing from 0 without gaps, and
    `lengths` its number of tokens, >= 0.
    """
    responses: list[Segment] = []
    end, begin = 0, 0
    for index, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        if index == 0 or row != rows[index - 1]:
            begin, end = end, end + prompts[row]
        responses.append(Segment(end, max(0, length - 1), begin, prompts[row]))
        end += max(0, length - 1)
    return Packing(tuple(responses), tuple(lengths), end, device)


def _keys(segment: Segment) -> Tensor:
    shared = torch.arange(segment.shared_start, segment.shared_start + segment.shared_size)
    return torch.cat([shared, torch.arange(segment.start, segment.start + segment.size)])


def _shape(segment: Segment) -> tuple[int, ...]:
    """Batching key: lengths rounded up by less than half, and the prompt of long segments."""
    prompt = segment.shared_start if segment.num_keys > SHORT else 0
    sizes = (_rounded(segment.size), _rounded(segment.num_keys))
    return (segment.shared_size > 0, prompt, *sizes)


def _rounded(length: int) -> int:
    """The next of 32, 48, 64, 96, 128, 192, ..."""
    power = 32
    while power < length:
        power *= 2
    return 3 * power // 4 if power > 32 and length <= 3 * power // 4 else power


def _batch(segments: Sequence[Segment], device: torch.device) -> SegmentBatch:
    start, size, begin, shared = torch.tensor(segments, device=device).T[..., None]
    last = start + size - 1
    queries = start + torch.arange(max(segment.size for segment in segments), device=device)
    column = torch.arange(max(segment.num_keys for segment in segments), device=device)
    own = (start + column - shared).minimum(last)
    keys = own.where(column >= shared, begin + column)
    shared_sizes = shared[:, 0] if any(segment.shared_size for segment in segments) else None
    return SegmentBatch(queries.minimum(last), keys, shared_sizes)
