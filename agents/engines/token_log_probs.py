"""Token log-probabilities from hidden states, with the logits of one chunk at a time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, distributed
from torch.utils.checkpoint import checkpoint

LOGITS_PER_CHUNK = {"cuda": 2**26, "cpu": 2**24}
"""By kind of device. On a GPU a quarter of a GiB in float32, 440 tokens of a vocabulary of 152,000;
on a CPU, which is as fast with less, 64 MiB."""
LOGITS_PER_BLOCK = {"cuda": 2**24, "cpu": 2**19}
"""Of one pass of elementwise operations: on a GPU 64 MiB in float32; on a CPU 2 MiB, which its
cache holds."""

_MIN_LOG_PROB = -1e4
"""Of a log-probability: its exponential is 0, and its product with that is no NaN."""


def log_prob(
    head: Any,
    hidden: Tensor,
    tokens: Tensor,
    policy: Callable[[Tensor], Tensor],
    *,
    entropy_gradient: bool = True,
) -> tuple[Tensor, Tensor]:
    """Log-probability of each token, and entropy of the policy there, in nats, `[n]` each.

    Both are differentiable; without a gradient of the entropy its backward pass costs nothing.

    Logits exist for one chunk of tokens at a time: the backward pass recomputes them, except for
    the last chunk, which it needs first. What the forward pass has summed over the vocabulary is
    kept, a few numbers a token. All chunks are one call of the head, around which ZeRO gathers its
    weights: once in the forward pass and once in the backward pass.

    Args:
        head: From hidden states to logits.
        hidden: Hidden states `[n h]`.
        tokens: Sampled tokens `[n]`.
        policy: From the head's logits `[n v]` to the policy's, differentiable.
        entropy_gradient: False for an entropy without a gradient.
    """
    logits = head.forward

    def chunk(hidden: Tensor, tokens: Tensor, sums: list[Tensor]) -> tuple[Tensor, Tensor]:
        return _TokenLogProb.apply(policy(logits(hidden)), tokens, sums)

    def chunks(hidden: Tensor) -> tuple[Tensor, Tensor]:
        count = _num_chunks(head, hidden)
        parts = zip(hidden.tensor_split(count), tokens.tensor_split(count), strict=True)
        inputs = [(*pair, []) for pair in parts]
        recomputed = [
            checkpoint(chunk, *part, use_reentrant=False, preserve_rng_state=False)
            for part in inputs[:-1]
        ]
        log_probs, entropies = zip(*recomputed, chunk(*inputs[-1]), strict=True)
        entropy = torch.cat(entropies)
        # Outputs that no loss reads must not require a gradient: ZeRO counts those that do.
        return torch.cat(log_probs), entropy if entropy_gradient else entropy.detach()

    with _forward_of(head, chunks):
        return head(hidden)


@contextmanager
def _forward_of(module: Any, forward: Callable[..., Any]) -> Iterator[None]:
    """Context in which a call of the module, its hooks included, computes something else."""
    own = vars(module).get("forward")
    module.forward = forward
    try:
        yield
    finally:
        del module.forward
        if own is not None:
            module.forward = own


def _num_chunks(head: Any, hidden: Tensor) -> int:
    """Number of chunks, equal on all ranks if they shard weights that a chunk gathers."""
    size = max(1, LOGITS_PER_CHUNK[hidden.device.type] // int(head.out_features))
    count = max(1, -(-len(hidden) // size))
    # ZeRO marks sharded weights; those of parts of the head, as of adapters, are gathered in each.
    parts = (weight for part in head.children() for weight in part.parameters())
    if not (distributed.is_initialized() and any(hasattr(weight, "ds_id") for weight in parts)):
        return count
    counts = torch.tensor(count, device=hidden.device)
    distributed.all_reduce(counts, distributed.ReduceOp.MAX)
    return int(counts)


class _TokenLogProb(torch.autograd.Function):
    """Log-softmax `[n]` at one token per row, and the entropy H.

    The slopes by logit j are 1[j = token] - p_j and -p_j (ln p_j + H). The backward pass allocates
    one matrix `[n v]`, PyTorch's own three, and with a gradient of the entropy a block besides.
    """

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, tokens: Tensor, sums: list[Tensor]
    ) -> tuple[Tensor, Tensor]:
        if not sums:  # else a recomputation
            sums.extend(_sums(logits))
        total, entropy = sums
        log_prob = logits.gather(-1, tokens[:, None])[:, 0] - total
        ctx.save_for_backward(logits, tokens, total, entropy)
        ctx.set_materialize_grads(False)
        return log_prob, entropy.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor, None, None]:
        logits, tokens, total, entropy = ctx.saved_tensors
        by_log_prob, by_entropy = gradients
        gradient = torch.zeros_like(total) if by_log_prob is None else by_log_prob
        slope = torch.empty_like(logits)
        for rows in _blocks(logits):
            log_probability = torch.sub(logits[rows], total[rows, None], out=slope[rows])
            if by_entropy is None:
                log_probability.exp_().mul_(-gradient[rows, None])
                continue
            probability = log_probability.exp()
            # The terms p ln p of the entropy: 0, not NaN, for a banned token.
            terms = log_probability.clamp_(min=_MIN_LOG_PROB).mul_(probability)
            factor = gradient[rows] + by_entropy[rows] * entropy[rows]
            terms.mul_(by_entropy[rows, None]).add_(probability.mul_(factor[:, None])).neg_()
        return slope.scatter_add_(-1, tokens[:, None], gradient[:, None]), None, None


def _sums(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Logarithm `[n]` of the sum of exponentials, and the entropy `[n]`, of rows of logits."""
    total, entropy = logits.new_empty(2, len(logits))  # no row where other ranks have more chunks
    for rows in _blocks(logits):
        maximum = logits[rows].amax(-1)
        # A banned token, at -inf, has no part in the entropy: 0, not NaN.
        offset = (logits[rows] - maximum[:, None]).clamp_(min=_MIN_LOG_PROB)
        weight = offset.exp()
        norm = weight.sum(-1)
        entropy[rows] = norm.log() - weight.mul_(offset).sum(-1) / norm
        total[rows] = maximum + norm.log()
    return total, entropy


def _blocks(logits: Tensor) -> list[slice]:
    """Rows of `LOGITS_PER_BLOCK` logits at a time."""
    size = max(1, LOGITS_PER_BLOCK[logits.device.type] // logits.shape[-1])
    return [slice(start, start + size) for start in range(0, len(logits), size)]
