"""Prompts, responses, and the batch that a loss reads.

Axis letters, here and everywhere: p prompts, g responses of a group, b = p * g responses,
t response tokens, s prompt tokens, v vocabulary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

from agents.errors import UsageError

PerToken = Float[Tensor, "b t"]
PerResponse = Float[Tensor, " b"]
Group = Float[Tensor, "p g"]
Mask = Bool[Tensor, "b t"]
EXTRAS = ("entropy", "old_entropy", "texts", "tokens", "reward_parts")
"""Properties of `Batch` that every update gives to a learner whose `reads` names them."""
SECOND_CONTEXT = (
    *("teacher_log_prob", "corrupted_log_prob", "distilled", "divergence"),
    *("logits", "teacher_logits", "sampler_logits", "token"),
)
"""Further names that `compute_loss` knows: of a teacher, or the policy after another prompt."""


class RewardParts(dict[str, Any]):
    """Components of the reward by name, unweighted, as the infos of the environment have them."""

    def __missing__(self, name: str) -> Any:
        """Raises UsageError with the names that there are."""
        raise UsageError(f"no part of the reward is called {name!r}: there are {', '.join(self)}")


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
    row_size: int = 0
    """Last tokens of it that are of an episode's row: its responses so far, and the replies."""

    def followed_by(self, response: Sequence[int], reply: "Prompt") -> "Prompt":
        """The prompt of the next turn: this one, the response to it and the environment's reply."""
        tokens = *response, *reply.token_ids
        return Prompt(
            self.token_ids + tokens,
            _joined(self.pixel_values, reply.pixel_values),
            _joined(self.image_grid_thw, reply.image_grid_thw),
            self.images + reply.images,
            self.row_size + len(tokens),
        )


RESTING = Prompt(())
"""In place of the prompt of a row that is not sampled."""


