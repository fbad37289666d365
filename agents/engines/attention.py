"""Attention over a packed row, where all other layers see one sequence without padding.

It is given to a model through the public interface of transformers. Where no packing comes along,
it is PyTorch's ordinary attention.
"""

import inspect
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.attention import varlen
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from agents.engines.packing import Batch, Packing

NAME = "packed"
"""Of this attention among those of transformers."""
_LAYERS = {"full_attention", "sliding_attention"}
# Kernels took fewer key than query heads from PyTorch 2.12 on.
_GROUPED = "enable_gqa" in inspect.signature(varlen.varlen_attn).parameters


def use(model: Any) -> bool:
    """Makes a model attend over packed rows, if all of its layers can; its vision is left as it is.

    They cannot where a layer carries a state along the row (linear attention, convolutions), cuts
    it into chunks, or does not ask transformers for its attention.
    """
    text = model.get_decoder()
    config = text.config.get_text_config()
    if config._attn_implementation == NAME:
        return True
    packs = (
        text._supports_attention_backend
        and not text._is_stateful
        and config._attn_implementation == "sdpa"
        and set(getattr(config, "layer_types", None) or _LAYERS) <= _LAYERS
    )
    if packs:
        text.set_attn_implementation(NAME)
    return packs


def place_holder(device: torch.device) -> Tensor:
    """A mask that transformers hands on as it is, where it would build one of `[n n]`."""
    return torch.empty(1, 1, 0, 0, device=device)


def attention(  # noqa: PLR0913 - as transformers calls it
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    packing: Packing | None = None,
    dropout: float = 0.0,
    scaling: float | None = None,
    sliding_window: int | None = None,
    **rest: Any,
) -> tuple[Tensor, None]:
    """What queries `[1 heads n c]` read `[1 n heads c]` in a row packed as `packing` says.

    Args:
        module: The layer.
        query: Of all tokens.
        key: Of all tokens, of as many heads or of fewer.
        value: Likewise.
        attention_mask: Where nothing is packed.
        packing: None for sequences in a batch, padded as the mask says.
        dropout: Probability.
        scaling: Of the scores; None for one over the root of c.
        sliding_window: Keys that a query sees, its own among them; None for all.
        rest: For PyTorch's ordinary attention.
    """
    if packing is None:
        rest |= {"dropout": dropout, "scaling": scaling, "sliding_window": sliding_window}
        return sdpa_attention_forward(module, query, key, value, attention_mask, **rest)
    parts = query[0].transpose(0, 1), key[0].transpose(0, 1), value[0].transpose(0, 1)
    if _has_kernel(*parts, dropout):
        return _varlen(*parts, packing, scaling, sliding_window)[None], None
    read = [
        _padded(*parts, batch, sliding_window, scale=scaling, dropout_p=dropout)
        for batch in packing.batches
    ]
    return torch.cat(read).index_select(0, packing.order)[None], None


def _has_kernel(query: Tensor, key: Tensor, value: Tensor, dropout: float) -> bool:
    """Whether PyTorch's kernel for variable lengths takes these; it knows no dropout."""
    width = query.shape[-1]
    half = query.dtype in (torch.bfloat16, torch.float16)
    fits = width == key.shape[-1] == value.shape[-1] <= 256 and width % 8 == 0
    return query.is_cuda and half and fits and dropout == 0


def _varlen(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    packing: Packing,
    scale: float | None,
    window: int | None,
) -> Tensor:
    """`[n heads c]`, without padding. The kernel's causal mask is aligned at the end."""
    keys, query_ends, key_ends, max_queries, max_keys = packing.varlen
    if keys is not None:
        key, value = gather(key, keys), gather(value, keys)
    options: dict[str, Any] = {"scale": scale, "window_size": (window - 1 if window else -1, 0)}
    if _GROUPED:
        options["enable_gqa"] = True
    else:
        repeats = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(repeats, 1), value.repeat_interleave(repeats, 1)
    lengths = query_ends, key_ends, max_queries, max_keys
    return cast(Tensor, varlen.varlen_attn(query, key, value, *lengths, **options))


def _padded(
    query: Tensor, key: Tensor, value: Tensor, batch: Batch, window: int | None, **options: Any
) -> Tensor:
    """`[r * q heads c]` of the segments of a batch; what stands behind their ends means nothing."""
    query, key, value = (
        gather(part, places.flatten()).unflatten(0, places.shape).transpose(1, 2)
        for part, places in ((query, batch.queries), (key, batch.keys), (value, batch.keys))
    )
    mask = batch.mask(window, query.dtype)
    read = scaled_dot_product_attention(
        query, key, value, mask, is_causal=mask is None, enable_gqa=True, **options
    )
    return read.transpose(1, 2).flatten(0, 1)


class _Gather(torch.autograd.Function):
    """Rows of a tensor; the gradients of a row that is read often add up in float32."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        ctx.shape = values.shape
        return values.index_select(0, places)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        gradient = gradients[0]
        exact = torch.promote_types(gradient.dtype, torch.float32)
        total = torch.zeros(ctx.shape, dtype=exact, device=gradient.device)
        total.index_add_(0, ctx.saved_tensors[0], gradient.to(exact))
        return total.to(gradient.dtype), None


def gather(values: Tensor, places: Tensor) -> Tensor:
    """`values[places]`."""
    return _Gather.apply(values, places)


AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, sdpa_mask)
