"""Requests to vLLM, one for each group of responses, and what both of its samplers share."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from agents.engines.chat import Chat
from agents.engines.sampling import Row, Sampling, check_prompt_lengths, collate, unique_prompts
from agents.errors import ParityError, SamplerError
from agents.rollout import Prompt, Responses


@dataclass(frozen=True)
class SamplingRequest:
    """One request to vLLM: a prompt and the number of responses to it."""

    prompt: dict[str, Any]
    """In vLLM's format."""
    token_ids: tuple[int, ...]
    """Of the prompt, as the trainer tokenizes it."""
    first: int
    """Index of the first response."""
    count: int
    seed: int
    """Of the first response; response k of the group has seed + k."""
    row_size: int = 0
    """Tokens of the prompt that count to the length of the response."""

    def check_tokens(self, token_ids: Sequence[int]) -> None:
        """Raises ParityError if vLLM has these tokens of the prompt, and the trainer has others."""
        if tuple(token_ids) != self.token_ids:
            raise ParityError(
                f"vLLM reads a prompt as {len(token_ids)} tokens that are not the "
                f"{len(self.token_ids)} of the trainer: their image processors differ"
            )


def _sampling_requests(
    prompts: tuple[Prompt, ...], seed: tuple[int, ...], convert: Callable[[Prompt], dict[str, Any]]
) -> list[SamplingRequest]:
    """One request per group of equal neighbouring prompts, each with its own seed."""
    unique, rows = unique_prompts(prompts)
    requests, first = [], 0
    for prompt, count in zip(unique, Counter(rows).values(), strict=True):
        entropy = np.random.SeedSequence(seed, spawn_key=(first,))
        start = int(entropy.generate_state(1, np.uint64)[0] >> 2)
        if prompt.token_ids:  # else its rows rest
            parts = convert(prompt), prompt.token_ids, first, count, start, prompt.row_size
            requests.append(SamplingRequest(*parts))
        first += count
    return requests


@dataclass
class Rollout:
    """The responses to some prompts while they are sampled."""

    prompts: tuple[Prompt, ...]
    requests: list[SamplingRequest]
    rows: list[Row]
    decode: Callable[[Sequence[int]], str]
    finished: Callable[[int, str], object] | None
    is_greedy: bool
    """True if one response is sampled for each group, which all of it get."""

    def extend(
        self,
        request: SamplingRequest,
        index: int,
        tokens: Sequence[int],
        log_probs: Sequence[float] | None,
        *,
        is_last: bool,
    ) -> None:
        """Adds new tokens to response `index` of a request, and reports it with the last of them.

        `log_probs` are those of the new tokens, or None where they are not asked for.
        """
        for number in range(request.count) if self.is_greedy else (index,):
            row = self.rows[request.first + number]
            row.tokens += tokens
            if log_probs is not None:
                # vLLM returns the model's log-probability; under greedy decoding it is 0.
                row.log_probs += [0.0] * len(tokens) if self.is_greedy else log_probs
            if is_last:
                row.text = self.decode(row.tokens)
                if self.finished is not None:
                    self.finished(request.first + number, row.text)


class RequestSampler:
    """Common part of the samplers on vLLM, in the trainer's process and on a server."""

    dtype: torch.dtype
    """Of vLLM's computation."""
    max_length: int
    """Context length of vLLM, for prompt and response together."""
    _has_weights: bool

    def __init__(
        self, chat: Chat, sampling: Sampling, max_response_length: int, *, log_probs: bool
    ) -> None:
        self.chat, self.sampling = chat, sampling
        self.max_response_length, self.log_probs = max_response_length, log_probs

    def encode(self, observations: Mapping) -> tuple[Prompt, ...]:
        """Prompts of a vector observation, as `RolloutEngine` says."""
        prompts = self.chat.encode(observations)
        self._check_lengths(prompts)
        return prompts

    def generate(
        self,
        prompts: tuple[Prompt, ...],
        seed: tuple[int, ...],
        finished: Callable[[int, str], object] | None = None,
    ) -> Responses:
        """Samples one response per prompt, as `RolloutEngine` says.

        SamplerError if vLLM fails, is lost or has no weights; ParityError if it tokenizes a prompt
        differently from `encode`.
        """
        if not self._has_weights:
            raise SamplerError("vLLM has no weights to sample from: call load_weights first")
        self._check_lengths(prompts)
        requests = _sampling_requests(prompts, seed, self._convert)
        rows = [Row() for _ in prompts]
        is_greedy = self.sampling.temperature == 0
        self._run(Rollout(prompts, requests, rows, self.chat.decode, finished, is_greedy))
        return collate(prompts, rows, self.chat.ended, log_probs=self.log_probs)

    def _run(self, rollout: Rollout) -> None:
        raise NotImplementedError

    def _convert(self, prompt: Prompt) -> dict[str, Any]:
        """A prompt in vLLM's format, with one placeholder per image, which vLLM expands itself."""
        raise NotImplementedError

    def _check_lengths(self, prompts: Sequence[Prompt]) -> None:
        words = (
            f"and a response of {self.max_response_length} do not fit in vLLM's context of "
            f"{self.max_length} tokens: raise max_model_len or its share of the GPU, "
            "gpu_memory_utilization, or lower --max-response-length or --max-pixels"
        )
        check_prompt_lengths(prompts, self.max_length - self.max_response_length, words)

    def _options(self, count: int, seed: int | None, row_size: int = 0) -> dict[str, Any]:
        """JSON-serializable arguments of vLLM's `SamplingParams`; no seed is that of vLLM."""
        stop, banned = list(self.chat.stop), list(self.sampling.banned)
        return {
            "temperature": self.sampling.temperature,
            "top_p": self.sampling.top_p,
            "top_k": self.sampling.top_k,
            "max_tokens": self.max_response_length - row_size,
            "n": 1 if self.sampling.temperature == 0 else count,
            "seed": seed,
            "stop_token_ids": list(self.chat.eos),
            "logprobs": 0 if self.log_probs else None,
            "flat_logprobs": True,
            "detokenize": bool(stop),
            **({"stop": stop} if stop else {}),
            **({"extra_args": {"banned": banned}} if banned else {}),
        }
