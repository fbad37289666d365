"""`--dry-run`: what a run would be, without its weights."""

import json
import sys
from pathlib import Path

import huggingface_hub.constants
import pytest
import yaml
from helpers.tiny_runs import CPGD, SMALL, flags

from agents import dry_run, run
from agents.cli.flags import parse_run
from agents.dapo import DAPO
from agents.engines import load
from agents.rpg import RPG

QUESTIONS = [{"question": f"What is {n} + 3?", "answer": n + 3} for n in range(20)]
BLOCKS = ("settings", "batches", "memory", "first prompts")


@pytest.fixture
def look(monkeypatch, tmp_path, capsys):
    """Output of a dry run, which loads no weights and writes nothing, by its blocks."""
    monkeypatch.delenv("REASONENV_DATA", raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(load, "load_pretrained", None)
    monkeypatch.chdir(tmp_path)

    def look(learner=CPGD, *words, **settings):
        before = sorted(tmp_path.rglob("*"))
        run.main(learner, ["--dry-run", *words, *flags(**settings)])
        assert sorted(tmp_path.rglob("*")) == before
        lines = capsys.readouterr().out.splitlines()
        blocks, name = {"": [lines[0]]}, ""
        for line in lines[1:]:
            if line and line[0] != " ":
                name = line.partition(" that")[0].rstrip(":")
                blocks[name] = []
            else:
                blocks[name].append(line[2:])
        assert tuple(blocks)[1:] == BLOCKS
        return {name: "\n".join(lines) for name, lines in blocks.items()}

    return look


def test_the_look_at_a_run_of_the_tiny_model_has_its_prompts_as_the_model_reads_them(look):
    shown = look(CPGD, "--dry-run-response", r"\boxed{1}", num_steps=30)
    assert "30 steps of 32 prompts x 8 responses" in shown[""]
    assert shown["batches"].splitlines() == [
        "rollout: 32 prompts x 8 responses = 256 responses of up to 64 tokens",
        "each rank, of 1: 32 prompts, 256 responses, 128 in a minibatch",
        "minibatches of 128 responses, epochs: 1; optimizer steps: 2 a rollout, 60 in all",
        "data: 30 steps x 32 prompts = 960 prompts, 0.00096 passes over 1,000,000 problems",
    ]
    assert "plan: tiny, 728,256 weights" in shown["memory"]
    prompts = shown["first prompts"]
    assert prompts.count("<|vision_start|><|image_pad|><|vision_end|>") == 2
    assert "image of 140 x 28, 23 tokens, reference '105'" in prompts
    rewards = prompts.partition("--- rewards of the first\n")[2].splitlines()
    assert rewards == [
        r"1 = 1 x accuracy 1 + 0.1 x format 0, answer '105' (ok): \boxed{105}",
        r"0 = 1 x accuracy 0 + 0.1 x format 0, answer '1' (ok): \boxed{1}",
    ]


def test_a_response_asks_for_a_look_by_itself(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run.main(CPGD, ["--dry-run-response", "none"])
    assert capsys.readouterr().out.endswith("answer 'none' (ok): none\n")
    assert not [*tmp_path.iterdir()]


def test_the_problems_are_those_of_the_first_step(look):
    from agents.training.setup import make_envs

    settings, _ = parse_run(CPGD, flags(**SMALL | {"seed": 3}))
    envs, _ = make_envs(settings)
    ids = envs.reset(seed=3)[1]["problem_id"][:: settings.group_size]
    envs.close()
    titles = [
        line
        for line in look(CPGD, **SMALL | {"seed": 3})["first prompts"].splitlines()
        if line.startswith("--- ")
    ]
    assert [title[4:].partition(":")[0] for title in titles[:2]] == [*ids[:2]]


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (CPGD, ["--advantage-function", "clip_filter(3.0)", "--num-prompts", "6", "--seed", "2"]),
        (CPGD, ["--lora", '{"r": 4}', "--stop", '["x"]', "--no-freeze-vision", "--track"]),
        (DAPO, ["--env", "MMK12-v0", "--max-response-length", "20", "--overlong-buffer", "7"]),
        (RPG, ["--env", "WordProblems-v0", "--reference", "every(3)", "--clip-low", "None"]),
        (CPGD, ["--minibatch-size", "256", "--optimizer-options", '{"epsilon": 1e-06}']),
    ],
)
def test_the_settings_shown_give_the_same_run_as_a_file(look, tmp_path, learner, words):
    text = look(learner, *words)["settings"]
    file = tmp_path / "again.yaml"
    file.write_text(text)
    assert parse_run(learner, ["--config", str(file)])[:2] == parse_run(learner, words)[:2]
    assert "dry" not in text
    assert len(yaml.safe_load(text)) <= 2 + len(words) // 2


