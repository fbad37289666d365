"""Sampling with transformers on any machine, from the trainer's own weights."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import DynamicCache

from agents.engines.attention import empty_mask
from agents.engines.chat import Chat
from agents.engines.group_cache import GroupCache
from agents.engines.model import Policy
from agents.engines.packing import pack
from agents.engines.process import WARN, limited_mode
from agents.engines.sampling import (
    Row,
    Sampling,
    check_prompt_lengths,
    collate,
    unique_prompts,
)
from agents.rollout import Prompt, Responses

SPARE = 1 / 8
"""Part of a batch that may have ended before its rows are removed, which copies the others."""


@dataclass(eq=False)
class TransformersSampler:
    """A `RolloutEngine` on a policy in this process, with one prefill per group."""

    policy: Policy
    chat: Chat
    sampling: Sampling
    max_response_length: int
    """Tokens after which a response is truncated."""
    batch_size: int = 512
    """Number of responses that are sampled at a time."""
    unsharded: Callable[[], AbstractContextManager[Policy]] | None = None
    """Context with the full weights of a sharded policy; see `TrainEngine.unsharded`."""

    def encode(self, observations: Mapping) -> tuple[Prompt, ...]:
        prompts = self.chat.encode(observations)
        self._check_lengths(prompts)
        return prompts

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """No-op: the weights are the trainer's own."""

    def release(self) -> None:
        """No-op: all memory between rollouts is the trainer's."""

    def close(self) -> None:
        """No-op."""

    @torch.no_grad()
    def generate(
        self,
        prompts: tuple[Prompt, ...],
        seed: tuple[int, ...],
        finished: Callable[[int, str], object] | None = None,
    ) -> Responses:
        self._check_lengths(prompts)
        entropy = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] >> 1)
        generator = torch.Generator(self.policy.device).manual_seed(entropy)
        rows: list[Row] = []
        # Cumulative sums of probabilities have no kernel that PyTorch calls deterministic.
        unsharded = self.unsharded or partial(nullcontext, self.policy)
        with limited_mode(WARN), unsharded() as policy, policy.autocast():
            was_training = policy.training
            policy.eval()
            for start in range(0, len(prompts), self.batch_size):
                batch = prompts[start : start + self.batch_size]
                rows += _Decoding(self, policy, batch, generator, finished, start).run()
            policy.train(was_training)
        return collate(prompts, rows, self.chat.ended, log_probs=True)

    def _check_lengths(self, prompts: Sequence[Prompt]) -> None:
        """Rejects tokens beyond the positions of the model, most of which it has never seen."""
        length = self.max_response_length
        context = _context_length(self.policy.model.config.get_text_config())
        words = (
            f"and a response of {length} do not fit in this model's context of {context:g} tokens: "
            "lower --max-response-length or --max-pixels"
        )
        check_prompt_lengths(prompts, context - length, words)


@dataclass
class _Decoding:
    """Decoding of one batch of responses."""

    sampler: TransformersSampler
    policy: Policy
    prompts: tuple[Prompt, ...]
    generator: torch.Generator
    finished: Callable[[int, str], object] | None
    first: int

    def __post_init__(self) -> None:
        count, device = len(self.prompts), self.policy.device
        length = self.sampler.max_response_length
        limits = [length - prompt.row_size for prompt in self.prompts]
        self.limits = torch.tensor(limits, device=device)
        self.alive = [row for row, prompt in enumerate(self.prompts) if prompt.token_ids]
        self.max_length = max((limits[row] for row in self.alive), default=0)
        shape = count, self.max_length
        self.rows = [Row() for _ in self.prompts]
        self.tokens = torch.zeros(shape, dtype=torch.long, device=device)
        self.log_probs = torch.zeros(shape, device=device)
        self.has_ended = torch.zeros(count, dtype=torch.bool, device=device)
        self.eos = torch.tensor(self.sampler.chat.eos, device=device)
        self.head = self.policy.model.get_output_embeddings()

    def run(self) -> list[Row]:
        """Decodes until every response has ended."""
        if not self.alive:
            return self.rows
        prompts = [self.prompts[row] for row in self.alive]
        if self.policy.packs:
            responses = _PackedDecoder(self.policy, prompts, self.max_length)
        else:
            responses = _PaddedDecoder(self.policy, prompts)
        alive = torch.tensor(self.alive, device=self.policy.device)
        for length in range(1, self.max_length + 1):
            token, log_prob = self._sample(responses.hidden, alive)
            active = self._append(token, log_prob, alive, length)
            if not len(active):
                break
            if len(active) <= (1 - SPARE) * len(alive):
                responses.select(active)
                token, alive = token[active], alive[active]
            responses.step(token)
        return self.rows

    def _sample(self, hidden: Tensor, alive: Tensor) -> tuple[Tensor, Tensor]:
        """The next token of each row and its log-probability; those of ended rows are ignored.

        Each response has a random number, alive or not: its tokens do not depend on other ends.
        """
        logits = self.policy.logits(self.head(hidden))
        log_prob = self.sampler.sampling.behaviour(logits)
        options = {"dtype": torch.float64, "device": hidden.device, "generator": self.generator}
        token = choose_tokens(log_prob.exp(), torch.rand(len(self.prompts), **options)[alive])
        return token, log_prob.gather(-1, token[:, None])[:, 0]

    def _append(self, token: Tensor, log_prob: Tensor, alive: Tensor, length: int) -> Tensor:
        """Appends token number `length`, from 1; gives the indices of the rows that go on."""
        self.tokens[alive, length - 1] = token
        self.log_probs[alive, length - 1] = log_prob.float()
        ends = ~self.has_ended[alive]
        if length < self.max_length:
            is_full = length >= self.limits[alive]
            ends &= torch.isin(token, self.eos) | self._has_stop(alive, length) | is_full
        self.has_ended[alive] |= ends
        self._finish(alive[ends], length)
        return (~self.has_ended[alive]).nonzero()[:, 0]

    def _has_stop(self, alive: Tensor, length: int) -> Tensor:
        """Mask of the rows whose last tokens have a stop string."""
        chat = self.sampler.chat
        if not chat.stop:
            return torch.zeros_like(alive, dtype=torch.bool)
        last = self.tokens[alive, max(0, length - chat.stop_length) : length]
        return torch.tensor([chat.has_stop(row) for row in last.tolist()], device=alive.device)

    def _finish(self, rows: Tensor, length: int) -> None:
        """Reports responses that have ended."""
        parts = (part[rows, :length].tolist() for part in (self.tokens, self.log_probs))
        for row, tokens, log_probs in zip(rows.tolist(), *parts, strict=True):
            self.rows[row] = Row(tokens, log_probs, self.sampler.chat.decode(tokens))
            if self.finished is not None:
                self.finished(self.first + row, self.rows[row].text)


