"""Requests to vLLM: one per group of responses, with its sampling parameters."""

import importlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.engines.chat import Chat
from agents.engines.sampling import Sampling, check_prompt_lengths, unique_prompts
from agents.errors import ParityError
from agents.rollout import Prompt


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


def sampling_requests(
    prompts: tuple[Prompt, ...], seed: tuple[int, ...], convert: Callable[[Prompt], dict[str, Any]]
) -> list[SamplingRequest]:
    """One request per group of equal neighbouring prompts, each with its own seed.

    Args:
        prompts: One per response.
        seed: Any number of integers >= 0.
        convert: From a prompt to vLLM's format.
    """
    unique, rows = unique_prompts(prompts)
    requests, first = [], 0
    for number, count in sorted(Counter(rows).items()):
        prompt = unique[number]
        entropy = np.random.SeedSequence(seed, spawn_key=(first,))
        start = int(entropy.generate_state(1, np.uint64)[0] >> 2)
        request = SamplingRequest(convert(prompt), prompt.token_ids, first, count, start)
        requests.append(request)
        first += count
    return requests


def check_lengths(prompts: Sequence[Prompt], max_response_length: int, max_length: int) -> None:
    """Rejects prompts of which one leaves no room for the response.

    Args:
        prompts: Any number of them.
        max_response_length: Tokens after which a response is truncated.
        max_length: Context length of vLLM, for prompt and response together.

    Raises:
        PromptLengthError: They do not fit.
    """
    words = (
        f"and a response of {max_response_length} do not fit in vLLM's context of {max_length} "
        "tokens: raise max_model_len or its share of the GPU, gpu_memory_utilization, or lower "
        "--max-response-length or --max-pixels"
    )
    check_prompt_lengths(prompts, max_length - max_response_length, words)


def check_tokens(token_ids: Sequence[int], expected: Sequence[int]) -> None:
    """Rejects a prompt that vLLM and the trainer tokenize differently.

    Args:
        token_ids: Of the prompt in vLLM.
        expected: Those of the trainer.

    Raises:
        ParityError: They differ.
    """
    if tuple(token_ids) != tuple(expected):
        raise ParityError(
            f"vLLM reads a prompt as {len(token_ids)} tokens that are not the {len(expected)} of "
            "the trainer: their image processors differ"
        )


def sampling_options(
    sampling: Sampling, length: int, chat: Chat, *, log_probs: bool
) -> dict[str, Any]:
    """JSON-serializable arguments of vLLM's `SamplingParams`.

    Args:
        sampling: Distribution to sample from.
        length: Tokens after which a response is truncated.
        chat: End tokens and stop strings.
        log_probs: True to return log-probabilities.
    """
    return {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "max_tokens": length,
        "stop_token_ids": list(chat.eos),
        "logprobs": 0 if log_probs else None,
        **({"stop": list(chat.stop)} if chat.stop else {}),
    }


def vllm_params(options: Mapping[str, Any]) -> Any:
    """`SamplingParams` with these options; vLLM reports new tokens only, and reads stop strings."""
    vllm = importlib.import_module("vllm.sampling_params")
    fixed = {"flat_logprobs": True, "detokenize": bool(options.get("stop"))}
    return vllm.SamplingParams(**options, **fixed, output_kind=vllm.RequestOutputKind.DELTA)
