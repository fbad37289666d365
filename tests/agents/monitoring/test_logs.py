import json

import numpy as np
import pytest
import torch
from PIL import Image

import reasonenv
from agents.monitoring.logs import RunLog, best_step, evaluation_metrics
from agents.storage.json_files import json_line, read_json_lines

METRIC = "evaluation/test/accuracy"


def raw_lines(path):
    return path.read_bytes().splitlines()


def test_a_line_is_whole_valid_json_as_soon_as_write_returns(tmp_path):
    log = RunLog(tmp_path, 3)
    log.write(1, {"reward/mean": torch.tensor(0.25), "response/truncated": np.float32(0.5)})
    (line,) = raw_lines(tmp_path / "metrics.jsonl")
    assert json.loads(line) == {"step": 1, "reward/mean": 0.25, "response/truncated": 0.5}
    log.write(2, {"a": float("nan"), "b": -float("inf"), "c": np.nan, "d": torch.tensor(1e39)})
    _, line = raw_lines(tmp_path / "metrics.jsonl")
    values = json.loads(line, parse_constant=pytest.fail)
    assert values == {"step": 2, "a": None, "b": None, "c": None, "d": None}


def test_a_resumed_log_forgets_what_came_after_the_checkpoint(tmp_path):
    with RunLog(tmp_path, 12) as log:
        for step in range(1, 13):
            log.write(step, {"x": step / 10})
            (tmp_path / "rollouts" / f"step-{step}.jsonl").touch()
            (tmp_path / "rollouts" / f"step-{step}-0-0.png").touch()
        for step in (0, 9, 12):
            log.write_evaluation(step, {"split": "test", "accuracy": 0.5})
    kept = raw_lines(tmp_path / "metrics.jsonl")[:9]
    with RunLog(tmp_path, 12, start=9):
        assert raw_lines(tmp_path / "metrics.jsonl") == kept
        assert [row["step"] for row in read_json_lines(tmp_path / "evaluations.jsonl")] == [0, 9]
        left = {path.name for path in (tmp_path / "rollouts").iterdir()}
        assert left == {f"step-{n}{end}" for n in range(1, 10) for end in (".jsonl", "-0-0.png")}


def test_a_line_that_a_kill_cut_is_repaired(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1, "x": 1}\n{"step": 2, "x"')
    with RunLog(tmp_path, 3, start=1) as log:
        log.write(2, {"x": 2})
    assert [row["x"] for row in read_json_lines(path)] == [1, 2]


def test_other_ranks_write_nothing(tmp_path, capfd):
    with RunLog(tmp_path / "run", 5, rank=1, trackers=("tensorboard",)) as log:
        log.write(1, {"x": 1})
        log.write_evaluation(1, {"accuracy": 1})
        log.write_rollout(1, {}, [], [], {})
        log.say("hello")
    assert not (tmp_path / "run").exists()
    assert capfd.readouterr() == ("", "")


def test_a_rollout_shows_prompt_response_verdict_and_image(tmp_path):
    envs = reasonenv.make("Figures-v2", num_envs=6, group_size=2, num_workers=1)
    observations, _ = envs.reset(seed=0)
    responses = ("The answer is 7.", "x", "half a pair \ud800, 数学 π\u2028", "", "y", "z")
    _, rewards, _, _, infos = envs.step(responses)
    envs.close()
    with RunLog(tmp_path, 5) as log:
        log.write_rollout(4, observations, responses, rewards, infos, groups=(0, 2, 4))
    rows = read_json_lines(tmp_path / "rollouts" / "step-4.jsonl")
    assert [row["index"] for row in rows] == [0, 2, 4]
    for row in rows:
        i = row["index"]
        assert row["question"] == observations["question"][i]
        assert row["response"] == responses[i].replace("\ud800", "?")
        assert row["reward"] == rewards[i]
        assert row["reference"] == infos["reference"][i]
        assert row["status"] == infos["status"][i]
        (name,) = row["images"]
        with Image.open(tmp_path / "rollouts" / name) as image:
            np.testing.assert_array_equal(np.asarray(image), observations["images"][i][0])


def test_an_evaluation_has_metrics_by_the_name_of_its_split():
    row = {"step": 3, "split": "test", "accuracy": 0.5, "num_problems": 9, "by": {"a": 1}}
    assert evaluation_metrics(row) == {METRIC: 0.5}


@pytest.mark.parametrize(
    ("rows", "best"),
    [
        ([], None),
        ([(0, "test", 0.9)], None),  # of the base model, which no checkpoint holds
        ([(0, "test", 0.9), (5, "test", 0.1)], 5),
        ([(5, "test", 0.4), (10, "test", 0.6), (15, "test", 0.5)], 10),
        ([(5, "test", 0.6), (10, "test", 0.6)], 5),
        ([(5, "test", 0.4), (10, "other", 0.9)], 5),
        ([(5, "test", None), (10, "test", 0.0)], 10),
        ([(5, "test", 0.2), (5, "other", 0.9), (10, "test", 0.3), (10, "other", 0.1)], 10),
        ([(5, "test", 0.2), (7, "test", 0.9)], 5),  # 7 has no checkpoint
    ],
)
def test_the_best_step_is_the_first_with_the_greatest_value(tmp_path, rows, best):
    lines = [json_line(dict(zip(("step", "split", "accuracy"), row, strict=True))) for row in rows]
    (tmp_path / "evaluations.jsonl").write_bytes(b"".join(lines))
    assert best_step(tmp_path, METRIC, (5, 10, 15)) == best
