"""What an update did with each token of its responses, for those that a log keeps."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from tokenizers.decoders import DecodeStream
from torch import Tensor

from agents.rollout import Batch, Mask, PerToken, Responses

Rows = slice | Sequence[int] | Tensor
"""Some of the responses of an update."""


class Trace:
    """Advantage, log-ratio and clip of each token, as its last forward pass of an update had them.

    An update fills it, microbatch by microbatch; what it holds is on the CPU and has no gradient.
    """

    def __init__(self, responses: Responses) -> None:
        """Args: what the update trains on, on this rank."""
        self.responses = responses
        self.advantage = torch.zeros(responses.mask.shape)
        self.log_ratio = torch.zeros(responses.mask.shape)
        self.clipped = torch.zeros_like(responses.mask)

    @torch.no_grad()
    def add(self, rows: Rows, log_prob: PerToken, clipped: Mask, batch: Batch) -> None:
        """Keeps what a microbatch saw; a later pass over the same responses replaces it.

        Args:
            rows: Which of the update's responses these are.
            log_prob: Under the policy before the optimizer step that they are a part of.
            clipped: Tokens whose gradient the clip changed.
            batch: What the loss knew.
        """
        width = log_prob.shape[1]
        mask = batch.mask.cpu()
        values = {
            "advantage": batch.advantage,
            "log_ratio": log_prob - batch.old_log_prob,
            "clipped": clipped,
        }
        for name, value in values.items():
            kept = getattr(self, name)
            kept[rows, :width] = value.detach().cpu().where(mask, 0).to(kept.dtype)

    def details(self, responses: Responses, tokenizer: Any) -> Callable[[int], dict[str, Any]]:
        """What `RunLog.write_rollout` adds to response i of a rollout.

        A response that was not trained on, on this rank, has tokens and no advantage: dynamic
        sampling leaves groups out, and moves some to other ranks.

        Args:
            responses: Of the rollout; the update saw all or some of its groups.
            tokenizer: A fast one, which they are of.
        """
        places = {_key(self.responses, j): j for j in range(len(self.responses))}

        def of(i: int) -> dict[str, Any]:
            key = _key(responses, i)
            told: dict[str, Any] = {"finished": bool(responses.finished[i])}
            told["tokens"] = pieces(tokenizer, key[1:])
            return told | (self._row(places[key]) if key in places else {})

        return of

    def _row(self, j: int) -> dict[str, Any]:
        mask = self.responses.mask[j]
        ratios, clipped = self.log_ratio[j][mask], self.clipped[j][mask]
        return {
            "advantage": self.advantage[j][mask].sum().item() / max(1, int(mask.sum())),
            "log_ratio": [round(u, 4) for u in ratios.tolist()],
            "clipped": clipped.nonzero().flatten().tolist(),
        }


def _key(responses: Responses, i: int) -> tuple[int, ...]:
    """The prompt, which is one object for a group, and the tokens of response i."""
    return id(responses.prompts[i]), *responses.tokens[i][responses.mask[i]].tolist()


def pieces(tokenizer: Any, ids: Sequence[int]) -> list[str]:
    """The text of each token, special ones too; together they are the text of all.

    A character that takes several tokens stands at the last of them, as does what is no character.
    """
    stream, backend = DecodeStream(skip_special_tokens=False), tokenizer.backend_tokenizer
    found = [stream.step(backend, token) or "" for token in ids]
    # The stream withholds bytes that no token has made a character of.
    missing = backend.decode(ids, skip_special_tokens=False)[len("".join(found)) :]
    return [*found[:-1], found[-1] + missing] if found else []
