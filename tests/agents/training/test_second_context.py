"""Runs and updates with a teacher that reads the responses after another prompt."""

import copy
import shutil
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from helpers import letters, tiny_engines, tiny_runs  # noqa: F401 - letters registers itself
from helpers.tiny_runs import SMALL, flags, numbers, same

from agents import run
from agents.algorithms.opd import OPD
from agents.algorithms.opsd import OPSD
from agents.algorithms.papo import PAPO
from agents.algorithms.sdpg import SDPG
from agents.algorithms.sdpo import SDPO
from agents.cli.flags import parse_run
from agents.distillation import kl_to_teacher
from agents.engines import lora
from agents.engines.bandit import BanditEngine, respond
from agents.engines.frozen_models import Distillation, ReferencePolicy, Teacher
from agents.engines.model import Policy
from agents.errors import PromptLengthError, UsageError
from agents.grpo import GRPO
from agents.references import fixed
from agents.rollout import Prompt
from agents.storage.json_files import read_json, read_json_lines
from agents.training.dynamic_sampling import _pack, _unpack, concatenate, split_groups
from agents.training.microbatches import Load
from agents.training.rollouts import Rollout, with_contexts
from agents.training.setup import check_teacher
from agents.training.update import Passes, update
from agents.views import reference_answer, right_sibling, same_prompt
from benchmarks.tiny import model as tiny_model

REWARD = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.5, 0.0], [0.0, 2.0]])


def rollout_of(engine, accuracy=(1, 0, 0, 0)):
    """Two problems with two responses each."""
    observations = tiny_engines.observations((1, 0), group_size=2)
    prompts = engine.chat.encode(observations)
    responses = tiny_engines.respond(prompts, (3, 4, 2, 5), engine.chat)
    responses = replace(responses, texts=("one", "two", "three", "four"))
    infos = {
        "accuracy": np.array(accuracy),
        "reference": np.array(["7", "7", "8", "8"], object),
        "solution": np.array([None] * 4, object),
        "grade": {"ok": np.ones(4, bool)},
    }
    rewards, zeros = np.array(accuracy, float), np.zeros(4)
    return Rollout(observations, responses, rewards, zeros, infos, observations, 0)


def test_a_view_gives_the_responses_of_a_group_their_contexts(engine):
    sampler = tiny_engines.sampler(engine)
    responses = with_contexts(rollout_of(engine), reference_answer, 2, sampler, (0, 1)).responses
    assert responses.distilled.all()
    texts = [engine.chat.tokenizer.decode(p.token_ids) for p in responses.contexts]
    assert responses.contexts[0] is responses.contexts[1]
    assert responses.contexts[1] is not responses.contexts[2]
    assert all("answer is 7" in text for text in texts[:2])
    assert all("answer is 8" in text for text in texts[2:])
    assert responses.contexts[0].pixel_values is not None
    assert responses.in_context().prompts == responses.contexts


def test_a_response_without_a_context_has_its_own_prompt(engine):
    sampler = tiny_engines.sampler(engine)
    responses = with_contexts(rollout_of(engine), right_sibling, 2, sampler, (0,)).responses
    assert responses.distilled.tolist() == [False, True, False, False]
    pairs = zip(responses.contexts, responses.prompts, strict=True)
    assert [context is prompt for context, prompt in pairs] == [True, False, True, True]
    nobody = with_contexts(rollout_of(engine, (0,) * 4), right_sibling, 2, sampler, (0,))
    assert not nobody.responses.distilled.any()


def test_a_context_that_is_too_long_is_none(engine):
    sampler = tiny_engines.sampler(engine)
    encode_all = sampler.encode

    def encode(observations):
        rows = [i for i, question in enumerate(observations["question"]) if "is 7" in question]
        if rows:
            raise PromptLengthError("too long", dict.fromkeys(rows, "too long"))
        return encode_all(observations)

    sampler.encode = encode
    responses = with_contexts(rollout_of(engine), reference_answer, 2, sampler, (0,)).responses
    assert responses.distilled.tolist() == [False, False, True, True]


