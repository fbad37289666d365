"""Training on two ranks against one rank: run by torchrun from test_ranks.py, writes its findings.

Usage: [torchrun --nproc-per-node 2] ranks.py MODEL_FOLDER FOLDER few|many|uneven
"""

import copy
import json
import math
import os
import signal
import socket
import sys
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import torch
from torch import distributed

from agents.advantages import clip_filter
from agents.algorithms.opsd import OPSD
from agents.algorithms.sdpg import SDPG
from agents.cpgd import CPGD
from agents.engines import lora, sampling
from agents.engines.frozen_models import ReferencePolicy
from agents.engines.model import Policy
from agents.reductions import prompt_mean, sequence_mean, token_mean
from agents.references import every
from agents.reinforce_plus_plus import ReinforcePlusPlus
from agents.rollout import Responses
from agents.training.dynamic_sampling import select_groups
from agents.training.update import Passes, update
from helpers import tiny_engines
from helpers.kept_state import kept_bytes
from helpers.tiny_engines import LENGTHS, STAGES, difference, vector

GROUP_SIZE = 2
UNEQUAL = (1, 2, 60, 57, 2, 1, 3, 44)
"""Tokens of responses; nearly all of them are on rank 1."""
REWARD = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.5, 0.0], [0.0, 2.0]])
HELD = CPGD(beta=0.5, reference=every(1))
LEARNERS = {
    reduction.__name__: CPGD(reduction=reduction, advantage_function=clip_filter(cap=3.0))
    for reduction in (prompt_mean, sequence_mean, token_mean)
}
HURT = (("deepspeed-0", True), ("deepspeed-2", False), ("deepspeed-2", True), ("deepspeed-3", True))
"""Stages, and whether in bf16, that meet a gradient that is no number."""
PROMPT_MEAN = LEARNERS["prompt_mean"]
IMAGES = (0, 1, 3, 2)
MIXED = (0, 2, 0, 1)
"""Images of four prompts; rank 0 of these sees none at all."""
LEARNERS["whitened over all ranks"] = ReinforcePlusPlus(beta=None, reduction=sequence_mean)


TAUGHT = SDPG(beta=0.5, gate=False, alpha=0.0)
"""A learner with a divergence from the policy after another prompt."""


def whole_rollout(chat, num_images, lengths=LENGTHS, in_context=False) -> Responses:
    """The responses to all prompts, as one rank would hold them."""
    prompts = chat.encode(tiny_engines.observations(num_images, GROUP_SIZE))
    responses = tiny_engines.respond(prompts, lengths, chat)
    others = tiny_engines.observations(tuple(reversed(num_images)), GROUP_SIZE)
    others["system"] = ("Say what you see.",) * len(prompts)
    return replace(responses, contexts=chat.encode(others)) if in_context else responses


def share(responses: Responses, rank: int, num_ranks: int) -> Responses:
    """Prompt i goes to rank i % num_ranks."""
    rows = torch.arange(len(responses)).reshape(-1, GROUP_SIZE)[rank::num_ranks].flatten()
    return Responses(
        tuple(responses.prompts[i] for i in rows.tolist()),
        responses.tokens[rows],
        responses.mask[rows],
        tuple(responses.texts[i] for i in rows.tolist()),
        responses.sampler_log_prob[rows],
        responses.finished[rows],
        contexts=tuple(responses.contexts[i] for i in rows.tolist() if responses.contexts),
    )


def updated(engine, learner, num_images, minibatch_size, reference=None) -> tuple:
    """Metrics of an update of all ranks, and how it moved the weights."""
    before = vector(engine)
    in_context = learner.second_context is not None
    whole = whole_rollout(engine.chat, num_images, in_context=in_context)
    mine = share(whole, engine.rank, engine.num_ranks)
    reward = REWARD[engine.rank :: engine.num_ranks]
    passes = Passes(minibatch_size=minibatch_size, microbatch_size=3)
    metrics = update(learner, engine, mine, reward, passes, reference)
    return metrics, vector(engine) - before


def hold(folder, stage) -> dict:
    """Metrics of one rank and of two whose reference moves within the rollout, and what it is."""
    results = {}
    for name, kind in (("one", "torch"), ("two", stage)):
        engine = tiny_engines.descent(kind, folder, 0.1)
        policy = Policy(copy.deepcopy(tiny_engines.pristine(folder)[0]))
        says = partial(log_prob_under, policy, engine.sampling)
        reference = ReferencePolicy(policy.model, says, HELD.reference)
        metrics, _ = updated(engine, HELD, (0, 1, 3, 2), 4, reference)
        newest = dict(engine.weights())
        own = policy.model.state_dict()
        equal = all(torch.equal(own[weight], newest[weight]) for weight in own)
        results[name] = metrics | {"steps": len(reference.token_kl), "equal": equal}
    return results


