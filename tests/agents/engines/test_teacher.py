"""The divergence from a teacher over the vocabulary: against loops in float64, chunk by chunk."""

import copy
import math
from dataclasses import replace

import pytest
import torch
from helpers import tiny_engines
from helpers.tiny_engines import LENGTHS, respond
from torch import nn

from agents.distillation import jensen_shannon, kl_from_teacher, kl_to_teacher, top_k
from agents.engines import sampling
from agents.engines.frozen_models import Distillation, Teacher
from agents.engines.model import Policy
from agents.engines.sampling import Sampling, Target

V = 6
DIVERGENCES = (kl_to_teacher, kl_from_teacher, jensen_shannon(0.3), top_k(3))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_engines.write(tmp_path_factory.mktemp("tiny"))


def head_case():
    """A head, hidden states of student and teacher, and tokens."""
    torch.manual_seed(0)
    head = nn.Linear(4, V, bias=False).double()
    own, other = (2 * torch.randn(5, 4, dtype=torch.float64) for _ in range(2))
    return head, own.requires_grad_(), other, torch.tensor([0, 2, 3, 5, 5])


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("divergence", DIVERGENCES, ids=lambda f: getattr(f, "__name__", str(f)))
def test_value_and_slopes_in_chunks_and_blocks(monkeypatch, divergence, size):
    policy = Sampling(temperature=2.0, banned=(1,))
    monkeypatch.setitem(sampling.LOGITS_PER_CHUNK, "cpu", size * V)
    monkeypatch.setitem(sampling.LOGITS_PER_BLOCK, "cpu", 2 * V)
    head, own, other, tokens = head_case()
    forward = head.forward
    target = Target(other, lambda rows: policy.logits(forward(rows)), divergence)

    def values(hidden):
        return sampling.log_prob(head, hidden, tokens, policy.logits, target=target)[::2]

    log_prob, value = values(own)
    pair = [policy.logits(head(hidden)).log_softmax(-1) for hidden in (own, other)]
    plain = [x[:, [0, 2, 3, 4, 5]] for x in pair]
    torch.testing.assert_close(value, divergence(*plain))
    torch.testing.assert_close(log_prob, pair[0].gather(-1, tokens[:, None])[:, 0])
    weight = torch.linspace(-1, 2, 5, dtype=torch.float64)
    (slope,) = torch.autograd.grad((weight * value).sum() + log_prob.sum(), own)
    again = [policy.logits(head(x)).log_softmax(-1) for x in (own, other)]
    expected = (weight * divergence(*(x[:, [0, 2, 3, 4, 5]] for x in again))).sum()
    expected = expected + again[0].gather(-1, tokens[:, None]).sum()
    torch.testing.assert_close(slope, torch.autograd.grad(expected, own)[0])


def test_a_loss_of_the_divergence_alone_reads_all_outputs_of_the_head():
    head, own, other, tokens = head_case()
    target = Target(other, head.forward, kl_to_teacher)
    outputs = sampling.log_prob(
        head, own, tokens, lambda x: x, entropy_gradient=False, target=target
    )
    assert [x.requires_grad for x in outputs] == [True, False, True]
    (slope,) = torch.autograd.grad(outputs[2].sum(), outputs[0], retain_graph=True)
    assert torch.equal(slope, torch.zeros(5, dtype=torch.float64))


def case(chat, group_size=2):
    """Responses whose teacher reads another prompt: shared, of its own, longer, with an image."""
    prompts = chat.encode(tiny_engines.observations((0, 1, 3, 2), group_size))
    others = tiny_engines.observations((1, 0, 2, 3), group_size)
    others["question"] = tuple(f"{q} The answer is 7." for q in others["question"])
    contexts = list(chat.encode(others))
    contexts[3] = contexts[0]
    responses = respond(prompts, LENGTHS, chat)
    holes = torch.rand(responses.mask.shape, generator=torch.Generator().manual_seed(1)) < 0.3
    mask = responses.mask & ~holes
    return replace(responses, contexts=tuple(contexts), mask=mask)


def logits_of(policy, prompt, tokens):
    """Float64 logits that predict some tokens, by the model's own forward pass."""
    ids = torch.tensor([[*prompt.token_ids, *tokens]])
    images = {}
    if prompt.pixel_values is not None:
        is_image = (ids == policy.model.config.image_token_id).int()
        images = {"image_grid_thw": prompt.image_grid_thw, "mm_token_type_ids": is_image}
        images["pixel_values"] = prompt.pixel_values
    logits = policy.model(ids, use_cache=False, **images).logits
    return logits[0, len(prompt.token_ids) - 1 : -1].double()


