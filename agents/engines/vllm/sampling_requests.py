"""Requests to vLLM: one per group of responses, with its sampling parameters."""

import importlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.engines.sampling import Sampling, distinct
from agents.errors import ParityError, UsageError
from agents.rollout import Prompt


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
        UsageError: In one line, with what to raise or lower.
    """
    if length + response > most:
        raise UsageError(
            f"a prompt of {length} tokens and a response of {response} do not "
            f"fit in the {most} tokens that vLLM reads: raise max_model_len, or "
            "lower --max-response-length or --max-pixels"
        )


def check_read(read: Sequence[int], expected: Sequence[int]) -> None:
    """Refuses a prompt of which vLLM and the trainer make different tokens.

    Args:
        read: Its tokens as vLLM has them.
        expected: Its tokens as the trainer has them.

    Raises:
        ParityError: In one line.
    """
    if tuple(read) != tuple(expected):
        raise ParityError(
            f"vLLM read a prompt as {len(read)} tokens that are not the {len(expected)} of the "
            "trainer: their image processors differ"
        )


def sampling_options(
    sampling: Sampling, length: int, ends: Sequence[int], *, log_probs: bool
) -> dict[str, Any]:
    """How vLLM draws, in words of its `SamplingParams` that JSON can hold.

    Args:
        sampling: The distribution.
        length: Tokens after which a response is cut.
        ends: Tokens that end a response.
        log_probs: Whether log-probabilities are wanted.
    """
    return {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "max_tokens": length,
        "stop_token_ids": list(ends),
        "logprobs": 0 if log_probs else None,
    }


def vllm_params(words: Mapping[str, Any]) -> Any:
    """The `SamplingParams` of a request: those words, no text, and each token told once."""
    vllm = importlib.import_module("vllm.sampling_params")
    kind = vllm.RequestOutputKind.DELTA
    return vllm.SamplingParams(**words, flat_logprobs=True, detokenize=False, output_kind=kind)