def log_prob_under(policy, sampling, responses):
    return policy(responses, sampling)[0]


def lent(engine) -> bool:
    """True if rank 1, whose groups are all wrong, gets the second of rank 0, images included."""
    whole = whole_rollout(engine.chat, (0, 1, 3, 2))
    mine = share(whole, engine.rank, engine.num_ranks)
    accuracy = torch.tensor([[1.0, 0.0]] * 2) * (engine.rank == 0)
    rollouts = [(mine, accuracy + engine.rank, accuracy)]
    responses, reward, _ = select_groups(rollouts, 2, engine, engine.chat.patches)
    place = 4 * engine.rank  # in `whole`, whose third group is the second of rank 0
    expected = whole.rows(place, place + 2)
    pixels, others = (x.prompts[0].pixel_values for x in (responses, expected))
    same_image = torch.equal(pixels, others) if others is not None else pixels is None
    same_tokens = torch.equal(responses.tokens, expected.tokens)
    return same_image and same_tokens and reward.tolist() == [[1.0, 0.0]]


def compare(folder, stage, learner, num_images, minibatch_size=8, rate=tiny_engines.RATE) -> dict:
    """Metrics with one rank and two, and the relative difference of the two steps."""
    engines = (tiny_engines.descent(kind, folder, rate) for kind in ("torch", stage))
    (one, expected), (two, step) = (
        updated(engine, learner, num_images, minibatch_size) for engine in engines
    )
    return {"one": one, "two": two, "difference": difference(step, expected)}


def resume(folder, stage, checkpoint) -> bool:
    """True if training after loading equals uninterrupted training, on this rank."""
    original, loaded = (tiny_engines.build(stage, folder) for _ in range(2))
    learner = LEARNERS["prompt_mean"]
    updated(original, learner, (0, 1, 3, 2), 4)
    original.save(checkpoint)
    loaded.load(checkpoint)
    ends = [updated(engine, learner, (0, 1, 3, 2), 4) for engine in (original, loaded)]
    return ends[0][0] == ends[1][0] and torch.equal(vector(original), vector(loaded))


def attach(policy) -> None:
    lora.attach(policy.model, {"r": 4, "target_modules": "all-linear"})


def adapt(folder, stage) -> float:
    """Relative difference of how adapters move the model, with one rank and two."""
    steps = []
    for kind in ("torch", stage):
        engine = tiny_engines.build(kind, folder, prepare=attach)
        steps.append(
            sum(updated(engine, LEARNERS["prompt_mean"], (0, 1, 3, 2), 4)[1] for _ in "ab")
        )
    return difference(steps[1], steps[0])


def skip(folder, stage, half) -> dict:
    """A step with a non-finite gradient on one rank, and the steps after it."""
    config = {"bf16": {"enabled": half}}
    hit, spared = (tiny_engines.build(stage, folder, config=config) for _ in range(2))
    mine = share(whole_rollout(hit.chat, (0, 1, 3, 2)), hit.rank, hit.num_ranks)

    def step(engine, factor=1.0):
        engine.backward(engine.forward(mine)[0].sum() / 10 * factor)
        return engine.step()["train/grad_norm"]

    for engine in (hit, spared):
        step(engine)
    before = vector(hit)
    norm = step(hit, torch.nan if hit.rank == hit.num_ranks - 1 else 1.0)
    return {
        "finite": math.isfinite(norm),
        "still": torch.equal(vector(hit), before),
        "unharmed": step(hit) == step(spared) and torch.equal(vector(hit), vector(spared)),
    }


def train_and_sample(folder, stage) -> dict:
    """One rank and two after updates, what they sample with these weights, and an update later.

    Ranks sample different numbers of tokens, in different numbers of batches; then rank 0 alone.
    """
    sampled, ends = [], []
    for kind in ("torch", stage):
        engine = tiny_engines.build(kind, folder)
        for _ in range(3):
            updated(engine, LEARNERS["prompt_mean"], (0, 1, 3, 2), 8)
        sampled.append(sample(engine, int(os.environ["RANK"])))
        updated(engine, LEARNERS["prompt_mean"], (0, 1, 3, 2), 8)
        ends.append(vector(engine))
    pairs = list(zip(*sampled, strict=True))
    return {
        "same tokens": all(torch.equal(a.tokens, b.tokens) for a, b in pairs),
        "lengths": [int(b.lengths.sum()) for _, b in pairs],
        "log_prob": max(
            (a.sampler_log_prob - b.sampler_log_prob).abs().max().item() for a, b in pairs
        ),
        "difference": difference(ends[1], ends[0]),
    }


