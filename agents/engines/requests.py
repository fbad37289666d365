"""Prompts as requests to a sampler of its own, one for each group, and what comes back."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from agents.engines.model import distinct
from agents.rollout import Prompt, Responses


@dataclass(frozen=True)
class Group:
    """Responses to one prompt, which are sampled as one request."""

    prompt: dict[str, Any]
    """As the sampler takes it."""
    token_ids: tuple[int, ...]
    """As the trainer reads it."""
    first: int
    """Index of the first response."""
    count: int
    seed: int
    """Of the first response; that of the others is 1, 2, ... more."""


@dataclass
class Row:
    """A response on its way."""

    tokens: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    text: str = ""


def groups(
    prompts: tuple[Prompt, ...], seed: tuple[int, ...], form: Callable[[Prompt], dict[str, Any]]
) -> list[Group]:
    """A request for each prompt, with a seed of its own.

    Args:
        prompts: One for each response; equal neighbours are one group.
        seed: Any number of integers >= 0.
        form: A prompt as the sampler takes it.
    """
    unique, rows = distinct(prompts)
    asked, first = [], 0
    for number, count in sorted(Counter(rows).items()):
        prompt = unique[number]
        entropy = np.random.SeedSequence(seed, spawn_key=(first,))
        start = int(entropy.generate_state(1, np.uint64)[0] >> 2)
        asked.append(Group(form(prompt), prompt.token_ids, first, count, start))
        first += count
    return asked


def check_length(length: int, response: int, most: int) -> None:
    """Refuses a prompt that leaves no room for the response.

    Args:
        length: Tokens of the prompt.
        response: Tokens after which a response is cut.
        most: Tokens of both together that vLLM reads.

    Raises:
        ValueError: In one line, with what to raise or lower.
    """
    if length + response > most:
        raise ValueError(
            f"a prompt of {length} tokens and a response of {response} do not "
            f"fit in the {most} tokens that vLLM reads: raise max_model_len, or "
            "lower --max-response-length or --max-pixels"
        )


def responses(
    prompts: tuple[Prompt, ...], rows: list[Row], ends: tuple[int, ...], *, log_probs: bool
) -> Responses:
    """The rows side by side.

    Args:
        prompts: One for each row.
        rows: Complete, none without a token.
        ends: Tokens that end a response.
        log_probs: Whether the rows have log-probabilities, which else are NaN for unknown.
    """
    tokens = pad_sequence([torch.tensor(row.tokens) for row in rows], batch_first=True)
    lengths = torch.tensor([len(row.tokens) for row in rows])
    mask = torch.arange(tokens.shape[1]) < lengths[:, None]
    log_prob = torch.zeros(tokens.shape).masked_fill(mask, torch.nan)
    if log_probs:
        log_prob = pad_sequence([torch.tensor(row.log_probs) for row in rows], batch_first=True)
    return Responses(
        prompts=prompts,
        tokens=tokens,
        mask=mask,
        texts=tuple(row.text for row in rows),
        sampler_log_prob=log_prob,
        finished=torch.tensor([row.tokens[-1] in ends for row in rows]),
    )
