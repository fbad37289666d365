"""Attention over a packed row of sequences or of images, as implementations of transformers.

They are registered through transformers' `AttentionInterface`. Calls without a packing fall through
to the `sdpa` implementation.
"""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.attention import varlen
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.weak import WeakTensorKeyDictionary
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from agents.engines.group_cache import GroupCache
from agents.engines.packing import Packing, SegmentBatch
from agents.errors import ModelError

NAME = "packed"
"""Name of the attention implementation."""
IMAGES = "packed_flash"
"""Name of that of vision towers: transformers gives cumulative lengths to "flash" in a name."""
_LAYERS = {"full_attention", "sliding_attention"}
_NEUTRAL = {"position_ids", "use_cache", "output_attentions", "cu_seq_lens_k", "max_length_k"}
"""Arguments of layers that change none of their outputs here: keys are as many as queries."""
# From PyTorch 2.12 on, the kernel supports fewer key than query heads.
_GROUPED = "enable_gqa" in inspect.signature(varlen.varlen_attn).parameters


def enable_packing(model: Any) -> bool:
    """Switches the text layers of a model to packed attention; True if all of them support it.

    Layers with a recurrent state (linear attention, convolutions), with chunked attention, with
    capped scores or with an attention of their own do not. Capped ones (Gemma 2, VaultGemma) get
    the `eager` implementation, since `sdpa` does not cap. A vision tower of Qwen's kinds gets
    `image_attention`.
    """
    tower = getattr(model.base_model, "visual", None)
    if tower is not None and tower.config._attn_implementation == "sdpa":
        # `set_attn_implementation` would look for flash-attn.
        tower.config._attn_implementation = IMAGES
    text = model.get_decoder()
    config = text.config.get_text_config()
    if config._attn_implementation == NAME:
        return True
    if getattr(config, "attn_logit_softcapping", None) is not None:
        text.set_attn_implementation("eager")
    supported = (
        text._supports_attention_backend
        and not text._is_stateful
        and config._attn_implementation == "sdpa"
        and set(getattr(config, "layer_types", None) or _LAYERS) <= _LAYERS
    )
    if supported:
        text.set_attn_implementation(NAME)
    return supported


@contextmanager
def eager(model: Any) -> Iterator[None]:
    """Context of transformers' `eager` attention, the one that takes all that a layer gives it."""
    parts = {name: getattr(model.config, name, None) for name in model.config.sub_configs}
    before = {k: part._attn_implementation for k, part in parts.items() if part is not None}
    before[""] = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(before)


def empty_mask(device: torch.device) -> Tensor:
    """A 4-d mask, which transformers passes on unchanged instead of building one of `[n n]`."""
    return torch.empty(1, 1, 0, 0, device=device)


def packed_attention(  # noqa: PLR0913 - as transformers calls it
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    packing: Packing | None = None,
    cache_of_groups: GroupCache | None = None,
    dropout: float = 0.0,
    scaling: float | None = None,
    sliding_window: int | None = None,
    **rest: Any,
) -> tuple[Tensor, None]:
    """Attention output `[1 n heads c]` of a packed row, from a query `[1 heads n c]`.

    Without a packing it is a padded batch, which goes to `sdpa` with its mask and the `rest`, or,
    with a sampler's cache of keys and values, a row of the next token of each response. The factor
    of the scores is `c ** -0.5` by default; `sliding_window` keys include that of the query.

    Raises:
        ModelError: The layer asks a packed row for more, such as sinks or chosen keys, or its model
            does not pass on the packing.
    """
    # Under autocast rotated queries and keys are in float32.
    query, key = query.to(value.dtype), key.to(value.dtype)
    if packing is not None or cache_of_groups is not None:
        _check_arguments(module, rest, is_causal=True)
    if cache_of_groups is not None:
        if packing is None:
            scale = query.shape[-1] ** -0.5 if scaling is None else scaling
            return cache_of_groups.attend(module, query, key, value, scale, sliding_window), None
        cache_of_groups.add_prompts(module, key, value)
    if packing is None:
        if attention_mask is not None and not attention_mask.numel():
            raise ModelError(
                f"{type(module).__name__} is not told which row it computes, since its model "
                "passes no arguments on to its layers: choose another model"
            )
        rest |= {"dropout": dropout, "scaling": scaling, "sliding_window": sliding_window}
        return sdpa_attention_forward(module, query, key, value, attention_mask, **rest)
    parts = query[0].transpose(0, 1), key[0].transpose(0, 1), value[0].transpose(0, 1)
    if _has_kernel(*parts, dropout):
        return _varlen(*parts, packing, scaling, sliding_window)[None], None
    outputs = [
        _padded(*parts, batch, sliding_window, scale=scaling, dropout_p=dropout)
        for batch in packing.batches
    ]
    return torch.cat(outputs).index_select(0, packing.order)[None], None


