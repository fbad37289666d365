"""From hidden states to log-probabilities, without the logits of all tokens at any time."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, distributed
from torch.utils.checkpoint import checkpoint

LOGITS = 2**26
"""Logits at a time: a quarter of a GiB in float32, 440 tokens of a vocabulary of 152,000."""


def log_prob(
    head: Any, hidden: Tensor, tokens: Tensor, policy: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """Log-probability of each token, and entropy of the policy there, in nats, `[n]` each.

    The logits of a chunk of tokens are there at a time, in the forward pass and in the backward
    pass, which computes them once more. The last chunk's are kept: they are needed first.

    Args:
        head: From hidden states to logits; touched by calls alone, so that ZeRO may shard it.
        hidden: Hidden states `[n h]`.
        tokens: What was chosen, `[n]`.
        policy: From the head's logits `[n v]` to the policy's, differentiable.
    """

    def part(hidden: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        return _Choice.apply(policy(head(hidden)), tokens)

    chunks = _num_chunks(head, hidden)
    pairs = list(zip(hidden.tensor_split(chunks), tokens.tensor_split(chunks), strict=True))
    again = [
        checkpoint(part, *pair, use_reentrant=False, preserve_rng_state=False)
        for pair in pairs[:-1]
    ]
    chosen, entropy = zip(*again, part(*pairs[-1]), strict=True)
    return torch.cat(chosen), torch.cat(entropy)


def _num_chunks(head: Any, hidden: Tensor) -> int:
    """As many as it takes; on ranks that share out the head's weights, equally many on each."""
    size = max(1, LOGITS // int(head.out_features))
    count = torch.tensor(max(1, -(-len(hidden) // size)), device=hidden.device)
    # ZeRO marks the weights that it shards; each call of the head gathers them from all ranks.
    sharded = any(hasattr(weight, "ds_id") for weight in head.parameters())
    if sharded and distributed.is_initialized():
        distributed.all_reduce(count, distributed.ReduceOp.MAX)
    return int(count)


class _Choice(torch.autograd.Function):
    """Log-softmax `[n]` at one token of each row, and the entropy, which has no gradient.

    The backward pass makes one matrix `[n v]` where PyTorch's own makes three.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        total = logits.logsumexp(-1)
        chosen = logits.gather(-1, tokens[:, None])[:, 0] - total
        probability = (logits - total[:, None]).exp_()
        entropy = torch.special.entr(probability, out=probability).sum(-1)
        ctx.save_for_backward(logits, tokens, total)
        ctx.mark_non_differentiable(entropy)
        return chosen, entropy

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        logits, tokens, total = ctx.saved_tensors
        gradient = gradients[0][:, None]
        slope = (logits - total[:, None]).exp_().mul_(-gradient)
        return slope.scatter_add_(-1, tokens[:, None], gradient), None
