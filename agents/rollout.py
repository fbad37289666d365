"""Prompts, responses, and the batch that a loss reads.

Axis letters, here and everywhere: p prompts, g responses of a group, b = p * g responses,
t response tokens, s prompt tokens, v vocabulary.
"""

from dataclasses import dataclass, fields
from typing import Any

from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

PerToken = Float[Tensor, "b t"]
PerResponse = Float[Tensor, " b"]
Group = Float[Tensor, "p g"]
Mask = Bool[Tensor, "b t"]


@dataclass(frozen=True, eq=False)
class Prompt:
    """A prompt in the units of the model: token ids and image patches."""

    token_ids: tuple[int, ...]
    """Of the whole prompt, image placeholders expanded; s of them."""
    pixel_values: Float[Tensor, "patches features"] | None = None
    """Patches of all images, one after the other; None for a prompt of words."""
    image_grid_thw: Int[Tensor, "images 3"] | None = None
    """Time, height and width of each image, in patches."""
    images: tuple[UInt8[Any, "_ _ 3"], ...] = ()
    """Images as arrays `[height width 3]`, for a sampler that makes its own patches."""


@dataclass(frozen=True, eq=False)
class Responses:
    """b responses and their prompts; the responses of a group are consecutive.

    The tensors are right-padded and live on the CPU; an engine packs, pads and moves as it likes.
    """

    prompts: tuple[Prompt, ...]
    """One for each response; those of a group are the same object."""
    tokens: Int[Tensor, "b t"]
    """Token ids, the end-of-response token included where the policy produced it."""
    mask: Mask
    """True on response tokens, False on padding."""
    texts: tuple[str, ...]
    """Decoded, without special tokens."""
    sampler_log_prob: PerToken
    """As the sampler computed it, of the distribution that it drew from; 0 on padding, NaN where
    the sampler does not give it."""
    finished: Bool[Tensor, " b"]
    """False where the length limit cut the response."""

    def __len__(self) -> int:
        return len(self.prompts)

    @property
    def lengths(self) -> Int[Tensor, " b"]:
        """Number of tokens of each response."""
        return self.mask.sum(-1)

    def rows(self, start: int, stop: int) -> "Responses":
        """Responses start, ..., stop - 1, padded only to the longest among them."""
        rows = slice(start, stop)
        width = max(1, int(self.lengths[rows].max())) if stop > start else 1
        return Responses(
            self.prompts[rows],
            self.tokens[rows, :width],
            self.mask[rows, :width],
            self.texts[rows],
            self.sampler_log_prob[rows, :width],
            self.finished[rows],
        )


@dataclass(frozen=True, eq=False)
class Batch:
    """The inputs of a loss for b responses, besides their log-probabilities under the policy."""

    mask: Mask
    """True on response tokens."""
    advantage: PerToken
    """Of each token."""
    old_log_prob: PerToken
    """Under the policy before this update, by the trainer."""
    epoch_log_prob: PerToken
    """Under the policy at the end of the previous epoch; equals `old_log_prob` in the first."""
    ref_log_prob: PerToken | None = None
    """Under the reference policy; None when the learner uses none."""
    sampler_log_prob: PerToken | None = None
    """By the sampler, of the distribution that it drew from, NaN where unknown; None where the
    sampler is the trainer."""

    def rows(self, start: int, stop: int, width: int) -> "Batch":
        """Rows start, ..., stop - 1 and the first `width` tokens."""
        part = (slice(start, stop), slice(width))
        values = {
            field.name: getattr(self, field.name)[part]
            for field in fields(self)
            if getattr(self, field.name) is not None
        }
        return Batch(**values)

    def to(self, like: Tensor) -> "Batch":
        """The same on the device and, but for the mask, in the dtype of another tensor."""
        values = {
            field.name: value.to(like) if value.is_floating_point() else value.to(like.device)
            for field in fields(self)
            if (value := getattr(self, field.name)) is not None
        }
        return Batch(**values)
