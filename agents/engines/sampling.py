"""Distribution of a policy: its logits, log-probabilities of tokens, and sampled responses."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor, distributed
from torch.nn.utils.rnn import pad_sequence
from torch.utils.checkpoint import checkpoint

from agents.distillation import VocabularyDivergence, divergence_of_logits
from agents.errors import PromptLengthError
from agents.rollout import Prompt, Responses

LOGITS_PER_CHUNK = {"cuda": 2**26, "cpu": 2**24}
"""By kind of device. On a GPU a quarter of a GiB in float32, 440 tokens of a vocabulary of 152,000;
on a CPU, which is as fast with less, 64 MiB."""
LOGITS_PER_BLOCK = {"cuda": 2**24, "cpu": 2**19}
"""Of one pass of elementwise operations: on a GPU 64 MiB in float32; on a CPU 2 MiB, which its
cache holds."""
_MIN_LOG_PROB = -1e4
"""Of a log-probability: its exponential is 0, and its product with that is no NaN."""


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
    """Raises PromptLengthError for prompts with more tokens; the words follow on their number.

    Tokens of an episode's row count to its response.
    """
    lengths = enumerate(len(prompt.token_ids) - prompt.row_size for prompt in prompts)
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
    """Collates finished rows into right-padded tensors; those of resting prompts are empty.

    Log-probabilities are NaN for rows without them; `ended` tells by the tokens of a response that
    it is not truncated, as `Chat.ended` does.
    """
    ids = [torch.tensor(row.tokens, dtype=torch.long) for row in rows]
    tokens = pad_sequence(ids, batch_first=True)
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
        finished=torch.tensor([bool(row.tokens) and ended(row.tokens) for row in rows]),
    )


@dataclass(frozen=True, eq=False)
class Target:
    """The teacher of some tokens: hidden states, the way to its logits, and the divergence."""

    hidden: Tensor
    """Hidden states `[n h]`."""
    logits: Callable[[Tensor], Tensor]
    """From some of them to logits `[... v]` over the policy's vocabulary."""
    divergence: VocabularyDivergence


def log_prob(
    head: Any,
    hidden: Tensor,
    tokens: Tensor,
    policy: Callable[[Tensor], Tensor],
    *,
    entropy_gradient: bool = True,
    target: Target | None = None,
) -> tuple[Tensor, ...]:
    """Log-probability of each token, and entropy of the policy there, in nats, `[n]` each.

    With a teacher, the divergence between both over the vocabulary too, for which logits exist
    twice. All are differentiable; an entropy without a gradient costs no backward pass.

    Logits exist for one chunk of tokens at a time: the backward pass recomputes them, except for
    the last chunk, which it needs first. What the forward pass has summed over the vocabulary is
    kept, a few numbers a token. All chunks are one call of the head, around which ZeRO gathers its
    weights: once in the forward pass and once in the backward pass.

    Args:
        head: From hidden states `[n h]` to logits `[n v]`.
        hidden: Hidden states `[n h]`.
        tokens: Sampled tokens `[n]`.
        policy: From the head's logits to the policy's, differentiable.
        entropy_gradient: False for an entropy without a gradient.
        target: The teacher.
    """
    logits = head.forward

    def chunk(hidden: Tensor, tokens: Tensor, teacher: Tensor, sums: list[Tensor]) -> Any:
        own = policy(logits(hidden))
        values = _TokenLogProb.apply(own, tokens, sums)
        if target is None:
            return values
        with torch.no_grad():
            other = target.logits(teacher)
        return *values, _Divergence.apply(own, other, target.divergence)

    def chunks(hidden: Tensor) -> tuple[Tensor, ...]:
        count = _num_chunks(head, hidden)
        columns = hidden, tokens, tokens if target is None else target.hidden
        parts = zip(*(column.tensor_split(count) for column in columns), strict=True)
        inputs: list[Any] = [(*part, []) for part in parts]
        recomputed = [
            checkpoint(chunk, *part, use_reentrant=False, preserve_rng_state=False)
            for part in inputs[:-1]
        ]
        rows = zip(*recomputed, chunk(*inputs[-1]), strict=True)
        log_probs, entropy, *divergence = map(torch.cat, rows)
        # Outputs that no loss reads must not require a gradient: ZeRO counts those that do. So a
        # loss of the divergence alone has a slope of 0 in the log-probability.
        divergence = [value + 0 * log_probs for value in divergence]
        return log_probs, entropy if entropy_gradient else entropy.detach(), *divergence

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


class _Divergence(torch.autograd.Function):
    """Divergence `[n]` of rows of logits from a teacher's; its slope is recomputed in blocks.

    The backward pass allocates one matrix `[n v]`, and what a block of rows needs.
    """

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, teacher: Tensor, divergence: VocabularyDivergence
    ) -> Tensor:
        ctx.save_for_backward(logits, teacher)
        ctx.divergence = divergence
        value = logits.new_empty(len(logits))
        for rows in _blocks(logits):
            value[rows] = divergence_of_logits(divergence, logits[rows], teacher[rows])
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        logits, teacher = ctx.saved_tensors
        slope = torch.empty_like(logits)
        for rows in _blocks(logits):
            with torch.enable_grad():
                block = logits[rows].detach().requires_grad_()
                value = divergence_of_logits(ctx.divergence, block, teacher[rows])
            (slope[rows],) = torch.autograd.grad(value, block, gradients[0][rows])
        return slope, None, None


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
