"""Log-probability and entropy of tokens, and their gradients, on a small vocabulary."""

import pytest
import torch
from torch import nn

from agents.engines import sampling
from agents.engines.sampling import Sampling

VOCABULARY = 6
POLICIES = [Sampling(), Sampling(temperature=0.5), Sampling(temperature=2.0, banned=(1, 4))]
every_policy = pytest.mark.parametrize("policy", POLICIES)


def case():
    """A head, hidden states and tokens that no policy bans."""
    torch.manual_seed(0)
    head = nn.Linear(4, VOCABULARY, bias=False).double()
    hidden = (3 * torch.randn(5, 4, dtype=torch.float64)).requires_grad_()
    return head, hidden, torch.tensor([0, 2, 3, 5, 5])


def forward(policy, head, hidden, tokens):
    return sampling.log_prob(head, hidden, tokens, policy.logits)


@every_policy
def test_both_gradients_are_the_slopes(monkeypatch, policy):
    monkeypatch.setitem(sampling.LOGITS_PER_BLOCK, "cpu", 2 * VOCABULARY)
    head, hidden, tokens = case()
    assert torch.autograd.gradcheck(lambda h: forward(policy, head, h, tokens), (hidden,))


@every_policy
def test_the_entropy_is_the_mean_surprise_of_all_tokens_with_its_gradient(policy):
    head, hidden, tokens = case()
    expected = torch.zeros(len(tokens), dtype=torch.float64)
    for token in set(range(VOCABULARY)) - set(policy.banned):
        log_prob, _ = forward(policy, head, hidden, torch.full_like(tokens, token))
        expected = expected - log_prob.exp() * log_prob
    _, entropy = forward(policy, head, hidden, tokens)
    torch.testing.assert_close(entropy, expected)
    (slope,), (plain,) = (torch.autograd.grad(v.sum(), hidden) for v in (entropy, expected))
    torch.testing.assert_close(slope, plain)


def test_without_a_gradient_of_the_entropy_nothing_is_computed_for_it(monkeypatch):
    head, hidden, tokens = case()
    log_prob, _ = forward(POLICIES[2], head, hidden, tokens)

    def refuse(*_, **__):
        raise AssertionError("a product with the log-probabilities")

    monkeypatch.setattr(torch.Tensor, "clamp_", refuse)
    log_prob.sum().backward()
    assert hidden.grad is not None


def test_all_chunks_are_one_call_of_the_head(monkeypatch):
    monkeypatch.setitem(sampling.LOGITS_PER_CHUNK, "cpu", 2 * VOCABULARY)
    head, hidden, tokens = case()
    calls, products = [], []
    head.register_forward_hook(lambda *_: calls.append(1))
    forward_of_head = type(head).forward

    def forward_and_count(self, hidden):
        products.append(len(hidden))
        return forward_of_head(self, hidden)

    monkeypatch.setattr(type(head), "forward", forward_and_count)
    log_prob, _ = forward(POLICIES[0], head, hidden, tokens)
    log_prob.sum().backward()
    assert (len(calls), len(products)) == (1, 5)  # three chunks, two of them twice
    assert head(hidden).shape == (5, VOCABULARY)


def test_an_entropy_without_a_gradient_requires_none():
    head, hidden, tokens = case()
    outputs = sampling.log_prob(head, hidden, tokens, POLICIES[0].logits, entropy_gradient=False)
    assert [output.requires_grad for output in outputs] == [True, False]


def test_a_recomputed_chunk_sums_over_the_vocabulary_once(monkeypatch):
    monkeypatch.setitem(sampling.LOGITS_PER_CHUNK, "cpu", 2 * VOCABULARY)
    calls = []
    inner = sampling._sums
    monkeypatch.setattr(sampling, "_sums", lambda x: calls.append(len(x)) or inner(x))
    head, hidden, tokens = case()
    log_prob, _ = forward(POLICIES[0], head, hidden, tokens)
    log_prob.sum().backward()
    assert sum(calls) == len(tokens)