def test_a_view_with_another_number_of_observations_is_refused_in_one_line(engine):
    sampler = tiny_engines.sampler(engine)
    with pytest.raises(UsageError, match=r"^the view gives 1 observations for a group of 2 resp"):
        with_contexts(rollout_of(engine), lambda group: [None], 2, sampler, (0,))


def in_context(engine, **fields):
    prompts = engine.chat.encode(tiny_engines.observations((0, 1, 3, 2), group_size=2))
    others = tiny_engines.observations((2, 1, 0, 1), group_size=2)
    others["question"] = tuple(q + " The answer is 7." for q in others["question"])
    responses = tiny_engines.respond(prompts, tiny_engines.LENGTHS, engine.chat)
    contexts = engine.chat.encode(others)
    distilled = torch.tensor([True] * 5 + [False] + [True] * 2)
    return replace(responses, contexts=contexts, distilled=distilled, **fields)


def test_groups_travel_with_their_contexts_and_stay_shared(engine):
    responses = in_context(engine)
    groups = split_groups(0, responses, REWARD)
    again = [_unpack(_pack(group), engine.chat.patches).responses for group in groups]
    joined = concatenate(again)
    assert torch.equal(joined.distilled, responses.distilled)
    assert Load.of(joined) == Load.of(responses)
    for one, two in zip(joined.contexts, responses.contexts, strict=True):
        assert one.token_ids == two.token_ids
        assert (one.pixel_values is None) == (two.pixel_values is None)
        if one.pixel_values is not None:
            torch.testing.assert_close(one.pixel_values, two.pixel_values)


def test_microbatches_by_tokens_count_the_longer_of_prompt_and_context():
    short, long = Prompt((1,) * 4), Prompt((1,) * 9)
    responses = respond([0] * 3, torch.zeros(3, 2, dtype=torch.long), [2, 2, 1])
    responses = replace(responses, prompts=(long,) * 3, contexts=(short, short, long))
    assert Load.of(responses) == Load([9] * 3, [False, True, False], [2, 2, 1])
    swapped = replace(responses, prompts=responses.contexts, contexts=responses.prompts)
    assert Load.of(swapped).prompts == [9] * 3


@dataclass(frozen=True, kw_only=True)
class Held(SDPG):
    """With a fixed reference and a teacher of the current weights."""

    beta: float = 0.3
    alpha: float = 0.2


@pytest.mark.parametrize(
    "learner",
    [Held(gate=False), OPSD(self_teacher="current"), PAPO(), OPD(estimator="k2"), SDPO()],
    ids=lambda x: type(x).__name__,
)
def test_microbatches_of_any_size_take_the_same_step(learner, folder):
    ends = []
    for size, budget in ((8, None), (3, None), (8, 90)):
        engine = tiny_engines.descent("torch", folder, 0.1)
        policy = Policy(copy.deepcopy(engine.policy.model))
        forward = engine.sampling

        def log_prob(responses, policy=policy, sampling=forward):
            return policy(responses, sampling)[0]

        reference = ReferencePolicy(policy.model, log_prob, fixed, is_policy=True)
        passes = Passes(minibatch_size=4, microbatch_size=size, tokens_per_microbatch=budget)
        metrics = update(learner, engine, in_context(engine), REWARD, passes, reference)
        ends.append((metrics, tiny_engines.vector(engine)))
    for metrics, weights in ends[1:]:
        assert metrics == pytest.approx(ends[0][0], rel=1e-3, abs=1e-4)
        torch.testing.assert_close(weights, ends[0][1], rtol=1e-4, atol=1e-5)
    assert ends[0][0]["response/context"] == 7 / 8


@dataclass(frozen=True, kw_only=True)
class Recorded(Held):
    """Keeps what the loss reads."""

    def loss(self, log_prob, batch):
        SEEN.append((batch.ref_log_prob.clone(), batch.divergence.detach().clone()))
        return super().loss(log_prob, batch)


SEEN = []