def sample(engine, rank) -> list[Responses]:
    """As rank `rank` of two: with the others, and where it is rank 0 alone too."""
    prompts = engine.chat.encode(tiny_engines.observations((0, 1, 3, 2), GROUP_SIZE))
    sampler = tiny_engines.sampler(engine, max_response_length=12 - 7 * rank)
    sampler.batch_size = 8 - 5 * rank
    results = [sampler.generate(prompts, seed=(rank, 1))]
    with engine.unsharded():
        if rank == 0:
            results += [sampler.generate(prompts[:2], seed=(2, k)) for k in range(2)]
    results.append(sampler.generate(prompts, seed=(rank, 3)))
    return results


def gathers_of(engine) -> list[bool]:
    """For each all-gather of weights from now on, whether that of the head is among them."""
    gathers, head = [], engine.policy.model.lm_head.weight

    def count(gather, weights, **options):
        weights = list(weights)
        gathers.append(any(weight is head for weight in weights))
        return gather(weights, **options)

    for weight in engine.policy.parameters():
        if hasattr(weight, "ds_id"):
            weight.all_gather_coalesced = partial(count, weight.all_gather_coalesced)
    return gathers


def cut_by_tokens(folder, stage) -> dict:
    """Updates in microbatches of at most so many tokens, against one of one rank in a piece.

    Their logits come in chunks of 16 tokens, of which the ranks have different numbers.
    """
    results = {}
    vocabulary = len(tiny_engines.pristine(folder)[1].tokenizer)
    for budget in (None, 1, 150, 10_000):
        engine = tiny_engines.descent("torch" if budget is None else stage, folder, 0.1)
        sampling.LOGITS_PER_CHUNK["cpu"] = vocabulary * (16 if budget else 10**6)
        before, calls, gathers = vector(engine), [], gathers_of(engine)
        responses = whole_rollout(engine.chat, (0, 1, 3, 2), UNEQUAL)
        mine = share(responses, engine.rank, engine.num_ranks)
        reward = REWARD[engine.rank :: engine.num_ranks]
        passes = Passes(minibatch_size=4, microbatch_size=8, tokens_per_microbatch=budget, epochs=2)
        engine.policy.register_forward_hook(lambda *_, calls=calls: calls.append(1))
        metrics = update(LEARNERS["prompt_mean"], engine, mine, reward, passes)
        step = vector(engine) - before
        if budget is None:
            expected, one = step, metrics
            continue
        results[str(budget)] = {
            "one": one,
            "two": metrics,
            "difference": difference(step, expected),
            "calls": engine.all_gather(torch.tensor([len(calls)])).tolist(),
            "gathers": sum(gathers),
        }
    return results


def rest(folder, stage) -> dict:
    """Updates in which no rank has a signal, then one in which rank 1 alone has."""
    engine = tiny_engines.build(stage, folder)
    mine = share(whole_rollout(engine.chat, (0, 1, 3, 2)), engine.rank, engine.num_ranks)
    passes = Passes(minibatch_size=4, microbatch_size=2)
    weights, shares = [vector(engine)], []
    for reward in (torch.ones(2, 2), REWARD[:1].expand(2, 2) * engine.rank):
        shares.append(update(CPGD(), engine, mine, reward, passes)["train/no_signal"])
        weights.append(vector(engine))
    moved = [not torch.equal(*pair) for pair in pairwise(weights)]
    return {"no_signal": shares, "moved": moved, "norm": weights[-1].norm().item()}


def spoiled(folder, stage) -> dict:
    """An update with rewards that are NaN on rank 1, and the updates after it."""
    original, other = (tiny_engines.build(stage, folder) for _ in range(2))
    learner = CPGD()
    for engine in (original, other):
        updated(engine, learner, (0, 1, 3, 2), 8)
    before = vector(other)
    mine = share(whole_rollout(other.chat, (0, 1, 3, 2)), other.rank, other.num_ranks)
    reward = REWARD[other.rank :: other.num_ranks] * (torch.nan if other.rank else 1)
    passes = Passes(minibatch_size=4, microbatch_size=1)
    skipped = update(learner, other, mine, reward, passes)["train/skipped"]
    same = torch.equal(vector(other), before)
    later = [updated(engine, learner, (0, 1, 3, 2), 8)[0] for engine in (original, other)]
    return {
        "skipped": skipped,
        "same": same,
        "as if never": later[0] == later[1] and torch.equal(vector(original), vector(other)),
    }