def _joined(*parts: Tensor | None) -> Tensor | None:
    tensors = [part for part in parts if part is not None]
    return torch.cat(tensors) if tensors else None


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
    """True on tokens with a loss, which are among those `present`."""
    texts: tuple[str, ...]
    """Decoded, without special tokens."""
    sampler_log_prob: PerToken
    """As the sampler computed it, of the distribution that it drew from; 0 on padding, NaN where
    the sampler does not give it."""
    finished: Bool[Tensor, " b"]
    """False where the length limit cut the response."""
    reward_parts: RewardParts = field(default_factory=RewardParts)
    """Components of the reward, where the learner reads them."""
    present: Mask = None  # pyright: ignore[reportAssignmentType] - see `__post_init__`
    """True on tokens, False on padding; by default `mask`, where every token has a loss."""
    contexts: tuple[Prompt, ...] = ()
    """The prompts after which a teacher reads the responses; () for `prompts` themselves."""
    distilled: Bool[Tensor, " b"] = None  # pyright: ignore[reportAssignmentType]
    """False for responses without a context, where the teacher reads the prompt itself; by default
    True."""
    replies: tuple[tuple[Prompt, ...], ...] = ()
    """Of each response, the environment's replies that stand in it, outside the mask, with their
    images; by default none."""

    def __post_init__(self) -> None:
        """Fills `present`, `distilled`, `replies`; `replace` with another mask keeps them."""
        if not self.replies:
            object.__setattr__(self, "replies", ((),) * len(self.prompts))
        if self.present is None:
            object.__setattr__(self, "present", self.mask)
        if self.distilled is None:
            object.__setattr__(self, "distilled", self.mask.new_ones(len(self.mask)))

    def __len__(self) -> int:
        return len(self.prompts)

    @property
    def lengths(self) -> Int[Tensor, " b"]:
        """Number of tokens with a loss of each response."""
        return self.mask.sum(-1)

    @property
    def sizes(self) -> Int[Tensor, " b"]:
        """Number of tokens of each response."""
        return self.present.sum(-1)

    def rows(self, start: int, stop: int) -> "Responses":
        """Responses start, ..., stop - 1, padded only to the longest among them."""
        rows = slice(start, stop)
        width = max(1, int(self.sizes[rows].max())) if stop > start else 1
        values = (getattr(self, field.name) for field in fields(self))
        return Responses(*(_rows(value, rows, width) for value in values))

    def in_context(self) -> "Responses":
        """The same after their contexts."""
        return replace(self, prompts=self.contexts) if self.contexts else self

    def with_loss(self, rows: Bool[Tensor, " b"]) -> "Responses":
        """The same, with a loss in these responses alone."""
        return replace(self, mask=self.mask & rows[:, None])


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
    extras: dict[str, Any] = field(default_factory=dict)
    """Values that the learner `reads`, by name: of the properties below, or of others that the
    update was given. Of each token, of each response, or dictionaries of such."""

    @property
    def entropy(self) -> PerToken:
        """Entropy of the policy being trained at each token, in nats; carries a gradient.

        In `loss` alone: token-level advantages are computed before the policy is trained.
        """
        return self._extra("entropy")

    @property
    def old_entropy(self) -> PerToken:
        """Entropy of the policy before this update at each token, in nats, as `old_log_prob`."""
        return self._extra("old_entropy")

    @property
    def texts(self) -> tuple[str, ...]:
        """Text of each response, without special tokens."""
        return self._extra("texts")

    @property
    def tokens(self) -> Int[Tensor, "b t"]:
        """Token ids."""
        return self._extra("tokens")

    @property
    def reward_parts(self) -> Mapping[str, PerResponse]:
        """Components of the reward of each response by name, unweighted."""
        return self._extra("reward_parts")

    @property
    def teacher_log_prob(self) -> PerToken:
        """Of a learner with a `second_context`: under the teacher, after the other prompt."""
        return self._extra("teacher_log_prob")

    @property
    def divergence(self) -> PerToken:
        """Of such a learner: between policy and teacher at each token, in nats; carries a gradient.

        In `loss` alone; 0 for a response without a context.
        """
        return self._extra("divergence")

    @property
    def distilled(self) -> Bool[Tensor, " b"]:
        """Of such a learner: False for responses without a context."""
        return self._extra("distilled")

    def _extra(self, name: str) -> Any:
        if name not in self.extras:
            place = ", of which only `loss` has the entropy" if name == "entropy" else ""
            raise UsageError(
                f"this batch has no {name}: name it in the learner's class, "
                f"reads = ({name!r},){place}"
            )
        return self.extras[name]

    def with_extras(self, **values: Any) -> "Batch":
        """The same with further values of the properties above."""
        return replace(self, extras={**self.extras, **values})

    def rows(self, start: int, stop: int, width: int) -> "Batch":
        """Rows start, ..., stop - 1 and the first `width` tokens."""
        values = (getattr(self, field.name) for field in fields(self))
        return Batch(*(_rows(value, slice(start, stop), width) for value in values))

    def to(self, like: Tensor) -> "Batch":
        """The same on the device and, but for masks and ids, in the dtype of another tensor."""
        return Batch(*(_to(getattr(self, field.name), like) for field in fields(self)))


def _rows(value: Any, rows: slice, width: int) -> Any:
    """Rows of values of responses, and the first `width` of those of tokens."""
    if isinstance(value, dict):
        return type(value)({name: _rows(part, rows, width) for name, part in value.items()})
    if isinstance(value, Tensor) and value.ndim > 1:
        return value[rows, :width]
    return value if value is None else value[rows]


def _to(value: Any, like: Tensor) -> Any:
    """Tensors on the device and, if of floating point, in the dtype of another one."""
    if isinstance(value, dict):
        return type(value)({name: _to(part, like) for name, part in value.items()})
    if not isinstance(value, Tensor):
        return value
    return value.to(like) if value.is_floating_point() else value.to(like.device)
