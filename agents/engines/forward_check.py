"""Comparison of a policy with the forward pass of its model, when a model is loaded.

Sampler and trainer share the code of `Policy`, so their parity does not show what it leaves out.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from agents.engines import attention
from agents.engines.chat import Chat
from agents.engines.model import Policy
from agents.engines.pretrained import model_errors
from agents.engines.sampling import Row, Sampling, collate
from agents.errors import ModelError
from agents.rollout import Prompt, Responses

TOLERANCE = 1e-3
"""Largest mean difference of a response in nats; `ROUNDING` times the precision if that is more."""
ROUNDING = 64
"""So .5 nats in bfloat16, where SmolLM2-135M differs by .07, and .06 in float16, where by .009."""


def check_forward(name: str, model: Any, chat: Chat) -> None:
    """Compares `Policy` with transformers' `eager` attention and a model's own forward pass.

    Two responses to a first prompt are compared, and two to one with an image if the model reads
    any.

    Args:
        name: Of the model in errors.
        model: Of transformers; gets the attention that `Policy` gives it.
        chat: Its chat.

    Raises:
        ModelError: The model fails, or its log-probabilities are not finite or not the policy's.
    """
    tokens = chat.check()
    if model.device.type == "meta":
        return
    prompts = [Prompt(tokens)]
    if chat.image_processor is not None:
        prompts.append(_with_image(model, chat, tokens))
    with torch.no_grad(), model_errors(name):
        with attention.eager(model):
            expected = torch.stack([_log_prob(model, prompt, tokens) for prompt in prompts])
        if not expected.isfinite().all():
            raise ModelError(f"{name} gives values that are not finite: its config.json is odd")
        responses = _responses(prompts, tokens, chat)
        actual = Policy(model)(responses, Sampling())[0]
    error = (actual - expected.repeat_interleave(2, 0)).abs().cpu() * responses.mask
    largest, row = (error.sum(1) / responses.lengths).max(0)
    if not largest <= max(TOLERANCE, ROUNDING * torch.finfo(model.dtype).eps):
        raise ModelError(
            f"{name}, a {model.config.model_type}, computes log-probabilities after "
            f"{'an image' if row >= 2 else 'text'} in a way that is not known here "
            f"({largest:.2g} nats apart): choose another model"
        )


def _responses(prompts: list[Prompt], tokens: tuple[int, ...], chat: Chat) -> Responses:
    """Two to each prompt, of which one is the start of the other."""
    rows = [list(tokens), list(tokens[: 1 + len(tokens) // 2])]
    pairs = tuple(prompt for prompt in prompts for _ in rows)
    return collate(pairs, [Row(row) for _ in prompts for row in rows], chat.ended, log_probs=False)


def _with_image(model: Any, chat: Chat, tokens: tuple[int, ...]) -> Prompt:
    """A prompt that begins with an image, without the chat template, which may know none."""
    image = np.random.default_rng(0).integers(0, 256, (56, 56, 3), np.uint8)
    pixels, grid = chat.patches([image])
    size = int(grid.prod()) // chat.image_processor.merge_size**2
    return Prompt((model.config.image_token_id,) * size + tokens, pixels, grid)


def _log_prob(model: Any, prompt: Prompt, response: tuple[int, ...]) -> Tensor:
    """Log-probability of each token of a response, by the model itself."""
    tokens = torch.tensor([prompt.token_ids + response], device=model.device)
    images: dict[str, Tensor] = {}
    if prompt.pixel_values is not None and prompt.image_grid_thw is not None:
        images = {"pixel_values": prompt.pixel_values, "image_grid_thw": prompt.image_grid_thw}
        images = {key: part.to(model.device) for key, part in images.items()}
        images["mm_token_type_ids"] = (tokens == model.config.image_token_id).int()
    logits = model(tokens, use_cache=False, **images).logits[0, len(prompt.token_ids) - 1 : -1]
    return logits.float().log_softmax(-1).gather(-1, tokens[0, -len(response) :, None])[:, 0]
