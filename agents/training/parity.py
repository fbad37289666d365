"""Do sampler and trainer mean the same policy? Compared on real prompts before the first step.

A learner takes the sampler's responses for draws of the trainer's policy. Where the two read a
prompt differently, or hold other weights, training goes wrong without a sign of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from agents.engines import RolloutEngine, TrainEngine
from agents.engines.chat import Chat
from agents.errors import AgentsError, ParityError, typed_errors
from agents.rollout import Prompt, Responses

NUM_PROBLEMS = 4
"""Problems that each rank compares on."""
MOST_TOKENS = 32
"""Of each response: a wrong temperature shows in the first ones already."""
BOUNDS = {torch.float32: 1e-3, torch.bfloat16: 0.05, torch.float16: 0.02}
"""Largest mean difference in nats, by the coarser dtype of the two.

In float32 two implementations differ by 1e-6 to 1e-4, whatever the kernels. Rounding to bfloat16,
with 8 bits, is 2 ** -9 of a logit, so hundredths of a nat where logits are about ten, and in the
mean less, since most tokens are nearly certain. Other weights or prompts are off by tenths of a nat
and more. A single token may be far off by rounding alone, so the largest difference has no bound.
"""

SETTINGS = ("sampling", "max_response_length", "log_probs")
"""Of a sampler, by their names."""


@dataclass(frozen=True)
class Agreement:
    """How far sampler and trainer are apart in log-probability, over the tokens of all ranks."""

    num_prompts: int
    """Prompts that both read alike, token by token and image by image."""
    num_tokens: int
    """Response tokens compared."""
    mean: float
    """Of the absolute differences, in nats; infinite when the trainer bans what was sampled."""
    max: float
    """Of the absolute differences, in nats."""

    def __str__(self) -> str:
        return (
            f"sampler and trainer read {self.num_prompts} prompts alike; over {self.num_tokens} "
            f"tokens their log-probabilities differ by {self.mean:.2g} nats in the mean, "
            f"{self.max:.2g} at most"
        )

    def check(self, bound: float) -> None:
        """Refuses two engines that are too far apart.

        Args:
            bound: Largest mean difference in nats; see `bound`.

        Raises:
            ParityError: In one line, with the difference, the bound and what may be the cause.
        """
        if self.num_tokens and not self.mean <= bound:
            raise ParityError(
                f"sampler and trainer do not agree: the log-probabilities of {self.num_tokens} "
                f"tokens differ by {self.mean:.3g} nats in the mean ({self.max:.3g} at most), and "
                f"{bound:g} is allowed; the cause may be weights that were not handed over, "
                "another temperature, other banned tokens, or a coarser dtype or attention kernel"
            )


def bound(*dtypes: torch.dtype) -> float:
    """Largest mean difference, in nats, of engines that compute in these dtypes."""
    return max(BOUNDS.get(dtype, max(BOUNDS.values())) for dtype in dtypes)


@torch.no_grad()
def measure(
    engine: TrainEngine, sampler: RolloutEngine, chat: Chat, observations: Mapping[str, Sequence]
) -> Agreement:
    """Compares what both read of a few problems, and short responses to them.

    The sampler draws from its whole distribution, not cut off by `top_p` or `top_k`, as the
    trainer's is not. Neither random generators nor the sampler's settings are changed afterwards.
    Every rank calls it, each with problems of its own, and all of them return or raise together.

    Args:
        engine: With the weights that the sampler should have.
        sampler: To be compared.
        chat: The trainer's own.
        observations: Of the environment; the first few problems are taken.

    Raises:
        ParityError: In one line, when the sampler reads a prompt otherwise than the trainer, or
            gives no log-probabilities.
        AgentsError: The sampler fails.
    """
    fault: AgentsError | None = None
    responses = None
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices), _whole(sampler):
        try:
            responses = _respond(sampler, chat, _few(observations), engine.rank)
        except AgentsError as error:
            fault = error
    faulty = engine.all_gather(torch.tensor([fault is not None]))
    if responses is None or faulty.any():
        ranks = ", ".join(str(rank) for rank in faulty.nonzero()[:, 0].tolist())
        raise fault or ParityError(f"sampler and trainer do not agree on rank {ranks}: see there")
    difference = (engine.forward(responses)[0].cpu() - responses.sampler_log_prob)[responses.mask]
    return _summary(engine, len(responses), difference.abs().double())


def _respond(
    sampler: RolloutEngine, chat: Chat, observations: Mapping[str, Sequence], rank: int
) -> Responses:
    """A response to each problem, once it is sure that both read the same."""
    expected, prompts = chat.encode(observations), sampler.encode(observations)
    _same(prompts, expected)
    with typed_errors("sampling"):
        responses = sampler.generate(prompts, (rank,))
    _same(responses.prompts, expected)
    if responses.sampler_log_prob[responses.mask].isnan().any():
        raise ParityError("the sampler gives no log-probabilities: there is nothing to compare")
    return responses


def _summary(engine: TrainEngine, num_prompts: int, difference: Tensor) -> Agreement:
    mine = [float(num_prompts), float(len(difference)), difference.sum().item()]
    sums = engine.all_gather(torch.tensor([mine], dtype=torch.float64)).sum(0).tolist()
    # A rank without a token gathers too, or the others would wait for ever.
    widest = engine.all_gather(torch.cat([difference, difference.new_zeros(1)]).max()[None]).max()
    return Agreement(int(sums[0]), int(sums[1]), sums[2] / max(1.0, sums[1]), widest.item())


def _same(read: Sequence[Prompt], expected: Sequence[Prompt]) -> None:
    """Refuses prompts of the sampler that are not the trainer's."""
    for number, (one, other) in enumerate(zip(read, expected, strict=True), 1):
        if one.token_ids != other.token_ids:
            places = zip(one.token_ids, other.token_ids, strict=False)
            place = next((k for k, (a, b) in enumerate(places) if a != b), "the end")
            raise ParityError(
                f"the sampler reads prompt {number} as {len(one.token_ids)} tokens, the trainer as "
                f"{len(other.token_ids)}, and they part at {place}: their tokenizers, chat "
                "templates or image sizes differ"
            )
        if _grid(one) != _grid(other):
            raise ParityError(
                f"the sampler cuts the images of prompt {number} into {_grid(one)} patches, the "
                f"trainer into {_grid(other)}: their image processors differ"
            )


def _grid(prompt: Prompt) -> list[list[int]]:
    return [] if prompt.image_grid_thw is None else prompt.image_grid_thw.tolist()


def _few(observations: Mapping[str, Sequence]) -> dict[str, tuple]:
    """The first problems, each once."""
    questions, images = observations["question"], observations["images"]
    rows = [
        row
        for row in range(len(questions))
        if row == 0 or questions[row] != questions[row - 1] or images[row] is not images[row - 1]
    ][:NUM_PROBLEMS]
    return {name: tuple(values[row] for row in rows) for name, values in observations.items()}


@contextmanager
def _whole(sampler: RolloutEngine) -> Iterator[None]:
    """A sampler that cuts nothing off, tells log-probabilities, and keeps short."""
    found = vars(sampler)
    kept = {name: found[name] for name in SETTINGS if name in found}
    if "sampling" in kept:
        found["sampling"] = replace(kept["sampling"], top_p=1.0, top_k=0)
    if "max_response_length" in kept:
        found["max_response_length"] = min(kept["max_response_length"], MOST_TOKENS)
    if "log_probs" in kept:
        found["log_probs"] = True
    try:
        yield
    finally:
        found.update(kept)
