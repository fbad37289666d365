"""Token log-probabilities from hidden states, with the logits of one chunk at a time."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, distributed
from torch.utils.checkpoint import checkpoint

LOGITS_PER_CHUNK = {"cuda": 2**26, "cpu": 2**24}
"""By kind of device. On a GPU a quarter of a GiB in float32, 440 tokens of a vocabulary of 152,000;
on a CPU, which is as fast with less, 64 MiB."""
BLOCK = 64
"""Rows of logits at once in the slope of the entropy."""


def log_prob(
    head: Any, hidden: Tensor, tokens: Tensor, policy: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """Log-probability of each token, and entropy of the policy there, in nats, `[n]` each.

    Both are differentiable; without a gradient of the entropy its backward pass costs nothing.

    Logits exist for one chunk of tokens at a time: the backward pass recomputes them, except for
    the last chunk, which it needs first.

    Args:
        head: From hidden states to logits; only ever called, so that ZeRO may shard it.
        hidden: Hidden states `[n h]`.
        tokens: Sampled tokens `[n]`.
        policy: From the head's logits `[n v]` to the policy's, differentiable.
    """

    def chunk(hidden: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        return _TokenLogProb.apply(policy(head(hidden)), tokens)

    count = _num_chunks(head, hidden)
    inputs = list(zip(hidden.tensor_split(count), tokens.tensor_split(count), strict=True))
    recomputed = [
        checkpoint(chunk, *pair, use_reentrant=False, preserve_rng_state=False)
        for pair in inputs[:-1]
    ]
    log_probs, entropies = zip(*recomputed, chunk(*inputs[-1]), strict=True)
    return torch.cat(log_probs), torch.cat(entropies)


def _num_chunks(head: Any, hidden: Tensor) -> int:
    """Number of chunks, equal on all ranks if they shard the weights of the head."""
    size = max(1, LOGITS_PER_CHUNK[hidden.device.type] // int(head.out_features))
    count = torch.tensor(max(1, -(-len(hidden) // size)), device=hidden.device)
    # ZeRO marks sharded weights; each call of the head all-gathers them.
    sharded = any(hasattr(weight, "ds_id") for weight in head.parameters())
    if sharded and distributed.is_initialized():
        distributed.all_reduce(count, distributed.ReduceOp.MAX)
    return int(count)


class _TokenLogProb(torch.autograd.Function):
    """Log-softmax `[n]` at one token per row, and the entropy H.

    The slopes by logit j are 1[j = token] - p_j and -p_j (ln p_j + H). The backward pass allocates
    one matrix `[n v]`, PyTorch's own three; for the entropy `BLOCK` rows of a second one.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        total = logits.logsumexp(-1)
        log_prob = logits.gather(-1, tokens[:, None])[:, 0] - total
        probability = (logits - total[:, None]).exp_()
        entropy = torch.special.entr(probability, out=probability).sum(-1)
        ctx.save_for_backward(logits, tokens, total, entropy)
        ctx.set_materialize_grads(False)
        return log_prob, entropy

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor, None]:
        logits, tokens, total, entropy = ctx.saved_tensors
        by_log_prob, by_entropy = gradients
        gradient = torch.zeros_like(total) if by_log_prob is None else by_log_prob
        slope = (logits - total[:, None]).exp_()
        if by_entropy is None:
            slope.mul_(-gradient[:, None])
        else:
            factor = -(gradient + by_entropy * entropy)
            blocks = (values.split(BLOCK) for values in (slope, factor, by_entropy))
            for probability, common, weight in zip(*blocks, strict=True):
                # -p ln p is 0, not NaN, for a banned token.
                surprise = torch.special.entr(probability).mul_(weight[:, None])
                probability.mul_(common[:, None]).add_(surprise)
        return slope.scatter_add_(-1, tokens[:, None], gradient[:, None]), None