def test_a_self_teacher_is_not_the_reference_that_equals_the_policy(engine):
    SEEN.clear()
    policy = Policy(copy.deepcopy(engine.policy.model))
    log_prob = lambda responses: policy(responses, engine.sampling)[0]  # noqa: E731
    reference = ReferencePolicy(policy.model, log_prob, fixed, is_policy=True)
    responses = in_context(engine)
    with torch.no_grad():
        own = engine.forward(responses)[0]
        divergence = engine.forward(responses, distillation=Distillation(Teacher(), kl_to_teacher))
    passes = Passes(minibatch_size=8, microbatch_size=8)
    update(Recorded(), engine, responses, REWARD, passes, reference)
    ((ref, seen),) = SEEN
    torch.testing.assert_close(ref.where(responses.mask, 0.0), own)
    expected = divergence[2].where(responses.distilled[:, None], 0.0)
    torch.testing.assert_close(seen, expected)
    assert seen.max() > 1e-3
    assert seen[5].abs().max() == 0


def test_sampled_log_probabilities_are_those_of_the_old_policy_after_the_other_prompt(engine):
    responses, given = in_context(engine), []

    @dataclass(frozen=True, kw_only=True)
    class Read(PAPO):
        def loss(self, log_prob, batch):
            given.append(batch.extras["corrupted_log_prob"].clone())
            return super().loss(log_prob, batch)

    with torch.no_grad():
        expected = engine.forward(responses.in_context())[0]
    passes = Passes(minibatch_size=4, microbatch_size=8, epochs=2)
    update(Read(beta=None), engine, responses, REWARD, passes)
    assert len(given) == 4
    both = torch.zeros(responses.mask.shape)
    for start, values in zip((0, 4, 0, 4), given, strict=True):
        both[start : start + 4, : values.shape[1]] = values
        rows = slice(start, start + 4), slice(0, values.shape[1])
        torch.testing.assert_close(values.where(responses.mask[rows], 0.0), expected[rows])


def test_responses_without_a_context_have_no_loss_where_one_is_required():
    logits = torch.zeros(2, 2, 3, dtype=torch.float64)
    logits[1] = torch.tensor([1.0, 0, -1])
    engine = BanditEngine(logits)
    responses = respond([0, 0], torch.tensor([[0, 1], [2, 0]]), [2, 2])
    contexts = respond([1, 1], responses.tokens, [2, 2]).prompts
    nobody = replace(responses, contexts=contexts, distilled=torch.zeros(2, dtype=torch.bool))
    passes = Passes(minibatch_size=2, microbatch_size=2)
    metrics = update(SDPO(), engine, nobody, torch.tensor([[0.0, 0.0]]), passes)
    assert metrics["train/no_signal"] == 1
    assert torch.equal(engine.logits, logits)
    update(
        SDPO(),
        engine,
        replace(nobody, distilled=torch.ones(2).bool()),
        torch.tensor([[0.0, 0.0]]),
        passes,
    )
    assert not torch.equal(engine.logits, logits)


def test_an_update_divides_by_the_tokens_of_responses_with_a_context_as_compute_loss_does():
    logits = torch.tensor([[[0.5, 0, 0]] * 2, [[1.0, 0, -1]] * 2], dtype=torch.float64)
    responses = respond([0, 0], torch.tensor([[0, 1], [2, 0]]), [2, 1])
    contexts = respond([1, 1], responses.tokens, [2, 1]).prompts
    distilled = torch.tensor([False, True])
    responses = replace(responses, contexts=contexts, distilled=distilled)
    learner = SDPO(sampler_correction=None)  # the table has no sampler
    passes, reward = Passes(minibatch_size=2, microbatch_size=1), torch.zeros(1, 2)
    metrics = update(learner, BanditEngine(logits), responses, reward, passes)
    log_prob = BanditEngine(logits).forward(responses)[0].detach()
    loss = learner.compute_loss(
        *(log_prob, log_prob, reward.flatten(), responses.mask, 2),
        logits=logits[[0, 0]],
        teacher_logits=logits[[1, 1]],
        distilled=distilled,
    )
    assert metrics["train/loss"] == pytest.approx(loss.item())
    assert metrics["policy/divergence"] == pytest.approx(loss.item())
    assert metrics["response/context"] == 0.5


