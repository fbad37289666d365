import pytest
import torch
from helpers import tiny_engines

from agents.cpgd import CPGD
from agents.losses import clipped_tokens
from agents.monitoring.logs import RunLog
from agents.monitoring.traces import Trace, logged_groups, token_texts
from agents.rollout import Batch
from agents.storage.json_files import read_json_lines


@pytest.fixture(scope="module")
def engine(tiny_folder):
    return tiny_engines.build("torch", tiny_folder)


@pytest.fixture(scope="module")
def responses(engine):
    prompts = engine.chat.encode(tiny_engines.observations((0, 1), group_size=2))
    return tiny_engines.respond(prompts, (5, 3, 4, 1), engine.chat)


def batch(responses, old, advantage=(1.0, -1.0, 0.5, -0.5)):
    credit = torch.tensor(advantage)[:, None].expand_as(old)
    return Batch(responses.mask, credit, old, old)


@pytest.fixture(scope="module")
def traced(responses):
    """Two microbatches in reverse, as an engine that sorts by length may give them."""
    generator = torch.Generator().manual_seed(0)
    old = torch.randn(responses.mask.shape, generator=generator) - 2
    new = old + 0.5 * torch.randn(old.shape, generator=generator)
    trace, learner = Trace(responses), CPGD()
    for rows in ([3, 1], [2, 0]):
        part = Batch(
            *(x[rows] for x in (responses.mask, batch(responses, old).advantage, old, old))
        )
        with clipped_tokens() as clipped:
            learner.loss(new[rows], part)
        trace.add(rows, new[rows], clipped[0], part)
    return trace, new - old


def test_each_token_keeps_its_ratio_and_whether_the_clip_acted(responses, traced):
    trace, log_ratio = traced
    torch.testing.assert_close(trace.log_ratio, log_ratio * responses.mask)
    gain = log_ratio * torch.tensor((1.0, -1.0, 0.5, -0.5))[:, None].sign()
    upper = torch.log(torch.tensor(1.2))
    lower = -torch.log(torch.tensor(0.8))
    bound = torch.where(log_ratio > 0, upper, lower)
    assert torch.equal(trace.clipped, (gain > bound) & responses.mask)
    assert trace.clipped.any()


def test_a_later_pass_replaces_the_former(responses):
    trace = Trace(responses)
    old = torch.zeros(responses.mask.shape)
    never = torch.zeros_like(responses.mask)
    for moved in (0.5, 0.25):
        trace.add(slice(0, 4), old + moved, never, batch(responses, old))
    assert torch.equal(trace.log_ratio, 0.25 * responses.mask)


def test_a_rollout_is_kept_in_whole_groups_with_what_the_update_did(
    tmp_path, engine, responses, traced
):
    posed = tiny_engines.observations((0, 1), group_size=2)
    details = traced[0].details(responses, engine.chat.tokenizer)
    with RunLog(tmp_path, 1) as log:
        log.write_rollout(
            1, posed, responses.texts, [0.0] * 4, {}, group_size=2, groups=(0, 1), details=details
        )
    rows = read_json_lines(tmp_path / "rollouts" / "step-1.jsonl")
    assert traced[0].advantages(responses) == pytest.approx([1.0, -1.0, 0.5, -0.5])
    assert traced[0].advantages(responses.rows(2, 4)) == pytest.approx([0.5, -0.5])
    assert [(row["index"], row["group"]) for row in rows] == [(0, 0), (1, 0), (2, 1), (3, 1)]
    assert [row["advantage"] for row in rows] == pytest.approx([1.0, -1.0, 0.5, -0.5])
    for i, row in enumerate(rows):
        length = int(responses.lengths[i])
        assert len(row["tokens"]) == len(row["log_ratio"]) == length
        assert row["log_ratio"] == pytest.approx(traced[1][i, :length].tolist(), abs=1e-4)
        assert set(row["clipped"]) == set(traced[0].clipped[i].nonzero().flatten().tolist())


def test_what_was_not_trained_on_has_tokens_and_no_advantage(engine, responses, traced):
    prompts = engine.chat.encode(tiny_engines.observations((0, 1), group_size=2))
    others = tiny_engines.respond(prompts, (2, 2, 2, 2), engine.chat)
    told = traced[0].details(others, engine.chat.tokenizer)(1)
    assert set(told) == {"finished", "tokens"}
    assert traced[0].advantages(others) == [None] * 4


@pytest.mark.parametrize(
    ("accuracies", "advantages", "groups"),
    [
        ("10 10 10", (3, -3, 1, -1, 2, -2), [0, 2]),
        ("10 11 10", (3, -3, 9, 9, 1, -1), [0, 2]),
        ("11 00 11", (0, 0, 0, 0, 0, 0), [0, 1]),
        ("10 00 10 11", (None, None, 5, 5, None, None, 7, 7), [0, 2]),
        ("10", (3, -3), [0]),
    ],
)
def test_the_first_group_is_logged_and_of_the_others_the_one_with_the_most_contrast(
    accuracies, advantages, groups
):
    verdicts = [float(each) for each in accuracies.replace(" ", "")]
    assert logged_groups(verdicts, advantages, 2) == groups


def test_a_character_of_several_tokens_stands_at_the_last_of_them(engine):
    tokenizer = engine.chat.tokenizer
    text = "<think> 数学 é 12</think>\n"
    ids = [*tokenizer.encode(text, add_special_tokens=False), *engine.chat.eos]
    found = token_texts(tokenizer, ids)
    assert "".join(found) == text + "<|im_end|>"
    assert len(found) == len(ids)
    assert found[-1] == "<|im_end|>"
    assert "" in found
    assert "\ufffd" not in "".join(found)


def test_bytes_that_are_no_character_are_shown_at_the_end(engine):
    tokenizer = engine.chat.tokenizer
    half = tokenizer.encode("学", add_special_tokens=False)[:2]
    ids = [*tokenizer.encode("12", add_special_tokens=False), *half]
    assert "".join(token_texts(tokenizer, ids)) == tokenizer.decode(ids)
    assert token_texts(tokenizer, []) == []
