import copy
import json
import os
import re
import signal
import sys
import threading
from functools import partial
from typing import ClassVar

import pytest
import torch
from helpers import letters, tiny_runs
from helpers.interrupted_runs import end
from helpers.tiny_runs import SMALL, before_response, flags, numbers, refusal, same, train
from safetensors.torch import load_file

from agents.cli.settings import Run
from agents.corrections import uncorrected
from agents.cpgd import CPGD
from agents.engines import sampler_process
from agents.engines.sampler_process import ProcessSampler, trained_weights
from agents.engines.transformers import TransformersSampler
from agents.errors import CheckpointError, SamplerError, UsageError
from agents.training import pipeline
from agents.training.setup import check_staleness, with_correction
from agents.training.state import VERSIONS, load_versions, save_versions

PER_STEP = 16
SHORT = {"num_steps": 2, "staleness": 1}
LONG = {"num_steps": 6, "save_every": 1, "keep_checkpoints": 9}


class Local(TransformersSampler):
    """A `ProcessSampler` without a process: slower, and it starts at once."""

    loaded: ClassVar[list[dict[str, torch.Tensor]]] = []

    def __init__(self, encode, weights, make, say):
        own: TransformersSampler = encode.__self__
        policy, rest = copy.deepcopy(own.policy), (own.max_response_length, own.batch_size)
        super().__init__(policy, own.chat, own.sampling, *rest)
        Local.loaded.clear()

    def load_weights(self, weights):
        own = trained_weights(self.policy)
        for name, weight in weights:
            own[name].copy_(weight)
        Local.loaded.append({name: weight.clone() for name, weight in own.items()})


@pytest.fixture
def local(monkeypatch):
    monkeypatch.setattr(pipeline, "ProcessSampler", Local)


def text_layers(weights):
    """Of the text model, whose names differ in a checkpoint only before the number of the layer."""
    return {k.rpartition(".layers.")[2]: v for k, v in weights.items() if ".layers." in k}


def without_age(folder):
    return [{k: v for k, v in row.items() if k != "staleness/age"} for row in numbers(folder)]


@pytest.mark.parametrize("staleness", [1, 3])
def test_a_rollout_has_the_weights_of_so_many_updates_before(
    staleness, local, tiny_folder, tmp_path
):
    train(tiny_folder, tmp_path, **LONG, staleness=staleness)
    versions = [load_file(tiny_folder / "model.safetensors")]
    for step in range(1, 6):
        versions.append(load_file(tmp_path / f"checkpoints/step-{step}/model.safetensors"))
    assert len(Local.loaded) == 6
    for step, sampled in enumerate(Local.loaded, 1):
        expected = text_layers(versions[max(0, step - 1 - staleness)])
        own = text_layers(sampled)
        assert own.keys() == expected.keys()
        assert all(torch.equal(own[name], expected[name]) for name in own)
    ages = [row["staleness/age"] for row in numbers(tmp_path)]
    assert ages == [min(staleness, step) for step in range(6)]


@pytest.mark.parametrize(
    "staleness", [3, pytest.param(1, marks=pytest.mark.slow(reason="three runs, for another age"))]
)
def test_runs_are_equal_and_so_is_one_that_stops_and_goes_on(
    staleness, local, tiny_folder, tmp_path, monkeypatch
):
    settings = LONG | {"staleness": staleness, "num_test_problems": 2, "evaluate_every": 2}
    for name in ("whole", "again"):
        train(tiny_folder, tmp_path / name, **settings)
    assert numbers(tmp_path / "whole") == numbers(tmp_path / "again")
    # The response is of a rollout ahead, while an earlier step is trained.
    stop = before_response(4 * PER_STEP + 5, partial(signal.raise_signal, signal.SIGTERM))
    with monkeypatch.context() as context:
        context.setitem(letters.REWARDS, "letters", stop)
        with pytest.raises(SystemExit):
            train(tiny_folder, tmp_path / "stopped", **settings)
    assert len(numbers(tmp_path / "stopped")) < 6
    train(tiny_folder, tmp_path / "stopped", **settings, resume=True)
    assert numbers(tmp_path / "stopped") == numbers(tmp_path / "whole")
    assert same(tmp_path / "stopped", tmp_path / "whole")


