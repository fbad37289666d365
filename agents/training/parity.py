"""Parity of sampler and trainer: a comparison on real prompts before the first step.

A learner treats the sampler's responses as samples of the trainer's policy. If the two encode a
prompt differently, or have different weights, training goes wrong without any error.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from agents.engines import RolloutEngine, TrainEngine, error_on_all_ranks
from agents.engines.chat import Chat
from agents.episodes import joined
from agents.errors import ParityError, typed_errors
from agents.rollout import Prompt, Responses

COMPARISON = "the comparison of sampler and trainer"
NUM_PROBLEMS = 4
"""Problems for the comparison, on each rank."""
MAX_TOKENS = 32
"""Length of a response: a wrong temperature shows in the first tokens already."""
TOLERANCES = {torch.float32: 1e-3, torch.bfloat16: 0.05, torch.float16: 0.02}
"""Largest mean difference in nats, by the coarser dtype of the two.

In float32 two implementations differ by 1e-6 to 1e-4, whatever the kernels. Rounding to bfloat16,
with 8 bits, is 2 ** -9 of a logit, so hundredths of a nat where logits are about ten, and in the
mean less, since most tokens are nearly certain. Other weights or prompts differ by tenths of a nat
and more. A single token may differ much by rounding alone, so the largest difference has no limit.
"""


@dataclass(frozen=True)
class Parity:
    """Difference of sampler and trainer in log-probability, over the tokens of all ranks."""

    num_prompts: int
    """Prompts that both encode into the same tokens and image patches."""
    num_tokens: int
    """Response tokens compared."""
    mean: float
    """Mean absolute difference, in nats; infinite if the trainer bans a sampled token."""
    max: float
    """Largest absolute difference, in nats."""

    def __str__(self) -> str:
        return (
            f"sampler and trainer encode {self.num_prompts} prompts alike; over {self.num_tokens} "
            f"tokens their log-probabilities differ by {self.mean:.2g} nats on average, "
            f"{self.max:.2g} at most"
        )

    def check(self, tolerance: float) -> None:
        """Raises if the mean difference is too large.

        Args:
            tolerance: Largest mean difference in nats; see `tolerance`.

        Raises:
            ParityError: With the difference, the tolerance and possible causes.
        """
        if self.num_tokens and not self.mean <= tolerance:
            raise ParityError(
                f"sampler and trainer do not agree: the log-probabilities of {self.num_tokens} "
                f"tokens differ by {self.mean:.3g} nats on average ({self.max:.3g} at most), and "
                f"{tolerance:g} is allowed; check the weights of the sampler, the temperature, the "
                "banned tokens, the dtype and the attention kernel"
            )


def tolerance(*dtypes: torch.dtype) -> float:
    """Largest mean difference, in nats, between engines with these dtypes."""
    return max(TOLERANCES.get(dtype, max(TOLERANCES.values())) for dtype in dtypes)


@torch.no_grad()
def compare(
    engine: TrainEngine,
    sampler: RolloutEngine,
    chat: Chat,
    observations: Mapping[str, Sequence],
    *,
    has_turns: bool = False,
) -> Parity:
    """Compares the prompts and log-probabilities of sampler and trainer on a few problems.

    Sampling is without `top_p` and `top_k`, which the trainer does not have either. Random
    generators and the sampler's settings are restored. Every rank calls it, with its own problems;
    all of them return, or all raise.

    Args:
        engine: Trainer, with the weights that the sampler should have.
        sampler: Sampler to compare with.
        chat: Chat encoder of the trainer.
        observations: Of the environment; the first few problems are used.
        has_turns: True to compare episodes of two responses, with a problem's images between them.

    Raises:
        ParityError: The sampler encodes a prompt differently, or has no log-probabilities.
        AgentsError: The sampler fails, or a prompt is longer than it takes.
    """
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices), _untruncated(sampler):
        with error_on_all_ranks(engine, COMPARISON, ParityError):
            expected = chat.encode(_first_problems(observations))
            prompts = sampler.encode(_first_problems(observations))
            _check_prompts(prompts, expected)
        # Sampling may gather the weights of all ranks: none begins it where another has failed.
        with error_on_all_ranks(engine, COMPARISON, ParityError):
            responses = _respond(sampler, prompts, expected, engine.rank)
            if has_turns:
                images = _first_problems(observations)["images"]
                responses = _with_second_turn(responses, sampler, chat, images, engine.rank)
    difference = (engine.forward(responses)[0].cpu() - responses.sampler_log_prob)[responses.mask]
    difference = difference.abs().double()
    local = torch.tensor([[len(responses), len(difference), difference.sum()]], dtype=torch.float64)
    num_prompts, num_tokens, total = engine.all_gather(local).sum(0).tolist()
    # Also on a rank without tokens: an all-gather waits for every rank.
    largest = engine.all_gather(torch.cat([difference, difference.new_zeros(1)]).max()[None]).max()
    mean = total / max(1.0, num_tokens)
    return Parity(int(num_prompts), int(num_tokens), mean, largest.item())


def _respond(
    sampler: RolloutEngine, prompts: tuple[Prompt, ...], expected: tuple[Prompt, ...], rank: int
) -> Responses:
    """A response to each problem, to the prompts that were given."""
    with typed_errors("sampling"):
        responses = sampler.generate(prompts, (rank,))
    _check_prompts(responses.prompts, expected)
    if responses.sampler_log_prob[responses.mask].isnan().any():
        raise ParityError("the sampler gives no log-probabilities to compare")
    return responses


def _with_second_turn(
    responses: Responses, sampler: RolloutEngine, chat: Chat, images: Sequence[Any], rank: int
) -> Responses:
    """The responses, each with a reply that shows its problem's images, and a second response."""
    rows = [x[own].tolist() for x, own in zip(responses.tokens, responses.present, strict=True)]
    replies = [chat.reply(row, "1", each) for row, each in zip(rows, images, strict=True)]
    parts = zip(responses.prompts, rows, replies, strict=True)
    # The first response does not shorten the second.
    prompts = tuple(replace(p.followed_by(row, reply), row_size=0) for p, row, reply in parts)
    with typed_errors("sampling"):
        later = sampler.generate(prompts, (rank, 1))
    return joined([responses, later], [(reply,) for reply in replies])


