"""A Hugging Face causal language model, with or without eyes, as a policy.

The one place that knows how words, image features and positions become a forward pass. Both
training engines and the transformers sampler use it. Axis letters: n tokens of a packed row, d
dimensions of a position, h features of a hidden state.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from agents.engines import attention
from agents.engines.packing import Packing, pack
from agents.engines.sampling import Sampling, unique_prompts
from agents.engines.token_log_probs import log_prob
from agents.rollout import Prompt, Responses


class Policy(nn.Module):
    """A causal language model that gives log-probabilities of responses.

    Prompts that several responses share are embedded once, images included.
    """

    always_looks = False
    """Whether the vision tower runs without an image too, as ZeRO wants it on several ranks."""

    packs: bool
    """Whether prompts and responses go through the model in one row, without padding."""
    model: Any

    def __init__(self, model: nn.Module) -> None:
        """A policy of `model`, whose attention becomes one that can do without padding."""
        super().__init__()
        self.model = model
        self.packs = attention.use(model)

    def freeze_vision(self) -> None:
        """Leaves the vision tower as it is; does nothing for a model that cannot see."""
        for name, weight in self.model.base_model.named_parameters():
            if name.split(".")[0] in ("visual", "vision_tower", "vision_model"):
                weight.requires_grad_(False)

    def ready(self) -> "Policy":
        """In the mode it trains in: transformers checkpoints activations in training mode only."""
        return self.train(self.model.is_gradient_checkpointing)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.model.parameters()).device

    def positions(self, prompt: Prompt) -> Tensor:
        """Position ids `[d s]` of a prompt.

        d is 3 (time, height, width) where rotary positions are multimodal, else 1.
        """
        find = getattr(self.model.base_model, "get_rope_index", None)
        tokens = torch.tensor([prompt.token_ids])
        if find is None:
            return torch.arange(tokens.shape[1])[None]
        if prompt.image_grid_thw is None:
            return torch.arange(tokens.shape[1]).expand(3, -1)
        is_image = (tokens == self.model.config.image_token_id).int()
        found, _ = find(tokens, mm_token_type_ids=is_image, image_grid_thw=prompt.image_grid_thw)
        return found[:, 0]

    def embed(
        self, tokens: Tensor, prompts: Sequence[Prompt], is_prompt: Tensor | None = None
    ) -> Tensor:
        """Embeddings `[p s h]` of tokens `[p s]`, with image features for prompts' placeholders.

        Args:
            tokens: In which those of the prompts stand in their order.
            prompts: Whose images are seen.
            is_prompt: Where placeholders are images, `[p s]`; None for everywhere.
        """
        embedded = self.model.get_input_embeddings()(tokens)
        seen = [prompt for prompt in prompts if prompt.pixel_values is not None]
        if not seen:
            return embedded + self._blank() if self.always_looks else embedded
        pixels = torch.cat([p.pixel_values for p in seen if p.pixel_values is not None])
        grid = torch.cat([p.image_grid_thw for p in seen if p.image_grid_thw is not None])
        pixels, grid = pixels.to(self.device), grid.to(self.device)
        features = self.model.get_image_features(pixels, grid, return_dict=True).pooler_output
        is_image = tokens == self.model.config.image_token_id
        if is_prompt is not None:
            is_image &= is_prompt
        values = torch.cat(tuple(features)).to(embedded.dtype)
        return embedded.masked_scatter(is_image[..., None], values)

    def _blank(self) -> Tensor:
        """Zero, and a zero gradient for every weight of the vision tower."""
        vision = self.model.config.vision_config
        side = vision.spatial_merge_size
        patch = vision.in_channels * vision.temporal_patch_size * vision.patch_size**2
        pixels = torch.zeros(side**2, patch, device=self.device)
        grid = torch.tensor([[1, side, side]], device=self.device)
        features = self.model.get_image_features(pixels, grid, return_dict=True).pooler_output
        return 0 * torch.cat(tuple(features)).sum()

    def forward(self, responses: Responses, sampling: Sampling) -> tuple[Tensor, Tensor]:
        """Log-probability, and entropy in nats, of each response token; see `TrainEngine`."""
        device = self.device
        mask = responses.mask.to(device)
        prompts, rows = unique_prompts(responses.prompts)
        lengths = responses.lengths.tolist()
        packing = pack([len(prompt.token_ids) for prompt in prompts], rows, lengths, device)
        embedded, places = self._row(prompts, rows, responses.tokens, packing)
        look = self._packed if self.packs else self._padded
        hidden = look(embedded, places, packing)
        tokens, head = responses.tokens.to(device)[mask], self.model.get_output_embeddings()
        chosen, entropy = log_prob(head, hidden, tokens, sampling.logits)
        blank = chosen.new_zeros(mask.shape)
        return blank.masked_scatter(mask, chosen), blank.masked_scatter(mask, entropy)

    def _row(
        self, prompts: Sequence[Prompt], rows: Sequence[int], tokens: Tensor, packing: Packing
    ) -> tuple[Tensor, Tensor]:
        """Embeddings `[1 n h]` and position ids `[d 1 n]` of what is packed."""
        column = torch.arange(tokens.shape[1])
        start, size = torch.tensor(packing.responses).T[:2, :, None]
        own = column < size
        is_prompt = torch.ones(packing.size, dtype=torch.bool)
        is_prompt[(start + column)[own]] = False
        before = [self.positions(prompt) for prompt in prompts]
        after = torch.stack([place.amax() + 1 for place in before])[rows, None]
        ids = torch.empty(packing.size, dtype=torch.long)
        ids[is_prompt] = torch.tensor([token for prompt in prompts for token in prompt.token_ids])
        ids[~is_prompt] = tokens[own]
        places = torch.empty(len(before[0]), packing.size, dtype=torch.long)
        places[:, is_prompt], places[:, ~is_prompt] = torch.cat(before, 1), (after + column)[own]
        ids, places, is_prompt = (part.to(self.device) for part in (ids, places, is_prompt))
        return self.embed(ids[None], prompts, is_prompt), places[:, None]

    def _packed(self, embedded: Tensor, places: Tensor, packing: Packing) -> Tensor:
        """Hidden states `[n h]` from which tokens are predicted; the row goes through as it is."""
        mask = attention.place_holder(embedded.device)
        return self._hidden(embedded, places, mask, packing=packing)[0][packing.sources]

    def _padded(self, embedded: Tensor, places: Tensor, packing: Packing) -> Tensor:
        """The same by a batch of sequences, padded to the longest, with a prompt for each."""
        keys, attended, wanted = packing.sequences
        return self._hidden(embedded[0, keys], places[:, 0, keys], attended)[wanted]

    def _hidden(self, embedded: Tensor, places: Tensor, mask: Tensor, **options: Any) -> Tensor:
        """Last hidden states `[b s h]`; position ids are `[d b s]`."""
        return self.model.base_model(
            inputs_embeds=embedded,
            attention_mask=mask,
            position_ids=places if len(places) > 1 else places[0],
            use_cache=False,
            **options,
        ).last_hidden_state
