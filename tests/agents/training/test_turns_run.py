"""Whole runs whose episodes have several turns, with images in the replies."""

import base64
import json
import shutil
import zlib
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from helpers import looks, torchrun
from helpers.episodes import play
from helpers.ranks_turns import LOOKS
from helpers.tiny_runs import numbers, refusal, same, train
from PIL import Image

import reasonenv
from agents.algorithms.papo import PAPO
from agents.algorithms.sdpo import SDPO
from agents.cli.settings import Run
from agents.cpgd import CPGD
from agents.engines.load import load_model
from agents.engines.sampling import Row, collate
from agents.errors import UsageError
from agents.report.rollouts import collect
from agents.report.runs import read_run
from agents.storage.json_files import read_json_lines
from agents.training.setup import check_turns


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    assert looks.LOOKS.tools is looks.TOOLS
    folder = tmp_path_factory.mktemp("looks") / "whole"
    train("tiny", folder, **LOOKS | {"num_steps": 1, "num_test_problems": 0})
    return folder


def test_a_run_learns_from_episodes_and_counts_their_turns(whole):
    for row in read_json_lines(whole / "metrics.jsonl"):
        assert 1 < row["episode/turns"] <= 3
        assert row["episode/calls"] > 0
        assert row["episode/bad_calls"] == 0
        assert 0 < row["episode/idle"] < 1
        assert row["sampler/log_prob_diff_max"] < 1e-3
        assert row["train/grad_norm"] > 0


@pytest.mark.slow(reason="a run, and its second half once more")
def test_a_stopped_run_goes_on_in_the_middle_with_the_same_numbers(tmp_path):
    folder, whole = tmp_path / "run", tmp_path / "whole"
    train("tiny", whole, **LOOKS)
    shutil.copytree(whole, folder)
    shutil.rmtree(folder / "checkpoints" / "step-2")
    train("tiny", folder, **LOOKS, resume=True)
    assert numbers(folder) == numbers(whole)
    assert same(folder, whole)
    evaluations = read_json_lines(whole / "evaluations.jsonl")
    assert [row["length_mean"] > 100 for row in evaluations] == [True, True]


@pytest.mark.slow(reason="a whole run on two ranks")
def test_ranks_that_share_weights_take_their_turns_together(tmp_path):
    torchrun.run("ranks_turns.py", "tiny", tmp_path)
    rows = read_json_lines(tmp_path / "run" / "metrics.jsonl")
    assert [row["step"] for row in rows] == [1, 2]
    for row in rows:
        assert row["episode/turns"] > 1
        assert row["sampler/log_prob_diff_max"] < 1e-3


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"staleness": 1}, "do not go with --staleness 1"), ({"stop": '["a"]'}, "'a', does not end")],
)
def test_what_does_not_go_with_several_turns_is_refused(settings, message, tmp_path):
    assert message in refusal("tiny", tmp_path / "run", **LOOKS, **settings)


def test_the_log_and_the_page_show_replies_with_their_pictures(whole):
    rows = read_json_lines(whole / "rollouts" / "step-1.jsonl")
    replies = [(row, reply) for row in rows for reply in row.get("replies", ())]
    assert replies
    for row, reply in replies:
        words = "".join(row["tokens"][reply["start"] : reply["stop"]])
        assert "part " in words
        assert words.endswith("<|im_start|>assistant\n")
        assert "<|image_pad|>" not in words
        (name,) = reply["images"]
        with Image.open(whole / "rollouts" / name) as image:
            assert image.size == (56, 28)
    ((entry, body),) = _groups(whole)[:1]
    assert entry["step"] == 1
    shown = [reply for response in body["responses"] for reply in response.get("replies", ())]
    assert all(start < stop and len(images) == 1 for start, stop, images in shown)


def _groups(folder):
    """Entries and bodies of the groups of a page."""
    rollouts = collect([read_run(folder)])
    bodies = [json.loads(zlib.decompress(base64.b64decode(body))) for body in rollouts.bodies]
    return list(zip(rollouts.index, bodies, strict=True))


@pytest.mark.parametrize("learner", [PAPO(), SDPO()])
def test_a_teacher_of_another_prompt_is_refused_for_several_turns(learner):
    name = type(learner).__name__
    with pytest.raises(UsageError, match=f"turns, which do not go with {name}, whose teacher"):
        check_turns(Run(env="Looks-v0"), learner, looks.TOOLS, Any)
    assert check_turns(Run(), learner, None, Any) is None


def test_replies_with_images_need_a_model_that_sees():
    with pytest.raises(UsageError, match="tools of Looks-v0 reply with images: take a vision"):
        check_turns(Run(env="Looks-v0"), CPGD(), looks.TOOLS, SimpleNamespace(image_processor=None))


class Oracle:
    """A sampler whose responses are the worked solutions of the problems, turn by turn."""

    max_response_length = 10_000

    def __init__(self, chat, tools):
        self.chat, self.tools, self.solutions = chat, tools, ()

    def generate(self, prompts, seed, finished=None):
        if len(seed) == 1:
            self.texts = [iter(self.tools.responses(text)) for text in self.solutions]
        texts = [
            next(row) if p.token_ids else "" for row, p in zip(self.texts, prompts, strict=True)
        ]
        ids = [self.chat.encode_response(text) if text else [] for text in texts]
        rows = [Row(tokens, text=text) for tokens, text in zip(ids, texts, strict=True)]
        return collate(prompts, rows, self.chat.ended, log_probs=False)


@pytest.mark.parametrize("env", ["Sum-v0", "Zoom-v0"])
def test_worked_solutions_earn_everything_in_their_number_of_turns(env, tiny_folder):
    _, chat = load_model(str(tiny_folder), torch.device("cpu"), torch.float32)
    with closing(reasonenv.make(env, num_envs=8, group_size=2)) as envs:
        observations, infos = envs.reset(seed=0)
        oracle = Oracle(chat, envs.tools)
        oracle.solutions = [envs.problems.draw(id).solution for id in infos["problem_id"]]
        responses, episodes = play(envs, oracle, chat.encode(observations))
    assert episodes.rewards.tolist() == [1.0] * 8
    assert episodes.infos["accuracy"].tolist() == [1.0] * 8
    assert set(episodes.infos["status"]) == {"ok"}
    assert episodes.counts["calls"].tolist() == [len(row) for row in responses.replies]
    assert len({*episodes.counts["turns"].tolist()}) > 1 or env == "Zoom-v0"
    assert responses.finished.all()
    observations, infos = episodes.observations, episodes.infos
    assert [observations["system"][k] == observations["system"][k + 1] for k in (0, 2, 4, 6)]
    assert all(observations["images"][k] is observations["images"][k + 1] for k in (0, 2, 4, 6))


def test_a_group_shares_the_images_of_its_problem_though_its_episodes_end_in_other_steps():
    with closing(reasonenv.make("Looks-v0", num_envs=4, group_size=4)) as envs:
        envs.reset(seed=0)
        envs.step(["abc", "a", "a", "abc"])
        envs.step([None, "abc", "a", None])
        observations, *_, infos = envs.step([None, None, "abc", None])
    assert infos["turn"].tolist() == [-1, -1, 2, -1]
    assert len({id(images) for images in observations["images"]}) == 1
    assert len({*observations["question"]}) == 1
