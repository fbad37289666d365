"""Memory that really runs out, and a rank that is really killed: one line, nothing lost."""

import os
import signal
import subprocess
import sys
import time

import pytest
import torch
from helpers import torchrun

from agents.engines import failures
from agents.storage import checkpoints
from agents.storage.json_files import read_json_lines

SHORT_OF_MEMORY = """
import resource, sys
from pathlib import Path
from agents.engines import failures
from agents.storage import checkpoints
from helpers import tiny_engines

engine = tiny_engines.build("torch", Path(sys.argv[1]))
prompts = engine.chat.encode(tiny_engines.observations(group_size=64))
responses = tiny_engines.respond(prompts, [600] * len(prompts), engine.chat)
sampler = tiny_engines.sampler(engine)
sampler.batch_size = 10**6
pages = int(Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + 300 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
with failures.in_one_line(lambda: checkpoints.way_on(Path(sys.argv[2]))):
    if sys.argv[3] == "train":
        engine.backward(engine.forward(responses)[0].sum())
    else:
        sampler.generate(prompts * 200, seed=(1,))
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")


@linux
@pytest.mark.parametrize(
    ("phase", "flags"),
    [
        ("train", ("--tokens-per-microbatch", "--microbatch-size", "--gradient-checkpointing")),
        ("sample", ("--sampler-batch-size", "--max-response-length")),
    ],
)
def test_memory_that_runs_out_is_one_line_with_what_to_lower(tiny_folder, tmp_path, phase, flags):
    (tmp_path / "checkpoints" / "step-4").mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-c", SHORT_OF_MEMORY, str(tiny_folder), str(tmp_path), phase],
        env=torchrun.ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1, done.stderr[-3000:]
    (line,) = [line for line in done.stderr.splitlines() if "memory" in line]
    assert line.startswith(f"error: out of memory in {phase[:5]}")
    assert line.endswith("--resume goes on from step-4")
    assert all(flag in line for flag in flags)
    assert "Traceback" not in done.stderr


def test_a_fault_of_the_program_is_not_explained_away():
    assert failures.explain(RuntimeError("mat1 and mat2 shapes cannot be multiplied")) is None
    with pytest.raises(RuntimeError, match="shapes"), failures.in_one_line():
        torch.zeros(2, 3) @ torch.zeros(2, 3)


def test_a_rank_that_ends_while_a_checkpoint_is_saved_is_the_cause_that_is_told(tmp_path):
    def write(folder):
        raise RuntimeError("[pair.cc:534] Connection closed by peer [127.0.0.1]:4242")

    with pytest.raises(OSError, match="cannot save the checkpoint of step 1") as failed:
        checkpoints.save(tmp_path, 1, write)
    assert failures.explain(failed.value).startswith("another rank has ended")


def test_a_run_without_a_checkpoint_goes_on_from_its_beginning(tmp_path):
    assert checkpoints.way_on(tmp_path).endswith("from its beginning: nothing was saved yet")


@pytest.fixture(scope="module")
def killed(tmp_path_factory, tiny_folder):
    """A run of two ranks, one of them killed after the second checkpoint, and its last words."""
    folder = tmp_path_factory.mktemp("killed") / "run"
    process = subprocess.Popen(
        torchrun.command("ranks_killed.py", tiny_folder, folder, 1000),
        env=torchrun.ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not (folder / "checkpoints" / "step-2").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.1)
        os.kill(int(folder.with_name("rank-1").read_text()), signal.SIGKILL)
        _, told = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode != 0
    return folder, told


def test_the_others_end_when_a_rank_is_killed_and_one_line_says_so(killed):
    (line,) = [line for line in killed[1].splitlines() if line.startswith("error: another rank")]
    assert "--resume goes on from step-" in line


def test_a_run_with_a_killed_rank_lost_nothing_and_goes_on(killed, tiny_folder):
    folder, _ = killed
    last = checkpoints.latest(folder)
    assert last is not None
    step = checkpoints.read_state(last, {"num_ranks": 2})["step"]
    torchrun.run("ranks_killed.py", tiny_folder, folder, step + 1, "--resume")
    steps = [row["step"] for row in read_json_lines(folder / "metrics.jsonl")]
    assert steps == list(range(1, step + 2))
