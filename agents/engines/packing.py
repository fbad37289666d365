"""Prompts and responses of all lengths in one row without padding, each prompt once.

The row holds every distinct prompt, followed by its responses. Of a response all tokens but the
last are there: nothing is predicted from the last one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, groupby
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

SHORT = 256
"""Keys up to which segments of different prompts share a batch, which then needs a mask each."""


class Segment(NamedTuple):
    """`size` consecutive queries of a row; their keys are `shared_size` others, then their own.

    Attention is causal: the last query sees all keys, the one before it all but the last.
    """

    start: int
    size: int
    shared_start: int = 0
    shared_size: int = 0

    @property
    def num_keys(self) -> int:
        """Shared and own."""
        return self.shared_size + self.size


@dataclass(frozen=True, eq=False)
class Batch:
    """Segments as rows of one length."""

    queries: Int[Tensor, "r q"]
    """Places in the packed row; behind a segment's end its last one again."""
    keys: Int[Tensor, "r k"]
    """The same of its keys."""
    shared: Int[Tensor, " r"] | None
    """Keys before the first query's own; None where no segment has any."""
    _masks: dict[tuple[int | None, torch.dtype], Tensor] = field(default_factory=dict)

    def mask(self, window: int | None, dtype: torch.dtype) -> Tensor | None:
        """What is added to scores, `[r 1 q k]`; None where it is the plain causal one.

        Made once for all layers.

        Args:
            window: Keys that a query sees, its own among them; None for all.
            dtype: Of the queries.
        """
        if self.shared is None and window is None:
            return None
        if (window, dtype) not in self._masks:
            self._masks[window, dtype] = self._mask(window, dtype)
        return self._masks[window, dtype]

    def _mask(self, window: int | None, dtype: torch.dtype) -> Tensor:
        # The last key that a query sees. What pads sees as much as the last query: never nothing.
        reach = (self.queries - self.queries[:, :1])[..., None]
        if self.shared is not None:
            reach = reach + self.shared[:, None, None]
        column = torch.arange(self.keys.shape[1], device=self.keys.device)
        seen = column <= reach
        if window is not None:
            seen &= column > reach - window
        blank = torch.zeros((), dtype=dtype, device=seen.device)
        return blank.where(seen, -torch.inf)[:, None]


class Varlen(NamedTuple):
    """Segments as the kernels for variable lengths want them; counts are int32."""

    keys: Int[Tensor, " k"] | None
    """Places of all segments' keys, one segment after the other; None for the row as it is."""
    query_ends: Int[Tensor, " segments+1"]
    key_ends: Int[Tensor, " segments+1"]
    max_queries: int
    max_keys: int


