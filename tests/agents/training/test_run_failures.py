"""Whole runs that go wrong: they say why in one line, with the right status, and lose nothing."""

import contextlib
import io
import math
import os
import re
import shutil
import signal
import sys

import pytest
from helpers import interrupted_runs, letters
from helpers.tiny_runs import SMALL, before_response, flags, noting, numbers, same, train

import reasonenv
from agents import run
from agents.cpgd import CPGD
from agents.grpo import GRPO
from agents.run import EXIT_COLLAPSED, MAX_ROLLBACKS
from agents.storage import checkpoints
from agents.storage.checkpoints import latest, read_state, steps
from agents.storage.json_files import read_json_lines

PER_STEP = 16
WILD = {
    "learning_rate": 3e-2,
    "clip_low": "None",
    "clip_high": "None",
    "clip_schedule": "None",
    "drift_coefficient": "None",
    "epochs": 2,
}
CALM_UPDATES = 8
BACK = WILD | {
    "on_collapse": "rollback",
    "num_steps": 30,
    "save_every": 1,
    "keep_checkpoints": 20,
    "max_response_length": 6,
}
linux = pytest.mark.skipif(sys.platform != "linux", reason="limits processes as Linux does")


def stopped(learner, model, folder, **settings):
    """Status, or last words, of a run that ends before its last step."""
    words = flags(**SMALL | {"model": model, "output_dir": folder} | settings)
    with pytest.raises(SystemExit) as ended:
        run.main(learner, words)
    return ended.value.code


def steps_of(folder) -> list[int]:
    return [row["step"] for row in read_json_lines(folder / "metrics.jsonl")]


def test_a_run_that_collapses_stops_when_told_to(tiny_folder, tmp_path, capsys):
    status = stopped(CPGD, tiny_folder, tmp_path, num_steps=20, on_collapse="stop", **WILD)
    assert status == EXIT_COLLAPSED
    (last,) = steps_of(tmp_path)[-1:]
    assert last < 20
    assert steps(tmp_path)[-1] == last
    assert (tmp_path / "report.html").is_file()
    said = capsys.readouterr().err.splitlines()
    assert re.match(rf"collapse: saved step {last}; (ratio|kl), steps \d+ to {last}: ", said[-1])
    assert "lower --learning-rate" in said[-1]
    assert sum(said[-1].removeprefix(f"collapse: saved step {last}; ") in x for x in said) == 1


class Sleeper(CPGD):
    """Stays where it is in the first updates of a process, and then flees from what it said."""

    def loss(self, log_prob, batch):
        return log_prob * float(AWAKE["after"] <= 0)

    def advantage(self, reward):
        AWAKE["after"] -= 1
        return super().advantage(reward)


AWAKE = {"after": 0}


@pytest.fixture(scope="module")
def gone_back(tmp_path_factory, tiny_folder):
    """A run that collapses again and again: its folder, status, words, and what it has posed."""
    folder = tmp_path_factory.mktemp("gone") / "back"
    posed: list[str] = []
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(said):
        patch.setitem(AWAKE, "after", CALM_UPDATES)
        patch.setitem(letters.REWARDS, "letters", noting(posed))
        status = stopped(Sleeper, tiny_folder, folder, **BACK)
    return folder, status, said.getvalue().splitlines(), posed


def gone_back_to(said) -> list[int]:
    """The steps that a run went back to."""
    found = (re.match(r"rolled back to step (\d+), ", line) for line in said)
    return [int(match[1]) for match in found if match]


def test_a_run_that_collapses_goes_back_and_gives_up_after_three_times(gone_back):
    folder, status, said, _ = gone_back
    assert status == EXIT_COLLAPSED
    back = [line for line in said if line.startswith("rolled back to step ")]
    assert len(back) == MAX_ROLLBACKS == len(gone_back_to(said))
    assert back[-1].endswith(f"rollback {MAX_ROLLBACKS} of {MAX_ROLLBACKS}")
    assert said.count(f"no rollback: the run has rolled back {MAX_ROLLBACKS} times already") == 1
    assert said[-1].startswith("collapse: saved step ")
    assert (folder / "report.html").is_file()


def test_nothing_is_left_of_what_a_run_has_gone_back_from(gone_back):
    folder, _, said, _ = gone_back
    done = steps_of(folder)
    assert done == list(range(1, len(done) + 1))
    assert steps(folder)[-1] == done[-1]
    first = min(gone_back_to(said))
    assert set(steps(folder)) == set(done)
    assert all(row["train/grad_norm"] == 0 for row in numbers(folder)[:first])


