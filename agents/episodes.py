"""Episodes: responses of a sampler and replies of an environment in turn, one row of tokens each.

A row follows on its prompt: a response, a reply, a response, ... What was sampled is never decoded
and encoded again, and replies have no loss.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from agents.engines import RolloutEngine, TrainEngine
from agents.rollout import RESTING, Prompt, Responses

LEAST = 16
"""Tokens that must be left for a response after a reply; else the episode is closed before it."""


class Episodes:
    """The next episode of each sub-environment, from its first turn on.

    They take their turns together, and those that have ended rest. An episode is closed by the
    empty answer where the length limit has cut its response, and, without the reply, where that
    would leave no room for another.
    """

    infos: Mapping[str, Any]
    """Of the last step of each episode, as the environment's."""
    observations: Mapping[str, Sequence[Any]]
    """After the last step; of episodes that rest, those of the next ones."""

    def __init__(
        self,
        envs: Any,
        sampler: RolloutEngine,
        prompts: Sequence[Prompt],
        seed: tuple[int, ...],
        engine: TrainEngine | None = None,
    ) -> None:
        """Begins with prompts; sub-environments beyond them get the empty answer.

        Args:
            envs: Vector environment.
            sampler: Samples the responses. Where an episode goes on it has a `chat` and
                `max_response_length`, the limit of all tokens after the prompt.
            prompts: Of the observations of `envs`.
            seed: Of the responses; later turns add their number.
            engine: Of this rank, where ranks sample together; None for a process alone.
        """
        num = envs.num_envs
        self._envs, self._seed, self._engine = envs, seed, engine
        self._sampler: Any = sampler
        self._prompts = tuple(prompts)
        self._turns: list[Responses] = []
        self._replies: list[list[Prompt]] = [[] for _ in prompts]
        self._finished = torch.zeros(len(prompts), dtype=torch.bool)
        self._texts = [""] * num
        self.is_open = np.ones(num, dtype=bool)
        """False for episodes that have ended."""
        self.rewards = np.zeros(num)
        """Of each episode, the sum over its turns."""
        self._counts = {name: np.zeros(num) for name in ("turns", "calls", "bad_calls")}

    @property
    def goes_on(self) -> bool:
        """True if an episode of this rank has not ended."""
        return bool(self.is_open.any())

    @property
    def is_over(self) -> bool:
        """True if all episodes of all ranks have ended; every rank reads it."""
        is_open = torch.tensor([self.goes_on])
        return not (self._engine.all_gather(is_open) if self._engine else is_open).any()

    @property
    def counts(self) -> dict[str, np.ndarray]:
        """Of each episode: turns, calls of a tool and bad calls; {} where all have one turn."""
        return self._counts if "turn" in self.infos else {}

    def respond(self, finished: Callable[[int, str], object] | None = None) -> Sequence[str | None]:
        """Samples a turn: actions of the environment, None for episodes that rest.

        Args:
            finished: See `RolloutEngine.generate`.
        """
        turn = (len(self._turns),) if self._turns else ()
        responses = self._sampler.generate(self._prompts, (*self._seed, *turn), finished)
        self._turns.append(responses)
        sampled = responses.present.any(-1)
        self._finished = torch.where(sampled, responses.finished, self._finished)
        self._counts["turns"][: len(sampled)] += sampled.numpy()
        texts = responses.texts + ("",) * (len(self.is_open) - len(sampled))
        pairs = zip(texts, self.is_open, strict=True)
        return tuple(text if is_open else None for text, is_open in pairs)

    def step(self, actions: Sequence[str | None]) -> None:
        """Steps the environment, and appends its replies to the rows that go on."""
        observations, rewards, terminations, truncations, infos = self._envs.step(actions)
        ended = self.is_open & (terminations | truncations)
        self.rewards = self.rewards + np.where(self.is_open, rewards, 0.0)
        if "tool" in infos:
            self._counts["calls"] += self.is_open & (infos["tool_status"] != "")
            self._counts["bad_calls"] += self.is_open & (infos["tool_status"] == "bad_call")
        pairs = zip(self._texts, actions, strict=True)
        self._texts = [old if new is None else new for old, new in pairs]
        self.observations = observations
        self.infos = infos if len(self._turns) == 1 else _merged(self.infos, infos, ended)
        self.is_open = self.is_open & ~ended
        if len(self._turns) == 1 and self.goes_on:
            self._sampler.chat.check_turns()
        self._prompts = tuple(
            self._next(row, observations) if self.is_open[row] else RESTING
            for row in range(len(self._prompts))
        )

    def responses(self) -> Responses:
        """The rows of the episodes, after their first prompts.

        A text is the last action of an episode, which was graded; `finished` is False where the
        length limit has closed it.
        """
        if len(self._turns) == 1:
            return self._turns[0]
        texts = tuple(self._texts[: len(self._replies)])
        rows = joined(self._turns, self._replies)
        return replace(rows, texts=texts, finished=self._finished)

    def _next(self, row: int, observations: Mapping[str, Sequence[Any]]) -> Prompt:
        """Prompt of the next turn; `RESTING` for an episode to be closed."""
        sampler, responses = self._sampler, self._turns[-1]
        if self._finished[row]:
            tokens = responses.tokens[row, responses.present[row]].tolist()
            new = observations["question"][row], observations["images"][row]
            reply = sampler.chat.reply(tokens, *new)
            prompt = self._prompts[row].followed_by(tokens, reply)
            if prompt.row_size + LEAST <= sampler.max_response_length:
                self._replies[row].append(reply)
                return prompt
        self._finished[row] = False
        return RESTING


def joined(turns: Sequence[Responses], replies: Sequence[Sequence[Prompt]]) -> Responses:
    """Responses of several turns, and the replies between them, as a row of tokens each.

    The prompts, texts and `finished` are those of the first turn.

    Args:
        turns: One or more; a response of no tokens is that of an episode that has ended.
        replies: Of each row, at most one for each turn but the last.
    """
    rows = [_row(turns, row, parts) for row, parts in enumerate(replies)]
    tokens, mask, log_prob = (
        pad_sequence([row[k] for row in rows], batch_first=True) for k in range(3)
    )
    sizes = torch.tensor([len(row[0]) for row in rows])
    return replace(
        turns[0],
        tokens=tokens,
        mask=mask,
        sampler_log_prob=log_prob,
        present=torch.arange(tokens.shape[1]) < sizes[:, None],
        replies=tuple(map(tuple, replies)),
    )


def _row(
    turns: Sequence[Responses], row: int, replies: Sequence[Prompt]
) -> tuple[Tensor, Tensor, Tensor]:
    """Tokens of a row, a mask of those that were sampled, and their log-probabilities."""
    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    for turn, reply in zip_longest(turns, replies):
        own = turn.present[row]
        parts.append((turn.tokens[row, own], own[own], turn.sampler_log_prob[row, own]))
        if reply is not None:
            tokens = torch.tensor(reply.token_ids)
            zeros = torch.zeros(len(tokens))
            parts.append((tokens, zeros.bool(), zeros))
    tokens, mask, log_prob = map(torch.cat, zip(*parts, strict=True))
    return tokens, mask, log_prob


def _merged(old: Any, new: Any, rows: np.ndarray) -> Any:
    """Infos with the new values of some rows."""
    if isinstance(new, Mapping):
        merged = {name: _merged(old.get(name, x), x, rows) for name, x in new.items()}
        return {**old, **merged}
    return np.where(rows, new, old) if isinstance(new, np.ndarray) else new
