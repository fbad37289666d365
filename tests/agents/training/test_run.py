import contextlib
import io
import json
import math
from types import SimpleNamespace

import pytest
import torch
from helpers.tiny_runs import flags, numbers, refusal, same, train
from transformers import AutoImageProcessor, AutoModelForImageTextToText, AutoTokenizer

from agents import evaluate, run
from agents.cli.flags import parse_run
from agents.cli.model_choice import checkpoint_of
from agents.cli.settings import Run
from agents.cpgd import CPGD
from agents.monitoring import timing
from agents.storage import checkpoints
from agents.storage.checkpoints import latest
from agents.storage.json_files import read_json_lines
from agents.training import state

METRICS = (
    *("reward/mean", "reward/accuracy", "reward/format", "response/length_mean"),
    *("response/truncated", "policy/ratio_max", "policy/ratio_min", "policy/clip_fraction"),
    *("policy/kl_old", "policy/entropy", "train/loss", "train/grad_norm", "train/lr"),
    *("grade/ok", "grade/no_answer", "grade/unparseable", "grade/timeout", "grade/memory"),
    *("grade/error", "sampler/log_prob_diff_mean"),
    *("time/rollout_s", "time/grade_s", "time/train_s"),
    *("time/sync_s", "time/step_s", "throughput/responses_per_s", "throughput/tokens_per_s"),
    "memory/peak_gib",
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory, tiny_folder):
    """A run of three steps that is evaluated, and what it said."""
    folder, said = tmp_path_factory.mktemp("run") / "done", io.StringIO()
    with contextlib.redirect_stderr(said):
        train(tiny_folder, folder, num_test_problems=4)
    return folder, said.getvalue().splitlines()


@pytest.fixture(scope="module")
def done(whole):
    return whole[0]


def test_a_run_says_what_it_is_and_how_far_in_a_few_lines(whole):
    folder, told = whole
    said = [line for line in told if not line.startswith("step 2/3")]  # by a slow machine
    beginnings = (
        "CPGD on Letters-v0, model ",
        "PyTorch trains and transformers samples, on ",
        "plan: ",
        "      forward, backward ",
        "sampler and trainer encode 4 prompts alike; ",
        "step 0: evaluating test 0/4",
        "step 0: test accuracy ",
        "step 1: first rollout: reward ",
        "step 1, problem ",
        "  question: ",
        "  response: ",
        "  reward ",
        "step 1/3  reward ",
        "step 3/3  reward ",
        "step 3: evaluating test 0/4",
        "step 3: test accuracy ",
        f"report: {folder / 'report.html'}",
        f"done: {folder}",
    )
    assert len(said) == len(beginnings), said
    assert all(line.startswith(words) for line, words in zip(said, beginnings, strict=True)), said
    assert all(len(line) < 200 for line in said)


def test_a_run_ends_with_its_report(done):
    page = (done / "report.html").read_text(encoding="utf-8")
    assert "Letters-v0" in page
    assert len(page) > 10_000


def test_every_metric_is_there_at_every_step(done):
    rows = read_json_lines(done / "metrics.jsonl")
    assert [row["step"] for row in rows] == [1, 2, 3]
    for row in rows:
        assert set(METRICS) | {"reward/letters"} <= row.keys()
        assert all(math.isfinite(row[name]) for name in METRICS)


def test_the_metrics_are_those_of_this_run(done):
    for row in read_json_lines(done / "metrics.jsonl"):
        assert row["reward/mean"] == pytest.approx(
            0.5 * row["reward/accuracy"] + row["reward/letters"]
        )
        assert 0 < row["reward/letters"] < 1
        # Random letters are rarely an answer.
        assert 0 <= row["grade/ok"] < row["grade/unparseable"] <= 1
        parts = [value for name, value in row.items() if name.startswith("grade/")]
        assert sum(parts) == pytest.approx(1)
        assert 1 <= row["response/length_mean"] <= 12
        assert row["train/grad_norm"] > 1e-4
        assert 0 < row["policy/ratio_min"] < 1 < row["policy/ratio_max"]
        assert row["sampler/log_prob_diff_mean"] < 1e-5
        assert 0 < row["policy/entropy"] < math.log(1000)
    rates = [row["train/lr"] for row in read_json_lines(done / "metrics.jsonl")]
    assert 1e-3 > rates[0] > rates[1] > rates[2] > 1e-4