def walk(count) -> list[str]:
    """Ids of the first problems that a run poses, one for each response."""
    envs = reasonenv.make("Letters-v0", num_envs=PER_STEP, group_size=4)
    envs.reset(seed=0)
    ids = []
    while len(ids) < count:
        *_, infos = envs.step(("",) * PER_STEP)
        ids += list(infos["problem_id"])
    envs.close()
    return ids


def test_a_run_that_has_gone_back_goes_on_with_problems_not_yet_posed(gone_back):
    *_, posed = gone_back
    assert len(posed) > PER_STEP * 15
    assert posed == walk(len(posed))


def test_a_resumed_run_goes_back_no_more_often_than_one_that_was_not_stopped(
    gone_back, tiny_folder, tmp_path, capsys
):
    folder, _, said, _ = gone_back
    shutil.copytree(folder, tmp_path / "run")
    checkpoints.remove_after(tmp_path / "run", gone_back_to(said)[-1] + 1)
    status = stopped(Sleeper, tiny_folder, tmp_path / "run", **BACK, resume=True)
    assert status == EXIT_COLLAPSED
    assert "rolled back to step" not in capsys.readouterr().err


@pytest.mark.slow(reason="two processes, one of them killed, for each moment")
@pytest.mark.parametrize("moment", ["before the removal", "after the rollback"])
def test_a_rollback_that_is_interrupted_is_neither_lost_nor_repeated(
    moment, tiny_folder, tmp_path, monkeypatch
):
    posed, stop = [], KeyboardInterrupt

    def interrupted(*_, **__):
        raise stop

    def ringing(*words):
        back = roll_back(*words)
        signal.raise_signal(signal.SIGINT)
        return back

    roll_back, settings = run.roll_back, BACK | {"num_steps": CALM_UPDATES + 8}
    monkeypatch.setitem(letters.REWARDS, "letters", noting(posed))
    monkeypatch.setitem(AWAKE, "after", CALM_UPDATES)
    with monkeypatch.context() as patch:
        if moment == "before the removal":
            patch.setattr(run.checkpoints, "remove_after", interrupted)
        else:
            patch.setattr(run, "roll_back", ringing)
        assert stopped(Sleeper, tiny_folder, tmp_path, **settings) == 130
    count = len(posed)
    monkeypatch.setitem(AWAKE, "after", 10**6)  # calm from now on
    words = {"model": tiny_folder, "output_dir": tmp_path, "resume": True}
    run.main(Sleeper, flags(**SMALL | settings | words))
    assert count < len(posed)
    before = list(posed)
    assert before == walk(len(before))
    assert read_state(latest(tmp_path))["num_rollbacks"] == 1
    assert steps_of(tmp_path) == list(range(1, settings["num_steps"] + 1))


def test_a_run_that_gave_up_can_be_resumed(gone_back, tiny_folder):
    folder, *_ = gone_back
    last = steps_of(folder)[-1]
    longer = {"model": tiny_folder, "output_dir": folder, "num_steps": last + 2, "resume": True}
    run.main(Sleeper, flags(**SMALL | BACK | longer))
    assert steps_of(folder) == list(range(1, last + 3))


class Broken(GRPO):
    """Its loss is no number in some updates, counted from 1."""

    def advantage(self, reward):
        BROKEN["update"] += 1
        return super().advantage(reward)

    def loss(self, log_prob, batch):
        loss = super().loss(log_prob, batch)
        return loss * math.nan if BROKEN["update"] in BROKEN["in"] else loss


BROKEN = {"update": 0, "in": ()}


def break_in(updates, monkeypatch):
    monkeypatch.setitem(BROKEN, "update", 0)
    monkeypatch.setitem(BROKEN, "in", updates)


def test_updates_that_are_no_numbers_are_skipped_and_counted(tiny_folder, tmp_path, monkeypatch):
    break_in((2,), monkeypatch)
    words = {"model": tiny_folder, "output_dir": tmp_path, "save_every": 1, "keep_checkpoints": 9}
    run.main(Broken, flags(**SMALL | words))
    rows = read_json_lines(tmp_path / "metrics.jsonl")
    assert [row["train/skipped"] for row in rows] == [0, 2, 0]
    assert rows[1]["train/grad_norm"] is None
    after = [(tmp_path / f"checkpoints/step-{n}/model.safetensors").read_bytes() for n in (1, 2, 3)]
    assert after[0] == after[1] != after[2]


def test_a_run_whose_updates_are_no_numbers_any_more_stops(
    tiny_folder, tmp_path, monkeypatch, capsys
):
    break_in(range(2, 99), monkeypatch)
    monkeypatch.setattr(run, "MAX_SKIPPED", 4)
    status = stopped(Broken, tiny_folder, tmp_path, num_steps=9, save_every=1)
    assert status == EXIT_COLLAPSED
    assert steps_of(tmp_path) == [1, 2, 3]
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("collapse: saved step 3; the gradients of 4 optimizer steps in a row")
    assert steps(tmp_path)[-1] == 3
    assert (tmp_path / "report.html").is_file()
    break_in((), monkeypatch)
    words = {"model": tiny_folder, "output_dir": tmp_path, "num_steps": 4, "resume": True}
    run.main(Broken, flags(**SMALL | words | {"save_every": 1}))
    assert steps_of(tmp_path) == [1, 2, 3, 4]


