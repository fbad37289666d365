import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import letters, tiny_runs
from helpers.tiny_runs import SMALL, before_response, flags, numbers, refusal, same, train

from agents import run
from agents.cli import flags as cli_flags
from agents.cli.flags import parse_run
from agents.cli.settings import Run
from agents.cpgd import CPGD
from agents.grpo import GRPO
from agents.storage.checkpoints import latest, read_state, remove_after
from agents.storage.digests import write_digests
from agents.storage.json_files import json_value, read_json_lines
from agents.storage.lock import locked
from agents.storage.provenance import check_settings, describe_changes, write_run
from agents.training.setup import run_settings
from benchmarks.tiny import model as tiny_model

PER_STEP = 16
LONG = {"num_steps": 6, "save_every": 2, "keep_checkpoints": 9}


@pytest.fixture(scope="module")
def whole(tmp_path_factory, tiny_folder):
    """A run of six steps that nothing stops."""
    folder = tmp_path_factory.mktemp("resume") / "whole"
    train(tiny_folder, folder, **LONG, num_test_problems=2)
    return folder


@pytest.fixture
def copied(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "run"))


def stop_in_step(step, act, monkeypatch, graded_before=0):
    """Makes `act` be called while the responses of a step are graded."""
    ringing = before_response(graded_before + (step - 1) * PER_STEP + 5, act)
    monkeypatch.setitem(letters.REWARDS, "letters", ringing)


def steps(folder):
    return [row["step"] for row in read_json_lines(folder / "metrics.jsonl")]


@pytest.mark.slow(reason="a process that is killed; the next test stops a run in this one")
def test_a_killed_run_goes_on_with_the_numbers_of_one_that_was_not(whole, tiny_folder, tmp_path):
    settings = SMALL | LONG | {"model": tiny_folder, "output_dir": tmp_path / "run"}
    killed_in_step_4 = str(3 * PER_STEP + 5)
    child = subprocess.run(
        [sys.executable, tiny_runs.__file__, killed_in_step_4, *flags(**settings)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=False,
        timeout=120,
    )
    folder = tmp_path / "run"
    assert child.returncode == -signal.SIGKILL, child.stderr.decode()
    assert steps(folder) == [1, 2, 3]
    assert latest(folder) == folder / "checkpoints" / "step-2"
    train(tiny_folder, folder, **LONG, resume=True)
    assert numbers(folder) == numbers(whole)
    assert same(folder, whole)


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        *(
            pytest.param(other, marks=pytest.mark.slow(reason="the same run for another signal"))
            for other in (signal.SIGTERM, signal.SIGHUP)
        ),
    ],
)
def test_a_run_that_is_told_to_stop_saves_and_goes_on(
    number, whole, tiny_folder, tmp_path, monkeypatch, capsys
):
    with monkeypatch.context() as patch:
        stop_in_step(3, lambda: signal.raise_signal(number), patch)
        with pytest.raises(SystemExit) as stopped:
            train(tiny_folder, tmp_path, **LONG)
    assert stopped.value.code == 128 + number
    last_line = capsys.readouterr().err.strip().splitlines()[-1]
    start = f"{number.name}: saved step 3; continue with python -m agents.cpgd "
    assert last_line.startswith(start)
    assert latest(tmp_path) == tmp_path / "checkpoints" / "step-3"
    run.main(CPGD, shlex.split(last_line.removeprefix(start)))
    assert numbers(tmp_path) == numbers(whole)
    assert same(tmp_path, whole)


def test_a_damaged_checkpoint_is_named_and_the_run_goes_on_from_the_one_before(
    whole, copied, tiny_folder, capsys
):
    weights = copied / "checkpoints" / "step-6" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[len(content) // 2] ^= 4
    weights.write_bytes(content)
    train(tiny_folder, copied, **LONG, resume=True)
    assert "step-6 is damaged (model.safetensors differs from its" in capsys.readouterr().err
    assert numbers(copied) == numbers(whole)
    assert same(copied, whole)


def test_a_checkpoint_beyond_the_last_step_is_refused(copied, tiny_folder):
    message = refusal(tiny_folder, copied, **LONG | {"num_steps": 4, "resume": True})
    assert "step-6 is beyond the last step, --num-steps 4: give at least 6" in message


def test_steps_without_metrics_are_counted_in_a_warning(copied, tiny_folder, capsys):
    (copied / "metrics.jsonl").unlink()
    train(tiny_folder, copied, **LONG, resume=True)
    assert "warning: metrics.jsonl has 0 of 6 steps" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "line"), [("metrics.jsonl", "{}"), ("evaluations.jsonl", "5")])