def test_without_adapters_the_initial_policy_teaches(folder):
    pytest.importorskip("peft", reason="needs peft")
    adapt = {"r": 4, "target_modules": "all-linear"}
    engine = tiny_engines.build("torch", folder, prepare=lambda p: lora.attach(p.model, adapt))
    plain = tiny_engines.build("torch", folder)
    responses = replace(in_context(engine), contexts=())
    teacher = Teacher(context=lambda: lora.adapters_disabled(engine.policy.model))
    for _ in range(2):  # the first step moves the second factor of an adapter, which is 0, alone
        engine.backward(engine.forward(responses)[0].sum())
        engine.step()
    *_, value = engine.forward(responses, distillation=Distillation(teacher, kl_to_teacher))
    other = Distillation(Teacher(plain.policy, engine.sampling), kl_to_teacher)
    *_, expected = engine.forward(responses, distillation=other)
    assert expected.max() > 1e-4
    torch.testing.assert_close(value, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("learner", "teacher", "message"),
    [
        (OPD(), None, "OPD learns from another model: name it by --teacher"),
        (OPD(self_teacher="current"), None, ""),
        (SDPG(), "tiny", ""),
        (GRPO(), "tiny", "GRPO does not distil"),
    ],
)
def test_a_teacher_is_named_where_one_is_asked(learner, teacher, message):
    settings = SimpleNamespace(teacher=teacher)
    if not message:
        return check_teacher(settings, learner)
    with pytest.raises(UsageError, match=message):
        check_teacher(settings, learner)


def trained(learner, model, folder, **settings):
    run.main(learner, flags(**SMALL | {"model": model, "output_dir": folder} | settings))
    return read_json_lines(folder / "metrics.jsonl")


@pytest.mark.parametrize("learner", [SDPG, PAPO, SDPO, OPSD])
def test_a_resumed_run_has_the_numbers_of_one_that_was_never_stopped(
    learner, tiny_folder, tmp_path
):
    settings = {"num_steps": 2, "save_every": 1, "keep_checkpoints": 3, "num_prompts": 2}
    if learner is OPSD:
        settings["view"] = "reference_answer"
    rows = trained(learner, tiny_folder, tmp_path / "whole", **settings)
    assert all(row["response/context"] >= 0 for row in rows)
    shutil.copytree(tmp_path / "whole", tmp_path / "again")
    shutil.rmtree(tmp_path / "again/checkpoints/step-2")
    trained(learner, tiny_folder, tmp_path / "again", **settings, resume=True)
    assert numbers(tmp_path / "again") == numbers(tmp_path / "whole")
    assert same(tmp_path / "again", tmp_path / "whole")
    recorded = read_json(tmp_path / "whole/run.json")
    assert "view" in str(recorded)


def test_a_teacher_of_another_tokenizer_is_refused_in_one_line(tiny_folder, tmp_path):
    tiny_model.save_untrained(tmp_path / "other", ["Quite different words"], seed=0)
    with pytest.raises(SystemExit, match="has another tokenizer than --model"):
        trained(OPD, tiny_folder, tmp_path / "run", teacher=tmp_path / "other")


def test_opd_moves_towards_its_teacher(tiny_folder, tmp_path):
    tiny_runs.train(tiny_folder, tmp_path / "teacher", num_steps=2, learning_rate=1e-2)
    teacher = tmp_path / "teacher/checkpoints/step-2"
    run, _ = parse_run(OPD, ["--teacher", str(tmp_path / "teacher")])
    assert run.teacher == str(teacher)
    same_size = {"teacher": teacher, "num_steps": 6, "learning_rate": 3e-3, "num_prompts": 2}
    rows = trained(OPD, tiny_folder, tmp_path / "run", divergence="kl_to_teacher", **same_size)
    assert rows[-1]["policy/divergence"] < 0.7 * rows[0]["policy/divergence"]
    rows = trained(OPD, tiny_folder, tmp_path / "sampled", **same_size | {"num_steps": 1})
    assert "policy/divergence" not in rows[0]
    assert rows[0]["train/grad_norm"] > 0


def test_the_prompt_itself_as_context_is_no_divergence(engine):
    sampler = tiny_engines.sampler(engine)
    responses = with_contexts(rollout_of(engine), same_prompt, 2, sampler, (0,)).responses
    *_, value = engine.forward(responses, distillation=Distillation(Teacher(), kl_to_teacher))
    assert value.abs().max() < 1e-6