LONG = {"num_steps": 3, "save_every": 1}


@pytest.fixture(scope="module")
def whole(tmp_path_factory, tiny_folder):
    folder = tmp_path_factory.mktemp("failures") / "whole"
    train(tiny_folder, folder, **LONG)
    return folder


@contextlib.contextmanager
def unlimited_again(name):
    """Gives this process back what it may have."""
    import resource

    kind = getattr(resource, name)
    before = resource.getrlimit(kind)
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


@linux
def test_a_disk_that_is_full_is_one_line_and_the_run_goes_on(
    whole, tiny_folder, tmp_path, monkeypatch
):
    in_step_2 = PER_STEP + 5
    with monkeypatch.context() as patch, unlimited_again("RLIMIT_FSIZE"):
        filling = before_response(in_step_2, interrupted_runs.FAULTS["small files"])
        patch.setitem(letters.REWARDS, "letters", filling)
        last = stopped(CPGD, tiny_folder, tmp_path / "run", **LONG)
    assert last.startswith("error: cannot save the checkpoint of step 2: ")
    assert "\n" not in last
    assert last.endswith("--resume continues from step-1")
    assert latest(tmp_path / "run").name == "step-1"
    train(tiny_folder, tmp_path / "run", **LONG, resume=True)
    assert numbers(tmp_path / "run") == numbers(whole)
    assert same(tmp_path / "run", whole)


@pytest.mark.slow(reason="fills the memory of a process")
@linux
def test_a_run_without_memory_says_what_to_lower_and_goes_on_with_less(tiny_folder, tmp_path):
    large = {"num_prompts": 16, "group_size": 8, "minibatch_size": 128, "max_response_length": 48}
    large |= {"num_steps": 2, "save_every": 1}
    settings = large | {"model": tiny_folder, "output_dir": tmp_path}
    in_step_2 = 128 + 5
    words = interrupted_runs.command("no memory", in_step_2, **settings, microbatch_size=128)
    status, said = interrupted_runs.end(words)
    assert status == 1
    assert "Traceback" not in said
    last = said.splitlines()[-1]
    assert last.startswith("error: out of memory in training: lower --tokens-per-microbatch or ")
    assert last.endswith("--resume continues from step-1")
    rows = train(tiny_folder, tmp_path, **large, tokens_per_microbatch=2000, resume=True)
    assert [row["step"] for row in rows] == [1, 2]


def test_a_second_ctrl_c_stops_in_the_middle_of_a_step(tiny_folder, tmp_path, monkeypatch, capsys):
    ringing = before_response(PER_STEP + 5, interrupted_runs.twice)
    with monkeypatch.context() as patch:
        patch.setitem(letters.REWARDS, "letters", ringing)
        assert stopped(CPGD, tiny_folder, tmp_path, **LONG) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "stopped; --resume continues from step-1"
    assert train(tiny_folder, tmp_path, **LONG, resume=True)[-1]["step"] == 3


# A smaller program whose reader is lost: tests/agents/cli/test_lasting_output.py.
@pytest.mark.slow(reason="a run in a process of its own")
@pytest.mark.parametrize(("fault", "status", "last"), [("nothing", 0, 3), ("terminate", 143, 2)])
def test_a_run_whose_log_nobody_reads_any_more_loses_nothing(
    fault, status, last, tiny_folder, tmp_path
):
    words = interrupted_runs.command(
        fault, PER_STEP + 5, model=tiny_folder, output_dir=tmp_path / "run"
    )
    with interrupted_runs.start(words) as process:
        assert process.stderr.readline()
        process.stderr.close()
    assert process.returncode == status
    assert steps(tmp_path / "run") == [last]


@pytest.mark.slow(reason="a process that is stopped at each of two moments")
@pytest.mark.parametrize("word", ["plan:", "sampler and trainer"])
def test_ctrl_c_before_the_first_step_leaves_no_traceback(word, tiny_folder, tmp_path):
    settings = {"model": tiny_folder, "output_dir": tmp_path / "run", "num_test_problems": 10}
    with interrupted_runs.start(interrupted_runs.command("nothing", 0, **settings)) as process:
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith(word):
                os.kill(process.pid, signal.SIGINT)
    assert process.returncode == 130, said
    assert not any("Traceback" in line for line in said)
    assert re.match("stopped; |SIGINT: saved step ", said[-1])