def test_a_damaged_line_of_a_record_is_named(copied, tiny_folder, name, line):
    (copied / name).write_text(f"{line}\n")
    assert f"{name}, line 1" in refusal(tiny_folder, copied, **LONG, resume=True)


def test_a_directory_in_use_is_left_alone(whole, tiny_folder, tmp_path):
    folder = tmp_path / "run"
    with locked(folder):
        assert f"in use by process {os.getpid()} on" in refusal(tiny_folder, folder, **LONG)
    assert not folder.exists()


def test_a_run_that_stops_before_its_first_checkpoint_begins_again(
    whole, tiny_folder, tmp_path, monkeypatch, capsys
):
    settings = {**LONG, "num_test_problems": 2}
    with monkeypatch.context() as patch:
        stop_in_step(2, lambda: 1 / 0, patch, graded_before=settings["num_test_problems"])
        with pytest.raises(ZeroDivisionError):
            train(tiny_folder, tmp_path, **settings)
    assert steps(tmp_path) == [1]
    shutil.rmtree(tmp_path / "checkpoints")  # as where it was killed
    capsys.readouterr()
    train(tiny_folder, tmp_path, **settings, resume=True)
    assert "no checkpoint to resume: from the beginning" in capsys.readouterr().err
    assert numbers(tmp_path) == numbers(whole)
    name = "evaluations.jsonl"
    assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()


def test_a_run_that_is_done_can_be_made_longer_and_follows_the_longer_schedule(
    whole, tiny_folder, tmp_path, capsys
):
    rows = train(tiny_folder, tmp_path, num_steps=2)
    assert train(tiny_folder, tmp_path, num_steps=2, resume=True) == rows
    assert "done" in capsys.readouterr().err
    rows = train(tiny_folder, tmp_path, num_steps=6, resume=True)
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5, 6]
    record = json.loads((tmp_path / "run.json").read_text())
    assert [entry["step"] for entry in record["resumed"]] == [2, 2]
    assert record["settings"]["run"]["num_steps"] == 6
    rates = [row["train/lr"] for row in numbers(whole)]
    assert [row["train/lr"] for row in rows[2:]] == pytest.approx(rates[2:])


def test_the_folder_is_enough_to_resume(copied, capsys):
    remove_after(copied, 4)
    run.main(CPGD, ["--output-dir", str(copied), "--resume", "--num-steps", "5"])
    assert steps(copied) == [1, 2, 3, 4, 5]
    assert "settings other than before: num_steps is 5, was 6\n" in capsys.readouterr().err
    run.main(CPGD, ["--output-dir", str(copied), "--resume"])
    assert "other than before" not in capsys.readouterr().err


def test_a_folder_without_a_run_is_left_as_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=r"^error: runs.* has no run to resume, and beside"):
        run.main(CPGD, ["--resume"])
    assert not list((tmp_path / "runs").iterdir())


def test_a_run_that_was_saved_on_other_ranks_goes_on_with_a_line(copied, tiny_folder, capsys):
    remove_after(copied, 4)
    checkpoint = latest(copied)
    state = read_state(checkpoint) | {"num_ranks": 4}
    (checkpoint / "trainer_state.json").write_text(json.dumps(state))
    write_digests(checkpoint)
    train(tiny_folder, copied, **LONG, resume=True)
    assert "ranks: 1, not 4 as before: responses have other seeds\n" in capsys.readouterr().err
    assert len(numbers(copied)) == LONG["num_steps"]


def test_the_own_settings_of_a_run_go_before_other_defaults_of_the_command(whole, monkeypatch):
    expected = parse_run(CPGD, ["--output-dir", str(whole), "--resume"])
    others = Run(env="WordProblems-v0", model="other", num_prompts=5, epochs=2, stop=("x",))
    monkeypatch.setattr(cli_flags, "defaults", lambda *_: others)
    assert parse_run(CPGD, [])[0].stop == others.stop
    assert parse_run(CPGD, ["--output-dir", str(whole), "--resume"]) == expected


