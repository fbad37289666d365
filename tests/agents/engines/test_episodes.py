"""Episodes of several turns: token in, token out, and the trainer on their rows."""

import copy
from dataclasses import replace
from functools import cache
from itertools import chain
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from helpers import tiny_engines, vision_models
from helpers.episodes import Asked, Written, brief, play
from helpers.text_models import CPU
from transformers import AutoModelForImageTextToText

from agents.engines.bandit import BanditEngine, ThreadRanks
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.sampling import Sampling
from agents.engines.transformers import TransformersSampler
from agents.engines.vllm.requests import _sampling_requests
from agents.episodes import LEAST
from agents.rollout import RESTING
from agents.training.dynamic_sampling import _exchange, concatenate, split_groups

TURNS = (3, 1, 2, 4, 2, 3)
IMAGES = (1, 0, 2, 0)


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Loads one of a kind: model, chat, and the model with its own attention; not to be changed."""

    @cache
    def loaded(kind):
        folder = vision_models.write(tmp_path_factory.mktemp("vision"), kind)
        plain = AutoModelForImageTextToText.from_pretrained(folder, attn_implementation="eager")
        return *load_model(str(folder), CPU, torch.float32), plain

    return loaded


def sampler_of(model, chat, length=300):
    return TransformersSampler(Policy(model), chat, brief(chat), length)


def plain_log_probs(model, responses, sampling):
    """By the model itself, one row at a time, 0 outside the mask."""
    values = tiny_engines.plain(SimpleNamespace(model=model), responses, sampling)[0]
    return values.where(responses.mask, 0.0)


def rows_of(responses):
    """The tokens of each row."""
    pairs = zip(responses.tokens, responses.present, strict=True)
    return [tokens[present].tolist() for tokens, present in pairs]


def own_of(responses):
    """The sampled tokens of each row, turn by turn."""
    rows = []
    for tokens, mask in zip(responses.tokens.tolist(), responses.mask.tolist(), strict=True):
        turns, before = [], False
        for token, own in zip(tokens, mask, strict=True):
            if own:
                turns += [] if before else [[]]
                turns[-1].append(token)
            before = own
        rows.append(turns)
    return rows


@pytest.fixture
def episodes(load):
    """Some of a model that sees: sampler, environment, and the rows."""
    sampler = Asked(sampler_of(*load("Qwen2.5-VL")[:2]))
    envs = Written(TURNS, IMAGES)
    prompts = sampler.chat.encode(tiny_engines.observations((1, 3, 0), group_size=2))
    responses, played = play(envs, sampler, prompts)
    assert responses.finished.all()
    return sampler, envs, prompts, responses, played


def test_the_prompt_of_a_turn_is_all_that_was_read_and_sampled_before(episodes):
    sampler, _, prompts, responses, _ = episodes
    assert [len(own) for own in own_of(responses)] == list(TURNS)
    for i, row in enumerate(rows_of(responses)):
        whole = [*prompts[i].token_ids, *row]
        for turn, asked in enumerate(sampler.prompts):
            if turn >= TURNS[i]:
                assert asked[i] is RESTING
                continue
            own = own_of(responses)[i]
            size = len(prompts[i].token_ids)
            size += sum(map(len, own[:turn])) + sum(
                len(reply.token_ids) for reply in responses.replies[i][:turn]
            )
            assert list(asked[i].token_ids) == whole[:size]
            assert asked[i].row_size == size - len(prompts[i].token_ids)
            later = (reply.images for reply in responses.replies[i][:turn])
            shown = [*prompts[i].images, *chain(*later)]
            assert all(map(np.array_equal, asked[i].images, shown))
            assert len(asked[i].images) == len(shown)


def test_replies_have_no_loss_and_end_tokens_come_once(episodes):
    sampler, _, _, responses, _ = episodes
    assert not responses.mask[~responses.present].any()
    assert not responses.sampler_log_prob[~responses.mask].any()
    start, end = sampler.chat.tokenizer.encode("<|im_start|><|im_end|>")
    for i, row in enumerate(rows_of(responses)):
        # Of each turn its own; and a user's message, with its own end, between each two.
        assert row.count(end) == 2 * TURNS[i] - 1
        assert row.count(start) == 2 * (TURNS[i] - 1)
        assert row[-1] == end


def test_rewards_add_up_and_the_infos_are_those_of_each_last_step(episodes):
    _, envs, _, responses, played = episodes
    assert played.rewards.tolist() == list(TURNS)
    assert played.infos["answer"].tolist() == [f"answer {turn}" for turn in TURNS]
    assert played.infos["grade"]["ok"].tolist() == [turn % 2 == 0 for turn in TURNS]
    assert played.counts["turns"].tolist() == list(TURNS)
    assert played.counts["calls"].tolist() == [turn - 1 for turn in TURNS]
    last = [[actions[i] for actions in envs.actions][turn - 1] for i, turn in enumerate(TURNS)]
    assert responses.texts == tuple(last)


def test_each_turn_has_a_seed_of_its_own(episodes):
    assert episodes[0].seeds == [(0,), (0, 1), (0, 2), (0, 3)]


def test_a_response_does_not_depend_on_which_others_rest(load):
    model, chat, _ = load("Qwen2.5-VL")
    observations = tiny_engines.observations((1, 3, 0), group_size=2)
    rows = []
    for turns in (TURNS, (3, 4, 1, 4, 1, 3)):
        sampler = sampler_of(model, chat)
        rows.append(rows_of(play(Written(turns, IMAGES), sampler, chat.encode(observations))[0]))
    same = [0, 3, 5]
    assert [rows[0][i] for i in same] == [rows[1][i] for i in same]
    assert rows[0][2][: len(rows[1][2])] == rows[1][2]


another = pytest.mark.slow(reason="what Qwen3-VL shows, for another family")


@pytest.mark.parametrize(
    ("kind", "packs"),
    [
        ("Qwen3-VL", False),
        *(
            pytest.param(kind, True, marks=[another] * (kind != "Qwen3-VL"))
            for kind in vision_models.KINDS
        ),
    ],
)
def test_sampler_and_trainer_have_the_log_probabilities_of_the_whole_row(load, kind, packs):
    model, chat, plain = load(kind)
    sampler = sampler_of(copy.deepcopy(model), chat)
    policy = sampler.policy
    policy.packs = packs
    prompts = chat.encode(tiny_engines.observations((2, 0, 1), group_size=2))
    responses, _ = play(Written(TURNS, IMAGES), sampler, prompts)
    expected = plain_log_probs(plain, responses, sampler.sampling)
    actual, _ = policy(responses, sampler.sampling)
    for values in (actual, responses.sampler_log_prob):
        torch.testing.assert_close(values, expected, atol=2e-5, rtol=0)
    assert responses.mask.sum() > 20


def test_the_gradient_is_that_of_the_sampled_tokens_of_the_whole_row(load):
    model, chat, plain = load("Qwen3-VL")
    sampler = sampler_of(copy.deepcopy(model), chat)
    prompts = chat.encode(tiny_engines.observations((2, 0, 1), group_size=2))
    responses, _ = play(Written(TURNS, IMAGES), sampler, prompts)
    weight = torch.linspace(-1, 2, responses.mask.numel()).view(responses.mask.shape)
    gradients = []
    for model, log_prob in (
        (sampler.policy.model, sampler.policy(responses, sampler.sampling)[0]),
        (plain, plain_log_probs(plain, responses, sampler.sampling)),
    ):
        (log_prob * weight).sum().backward()
        named = model.named_parameters()
        gradients.append({name: p.grad for name, p in named if p.grad is not None})
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], atol=2e-4, rtol=1e-4)


def test_a_cut_response_and_a_reply_without_room_close_an_episode(load):
    model, chat, _ = load("Qwen2.5-VL")
    prompts = chat.encode(tiny_engines.observations((0, 0, 0), group_size=2))
    lengths = []
    for length in (4, 60, 75, 90):
        sampler = Asked(sampler_of(model, chat, length))
        envs = Written((9,) * 6, ends_on_empty=True)
        responses, played = play(envs, sampler, prompts, seed=(3,))
        assert responses.sizes.max() <= length
        later = [p for asked in sampler.prompts[1:] for p in asked if p is not RESTING]
        assert all(prompt.row_size + LEAST <= length for prompt in later)
        assert not responses.finished.any()
        assert responses.texts == ("",) * 6
        assert envs.is_over.all()
        assert played.rewards.tolist() == [len(own) + 1 for own in own_of(responses)]
        # What is left out is the reply: a row ends with a sampled token.
        last = responses.sizes[:, None] - 1
        assert responses.mask.gather(1, last).all()
        lengths.append(max(len(own) for own in own_of(responses)))
    assert lengths[0] == 1
    assert lengths[1] > 1


def test_episodes_of_one_turn_are_the_responses_themselves(load):
    model, chat, _ = load("Qwen2.5-VL")
    sampler = sampler_of(model, chat)
    prompts = chat.encode(tiny_engines.observations((1, 0), group_size=2))
    expected = sampler.generate(prompts, (5,))
    responses, _ = play(Written((1,) * 4), sampler, prompts, seed=(5,))
    assert torch.equal(responses.tokens, expected.tokens)
    assert torch.equal(responses.sampler_log_prob, expected.sampler_log_prob)
    assert responses.texts == expected.texts


def test_ranks_take_as_many_turns_as_the_longest_episode_of_all(load):
    model, chat, _ = load("Qwen2.5-VL")
    ranks, prompts = ThreadRanks(2), chat.encode(tiny_engines.observations((0,), 2))

    def work(rank):
        sampler = Asked(sampler_of(copy.deepcopy(model), chat))
        engine = BanditEngine(torch.zeros(1, 1, 2), 1.0, rank, ranks)
        play(Written(((1, 2), (3, 1))[rank]), sampler, prompts, engine=engine)
        return [[prompt is RESTING for prompt in asked] for asked in sampler.prompts]

    assert ranks.run(work) == [
        [[False, False], [True, False], [True, True]],
        [[False, False], [False, True], [False, True]],
    ]


def test_groups_keep_their_replies_where_they_are_cut_joined_and_moved(episodes):
    _, _, _, responses, _ = episodes
    parts = [group.responses for group in split_groups(0, responses, torch.zeros(3, 2))]
    again = concatenate(parts)
    assert again.replies == responses.replies
    ranks = ThreadRanks(2)

    def work(rank):
        groups = split_groups(0, responses, torch.zeros(3, 2))
        swapped = [[(1, 0)], [(0, 1)]]
        patches = episodes[0].chat.patches
        engine = BanditEngine(torch.zeros(1, 1, 2), 1.0, rank, ranks)
        return _exchange(groups, swapped, engine, patches)[0].responses

    for moved, part in zip(ranks.run(work), parts, strict=False):
        assert torch.equal(moved.tokens, part.tokens)
        for replies, expected in zip(moved.replies, part.replies, strict=True):
            for one, other in zip(replies, expected, strict=True):
                assert one.token_ids == other.token_ids
                if other.pixel_values is not None:
                    assert torch.equal(one.pixel_values, other.pixel_values)


def test_vllm_gets_a_request_for_each_row_with_one_placeholder_for_each_image(episodes):
    sampler, _, prompts, responses, _ = episodes
    chat = sampler.chat
    placeholder = chat.tokenizer.convert_tokens_to_ids(chat.image_token)
    asked = sampler.prompts[2]
    requests = _sampling_requests(asked, (0, 2), lambda prompt: {"ids": chat.collapsed(prompt)})
    assert [request.first for request in requests] == [0, 3, 5]
    assert len({request.seed for request in requests}) == 3
    later = [(RESTING, *asked[1:]), (0, 2), lambda prompt: {}]
    assert [r.seed for r in _sampling_requests(*later)] == [r.seed for r in requests[1:]]
    for request in requests:
        prompt = asked[request.first]
        assert request.row_size == prompt.row_size > 0
        assert request.token_ids == prompt.token_ids
        assert (
            request.prompt["ids"].count(placeholder)
            == len(prompt.images)
            == len(prompts[request.first].images) + len(responses.replies[request.first][0].images)
        )


def test_a_second_mask_leaves_replies_as_they_are(episodes):
    sampler, _, _, responses, _ = episodes
    policy = sampler.sampler.policy
    with torch.no_grad():
        whole, _ = policy(responses, Sampling())
        some, _ = policy(responses.with_loss(torch.arange(6) != 3), Sampling())
    assert not some[3].any()
    torch.testing.assert_close(some[:3], whole[:3], atol=2e-5, rtol=0)
    masked = replace(responses, mask=responses.mask & (torch.arange(responses.mask.shape[1]) > 4))
    assert masked.replies == responses.replies