@pytest.mark.slow(reason="a run for each staleness")
def test_a_frozen_policy_is_trained_on_the_responses_of_any_staleness(local, tiny_folder, tmp_path):
    settings = LONG | {"learning_rate": 0, "sampler_correction": 2}
    for staleness in (0, 2):
        train(tiny_folder, tmp_path / str(staleness), **settings, staleness=staleness)
    assert without_age(tmp_path / "2") == numbers(tmp_path / "0")


def test_a_rollback_drops_what_is_under_way(local, tiny_folder, tmp_path, monkeypatch):
    from agents.monitoring.collapse import CollapseMonitor, Decision

    seen = []

    def roll_back_at_4(self, step, metrics):
        is_due = step == 4 and step not in seen
        seen.append(step)
        return Decision("rollback" if is_due else "continue")

    monkeypatch.setattr(CollapseMonitor, "update", roll_back_at_4)
    monkeypatch.setattr("agents.run.checkpoint_before", lambda *_: 2)
    train(tiny_folder, tmp_path, **LONG, staleness=1)
    assert [row["step"] for row in numbers(tmp_path)] == [1, 2, 3, 4, 5, 6]
    state = json.loads((tmp_path / "checkpoints/step-6/trainer_state.json").read_text())
    assert state["position"] == 4 * 4 + 4 * 4  # four steps before, and four after it


@pytest.mark.slow(reason="processes of samplers, each of which imports torch")
@pytest.mark.parametrize("lora", [None, '{"r": 2, "target_modules": ["q_proj"]}'])
def test_a_process_samples_as_a_copy_in_this_process(lora, tiny_folder, tmp_path, monkeypatch):
    settings = LONG | {"staleness": 1, "lora": lora}
    train(tiny_folder, tmp_path / "process", **settings)
    monkeypatch.setattr(pipeline, "ProcessSampler", Local)
    train(tiny_folder, tmp_path / "copy", **settings)
    assert numbers(tmp_path / "process") == numbers(tmp_path / "copy")


@pytest.mark.slow(reason="processes that are killed, and samplers that import torch")
@pytest.mark.parametrize("staleness", [1, 3])
def test_a_run_that_is_killed_goes_on_as_if_it_had_not_been(
    staleness, local, tiny_folder, tmp_path
):
    settings = LONG | {"staleness": staleness}
    train(tiny_folder, tmp_path / "whole", **settings)
    options = SMALL | settings | {"model": tiny_folder, "output_dir": tmp_path / "killed"}
    for number, resume in ((5, False), (3 * PER_STEP + 2, True), (2 * PER_STEP + 9, True)):
        words = [tiny_runs.__file__, str(number), *flags(**options, resume=resume)]
        status, stderr = end([sys.executable, *words])
        assert status == -signal.SIGKILL, stderr
    train(tiny_folder, tmp_path / "killed", **settings, resume=True)
    assert numbers(tmp_path / "killed") == numbers(tmp_path / "whole")
    assert same(tmp_path / "killed", tmp_path / "whole")


def kill_at(responses, pids, monkeypatch):
    """Kills the sampler's process while responses of these numbers are graded."""
    start = ProcessSampler._start

    def noted(self):
        start(self)
        pids.append(self.pid)

    monkeypatch.setattr(ProcessSampler, "_start", noted)
    kills = iter(sorted(responses))
    due = [next(kills)]
    graded = [0]

    def reward(response, problem, grade):
        graded[0] += 1
        if due and graded[0] == due[0]:
            due[:] = [*kills][:1]
            os.kill(pids[-1], signal.SIGKILL)
        return letters.letters(response, problem, grade)

    monkeypatch.setitem(letters.REWARDS, "letters", (1.0, reward))


