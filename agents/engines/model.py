"""Policy of a Hugging Face causal language model, with or without vision.

The forward pass of both training engines and of the transformers sampler: embeddings with image
features, position ids, packing. Axis letters: n tokens of a packed row, d dimensions of a position
id, h features of a hidden state.
"""

import copy
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from agents.engines import attention
from agents.engines.frozen_models import Distillation
from agents.engines.packing import Packing, pack
from agents.engines.sampling import Sampling, log_prob, unique_prompts
from agents.errors import ModelError
from agents.rollout import Prompt, Responses


class Policy(nn.Module):
    """Causal language model with the log-probabilities of responses as its forward pass.

    A prompt that several responses share is embedded once, images included.
    """

    always_runs_vision = False
    """True to run the vision tower without images too, as ZeRO requires on several ranks."""

    packs: bool
    """True if the model computes all prompts and responses in one row, without padding."""
    model: Any

    def __init__(self, model: nn.Module, dtype: torch.dtype | None = None) -> None:
        """Wraps a causal language model of transformers and packs its attention if it can.

        `dtype` is that of matrix products; None for that of the weights.
        """
        super().__init__()
        self.model = model
        self._dtype = dtype
        self.packs = attention.enable_packing(model)
        self._positions: WeakKeyDictionary[Prompt, Tensor] = WeakKeyDictionary()

    def freeze_vision(self) -> None:
        """Freezes the vision tower; no-op for a text-only model."""
        for name, weight in self.model.base_model.named_parameters():
            if name.split(".")[0] in ("visual", "vision_tower", "vision_model"):
                weight.requires_grad_(False)

    def checkpoint_activations(self) -> None:
        """Recomputes activations in the backward pass: gradient checkpointing, without dropout."""
        _remove_dropout(self.model)
        old: Any = getattr(self.model, "gradient_checkpointing_enable", None)
        # transformers 5.23 renamed it.
        enable = getattr(self.model, "activation_checkpointing_enable", old)
        enable({"use_reentrant": False})

    def ready(self) -> "Policy":
        """Sets the mode for training: train mode for gradient checkpointing, else eval mode."""
        modules = self.model.modules()
        return self.train(any(getattr(part, "gradient_checkpointing", False) for part in modules))

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return next(self.model.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        """Number format of matrix products."""
        return self._dtype or self.model.dtype

    def autocast(self, *, keeps_weights: bool = True) -> AbstractContextManager[Any]:
        """Context of computation in `dtype`; keeps converted weights to its end if asked to."""
        if self.dtype == self.model.dtype:
            return nullcontext()
        return torch.autocast(self.device.type, self.dtype, cache_enabled=keeps_weights)

    def positions(self, prompt: Prompt) -> Tensor:
        """Position ids `[d s]` of a prompt, computed once for its sampling and its training.

        d is 3 (time, height, width) where rotary positions are multimodal, else 1.
        """
        if prompt in self._positions:
            return self._positions[prompt]
        get_rope_index = getattr(self.model.base_model, "get_rope_index", None)
        positions = torch.arange(len(prompt.token_ids))[None]
        if get_rope_index is not None and prompt.image_grid_thw is None:
            positions = positions.expand(3, -1)
        elif get_rope_index is not None:
            tokens = torch.tensor([prompt.token_ids])
            is_image = (tokens == self.model.config.image_token_id).int()
            positions = get_rope_index(
                tokens, mm_token_type_ids=is_image, image_grid_thw=prompt.image_grid_thw
            )[0][:, 0]
        self._positions[prompt] = positions
        return positions

    def embed(
        self, tokens: Tensor, prompts: Sequence[Prompt], is_prompt: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Any]]:
        """Embeddings `[p s h]` of tokens `[p s]`, with image features in place of placeholders.

        Args:
            tokens: Contain the prompts, and the replies in rows, in their order.
            prompts: These prompts and replies, whose images are embedded.
            is_prompt: Mask of their tokens `[p s]`, outside of which a placeholder is an ordinary
                token; None for prompts only.

        Returns:
            The embeddings, and DeepStack's inputs of the text layers, if the model has any.
        """
        embedded = self.model.get_input_embeddings()(tokens)
        if all(prompt.pixel_values is None for prompt in prompts):
            return embedded + self._vision_zero() if self.always_runs_vision else embedded, {}
        pixels = torch.cat([p.pixel_values for p in prompts if p.pixel_values is not None])
        grid = torch.cat([p.image_grid_thw for p in prompts if p.image_grid_thw is not None])
        features, *deepstack = self._image_features(pixels.to(self.device), grid.to(self.device))
        is_image = tokens == self.model.config.image_token_id
        if is_prompt is not None:
            is_image &= is_prompt
        embedded = embedded.masked_scatter(is_image[..., None], features.to(embedded.dtype))
        return embedded, _deepstack(is_image, deepstack) if deepstack else {}

    def _image_features(self, pixels: Tensor, grid: Tensor) -> list[Tensor]:
        """Features `[i h]` of i placeholders: of their embeddings, then of DeepStack's layers."""
        output = self.model.get_image_features(pixels, grid, return_dict=True)
        layers = output.pooler_output, *(getattr(output, "deepstack_features", None) or ())
        return [torch.cat(tuple(images)) for images in layers]

    def _vision_zero(self) -> Tensor:
        """Zero, with a zero gradient for every weight of the vision tower."""
        vision = self.model.config.vision_config
        side = vision.spatial_merge_size
        patch = vision.in_channels * vision.temporal_patch_size * vision.patch_size**2
        pixels = torch.zeros(side**2, patch, device=self.device)
        grid = torch.tensor([[1, side, side]], device=self.device)
        return 0 * torch.cat(self._image_features(pixels, grid)).sum()

    def forward(
        self,
        responses: Responses,
        sampling: Sampling,
        entropy_gradient: bool = False,
        distillation: Distillation | None = None,
    ) -> tuple[Tensor, ...]:
        """Log-probability, and entropy in nats, of each response token; see `TrainEngine`."""
        target = None
        if distillation is not None:
            teacher, divergence = distillation
            target = teacher.target(self, responses, sampling, divergence)
        hidden, mask = self.response_hidden(responses), responses.mask.to(self.device)
        with self.autocast():  # the head once for each chunk
            values = log_prob(
                self.model.get_output_embeddings(),
                hidden,
                responses.tokens[responses.mask].to(self.device),
                lambda x: sampling.logits(self.logits(x)),
                entropy_gradient=entropy_gradient,
                target=target,
            )
        zeros = values[0].new_zeros(mask.shape)
        return tuple(zeros.masked_scatter(mask, value) for value in values)

    def response_hidden(self, responses: Responses) -> Tensor:
        """Hidden states `[n h]` that predict the n tokens with a loss."""
        prompts, rows = unique_prompts(responses.prompts)
        sizes = responses.sizes.tolist()
        packing = pack([len(prompt.token_ids) for prompt in prompts], rows, sizes, self.device)
        hidden_states = self._packed if self.packs else self._padded
        with self.autocast(keeps_weights=False):  # each layer is used once
            row = self.row(prompts, rows, responses.tokens, packing, responses.replies)
            hidden = hidden_states(packing, *row)
        has_loss = responses.mask[responses.present]
        return hidden if has_loss.all() else hidden[has_loss.to(self.device)]

    def row(
        self,
        prompts: Sequence[Prompt],
        rows: Sequence[int],
        tokens: Tensor,
        packing: Packing,
        replies: Sequence[Sequence[Prompt]] = (),
    ) -> tuple[Tensor, Tensor, dict[str, Any]]:
        """Embeddings `[1 n h]`, position ids `[d 1 n]` and DeepStack's inputs of the packed row."""
        column = torch.arange(tokens.shape[1])
        start, size = torch.tensor(packing.responses).T[:2, :, None]
        own = column < size
        is_prompt = torch.ones(packing.size, dtype=torch.bool)
        is_prompt[(start + column)[own]] = False
        before = [self.positions(prompt) for prompt in prompts]
        after = torch.stack([position.amax() + 1 for position in before])[rows, None]
        ids = torch.empty(packing.size, dtype=torch.long)
        ids[is_prompt] = torch.tensor([token for prompt in prompts for token in prompt.token_ids])
        ids[~is_prompt] = tokens[own]
        positions = torch.empty(len(before[0]), packing.size, dtype=torch.long)
        positions[:, is_prompt] = torch.cat(before, 1)
        positions[:, ~is_prompt] = (after + column)[own]
        in_order = [[prompt] for prompt in prompts]
        for row, segment, parts in zip(rows, packing.responses, replies, strict=False):
            in_order[row] += parts
            if any(reply.pixel_values is not None for reply in parts):
                own = slice(segment.start, segment.start + segment.size)
                positions[:, own] = self._positions_after(prompts[row], ids[own], parts)
                is_prompt[own] = True  # of images too: the sampler draws no placeholder
        ids, positions, is_prompt = (part.to(self.device) for part in (ids, positions, is_prompt))
        embedded, deepstack = self.embed(ids[None], list(chain(*in_order)), is_prompt)
        return embedded, positions[:, None], deepstack

    def _positions_after(self, prompt: Prompt, tokens: Tensor, replies: Sequence[Prompt]) -> Tensor:
        """Position ids `[d t]` of the tokens of a row with images, which follow on a prompt."""
        grids = [part.image_grid_thw for part in (prompt, *replies)]
        grid = torch.cat([part for part in grids if part is not None])
        whole = Prompt((*prompt.token_ids, *tokens.tolist()), image_grid_thw=grid)
        return self.positions(whole)[:, len(prompt.token_ids) :]

    def logits(self, head: Tensor) -> Tensor:
        """Logits `[... v]` as the model gives them, from those of its head: some scale or cap.

        Source: Granite divides (`logits_scaling`), Cohere multiplies (`logit_scale`), Gemma 2 caps
        smoothly (`final_logit_softcapping`), in transformers.
        """
        config = self.model.config.get_text_config()
        names = ("logits_scaling", "logit_scale", "final_logit_softcapping")
        divisor, factor, cap = (getattr(config, name, None) for name in names)
        logits = head / divisor if divisor else head
        logits = logits * factor if factor else logits
        return (logits / cap).tanh() * cap if cap else logits

    def _packed(
        self, packing: Packing, embedded: Tensor, positions: Tensor, deepstack: dict[str, Any]
    ) -> Tensor:
        """Hidden states `[n h]` that predict the response tokens, from the packed row."""
        mask = attention.empty_mask(embedded.device)
        hidden = self.hidden(embedded, positions, mask, packing=packing, **deepstack)[0]
        return attention.gather_rows(hidden, packing.sources)

    def _padded(
        self, packing: Packing, embedded: Tensor, positions: Tensor, deepstack: dict[str, Any]
    ) -> Tensor:
        """The same from a padded batch, with a prompt for each response."""
        keys, mask, is_source = packing.sequences
        rows = attention.gather_rows(embedded[0], keys.flatten()).unflatten(0, keys.shape)
        if deepstack:
            is_image = deepstack["visual_pos_masks"][0]
            places = (is_image.cumsum(0) - 1)[keys][is_image[keys]]
            layers = deepstack["deepstack_visual_embeds"]
            features = [attention.gather_rows(layer, places) for layer in layers]
            deepstack = _deepstack(is_image[keys], features)
        return self.hidden(rows, positions[:, 0, keys], mask, **deepstack)[is_source]

    def hidden(self, embedded: Tensor, positions: Tensor, mask: Tensor, **options: Any) -> Tensor:
        """Last hidden states `[b s h]`; position ids are `[d b s]`."""
        return self.model.get_decoder()(
            inputs_embeds=embedded,
            attention_mask=mask,
            position_ids=positions if len(positions) > 1 else positions[0],
            **{"use_cache": False, **options},
        ).last_hidden_state