def _check_arguments(module: nn.Module, rest: Mapping[str, Any], *, is_causal: bool) -> None:
    """Rejects arguments of a layer that would change its output."""
    neutral = _NEUTRAL | ({"is_causal"} if rest.get("is_causal") is is_causal else set())
    unknown = sorted(name for name in rest.keys() - neutral if rest[name] is not None)
    if unknown:
        raise ModelError(
            f"{type(module).__name__} gives its attention {', '.join(unknown)}, which packed rows "
            "do not have: choose another model"
        )


def image_attention(  # noqa: PLR0913 - as transformers calls it
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    cu_seq_lens_q: Tensor | None = None,
    max_length_q: int | None = None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **rest: Any,
) -> tuple[Tensor, None]:
    """Attention output `[1 n heads c]` of a row of images, or of their windows.

    On a GPU in half precision one kernel computes all of them, where transformers' `sdpa` would
    wait for the GPU in each layer and compute one at a time. `query`, `key` and `value` are
    `[1 heads n c]`, and `cu_seq_lens_q` cumulative lengths from 0, without which the batch goes to
    `sdpa`. ModelError if the layer asks for more.
    """
    options: dict[str, Any] = {"scaling": scaling, "dropout": dropout}
    if cu_seq_lens_q is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options, **rest)
    _check_arguments(module, rest, is_causal=False)
    parts = query[0].transpose(0, 1), key[0].transpose(0, 1), value[0].transpose(0, 1)
    if max_length_q is not None and _has_kernel(*parts, dropout):
        ends = cu_seq_lens_q, cu_seq_lens_q, max_length_q, max_length_q
        return cast(Tensor, varlen.varlen_attn(*parts, *ends, scale=scaling))[None], None
    if cu_seq_lens_q not in _lengths:
        _lengths[cu_seq_lens_q] = cu_seq_lens_q.diff().tolist()
    images = (part.split(_lengths[cu_seq_lens_q], 2) for part in (query, key, value))
    outputs = [
        sdpa_attention_forward(module, q, k, v, None, is_causal=False, **options)[0]
        for q, k, v in zip(*images, strict=True)
    ]
    return torch.cat(outputs, 1), None


_lengths = WeakTensorKeyDictionary()
"""Lengths of images by the tensor that transformers passes to each layer."""


def _has_kernel(query: Tensor, key: Tensor, value: Tensor, dropout: float) -> bool:
    """True if PyTorch's variable-length kernel supports these inputs."""
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
    """`[n heads c]` by the variable-length kernel, whose causal mask is bottom-right aligned."""
    keys, query_ends, key_ends, max_queries, max_keys = packing.varlen
    if keys is not None:
        key, value = gather_rows(key, keys), gather_rows(value, keys)
    options: dict[str, Any] = {"scale": scale, "window_size": (window - 1 if window else -1, 0)}
    if _GROUPED:
        options["enable_gqa"] = True
    else:
        repeats = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(repeats, 1), value.repeat_interleave(repeats, 1)
    lengths = query_ends, key_ends, max_queries, max_keys
    return cast(Tensor, varlen.varlen_attn(query, key, value, *lengths, **options))


def _padded(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    batch: SegmentBatch,
    window: int | None,
    **options: Any,
) -> Tensor:
    """`[r * q heads c]` of a batch of padded segments; values at padding are arbitrary."""
    query, key, value = (
        gather_rows(part, index.flatten()).unflatten(0, index.shape).transpose(1, 2)
        for part, index in ((query, batch.queries), (key, batch.keys), (value, batch.keys))
    )
    dtype = query.dtype
    if query.device.type == "cpu":  # whose kernel takes three times as long in half precision
        exact = torch.promote_types(dtype, torch.float32)
        query, key, value = (part.to(exact) for part in (query, key, value))
    mask = batch.mask(window, query.dtype)
    with torch.autocast(query.device.type, enabled=False):
        output = scaled_dot_product_attention(
            query, key, value, mask, is_causal=mask is None, enable_gqa=True, **options
        )
    return output.to(dtype).transpose(1, 2).flatten(0, 1)


class _GatherRows(torch.autograd.Function):
    """Row gather whose backward pass scatters and adds gradients in float32."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(index)
        ctx.shape = values.shape
        return values.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        gradient = gradients[0]
        exact = torch.promote_types(gradient.dtype, torch.float32)
        total = torch.zeros(ctx.shape, dtype=exact, device=gradient.device)
        total.index_add_(0, ctx.saved_tensors[0], gradient.to(exact))
        return total.to(gradient.dtype), None


def gather_rows(values: Tensor, index: Tensor) -> Tensor:
    """`values[index]` for rows that occur several times in the index.

    Its own backward pass adds gradients with atomic operations, in another order each time.
    """
    return _GatherRows.apply(values, index)


AttentionInterface.register(NAME, packed_attention)
AttentionInterface.register(IMAGES, image_attention)
AttentionMaskInterface.register(NAME, sdpa_mask)
AttentionMaskInterface.register(IMAGES, sdpa_mask)