def _check_prompts(actual: Sequence[Prompt], expected: Sequence[Prompt]) -> None:
    """Raises ParityError for prompts of the sampler that differ from the trainer's."""
    for number, (one, other) in enumerate(zip(actual, expected, strict=True), 1):
        if one.token_ids != other.token_ids:
            places = zip(one.token_ids, other.token_ids, strict=False)
            shorter = min(len(one.token_ids), len(other.token_ids))
            place = next((k for k, (a, b) in enumerate(places) if a != b), shorter)
            raise ParityError(
                f"the sampler encodes prompt {number} as {len(one.token_ids)} tokens, the trainer "
                f"as {len(other.token_ids)}, and they differ from token {place} on: check their "
                "tokenizers, chat templates and image sizes"
            )
        grids = [p.image_grid_thw for p in (one, other)]
        ours, theirs = ([] if grid is None else grid.tolist() for grid in grids)
        if ours != theirs:
            raise ParityError(
                f"the sampler cuts the images of prompt {number} into {ours} patches, the "
                f"trainer into {theirs}: check their image processors"
            )


def _first_problems(observations: Mapping[str, Sequence]) -> dict[str, tuple]:
    """The first problems, without repetitions."""
    questions, images = observations["question"], observations["images"]
    pairs = list(zip(questions, map(id, images), strict=True))
    rows = [row for row, pair in enumerate(pairs) if row == 0 or pair != pairs[row - 1]]
    rows = rows[:NUM_PROBLEMS]
    return {name: tuple(values[row] for row in rows) for name, values in observations.items()}


@contextmanager
def _untruncated(sampler: RolloutEngine) -> Iterator[None]:
    """Sampler without truncated distributions, with log-probabilities and short responses."""
    changes: dict[str, Callable[[Any], Any]] = {
        "sampling": lambda sampling: replace(sampling, top_p=1.0, top_k=0),
        "max_response_length": lambda length: min(length, MAX_TOKENS),
        "log_probs": lambda given: True,
    }
    attributes = vars(sampler)
    original = {name: attributes[name] for name in changes if name in attributes}
    attributes.update({name: changes[name](value) for name, value in original.items()})
    try:
        yield
    finally:
        attributes.update(original)