def test_own_questions_and_a_model_that_would_be_downloaded(look, tmp_path):
    data = tmp_path / "mine.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in QUESTIONS))
    shown = look(env="file", data=data, model="you/model", num_steps=10, num_prompts=4)
    assert "data: 10 steps x 4 prompts = 40 prompts, 2 passes over 20 problems" in shown["batches"]
    absent = "the model you/model is not on this machine: the run would download it"
    assert shown["memory"] == f"no plan: {absent}"
    assert shown["first prompts"].startswith(absent)
    assert "within \\boxed{}" in shown["first prompts"]


def test_a_data_set_that_would_be_downloaded_takes_one_line(look, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "8")
    shown = look(env="MMK12-v0")
    assert shown["first prompts"].splitlines() == [
        "the data set FanqingM/MMK12 is not on this machine: the run would download it"
    ]
    assert "on 8 GPUs of 80 GiB" in shown["memory"]
    assert not huggingface_hub.constants.HF_HUB_OFFLINE


@pytest.mark.parametrize("prompt", ["cpgd", "mm_eureka", "dapo", "boxed", "plain"])
def test_the_reference_in_the_format_of_the_prompt_is_right(look, prompt):
    options = {"prompt": prompt, "rewards": {"accuracy": 1, "format": 0.5}}
    line = look(env_options=json.dumps(options))["first prompts"].splitlines()[-1]
    assert line.startswith("1.5 =" if prompt == "cpgd" else "1 =")


def test_a_small_model_on_several_ranks_has_no_plan_on_a_cpu(look, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert look()["memory"] == "no plan: several processes train on the CPU"
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(IndexError):  # another rank prints nothing
        look()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--num-prompts 30", "--num-prompts 30 does not divide among 4 ranks"),
        ("--minibatch-size 16", "--minibatch-size 16 must hold whole groups of 8 on each of 4"),
        ("--temperature 0", "--temperature is 0.0"),
        ("--model ./gone", "cannot load the model './gone': there is no such folder"),
        ("--resume", "has no run to resume"),
        ("--keep-best accuracy", "--keep-best accuracy is no metric of an evaluation"),
        ("--group-size 1 --minibatch-size 8", "the advantage of a single one is zero"),
        ("--output-dir /dev/null/run", "cannot write /dev/null/run"),
        ("--engine torch", "--engine torch runs in one process"),
    ],
)
def test_the_error_is_that_of_the_run(look, monkeypatch, words, message):
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(SystemExit) as ended:
        look(CPGD, *words.split())
    assert str(ended.value.code).startswith("error: ")
    assert message in str(ended.value.code)


def test_a_run_is_looked_at_before_it_goes_on(tmp_path, capsys, monkeypatch):
    words = flags(**SMALL | {"num_steps": 1, "output_dir": tmp_path / "run"})
    run.main(CPGD, words)
    files = {path: path.stat().st_mtime_ns for path in Path(tmp_path).rglob("*")}
    capsys.readouterr()
    words = ["--output-dir", str(tmp_path / "run"), "--resume", "--num-steps", "2", "--dry-run"]
    run.main(CPGD, words)
    assert "from step-1\n" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in Path(tmp_path).rglob("*")} == files
    with pytest.raises(SystemExit, match="has another run"):
        run.main(CPGD, [word for word in words if word != "--resume"])


def test_nothing_is_requested_from_the_hub(look, monkeypatch):
    seen = []
    constants = huggingface_hub.constants
    monkeypatch.setattr(dry_run, "_memory", lambda *_: seen.append(constants.HF_HUB_OFFLINE) or "")
    look()
    assert seen == [True]
    assert not constants.HF_HUB_OFFLINE


def test_rewards_of_a_run_may_be_functions_of_a_users_module(look, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "def brief(completions, **columns):\n"
        "    return [float(len(text[0]['content']) < 9) for text in completions]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    shown = look(CPGD, "--reward", "accuracy", "mine:brief=0.2", "--dry-run-response", "no")
    assert "0.2 = 1 x accuracy 0 + 0.2 x brief 1, answer" in shown["first prompts"]
