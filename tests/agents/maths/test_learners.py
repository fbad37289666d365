"""What every learner keeps, whatever its algorithm."""

import inspect
import math
from dataclasses import fields

import pytest
import torch
from helpers import tiny_engines
from helpers.golden_cases import EVERY, LEARNERS, case, loss_and_gradient, tensor

from agents.cispo import CISPO
from agents.cli.flags import parse_run
from agents.cpgd import CPGD
from agents.errors import UsageError
from agents.grpo import GRPO
from agents.reductions import sequence_mean
from agents.reinforce_plus_plus import ReinforcePlusPlus
from agents.rollout import Batch
from agents.rpg import RPG
from agents.training.update import Passes, update

every_learner = pytest.mark.parametrize("learner", EVERY.values(), ids=EVERY)
CLASSES = sorted({type(learner) for learner in EVERY.values()}, key=lambda kind: kind.__name__)
every_class = pytest.mark.parametrize("kind", CLASSES)


@every_learner
@pytest.mark.parametrize("padding", [1e30, float("nan")])
def test_padding_has_no_influence_and_no_gradient(learner, padding):
    log_prob, old, reward, mask, size, ref = case()
    spoiled = [values.masked_fill(~mask, padding) for values in (log_prob, old, ref)]
    expected = loss_and_gradient(learner, log_prob, old, reward, mask, size, ref)
    actual = loss_and_gradient(learner, *spoiled[:2], reward, mask, size, spoiled[2])
    torch.testing.assert_close(actual, expected)
    assert (actual[1][~mask] == 0).all()


@every_learner
def test_the_order_of_responses_only_orders_the_gradient(learner):
    *tensors, size, ref = case()
    order = torch.arange(len(ref)).view(-1, size).flip(0).flip(1).flatten()
    loss, gradient = loss_and_gradient(learner, *tensors, size, ref)
    shuffled = loss_and_gradient(learner, *(part[order] for part in tensors), size, ref[order])
    torch.testing.assert_close(shuffled, (loss, gradient[order]))


# Of whole responses the log-ratios add up beyond what float32 can exponentiate; without any clip
# such a ratio is infinite, and so is the loss.
OF_TOKENS = {name: learner for name, learner in EVERY.items() if "sequence_ratio" not in name}


@pytest.mark.parametrize("learner", OF_TOKENS.values(), ids=OF_TOKENS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_loss_and_gradient_stay_finite_at_log_ratios_of_50(learner, dtype):
    log_prob, _, reward, mask, size, _ = case()
    extreme = log_prob + torch.linspace(-50, 50, log_prob.shape[1])
    arguments = [values.to(dtype) for values in (extreme, log_prob, reward)]
    loss, gradient = loss_and_gradient(learner, *arguments, mask, size, log_prob.to(dtype))
    assert loss.isfinite()
    assert gradient.isfinite().all()


@every_learner
def test_responses_without_tokens_have_a_loss_of_zero(learner):
    log_prob, old, reward, mask, size, ref = case()
    nothing = torch.zeros_like(mask)
    loss, gradient = loss_and_gradient(learner, log_prob, old, reward, nothing, size, ref)
    assert loss == 0
    assert (gradient == 0).all()


@every_learner
def test_a_reference_is_needed_where_it_is_used(learner):
    *arguments, _ = case()
    if learner.uses_reference:
        with pytest.raises(ValueError, match=r"needs ref_log_prob$"):
            learner.compute_loss(*arguments)
        log_prob, old, _, mask, _ = arguments
        batch = Batch(mask, old, old, old)
        with pytest.raises(ValueError, match="needs ref_log_prob"):
            _ = learner.token_advantage(batch, lambda part: part), learner.loss(log_prob, batch)
    else:
        without, given = (loss_and_gradient(learner, *given) for given in (arguments, case()))
        torch.testing.assert_close(without, given, rtol=0, atol=0)


@every_class
def test_a_learner_without_arguments_is_what_the_command_line_makes(kind):
    _, learner = parse_run(kind, [])
    assert learner == kind()


@every_class
def test_a_learner_says_what_it_is_and_where_it_is_from(kind):
    documentation = inspect.getdoc(kind)
    assert "Source: " in documentation
    source = inspect.getsource(kind)
    for field in fields(kind):
        if field.name in kind.__annotations__:
            _, _, after = source.partition(f"    {field.name}: ")
            assert after.split("\n")[1].strip().startswith('"""'), field.name


def test_the_policy_gradient_of_the_cpgd_paper_is_a_matter_of_flags():
    flags = "--clip-low None --clip-high None --drift-coefficient None"
    assert parse_run(CPGD, flags.split())[1] == LEARNERS["pg"]


@pytest.mark.parametrize(
    ("kind", "flags", "name"),
    [
        (
            RPG,
            "--divergence forward_kl --estimator reinforce --clip truncated --beta 0.1",
            "rpg_reinforce_fkl_truncated",
        ),
        (GRPO, "--divergence unnormalized_reverse_kl", "grpo_corrected_kl"),
    ],
)
def test_a_variant_is_a_matter_of_flags(kind, flags, name):
    assert parse_run(kind, flags.split())[1] == LEARNERS[name]


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (CPGD, "clip_low", -0.1),
        (CPGD, "clip_low", 1.0),
        (CPGD, "clip_high", -0.1),
        (CPGD, "drift_coefficient", -0.01),
        (CPGD, "drift_coefficient", float("inf")),
        (CPGD, "drift_cap", 0.0),
        (CPGD, "clip_schedule", 1.1),
        (CPGD, "beta", -0.1),
        (CPGD, "beta", float("nan")),
        (RPG, "clip_low", 1.0),
        *((RPG, "dual_clip", value) for value in (1.0, 0.5, float("nan"))),
        (RPG, "clip_high", -0.1),
        (RPG, "beta", float("inf")),
        (RPG, "z_old", 0.0),
        (GRPO, "dual_clip", 1.0),
        (GRPO, "drift_coefficient", -1.0),
        (CISPO, "clip_low", -0.1),
        (ReinforcePlusPlus, "beta", -0.1),
    ],
)
def test_a_number_outside_its_range_is_refused_in_one_line(kind, name, value):
    with pytest.raises(ValueError, match=rf"^{name} is {value}: give a number [^\n]*$"):
        kind(**{name: value})