def uneven(folder: Path, _: Path) -> dict:
    """Ranks with unequal numbers of tokens, and one whose loss is NaN."""
    results = {}
    for stage in ("deepspeed-1", "deepspeed-3"):
        results[f"{stage} cut by tokens"] = cut_by_tokens(folder, stage)
        results[f"{stage} spoiled"] = spoiled(folder, stage)
    return results


def whole_and_hurt(folder: Path, num_ranks: int) -> dict:
    """Sampling, adapters, and gradients that are no numbers."""
    results = {
        f"{stage} in {'bf16' if half else 'fp32'} hurt": skip(folder, stage, half)
        for stage, half in HURT
    }
    for stage in ("deepspeed-2", "deepspeed-3"):
        every_rank = [None] * num_ranks
        distributed.all_gather_object(every_rank, train_and_sample(folder, stage))
        results[f"{stage} sampled"] = every_rank
        if find_spec("peft"):
            results[f"{stage} with adapters"] = adapt(folder, stage)
    return results


def backend_timeout() -> float:
    """Seconds that a rank waits for another."""
    group = distributed.distributed_c10d._get_default_group()
    return group._get_backend(torch.device("cpu")).options._timeout.total_seconds()


def few(folder: Path, results: Path) -> dict:
    """One case of each kind that needs few engines; the same on every rank, or they have parted."""
    engine = tiny_engines.build("deepspeed-0", folder)
    found = {
        "deepspeed-3 with mixed ranks": compare(folder, "deepspeed-3", PROMPT_MEAN, MIXED),
        "deepspeed-3 taught": compare(folder, "deepspeed-3", TAUGHT, MIXED),
        "deepspeed-2 at rest": rest(folder, "deepspeed-2"),
        "lent": engine.all_gather(torch.tensor([lent(engine)])).tolist(),
        "patience": backend_timeout(),
        "deepspeed-1 resumed": resumed(engine, folder, "deepspeed-1", results),
    }
    engine.engine.device = torch.device("meta")  # which values on the CPU do not visit
    found["gathered"] = engine.all_gather(10 * engine.rank + torch.arange(2)[:, None]).tolist()
    return found


def resumed(engine, folder: Path, stage: str, results: Path) -> list[bool]:
    """Of each rank, whether training after loading equals uninterrupted training."""
    return engine.all_gather(torch.tensor([resume(folder, stage, results / stage)])).tolist()


def many(folder: Path, results: Path) -> dict:
    """The other cases; the same on every rank, or the ranks have parted."""
    found = {
        f"{stage} with mixed ranks": compare(folder, stage, PROMPT_MEAN, MIXED)
        for stage in STAGES
        if stage != "deepspeed-3"
    }
    for name, learner in LEARNERS.items():
        found[f"{name}"] = compare(folder, "deepspeed-1", learner, IMAGES)
    found["two minibatches"] = compare(
        folder, "deepspeed-0", PROMPT_MEAN, IMAGES, minibatch_size=4, rate=0.1
    )
    found["deepspeed-1 taught"] = compare(folder, "deepspeed-1", TAUGHT, MIXED)
    alone = OPSD(self_teacher="current")
    found["deepspeed-3 taught alone"] = compare(folder, "deepspeed-3", alone, MIXED)
    for stage in ("deepspeed-1", "deepspeed-3"):
        found[f"{stage} held to a reference"] = hold(folder, stage)
    for stage in ("deepspeed-0", "deepspeed-3"):
        found[f"{stage} at rest"] = rest(folder, stage)
    engine = tiny_engines.build("deepspeed-0", folder)
    for stage in STAGES:
        counts = kept_bytes(stage, folder, {"bf16": {"enabled": True}})
        found[f"{stage} kept"] = engine.all_gather(torch.tensor([counts])).tolist()
    found |= whole_and_hurt(folder, engine.num_ranks)
    found["deepspeed-3 resumed"] = resumed(engine, folder, "deepspeed-3", results)
    return found


def forked() -> list[int]:
    """Forks two ranks of this process, which imports once for both, and waits for them.

    Returns:
        Statuses of the ranks; in a rank, none.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    os.environ |= {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    children = []
    for rank in range(2):
        os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        if not (child := os.fork()):
            return []
        children.append(child)
    child, status = os.wait()
    children.remove(child)
    if status:  # or the other would wait for it
        os.kill(children[0], signal.SIGKILL)
    return [status, os.wait()[1]]


if __name__ == "__main__":
    model, results, part = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    if "RANK" not in os.environ and (statuses := forked()):
        sys.exit(any(statuses))
    found = {"few": few, "many": many, "uneven": uneven}[part](model, results)
    (results / f"{part}-{os.environ['RANK']}.json").write_text(json.dumps(found))
    distributed.destroy_process_group()