def _deepstack(is_image: Tensor, features: list[Tensor]) -> dict[str, Any]:
    """DeepStack's inputs: the mask of placeholders, and what the first layers each add there."""
    return {"visual_pos_masks": is_image, "deepstack_visual_embeds": features}


def _remove_dropout(model: nn.Module) -> None:
    """Sets all probabilities of dropout to 0, for good, and the noise of the routers of experts.

    Train mode, which gradient checkpointing needs, would make each pass that of another policy.
    """
    parts: list[Any] = list(model.modules())
    parts += [config for part in parts if (config := getattr(part, "config", None)) is not None]
    for part in parts:
        is_dropout = isinstance(part, nn.modules.dropout._DropoutNd)
        for name, value in list(vars(part).items()):
            # Such as attention_dropout, resid_pdrop, layerdrop, drop_path_rate.
            is_named = "drop" in name or "jitter" in name or (is_dropout and name == "p")
            if is_named and isinstance(value, float):
                setattr(part, name, 0.0)


class Float32Linear(nn.Linear):
    """Linear layer that multiplies in float32, whatever the dtype of its weights and its input."""

    def forward(self, input: Tensor) -> Tensor:
        """Float32 `[... out]` of `[... in]`."""
        with torch.autocast(input.device.type, enabled=False):
            bias = None if self.bias is None else self.bias.float()
            return linear(input.float(), self.weight.float(), bias)