class _PackedDecoder:
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
        self.hidden = hidden[(sizes.cumsum(0) - 1)[rows].to(policy.device)]
        ends = [
            positions[:, 0, start : start + size].amax(1) for start, size, *_ in packing.segments
        ]
        self._position = torch.stack(ends, 1)[:, rows]

    def step(self, token: Tensor) -> None:
        """Reads the next token `[r]` of each response."""
        self._cache.length += 1
        self._position = self._position + 1
        row = self._embed(token[None]), self._position[:, None], self._mask
        self.hidden = self._policy.hidden(*row, cache_of_groups=self._cache)[0]

    def select(self, rows: Tensor) -> None:
        """Keeps some responses, by their indices in ascending order."""
        self._cache.select(rows)
        self._position = self._position[:, rows]


class _PaddedDecoder:
    """The same for models that cannot be packed, with transformers' cache and left padding."""

    hidden: Tensor

    def __init__(self, policy: Policy, prompts: Sequence[Prompt]) -> None:
        """Reads the prompts."""
        self._policy = policy
        self._embed = policy.model.get_input_embeddings()
        self._cache = DynamicCache(config=policy.model.config.get_text_config())
        unique, rows = unique_prompts(prompts)
        pad = {"batch_first": True, "padding_side": "left"}
        ids = [torch.tensor(p.token_ids) for p in unique]
        tokens = pad_sequence(ids, **pad).to(policy.device)
        self._attention = pad_sequence([torch.ones_like(x) for x in ids], **pad).to(policy.device)
        positions = pad_sequence([policy.positions(p).T for p in unique], **pad).permute(2, 0, 1)
        self._position = positions.amax(-1).to(policy.device)
        embedded, deepstack = policy.embed(tokens, unique)
        self._read(embedded, positions.to(policy.device), **deepstack)
        self.select(torch.tensor(rows, device=policy.device))

    def step(self, token: Tensor) -> None:
        """Reads the next token `[r]` of each response."""
        self._position = self._position + 1
        self._attention = nn.functional.pad(self._attention, (0, 1), value=1)
        self._read(self._embed(token[:, None]), self._position[..., None])

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


def _context_length(config: Any) -> float:
    """Positions of a model with a limit in its configuration, else infinity."""
    positions = getattr(config, "max_position_embeddings", None)
    rope = getattr(config, "rope_parameters", None) or {}
    # Scaled positions count in full, whether the limit includes the factor or not.
    return positions * max(1, rope.get("factor") or 1) if positions else math.inf


def choose_tokens(probability: Tensor, uniform: Tensor) -> Tensor:
    """One index per row `[n]` of probabilities `[n v]`, up to a factor, by inverse transform.

    An index of probability 0 is never chosen. One random number per row, in [0, 1) and float64,
    suffices; `torch.multinomial` draws one per entry, a quarter of a tiny model's sampling time.
    """
    cumulative = probability.cumsum(-1, dtype=torch.float64)
    threshold = uniform[:, None] * cumulative[:, -1:]
    return torch.searchsorted(cumulative, threshold, right=True)[:, 0]