def test_a_run_resumes_from_another_working_directory_with_the_files_of_its_start(
    tmp_path, monkeypatch
):
    for place in ("first", "second"):
        (tmp_path / place).mkdir()
    (tmp_path / "first" / "mine.jsonl").write_text('{"question": "1 + 1?", "answer": 2}\n')
    folder, file = tmp_path / "run", str(tmp_path / "first" / "mine.jsonl")
    monkeypatch.chdir(tmp_path / "first")
    words = ["--env", "file", "--output-dir", str(folder)]
    started = parse_run(CPGD, [*words, "--data", "mine.jsonl"])
    write_run(folder, run_settings(*started))
    (folder / "metrics.jsonl").write_text('{"step": 1}\n')
    monkeypatch.chdir(tmp_path / "second")
    (tmp_path / "second" / "mine.jsonl").write_text("another file")
    for more in ([], ["--data", "../first/mine.jsonl"]):
        resumed = parse_run(CPGD, [*words, "--resume", *more])
        assert Path(resumed[0].data).resolve() == Path(file)
        settings = json_value(run_settings(*resumed), str)
        check_settings(folder, settings)
        assert describe_changes(folder, settings) == ""
        write_run(folder, settings, 1)
        record = json.loads((folder / "run.json").read_text())
        assert (record["settings"]["run"]["data"], record["paths"]["data"]) == ("mine.jsonl", file)


def test_a_moved_folder_resumes_with_the_settings_of_its_learner(copied):
    record = json.loads((copied / "run.json").read_text())
    record["settings"]["learner"]["clip_high"] = 0.45
    (copied / "run.json").write_text(json.dumps(record))
    settings, learner = parse_run(CPGD, ["--output-dir", str(copied), "--resume"])
    assert learner.clip_high == 0.45
    assert settings.num_steps == LONG["num_steps"]
    assert settings.output_dir == str(copied)


def test_a_file_of_settings_goes_before_those_on_record(whole, tmp_path):
    (tmp_path / "more.yaml").write_text("num-steps: 9\nresume: true\n")
    words = ["--config", f"{tmp_path}/more.yaml", "--output-dir", str(whole)]
    assert parse_run(CPGD, words)[0].num_steps == 9
    assert parse_run(CPGD, [*words, "--num-steps", "8"])[0].num_steps == 8
    assert parse_run(CPGD, [*words, "--no-resume"])[0].env == Run.env


def test_a_run_of_another_algorithm_is_named(whole):
    with pytest.raises(SystemExit, match=r"algorithm was 'CPGD' and is 'GRPO'"):
        run.main(GRPO, ["--output-dir", str(whole), "--resume"])


@pytest.mark.parametrize("settings", [{}, {"run": {}}])
def test_a_record_without_settings_is_one_line(tmp_path, settings):
    (tmp_path / "run.json").write_text(json.dumps({"settings": settings}))
    with pytest.raises(SystemExit, match=r"^error: \S* is no training run: give the folder of"):
        run.main(CPGD, ["--output-dir", str(tmp_path), "--resume"])


def test_another_run_in_the_directory_is_left_alone(whole, tiny_folder):
    before = numbers(whole)
    assert "has another run" in refusal(tiny_folder, whole)
    assert numbers(whole) == before


def test_other_settings_are_refused_by_name(whole, tiny_folder):
    message = refusal(tiny_folder, whole, **LONG, group_size=8, clip_high=0.5, resume=True)
    assert "learner.clip_high was" in message
    assert "run.group_size was 4 and is 8" in message


def test_a_checkpoint_of_a_model_of_another_size_is_refused(tmp_path):
    model, folder = tmp_path / "model", tmp_path / "run"
    tiny_model.save_untrained(model, ["few words"], seed=0)
    train(model, folder, num_steps=1)
    tiny_model.save_untrained(
        model, ["few words and some more of them, so that there are more tokens"], seed=0
    )
    message = refusal(model, folder, num_steps=2, resume=True)
    assert "does not fit this run: model is" in message