def test_the_same_seed_gives_the_same_numbers_and_weights(done, tiny_folder, tmp_path):
    train(tiny_folder, tmp_path, num_test_problems=4)
    assert numbers(tmp_path) == numbers(done)
    assert same(tmp_path, done)
    name = "evaluations.jsonl"
    assert (tmp_path / name).read_bytes() == (done / name).read_bytes()


def test_another_seed_gives_other_numbers(done, tiny_folder, tmp_path):
    train(tiny_folder, tmp_path, seed=1, num_steps=1)
    assert numbers(tmp_path)[0]["reward/mean"] != numbers(done)[0]["reward/mean"]


def test_the_record_of_a_run_repeats_it(done, tmp_path):
    record = json.loads((done / "run.json").read_text())
    assert record["versions"].keys() >= {"torch", "transformers", "python"}
    settings = record["settings"]
    assert settings["algorithm"] == "CPGD"
    run.main(CPGD, ["--config", str(done / "run.json"), "--output-dir", str(tmp_path)])
    assert numbers(tmp_path) == numbers(done)


@pytest.mark.parametrize("pieces", [{"microbatch_size": 3}, {"tokens_per_microbatch": 60}], ids=str)
def test_the_size_of_a_microbatch_does_not_change_the_first_step(
    done, tiny_folder, tmp_path, pieces
):
    train(tiny_folder, tmp_path, num_steps=1, **pieces)
    row, whole = numbers(tmp_path)[0], numbers(done)[0]
    assert row["train/loss"] == pytest.approx(whole["train/loss"], rel=1e-5, abs=1e-7)
    assert row["train/grad_norm"] == pytest.approx(whole["train/grad_norm"], rel=1e-5)


def test_a_run_pays_by_the_names_and_weights_of_its_options(tiny_folder, tmp_path):
    options = {"rewards": {"letters": 2, "repetition": {"weight": 0.5, "n": 1}}, "unjudged": -1}
    rows = train(tiny_folder, tmp_path, num_steps=2, env_options=json.dumps(options))
    for row in rows:
        assert row["reward/mean"] == pytest.approx(
            2 * row["reward/letters"] + 0.5 * row["reward/repetition"] - row["reward/unjudged"]
        )
        judged = row["grade/ok"] + row["grade/no_answer"]
        assert row["reward/unjudged"] == pytest.approx(1 - judged)
        assert {"reward/accuracy", "reward/format"} <= row.keys()


def test_a_reward_that_nobody_knows_ends_the_run_in_one_line(tiny_folder, tmp_path):
    options = json.dumps({"rewards": {"accurate": 1}})
    line = refusal(tiny_folder, tmp_path / "run", env_options=options)
    assert line == "error: no reward is called 'accurate': did you mean 'accuracy'?"


def test_checkpoints_come_by_time_and_a_report_too(tiny_folder, tmp_path, monkeypatch):
    saved, reported = [], []
    outdated, report_at_end = checkpoints.outdated, run.report.report_at_end
    monkeypatch.setattr(checkpoints, "outdated", lambda s, *a: saved.append(s) or outdated(s, *a))
    monkeypatch.setattr(
        run.report, "report_at_end", lambda path: reported.append(path) or report_at_end(path)
    )
    monkeypatch.setattr(timing, "MOST_SHARE", 1e9)
    monkeypatch.setattr(run, "REPORT_SECONDS", 1e-9)
    train(tiny_folder, tmp_path, num_steps=3, save_every=2, keep_checkpoints=1, save_minutes=1e-9)
    assert saved == [[1], [1, 2], [2, 3]]
    assert checkpoints.steps(tmp_path) == [2, 3]
    assert len(reported) == 3 + 1


def test_the_best_checkpoint_is_kept(tiny_folder, tmp_path, monkeypatch, capsys):
    accuracies = iter([0.9, 0.2, 0.6, 0.4, 0.3])
    rest = {"split": "test", "standard_error": None, "num_problems": 4}
    result = SimpleNamespace(summary=lambda: {"accuracy": next(accuracies), **rest})
    monkeypatch.setattr(state, "evaluate", lambda *_: result)
    metric = "evaluation/test/accuracy"
    options = {"evaluate_every": 1, "num_test_problems": 4, "keep_best": metric}
    train(tiny_folder, tmp_path, num_steps=4, save_every=4, keep_checkpoints=1, **options)
    assert checkpoints.steps(tmp_path) == [2, 4]
    best = str(checkpoints.path_of(tmp_path, 2))
    assert checkpoint_of(str(tmp_path)) == best
    later = parse_run(CPGD, ["--model", str(tmp_path), "--seed", "3"])[0]
    assert (later.model, later.learning_rate) == (best, Run.learning_rate)
    said = capsys.readouterr().err
    assert [step for step in range(5) if f"step {step}: the best {metric} so far" in said] == [1, 2]


