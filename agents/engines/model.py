"""A Hugging Face causal language model, with or without eyes, as a policy.

The one place that knows how words, image features and positions become a forward pass. Both
training engines and the transformers sampler use it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
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
        """Float32 logits `[n v]` of the policy: -inf where banned; not cut off."""
        logits = logits.float()
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


class Policy(nn.Module):
    """A causal language model that gives log-probabilities of responses.

    Prompts that several responses share are embedded once, images included.
    """

    always_looks = False
    """Whether the vision tower runs without an image too, as ZeRO wants it on several ranks."""

    model: Any

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

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

    def embed(self, tokens: Tensor, prompts: Sequence[Prompt]) -> Tensor:
        """Embeddings `[p s h]` of padded prompt tokens `[p s]`, with features for placeholders."""
        embedded = self.model.get_input_embeddings()(tokens)
        seen = [prompt for prompt in prompts if prompt.pixel_values is not None]
        if not seen:
            return embedded + self._blank() if self.always_looks else embedded
        pixels = torch.cat([p.pixel_values for p in seen if p.pixel_values is not None])
        grid = torch.cat([p.image_grid_thw for p in seen if p.image_grid_thw is not None])
        pixels, grid = pixels.to(self.device), grid.to(self.device)
        features = self.model.get_image_features(pixels, grid, return_dict=True).pooler_output
        is_image = (tokens == self.model.config.image_token_id)[..., None]
        return embedded.masked_scatter(is_image, torch.cat(tuple(features)).to(embedded.dtype))

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
        tokens, mask = responses.tokens.to(device), responses.mask.to(device)
        hidden = self._hidden(responses, tokens, mask)
        logits = sampling.logits(self.model.get_output_embeddings()(hidden[mask]))
        every = logits.log_softmax(-1)
        chosen = every.gather(-1, tokens[mask][:, None])[:, 0]
        with torch.no_grad():
            entropy = torch.special.entr(every.exp()).sum(-1)
        blank = torch.zeros(mask.shape, device=device)
        return blank.masked_scatter(mask, chosen), blank.masked_scatter(mask, entropy)

    def _hidden(self, responses: Responses, tokens: Tensor, mask: Tensor) -> Tensor:
        """Last hidden states `[b t h]` from which each response token is predicted."""
        prompts, rows = distinct(responses.prompts)
        device = tokens.device
        length = torch.tensor([len(p.token_ids) for p in prompts], device=device)[rows]
        column = torch.arange(tokens.shape[1], device=device)
        embedded, positions = self._prompt_inputs(prompts, device)
        joined = self._join(embedded[rows], self.model.get_input_embeddings()(tokens), length)
        after = positions.amax(-1)[:, rows, None] + 1 + column
        before, after = positions[:, rows].permute(1, 2, 0), after.permute(1, 2, 0)
        places = self._join(before, after, length).permute(2, 0, 1)
        total = torch.arange(joined.shape[1], device=device)
        attention = (total < (length + mask.sum(-1))[:, None]).long()
        hidden = self.model.base_model(
            inputs_embeds=joined,
            attention_mask=attention,
            position_ids=places if places.shape[0] > 1 else places[0],
            use_cache=False,
        ).last_hidden_state
        return hidden[torch.arange(len(rows), device=device)[:, None], length[:, None] - 1 + column]

    def _prompt_inputs(
        self, prompts: Sequence[Prompt], device: torch.device
    ) -> tuple[Tensor, Tensor]:
        """Embeddings `[p s h]` and position ids `[d p s]` of right-padded prompts."""
        tokens = pad_sequence([torch.tensor(p.token_ids) for p in prompts], batch_first=True)
        places = pad_sequence([self.positions(p).T for p in prompts], batch_first=True)
        return self.embed(tokens.to(device), prompts), places.permute(2, 0, 1).to(device)

    @staticmethod
    def _join(prompt: Tensor, response: Tensor, length: Tensor) -> Tensor:
        """Each response `[b t c]` right after the `length` columns of its prompt `[b s c]`."""
        joined = torch.cat([prompt, torch.zeros_like(response)], 1)
        column = length[:, None] + torch.arange(response.shape[1], device=length.device)
        return joined.scatter(1, column[..., None].expand_as(response), response)