@pytest.mark.slow(reason="processes of samplers, each of which imports torch")
def test_a_sampler_that_dies_is_started_again_once(tiny_folder, tmp_path, monkeypatch, capfd):
    settings = LONG | {"staleness": 1}
    with monkeypatch.context() as context:
        context.setattr(pipeline, "ProcessSampler", Local)
        train(tiny_folder, tmp_path / "whole", **settings)
    with monkeypatch.context() as context:
        kill_at([2 * PER_STEP + 3], pids := [], context)
        train(tiny_folder, tmp_path / "killed", **settings)
    assert numbers(tmp_path / "killed") == numbers(tmp_path / "whole")
    assert len(pids) == 2
    line = f"the sampler's process {pids[0]} ended (exit status -9): another is started"
    assert line in capfd.readouterr().err
    with monkeypatch.context() as context:
        kill_at([2 * PER_STEP + 3, 3 * PER_STEP + 3], pids := [], context)
        message = refusal(tiny_folder, tmp_path / "twice", **settings)
    assert re.search(r"sampler's process \d+ ended \(exit status -9\), as one before", message)
    assert "saved step" in capfd.readouterr().err
    train(tiny_folder, tmp_path / "twice", **settings, resume=True)
    assert numbers(tmp_path / "twice") == numbers(tmp_path / "whole")


@pytest.mark.slow(reason="processes of samplers, each of which imports torch")
def test_a_sampler_that_is_stopped_is_waited_for_with_a_line(
    tiny_folder, tmp_path, monkeypatch, capfd
):
    monkeypatch.setattr(sampler_process, "PATIENCE", 0.5)
    start = ProcessSampler._start

    def stopped(self):
        start(self)
        os.kill(self.pid, signal.SIGSTOP)
        threading.Timer(3, os.kill, (self.pid, signal.SIGCONT)).start()

    monkeypatch.setattr(ProcessSampler, "_start", stopped)
    train(tiny_folder, tmp_path / "stopped", **SHORT)
    line = r"no answer of the sampler's process \d+ for 0.5 s: it is slow, or stopped, and training"
    assert re.search(line, capfd.readouterr().err)
    monkeypatch.setattr(pipeline, "ProcessSampler", Local)
    train(tiny_folder, tmp_path / "copy", **SHORT)
    assert numbers(tmp_path / "stopped") == numbers(tmp_path / "copy")


def unused() -> TransformersSampler:
    raise AssertionError


@pytest.mark.slow(reason="a process that imports torch")
def test_a_closed_sampler_says_so():
    sampler = ProcessSampler(lambda observations: (), {"a": torch.ones(2)}, unused)
    sampler.close()
    with pytest.raises(SamplerError, match="the sampler is closed"):
        sampler.generate((), (0,))


class Curious(CPGD):
    def curriculum(self, history, problems):
        return None


@pytest.mark.parametrize(
    ("learner", "settings", "words"),
    [
        (CPGD(), {"max_generations": 2}, "--max-generations 2 chooses from rollouts"),
        (CPGD(), {"sampler": "vllm"}, "give --vllm-server, or --engine torch"),
        (CPGD(), {"engine": "deepspeed"}, "give --vllm-server, or --engine torch"),
        (Curious(), {}, "the curriculum of Curious reads the steps before"),
    ],
)
def test_what_cannot_be_ahead_is_refused_in_one_line(learner, settings, words):
    check_staleness(Run(**settings), learner)
    with pytest.raises(UsageError, match=words) as refused:
        check_staleness(Run(**settings, staleness=1), learner)
    assert "\n" not in str(refused.value)


def test_a_correction_is_on_unless_a_flag_turns_it_off():
    assert with_correction(Run(), CPGD()) == (CPGD(), "")
    learner, line = with_correction(Run(staleness=1), CPGD())
    assert learner.sampler_correction == 2
    assert "--staleness 1" in line
    assert "\n" not in line
    off = CPGD(sampler_correction=uncorrected)
    assert with_correction(Run(staleness=1), off) == (off, "")


def test_versions_of_a_checkpoint_are_those_before_it(tmp_path):
    versions = {v: {"a.weight": torch.full((2, 3), float(v))} for v in (3, 4, 5)}
    save_versions(tmp_path, versions, 5)
    loaded = load_versions(tmp_path)
    assert loaded.keys() == {3, 4}
    assert all(torch.equal(loaded[v]["a.weight"], versions[v]["a.weight"]) for v in loaded)
    (tmp_path / VERSIONS).write_bytes(b"\x00" * 20)
    with pytest.raises(CheckpointError, match="does not fit this run"):
        load_versions(tmp_path)
    (tmp_path / VERSIONS).unlink()
    with pytest.raises(CheckpointError, match=f"has no {VERSIONS}"):
        load_versions(tmp_path)
