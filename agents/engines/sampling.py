"""Sampling distribution of a policy, and the collation of sampled responses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from agents.errors import PromptLengthError
from agents.rollout import Prompt, Responses


@dataclass(frozen=True)
class Sampling:
    """Policy distribution over a model's logits, and its truncation by the sampler.

    The trainer uses `logits`, which ignores `top_p` and `top_k`: a token that passed the cutoff
    when it was sampled may fail it after an optimizer step, and would have probability 0.
    """

    temperature: float = 1.0
    """Divides the logits; 0 picks the most likely token."""
    banned: tuple[int, ...] = ()
    """Token ids that are never sampled: image placeholders, padding."""
    top_p: float = 1.0
    """In (0, 1]: the sampler keeps the fewest most likely tokens with this total probability."""
    top_k: int = 0
    """The sampler keeps this many most likely tokens; 0 keeps all. Applied before `top_p`."""

    def logits(self, logits: Tensor) -> Tensor:
        """Logits `[n v]` of the policy, float32 at least: -inf where banned, not truncated."""
        given = logits
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        if self.temperature not in (0.0, 1.0):
            logits = logits / self.temperature
        if self.banned:
            fill = logits.index_fill if logits is given else logits.index_fill_  # of a copy
            logits = fill(-1, _indices(self.banned, logits.device), -torch.inf)
        return logits

    def behaviour(self, logits: Tensor) -> Tensor:
        """Log-probability `[n v]` of the sampling distribution, truncated and renormalised.

        Ties with the last token within `top_k` are kept. Source: order and ties are those of
        transformers and vLLM.
        """
        logits = self.logits(logits)
        if self.temperature == 0:
            best = logits.argmax(-1, keepdim=True)
            return torch.full_like(logits, -torch.inf).scatter(-1, best, 0.0)
        if 0 < self.top_k < logits.shape[-1]:
            least = logits.topk(self.top_k).values[:, -1:]
            logits = logits.where(logits >= least, -torch.inf)
        if self.top_p < 1:
            probability, order = logits.softmax(-1).sort(descending=True)
            sorted_mask = probability.cumsum(-1) - probability < self.top_p
            mask = torch.zeros_like(sorted_mask).scatter(-1, order, sorted_mask)
            logits = logits.where(mask, -torch.inf)
        return logits.log_softmax(-1)


@cache  # else each chunk of logits would wait for a copy to the GPU
def _indices(tokens: tuple[int, ...], device: torch.device) -> Tensor:
    return torch.tensor(tokens, device=device)


def unique_prompts(prompts: Sequence[Prompt]) -> tuple[list[Prompt], list[int]]:
    """Prompts with consecutive duplicates removed, and the index of each prompt among them."""
    rows: list[int] = []
    unique: list[Prompt] = []
    for prompt in prompts:
        if not unique or prompt is not unique[-1]:
            unique.append(prompt)
        rows.append(len(unique) - 1)
    return unique, rows


def check_prompt_lengths(prompts: Sequence[Prompt], max_length: float, words: str) -> None:
    """Raises PromptLengthError for prompts with more tokens; the words follow on their number."""
    lengths = enumerate(len(prompt.token_ids) for prompt in prompts)
    reasons = {row: f"a prompt of {n} tokens {words}" for row, n in lengths if n > max_length}
    if reasons:
        raise PromptLengthError(next(iter(reasons.values())), reasons)


@dataclass
class Row:
    """A response during sampling."""

    tokens: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    text: str = ""


def collate(
    prompts: tuple[Prompt, ...],
    rows: list[Row],
    ended: Callable[[Sequence[int]], bool],
    *,
    log_probs: bool,
) -> Responses:
    """Collates finished rows into right-padded tensors.

    Args:
        prompts: One per row.
        rows: Each of at least one token.
        ended: True for the tokens of a response that is not truncated; see `Chat.ended`.
        log_probs: False for rows without log-probabilities, which then are NaN.
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
        finished=torch.tensor([ended(row.tokens) for row in rows]),
    )
