"""Training engine whose policy is a table of logits, for tests, proofs and lectures."""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from agents.distillation import divergence_of_logits
from agents.rollout import PerToken, Prompt, Responses

TABLE = "table.pt"
"""File within a checkpoint."""
T = TypeVar("T")


class ThreadRanks:
    """Ranks as threads of one process, with an all-gather between them."""

    def __init__(self, num_ranks: int) -> None:
        self.num_ranks = num_ranks
        self._values: list[Tensor | None] = [None] * num_ranks
        self._barrier = threading.Barrier(num_ranks)

    def all_gather(self, rank: int, values: Tensor) -> Tensor:
        """All-gather in order of rank; RuntimeError if another rank returns without calling it."""
        self._values[rank] = values
        self._barrier.wait()
        present = [value for value in self._values if value is not None]
        self._barrier.wait()  # no rank may write its next values before all have read these
        if len(present) < self.num_ranks:
            raise RuntimeError(f"rank {rank} calls all_gather and another rank does not")
        return torch.cat(present)

    def run(self, work: Callable[[int], T]) -> list[T]:
        """Results of `work` on each rank, or the error of the lowest rank that failed itself."""

        def guarded(rank: int) -> T:
            try:
                result = work(rank)
                # Wakes the ranks that wait in an all-gather that this one will not call.
                self._values[rank] = None
                self._barrier.wait()
                self._barrier.wait()
                return result
            except BaseException:
                self._barrier.abort()  # else the others would wait for ever
                raise

        with ThreadPoolExecutor(self.num_ranks) as pool:
            futures = [pool.submit(guarded, rank) for rank in range(self.num_ranks)]
        self._barrier.reset()
        errors = [error for future in futures if (error := future.exception())]
        for error in sorted(errors, key=lambda e: isinstance(e, threading.BrokenBarrierError)):
            raise error
        return [future.result() for future in futures]


class BanditEngine:
    """A `TrainEngine` with a table of logits: an independent bandit for each problem and position.

    The prompt of problem i is the single token i, and the tokens of a response are arms. A step is
    plain gradient descent. Everything is computed in the dtype of the table, so float64 removes
    the rounding of other engines.
    """

    def __init__(
        self,
        logits: Float[Tensor, "problems t v"],
        learning_rate: float = 1.0,
        rank: int = 0,
        ranks: ThreadRanks | None = None,
    ) -> None:
        """A policy with a copy of `logits`; `ranks` are shared by the engines of all ranks."""
        self.logits = logits.detach().clone().requires_grad_()
        self.learning_rate, self.rank, self.ranks = learning_rate, rank, ranks
        self.num_ranks = ranks.num_ranks if ranks else 1

    def forward(
        self, responses: Responses, entropy_gradient: bool = False, distillation: Any = None
    ) -> tuple[PerToken, ...]:
        logits = self._rows(responses)
        log_prob = logits.log_softmax(-1)
        token_log_prob = log_prob.gather(-1, responses.tokens[..., None])[..., 0]
        source = log_prob if entropy_gradient else log_prob.detach()
        values = [token_log_prob, torch.special.entr(source.exp()).sum(-1)]
        if distillation is not None:
            teacher, divergence = distillation
            rows = (teacher.policy or self)._rows(responses.in_context()).detach()
            values.append(divergence_of_logits(divergence, logits, rows))
        return tuple(value.where(responses.mask, 0.0) for value in values)

    def _rows(self, responses: Responses) -> Tensor:
        """Logits `[b t v]` of the problems of responses."""
        problems = [prompt.token_ids[0] for prompt in responses.prompts]
        return self.logits[problems, : responses.tokens.shape[1]]

    def backward(self, loss: Tensor) -> None:
        loss.backward()

    @torch.no_grad()
    def step(self) -> dict[str, float]:
        mine = torch.zeros_like(self.logits) if self.logits.grad is None else self.logits.grad
        gradient = self.all_gather(mine[None]).sum(0)
        norm = gradient.norm()
        if torch.isfinite(norm):
            self.logits -= self.learning_rate * gradient
        self.logits.grad = None
        return {"train/grad_norm": norm.item(), "train/lr": self.learning_rate}

    def discard(self) -> dict[str, float]:
        self.logits.grad = None
        return {"train/grad_norm": 0.0, "train/lr": self.learning_rate}

    def all_gather(self, values: Tensor) -> Tensor:
        return values if self.ranks is None else self.ranks.all_gather(self.rank, values)

    def weights(self) -> Iterable[tuple[str, Tensor]]:
        return [("logits", self.logits.detach())]

    checkpoint_weights = weights

    def unsharded(self) -> AbstractContextManager[Tensor]:
        return nullcontext(self.logits)

    def save(self, folder: Path) -> None:
        """Writes the table; there is no Hugging Face format."""
        if self.rank == 0:
            torch.save(self.logits.detach(), folder / TABLE)
        self.all_gather(torch.zeros(1))

    def load(self, folder: Path) -> None:
        self.logits = torch.load(folder / TABLE, weights_only=True).requires_grad_()


def respond(
    problems: Sequence[int], tokens: Int[Tensor, "b t"], lengths: Sequence[int], width: int = 0
) -> Responses:
    """Responses to the problems of a `BanditEngine`, those of a group one after the other.

    Arms beyond a response's length, >= 0, are ignored; `width` is a number of tokens to pad to.
    """
    prompts = {problem: Prompt((problem,)) for problem in problems}
    tokens = torch.nn.functional.pad(tokens, (0, max(0, width - tokens.shape[1])))
    return Responses(
        prompts=tuple(prompts[problem] for problem in problems),
        tokens=tokens,
        mask=torch.arange(tokens.shape[1]) < torch.tensor(lengths)[:, None],
        texts=("",) * len(problems),
        sampler_log_prob=torch.zeros(tokens.shape),
        finished=torch.ones(len(problems), dtype=torch.bool),
    )