def set_float32_head(model: Any) -> None:
    """Has a model compute its logits in float32; ModelError if its head is no linear layer.

    Source: the head of MiniMax-M1 (arXiv:2506.13585).
    """
    head = model.get_output_embeddings()
    if type(head) is not nn.Linear:
        raise ModelError(
            f"the head of this model is a {type(head).__name__}, which --float32-head does not "
            "take: leave it out"
        )
    head.__class__ = Float32Linear  # the layer stays, for what shards, ties or adapts it


class UnshardedReplica:
    """Replica of a sharded policy that refers to the full weights while they are gathered.

    It lacks DeepSpeed's hooks, which gather and release each weight around its use and which all
    ranks must reach equally often: within `gathered`, ranks may call it independently.
    """

    def __init__(self, policy: Policy) -> None:
        """Takes the policy before DeepSpeed shards its weights."""
        self._weights = [
            (weight, nn.Parameter(weight.detach().new_empty(0), requires_grad=False))
            for weight in policy.parameters()
        ]
        memo: dict[int, Any] = {id(buffer): buffer for buffer in policy.buffers()}
        memo |= {id(weight): full for weight, full in self._weights}
        self._policy = copy.deepcopy(policy, memo).eval()
        self._is_gathered = False

    @contextmanager
    def gathered(self) -> Iterator[Policy]:
        """Context that gives the replica with its weights; every rank must enter it."""
        if self._is_gathered:
            yield self._policy
            return
        import deepspeed

        with deepspeed.zero.GatheredParameters([weight for weight, _ in self._weights]):
            for weight, full in self._weights:
                full.data = weight.data
            self._is_gathered = True
            try:
                yield self._policy
            finally:
                self._is_gathered = False
                for _, full in self._weights:
                    full.data = full.data.new_empty(0)
