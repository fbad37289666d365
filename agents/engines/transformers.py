"""Sampling with transformers on any machine, from the trainer's own weights."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import DynamicCache

from agents.engines.chat import Chat
from agents.engines.model import Policy
from agents.engines.sampling import Row, Sampling, collate, unique_prompts
from agents.rollout import Prompt, Responses


class TransformersSampler:
    """A `RolloutEngine` on a policy in this process, with one prefill per group."""

    def __init__(
        self,
        policy: Policy,
        chat: Chat,
        sampling: Sampling,
        max_response_length: int,
        batch_size: int = 512,
        unsharded: Callable[[], AbstractContextManager[Policy]] | None = None,
    ) -> None:
        """Wraps a policy.

        Args:
            policy: The policy to sample from.
            chat: Its tokenizer and chat template.
            sampling: Sampling distribution.
            max_response_length: Tokens after which a response is truncated.
            batch_size: Number of responses that are sampled at a time.
            unsharded: Context with the full weights of a sharded policy, see
                `TrainEngine.unsharded`; None for a policy that is not sharded.
        """
        self.policy = policy
        self.chat = chat
        self.sampling = sampling
        self.max_response_length = max_response_length
        self.batch_size = batch_size
        self.unsharded = unsharded or (lambda: nullcontext(policy))

    def encode(self, observations: Mapping) -> tuple[Prompt, ...]:
        """See `RolloutEngine`."""
        return self.chat.encode(observations)

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """No-op: the weights are the trainer's own."""

    def release(self) -> None:
        """No-op: all memory between rollouts is the trainer's."""

    def close(self) -> None:
        """No-op."""

    @torch.no_grad()
    def generate(
        self,
        prompts: tuple[Prompt, ...],
        seed: tuple[int, ...],
        finished: Callable[[int, str], object] | None = None,
    ) -> Responses:
        """See `RolloutEngine`."""
        entropy = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] >> 1)
        generator = torch.Generator(self.policy.device).manual_seed(entropy)
        rows: list[Row] = []
        with self.unsharded() as policy:
            was_training = policy.training
            policy.eval()
            for start in range(0, len(prompts), self.batch_size):
                batch = prompts[start : start + self.batch_size]
                rows += _Decoding(self, policy, batch, generator, finished, start).run()
            policy.train(was_training)
        return collate(prompts, rows, self.chat.eos, log_probs=True)


@dataclass
class _Decoding:
    """Decoding of one batch of responses with a KV cache."""

    sampler: TransformersSampler
    policy: Policy
    prompts: tuple[Prompt, ...]
    generator: torch.Generator
    finished: Callable[[int, str], object] | None
    first: int
    rows: list[Row] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = [Row() for _ in self.prompts]

    def run(self) -> list[Row]:
        """Decodes until every response has ended."""
        hidden, cache, attention, position = self._prefill()
        alive = list(range(len(self.prompts)))
        for length in range(1, self.sampler.max_response_length + 1):
            token = self._sample(hidden, alive)
            active = self._append(token, alive, last=length == self.sampler.max_response_length)
            if not active:
                break
            if len(active) <= len(attention) // 2:
                keep = torch.tensor(active, device=token.device)
                cache.batch_select_indices(keep)
                token, attention, position = token[keep], attention[keep], position[:, keep]
                alive = [alive[row] for row in active]
            position = position + 1
            attention = torch.cat([attention, attention.new_ones(len(attention), 1)], 1)
            hidden = self._step(token, cache, attention, position)
        return self.rows

    def _prefill(self) -> tuple[Tensor, DynamicCache, Tensor, Tensor]:
        """Last hidden state, KV cache, attention mask and last position id of every row."""
        policy = self.policy
        cache = DynamicCache(config=policy.model.config.get_text_config())
        unique, rows = unique_prompts(self.prompts)
        pad = {"batch_first": True, "padding_side": "left"}
        tokens = pad_sequence([torch.tensor(p.token_ids) for p in unique], **pad).to(policy.device)
        attention = pad_sequence(
            [torch.ones(len(p.token_ids), dtype=torch.long) for p in unique], **pad
        )
        positions = (
            pad_sequence([policy.positions(p).T for p in unique], **pad)
            .permute(2, 0, 1)
            .to(policy.device)
        )
        attention = attention.to(policy.device)
        hidden = self._model(policy.embed(tokens, unique), cache, attention, positions)
        index = torch.tensor(rows, device=policy.device)
        cache.batch_select_indices(index)
        return hidden[index], cache, attention[index], positions.amax(-1)[:, index]

    def _step(
        self, token: Tensor, cache: DynamicCache, attention: Tensor, position: Tensor
    ) -> Tensor:
        embedded = self.policy.model.get_input_embeddings()(token[:, None])
        return self._model(embedded, cache, attention, position[..., None])

    def _model(
        self, embedded: Tensor, cache: DynamicCache, attention: Tensor, positions: Tensor
    ) -> Tensor:
        return self.policy.model.base_model(
            inputs_embeds=embedded,
            attention_mask=attention,
            position_ids=positions if positions.shape[0] > 1 else positions[0],
            past_key_values=cache,
            use_cache=True,
        ).last_hidden_state[:, -1]

    def _sample(self, hidden: Tensor, alive: list[int]) -> Tensor:
        """Samples the next token of each row; those of finished rows are ignored."""
        logits = self.policy.model.get_output_embeddings()(hidden)
        log_prob = self.sampler.sampling.behaviour(logits)
        token = sample_tokens(log_prob.exp(), self.generator)
        values = log_prob.gather(-1, token[:, None])[:, 0].tolist()
        for row, value in zip(alive, values, strict=True):
            if not self._has_ended(row):
                self.rows[row].log_probs.append(value)
        return token

    def _append(self, token: Tensor, alive: list[int], last: bool) -> list[int]:
        """Appends the tokens and reports finished responses; gives the indices of the others."""
        active = []
        for index, (row, value) in enumerate(zip(alive, token.tolist(), strict=True)):
            if self._has_ended(row):
                continue
            self.rows[row].tokens.append(value)
            if last or self._has_ended(row):
                self.rows[row].text = self.sampler.chat.decode(self.rows[row].tokens)
                if self.finished is not None:
                    self.finished(self.first + row, self.rows[row].text)
            else:
                active.append(index)
        return active

    def _has_ended(self, row: int) -> bool:
        tokens = self.rows[row].tokens
        return bool(tokens) and tokens[-1] in self.sampler.chat.eos


def sample_tokens(probability: Tensor, generator: torch.Generator) -> Tensor:
    """One index per row `[n]` of probabilities `[n v]`, by inverse transform sampling.

    An index of probability 0 is never sampled. One random number per row suffices;
    `torch.multinomial` draws one per entry, which takes a quarter of a tiny model's sampling time.
    """
    cumulative = probability.double().cumsum(-1)
    device, count = probability.device, len(probability)
    uniform = torch.rand(count, 1, dtype=torch.float64, device=device, generator=generator)
    return torch.searchsorted(cumulative, uniform * cumulative[:, -1:], right=True)[:, 0]