def test_a_token_of_cispo_always_learns_with_a_weight_up_to_its_bounds():
    old, log_ratio = tensor([[-3.0] * 4]), tensor([[0.1, 0.9, 2.0, 9.0]]).log()
    log_prob = (old + log_ratio).requires_grad_()
    credit, mask = tensor([[2.0, -2.0, 2.0, -2.0]]), torch.ones(1, 4).bool()
    loss = CISPO(clip_low=0.5).loss(log_prob, Batch(mask, credit, old, old))
    (slope,) = torch.autograd.grad(loss.sum(), log_prob)
    torch.testing.assert_close(slope, tensor([[-1.0, 1.8, -4.0, 10.0]]))
    loss = CISPO().loss(log_prob, Batch(mask, credit, old, old))
    torch.testing.assert_close(loss[0, 0].item(), -0.2 * (math.log(0.1) - 3))


def test_reinforce_plus_plus_charges_each_token_for_what_follows():
    old = tensor([[-1.0, -1.0, -1.0], [-1.0, -1.0, 5.0]])
    ref = old - tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 7.0]])
    mask = torch.tensor([[True, True, True], [True, True, False]])
    batch = Batch(mask, tensor([[4.0] * 3, [2.0] * 3]), old, old, ref)
    credit = ReinforcePlusPlus(beta=0.5).token_advantage(batch, lambda part: part)
    expected = tensor([4 - 3.0, 4 - 2.5, 4 - 1.5, 2 - 0.5, 2 - 0.5])
    expected = (expected - expected.mean()) / expected.std(correction=0)
    torch.testing.assert_close(credit[mask], expected)


def test_an_update_charges_and_whitens_as_the_algorithm_on_tensors_does(folder):
    engine = tiny_engines.build("torch", folder)
    responses = tiny_engines.responses_of(engine, (0, 1), (5, 1, 3, 2))
    reward = tensor([[1.0, 0.0], [0.5, 2.0]]).float()

    def reference(part):
        return engine.forward(part)[0].detach() - part.tokens % 3 / 3 * part.mask

    with torch.no_grad():
        old, ref = engine.forward(responses)[0], reference(responses)
    # On policy the mean over tokens would be that of whitened credit, zero.
    learner = ReinforcePlusPlus(beta=0.5, reduction=sequence_mean)
    expected = learner.compute_loss(old, old, reward.flatten(), responses.mask, 2, ref)
    passes = Passes(minibatch_size=4, microbatch_size=3)
    metrics = update(learner, engine, responses, reward, passes, reference)
    assert abs(expected.item()) > 0.01
    assert metrics["train/loss"] == pytest.approx(expected.item(), abs=1e-5)


def of_shape(change, name="loss"):
    """A learner whose loss, or advantage, is that of CPGD, changed."""
    kind = type(
        "Mine", (CPGD,), {name: lambda self, *given: change(getattr(CPGD, name)(self, *given))}
    )
    return kind()


@pytest.mark.parametrize(
    ("change", "shape"),
    [
        (lambda loss: loss.mean(), r"\[\]"),
        (lambda loss: loss.mean(-1), r"\[6\]"),
        (lambda loss: loss[:1], r"\[1, 5\]"),
        (lambda loss: loss.mean().item(), "float"),
    ],
)
def test_a_loss_that_is_none_of_each_token_is_refused_by_its_shape(change, shape):
    words = (
        rf"^Mine: loss has shape {shape}; it needs a value for each token, \[b t\], here \[6, 5\]$"
    )
    with pytest.raises(UsageError, match=words):
        of_shape(change).compute_loss(
            *torch.zeros(2, 6, 5), torch.arange(6.0), torch.ones(6, 5).bool(), 2
        )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda advantage: advantage / 0, r"is not finite for rewards \[0\.0, 1\.0\]"),
        (lambda advantage: advantage.mean(), r"has shape \[\]; .* \[p g\], here \[3, 2\]$"),
    ],
)
def test_an_advantage_that_is_none_of_each_response_is_refused(change, words):
    learner = of_shape(change, "advantage_from_parts")
    rewards = torch.tensor([0.0, 1, 1, 1, 2, 2])
    with pytest.raises(UsageError, match=rf"^Mine: advantage {words}"):
        learner.compute_loss(*torch.zeros(2, 6, 5), rewards, torch.ones(6, 5).bool(), 2)