@dataclass(frozen=True, eq=False)
class Packing:
    """Where everything stands in a row of n tokens, and who attends to whom."""

    responses: tuple[Segment, ...]
    """Each response without its last token, in their order; it shares its prompt."""
    lengths: tuple[int, ...]
    """Tokens of each response, the last one too."""
    size: int
    """n."""
    device: torch.device
    """Where indices are."""

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """What covers the row without a gap; a prompt and its first response are one segment."""
        found: list[Segment] = []
        begun = -1
        for response in self.responses:
            prompt, length = response.shared_start, response.shared_size
            if prompt != begun:
                found.append(Segment(prompt, length + response.size))
            elif response.size:
                found.append(response)
            begun = prompt
        return tuple(found)

    @cached_property
    def sources(self) -> Int[Tensor, " tokens"]:
        """For every token of every response, the place that it is predicted from.

        It is the token before, which for the first is the prompt's last.
        """
        places = []
        for (start, size, *prompt), length in zip(self.responses, self.lengths, strict=True):
            if length:
                places += [torch.tensor([sum(prompt) - 1]), torch.arange(start, start + size)]
        return torch.cat([torch.zeros(0, dtype=torch.long), *places]).to(self.device)

    @cached_property
    def sequences(self) -> tuple[Int[Tensor, "b s"], Bool[Tensor, "b s"], Bool[Tensor, "b s"]]:
        """Prompt and response of each, padded at the end: where they stand in the row.

        With it which of the places are no padding, and which of them are `sources`.
        """
        keys = _batch(self.responses, self.device).keys
        column = torch.arange(keys.shape[1], device=self.device)
        ends = torch.tensor([response.num_keys for response in self.responses], device=self.device)
        lengths = torch.tensor(self.lengths, device=self.device)
        attended = column < ends[:, None]
        return keys, attended, attended & (column >= (ends - lengths)[:, None])

    @cached_property
    def varlen(self) -> Varlen:
        """For kernels that take segments of different lengths."""
        keys = None
        if any(segment.shared_size for segment in self.segments):
            keys = torch.cat([_keys(segment) for segment in self.segments]).to(self.device)
        queries = [segment.size for segment in self.segments]
        lengths = [segment.num_keys for segment in self.segments]
        ends, key_ends = (
            torch.tensor([0, *accumulate(counts)], dtype=torch.int32, device=self.device)
            for counts in (queries, lengths)
        )
        return Varlen(keys, ends, key_ends, max(queries), max(lengths))

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """For kernels that take rows of one length: segments of similar lengths together."""
        return tuple(_batch(segments, self.device) for segments in self._similar())

    @cached_property
    def order(self) -> Int[Tensor, " n"]:
        """Where the row's tokens stand when all batches' queries are put one after the other."""
        order = torch.empty(self.size, dtype=torch.long)
        begin = 0
        for segments in self._similar():
            width = max(segment.size for segment in segments)
            for segment in segments:
                stop = segment.start + segment.size
                order[segment.start : stop] = torch.arange(begin, begin + segment.size)
                begin += width
        return order.to(self.device)

    def _similar(self) -> Iterator[list[Segment]]:
        for _, segments in groupby(sorted(self.segments, key=_shape), key=_shape):
            yield list(segments)


def pack(
    prompts: Sequence[int], rows: Sequence[int], lengths: Sequence[int], device: torch.device
) -> Packing:
    """A row of all prompts, each followed by its responses.

    Args:
        prompts: Tokens of each distinct prompt, at least one.
        rows: The prompt of each response: 0, and then the same or the next; none is left out.
        lengths: Tokens of each response, >= 0.
        device: Where the indices shall be.
    """
    responses: list[Segment] = []
    place, begin = 0, 0
    for index, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        if index == 0 or row != rows[index - 1]:
            begin, place = place, place + prompts[row]
        responses.append(Segment(place, max(0, length - 1), begin, prompts[row]))
        place += max(0, length - 1)
    return Packing(tuple(responses), tuple(lengths), place, device)


def _keys(segment: Segment) -> Tensor:
    shared = torch.arange(segment.shared_start, segment.shared_start + segment.shared_size)
    return torch.cat([shared, torch.arange(segment.start, segment.start + segment.size)])


def _shape(segment: Segment) -> tuple[int, ...]:
    """What the segments of a batch have in common: lengths to within a third, and their mask."""
    prompt = segment.shared_start if segment.num_keys > SHORT else 0
    sizes = (_rounded(segment.size), _rounded(segment.num_keys))
    return (segment.shared_size > 0, prompt, *sizes)


def _rounded(length: int) -> int:
    """The next of 32, 48, 64, 96, 128, 192, ..."""
    power = 32
    while power < length:
        power *= 2
    return 3 * power // 4 if power > 32 and length <= 3 * power // 4 else power


def _batch(segments: Sequence[Segment], device: torch.device) -> Batch:
    start, size, begin, shared = torch.tensor(segments, device=device).T[..., None]
    last = start + size - 1
    queries = start + torch.arange(max(segment.size for segment in segments), device=device)
    column = torch.arange(max(segment.num_keys for segment in segments), device=device)
    own = (start + column - shared).minimum(last)
    keys = own.where(column >= shared, begin + column)
    given = shared[:, 0] if any(segment.shared_size for segment in segments) else None
    return Batch(queries.minimum(last), keys, given)
