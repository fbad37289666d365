"""What the rollout log holds of an update: values of each token, and the choice of groups."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from tokenizers.decoders import DecodeStream
from torch import Tensor

from agents.rollout import Batch, Mask, PerToken, Responses

Rows = slice | Sequence[int] | Tensor
"""Indices of responses of an update."""


class Trace:
    """Advantage, log-ratio and clip of each token in its last forward pass of an update.

    An update fills it, microbatch by microbatch. Tensors are on the CPU, without gradients.
    """

    def __init__(self, responses: Responses) -> None:
        """Args: responses of the update, on this rank."""
        self.responses = responses
        self.advantage = torch.zeros(responses.mask.shape)
        self.log_ratio = torch.zeros(responses.mask.shape)
        self.clipped = torch.zeros_like(responses.mask)

    @torch.no_grad()
    def add(self, rows: Rows, log_prob: PerToken, clipped: Mask, batch: Batch) -> None:
        """Stores a microbatch; a later pass over the same responses replaces it.

        Args:
            rows: Indices of the responses in the update.
            log_prob: Under the policy before the optimizer step of the microbatch.
            clipped: Tokens whose gradient the clip changed.
            batch: Arguments of the loss.
        """
        for stored, value in (
            (self.advantage, batch.advantage),
            (self.log_ratio, log_prob - batch.old_log_prob),
            (self.clipped, clipped),
        ):
            kept = value.detach().cpu().where(batch.mask.cpu(), 0)
            stored[rows, : log_prob.shape[1]] = kept.to(stored.dtype)

    def details(
        self, responses: Responses, tokenizer: Any, image_token: str | None = None
    ) -> Callable[[int], dict[str, Any]]:
        """Function of i that returns the details of response i for `RunLog.write_rollout`.

        Responses that this rank did not train on have tokens but no advantage: dynamic sampling
        drops groups, and moves some to other ranks.

        Args:
            responses: Of a whole rollout, which the update may contain in part.
            tokenizer: Fast tokenizer of the responses.
            image_token: Placeholder of images, which are shown themselves.
        """
        places = self._places(responses)

        def of(i: int) -> dict[str, Any]:
            texts = token_texts(tokenizer, responses.tokens[i][responses.present[i]].tolist())
            texts = ["" if text == image_token else text for text in texts]
            row: dict[str, Any] = {"finished": bool(responses.finished[i]), "tokens": texts}
            if responses.replies[i]:
                row["replies"] = _replies(responses, i)
            if (j := places[i]) is None:
                return row
            present = self.responses.present[j]
            return row | {
                "advantage": self._advantage(j),
                "log_ratio": [round(u, 4) for u in self.log_ratio[j][present].tolist()],
                "clipped": self.clipped[j][present].nonzero().flatten().tolist(),
            }

        return of

    def advantages(self, responses: Responses) -> list[float | None]:
        """Mean advantage of each response of a rollout; None for one that was not trained on."""
        return [None if j is None else self._advantage(j) for j in self._places(responses)]

    def _places(self, responses: Responses) -> list[int | None]:
        """Index in the update of each response of a rollout."""

        def key(responses: Responses, i: int) -> tuple[int, ...]:
            # The prompt is one object for its group.
            return id(responses.prompts[i]), *responses.tokens[i][responses.present[i]].tolist()

        places = {key(self.responses, j): j for j in range(len(self.responses))}
        return [places.get(key(responses, i)) for i in range(len(responses))]

    def _advantage(self, j: int) -> float:
        mask = self.responses.mask[j]
        return self.advantage[j][mask].sum().item() / max(1, int(mask.sum()))


def _replies(responses: Responses, i: int) -> list[dict[str, Any]]:
    """First token and end of each reply in a row, and its images."""
    edges = responses.mask[i][responses.present[i]].int().diff()
    starts, stops = ((1 + (edges == sign).nonzero()[:, 0]).tolist() for sign in (-1, 1))
    return [
        {"start": start, "stop": stop, "images": reply.images}
        for start, stop, reply in zip(starts, stops, responses.replies[i], strict=True)
    ]


def token_texts(tokenizer: Any, ids: Sequence[int]) -> list[str]:
    """Text of each token, special tokens included; concatenated, they are the whole text.

    A character of several tokens is in the text of the last one, as are bytes that are none.
    """
    stream, backend = DecodeStream(skip_special_tokens=False), tokenizer.backend_tokenizer
    texts = [stream.step(backend, token) or "" for token in ids]
    # The stream withholds bytes that do not complete a character.
    missing = backend.decode(ids, skip_special_tokens=False)[len("".join(texts)) :]
    return [*texts[:-1], texts[-1] + missing] if texts else []


def contrast(
    accuracies: Sequence[float | None], advantages: Sequence[float | None]
) -> tuple[bool, float]:
    """Order of groups: those with mixed outcomes last, then by their largest absolute advantage.

    Args:
        accuracies: Of the responses in a group; 1 for a right one.
        advantages: None for a response that was not trained on.
    """
    mixed = len({accuracy == 1 for accuracy in accuracies}) > 1
    return mixed, max((abs(a) for a in advantages if a is not None), default=0.0)


def logged_groups(
    accuracies: Sequence[float], advantages: Sequence[float | None], size: int
) -> list[int]:
    """Positions of the first group and, of the others, the one with the most contrast.

    Args:
        accuracies: Of the responses of a rollout.
        advantages: Of the same responses.
        size: Responses in a group.
    """
    starts = range(0, len(accuracies), size)
    order = [contrast(accuracies[i : i + size], advantages[i : i + size]) for i in starts]
    return sorted({0, max(range(1, len(order)), key=order.__getitem__, default=0)})