@pytest.mark.parametrize("problems", [0, 4])
def test_a_metric_that_no_evaluation_has_is_refused(tiny_folder, tmp_path, problems):
    words = "there are evaluation/test/accuracy, " if problems else "the run has no evaluation"
    with pytest.raises(SystemExit, match=rf"--keep-best accuracy is no metric .*: {words}"):
        train(tiny_folder, tmp_path, keep_best="accuracy", num_test_problems=problems)


def test_rollouts_are_kept_with_their_images(done):
    rows = read_json_lines(done / "rollouts" / "step-1.jsonl")
    assert len(rows) == 8
    assert {"question", "response", "reward", "reference", "status"} <= rows[0].keys()
    assert all((done / "rollouts" / name).is_file() for row in rows for name in row["images"])
    assert {len(row["images"]) for row in rows} == {1}


def test_rollouts_are_kept_in_whole_groups_with_what_the_update_did(done):
    rows = read_json_lines(done / "rollouts" / "step-1.jsonl")
    groups = [rows[:4], rows[4:]]
    first, second = ({row["group"] for row in group} for group in groups)
    assert first == {0}
    assert second in ({1}, {2}, {3})
    for group in groups:
        assert len({(row["question"], *row["images"]) for row in group}) == 1
        assert len({row["response"] for row in group}) > 1
        better = [row["reward"] > sum(r["reward"] for r in group) / 4 for row in group]
        assert better == [row["advantage"] > 0 for row in group]
    for row in rows:
        assert 1 <= len(row["tokens"]) == len(row["log_ratio"]) <= 12
        assert row["response"] in "".join(row["tokens"])
    # The first minibatch is trained at the weights that sampled it, the second a step later.
    assert not any(ratio for row in rows[:4] for ratio in row["log_ratio"])
    assert any(ratio for row in rows[4:] for ratio in row["log_ratio"])


def test_a_run_is_evaluated_before_its_first_step_and_after_its_last(done):
    rows = read_json_lines(done / "evaluations.jsonl")
    assert [(row["step"], row["split"]) for row in rows] == [(0, "test"), (3, "test")]
    assert all(row["num_problems"] == 4 and 0 <= row["accuracy"] <= 1 for row in rows)


def test_a_run_is_evaluated_in_between_when_asked(tiny_folder, tmp_path):
    train(tiny_folder, tmp_path, num_test_problems=2, evaluate_every=2)
    assert [row["step"] for row in read_json_lines(tmp_path / "evaluations.jsonl")] == [0, 2, 3]


def test_a_checkpoint_is_a_model_for_transformers(done, tiny_folder):
    checkpoint = latest(done)
    assert AutoTokenizer.from_pretrained(checkpoint).chat_template
    assert AutoImageProcessor.from_pretrained(checkpoint).size["longest_edge"] == 8 * 28 * 28
    after = AutoModelForImageTextToText.from_pretrained(checkpoint).state_dict()
    before = AutoModelForImageTextToText.from_pretrained(tiny_folder).state_dict()
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert any("visual" in name for name in moved)
    assert any("language_model" in name for name in moved)


def test_a_checkpoint_can_be_evaluated(done, tmp_path, capsys):
    settings = {"env": "Letters-v0", "num_problems": 3, "max_response_length": 8}
    evaluate.main(flags(model=latest(done), output_dir=tmp_path, **settings))
    assert capsys.readouterr().out.splitlines()[1].split()[:3] == ["Letters-v0", "test", "3"]
    rows = read_json_lines(tmp_path / "Letters-v0.jsonl")
    assert [row["id"] for row in rows] == ["test/0", "test/1", "test/2"]


def test_responses_of_more_than_one_epoch_leave_the_old_policy(tiny_folder, tmp_path):
    rows = train(tiny_folder, tmp_path, epochs=2, num_steps=1, minibatch_size=16)
    assert rows[0]["policy/ratio_max"] > 1.001
