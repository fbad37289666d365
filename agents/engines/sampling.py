"""Sampling distribution of a policy, and the collation of sampled responses."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from agents.rollout import Prompt, Responses


@dataclass(frozen=True)
class Sampling:
    """The policy that a model's logits stand for, and what the sampler draws from it.

    The trainer knows the policy by `logits`, which is never cut off: a token that was likely enough
    to be drawn may be so no more after a step, and would have no probability.
    """

    temperature: float = 1.0
    """Divides the logits; 0 picks the most likely token."""
    banned: tuple[int, ...] = ()
    """Token ids that are never sampled: placeholders of images, padding."""
    top_p: float = 1.0
    """In (0, 1]: the sampler keeps the likeliest tokens, as few as have this probability."""
    top_k: int = 0
    """The sampler keeps this many tokens, the likeliest; 0 keeps all. It comes before `top_p`."""

    def logits(self, logits: Tensor) -> Tensor:
        """Logits `[n v]` of the policy, float32 at least: -inf where banned; not cut off."""
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        if self.temperature not in (0.0, 1.0):
            logits = logits / self.temperature
        if self.banned:
            logits = logits.index_fill(
                -1, torch.tensor(self.banned, device=logits.device), -torch.inf
            )
        return logits

    def behaviour(self, logits: Tensor) -> Tensor:
        """Log-probability `[n v]` of the distribution that is drawn from, cut off and renormalised.

        Tokens as likely as the last that `top_k` keeps are kept too. Source: the order, and what is
        kept, are those of transformers and vLLM.
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
            kept = probability.cumsum(-1) - probability < self.top_p
            keep = torch.zeros_like(kept).scatter(-1, order, kept)
            logits = logits.where(keep, -torch.inf)
        return logits.log_softmax(-1)


def distinct(prompts: Sequence[Prompt]) -> tuple[list[Prompt], list[int]]:
    """The prompts without equal neighbours, and for each prompt the row of its first copy."""
    rows: list[int] = []
    unique: list[Prompt] = []
    for prompt in prompts:
        if not unique or prompt is not unique[-1]:
            unique.append(prompt)
        rows.append(len(unique) - 1)
    return unique, rows


@dataclass
class Row:
    """A response on its way."""

    tokens: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    text: str = ""


def collate(
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