def brute_force(policy, teacher, responses, banned, temperature):
    """KL(policy || teacher) of each token with a loss, in Python's floats."""
    value = torch.zeros(responses.mask.shape, dtype=torch.float64)
    for i, (prompt, context) in enumerate(zip(responses.prompts, responses.contexts, strict=True)):
        tokens = responses.tokens[i, : int(responses.sizes[i])].tolist()
        with torch.no_grad():
            pair = logits_of(policy, prompt, tokens), logits_of(teacher, context, tokens)
        for j in range(len(tokens)):
            rows = [
                [x / temperature for k, x in enumerate(row[j].tolist()) if k not in banned]
                for row in pair
            ]
            sums = [math.log(math.fsum(map(math.exp, row))) for row in rows]
            own, other = ([x - total for x in row] for row, total in zip(rows, sums, strict=True))
            terms = (math.exp(a) * (a - b) for a, b in zip(own, other, strict=True))
            value[i, j] = math.fsum(terms)
    return value.where(responses.mask, 0.0)


@pytest.mark.parametrize("is_self", [True, False])
def test_the_divergence_is_that_of_loops_over_the_vocabulary(is_self, folder):
    engine = tiny_engines.build("torch", folder, temperature=0.7)
    responses = case(engine.chat)
    other = Policy(copy.deepcopy(engine.policy.model))
    with torch.no_grad():
        for weight in other.model.parameters():
            weight.mul_(1.1)
    teacher = Teacher() if is_self else Teacher(other, engine.sampling)
    *_, value = engine.forward(responses, distillation=Distillation(teacher, kl_to_teacher))
    policies = engine.policy, engine.policy if is_self else other
    expected = brute_force(*policies, responses, engine.sampling.banned, 0.7)
    assert expected.max() > 0.01
    torch.testing.assert_close(value.double(), expected, rtol=1e-3, atol=2e-6)


def moved(kind, folder, cuts, distillation):
    """How descent on the divergence moves the weights, in microbatches."""
    engine = tiny_engines.descent(kind, folder, 64.0)
    before, responses = tiny_engines.vector(engine), case(engine.chat)
    for start, stop in cuts:
        rows = responses.rows(start, stop)
        *_, value = engine.forward(rows, distillation=distillation)
        engine.backward(value.sum())
    engine.step()
    return tiny_engines.vector(engine) - before


STAGE_3 = pytest.param(
    "deepspeed-3", marks=pytest.mark.slow(reason="each pass gathers each weight; others do not")
)


@pytest.mark.parametrize("kind", ["torch", "deepspeed-0", STAGE_3])
def test_uneven_microbatches_and_engines_take_the_step_of_the_plain_model(kind, folder):
    step = moved(kind, folder, [(0, 1), (1, 4), (4, 8)], Distillation(Teacher(), kl_to_teacher))
    engine = tiny_engines.descent("torch", folder, 64.0)
    policy, before, responses = engine.policy, tiny_engines.vector(engine), case(engine.chat)
    allowed = [k for k in range(policy.model.lm_head.out_features) if k not in engine.chat.banned]
    total = 0
    for i, (prompt, context) in enumerate(zip(responses.prompts, responses.contexts, strict=True)):
        tokens = responses.tokens[i, : int(responses.sizes[i])].tolist()
        own = logits_of(policy, prompt, tokens)[:, allowed].log_softmax(-1)
        with torch.no_grad():
            other = logits_of(policy, context, tokens)[:, allowed].log_softmax(-1)
        total = total + kl_to_teacher(own, other)[responses.mask[i, : len(tokens)]].sum()
    total.backward()
    engine.step()
    assert tiny_engines.difference(step, tiny_engines.vector(engine) - before) < 1e-4


def test_a_teacher_with_more_or_fewer_unused_rows_is_the_same(folder):
    engine = tiny_engines.build("torch", folder)
    model, responses = engine.policy.model, case(engine.chat)
    used, (rows, width) = len(engine.chat.tokenizer), model.lm_head.weight.shape
    banned = tuple({*engine.chat.banned, *range(used, rows)})
    engine.sampling = Sampling(banned=banned)
    values = []
    for size in (rows, rows + 5, used):
        other = Policy(copy.deepcopy(model))
        head = nn.Linear(width, size, bias=False)
        with torch.no_grad():
            head.weight[: min(size, rows)] = model.lm_head.weight[:size]
        other.model.set_output_embeddings(head)
        distillation = Distillation(Teacher(other, engine.sampling), kl_to_teacher)
        values.append(engine.forward(responses, distillation=distillation)[2])
    torch.testing.assert_close(values[1], values[0])
    torch.testing.assert_close(values[2], values[0])
