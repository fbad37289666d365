"""Errors by type: each is one line of a command, and everything else keeps its traceback."""

import errno
import inspect
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import gymnasium
import pytest
import torch
from helpers import torchrun
from helpers.tiny_runs import SMALL, flags

import agents.errors
import reasonenv.errors
from agents import generate, run, sft
from agents.cli.exit import errors_in_one_line
from agents.cpgd import CPGD
from agents.errors import AgentsError, LostRankError, OutOfMemoryError, typed_errors
from agents.storage import checkpoints
from agents.storage.json_files import read_json_lines
from reasonenv.errors import ReasonEnvError
from reasonenv.registration import UnknownEnvironmentError

SHORT_OF_MEMORY = """
import resource, sys
from pathlib import Path
from agents.cli.exit import errors_in_one_line
from agents.errors import typed_errors
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
folder = Path(sys.argv[2])
phases = {
    "sampling": lambda: sampler.generate(prompts * 200, seed=(1,)),
    "training": lambda: engine.backward(engine.forward(responses)[0].sum()),
}
for phase, act in phases.items():
    try:
        with errors_in_one_line(lambda: checkpoints.resume_hint(folder)), typed_errors(phase):
            act()
    except SystemExit as end:
        print(end.code, file=sys.stderr)
"""


linux = pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")


TO_LOWER = {
    "sampling": ("--sampler-batch-size", "--max-response-length"),
    "training": ("--tokens-per-microbatch", "--microbatch-size", "--gradient-checkpointing"),
}


@linux
@pytest.mark.slow(reason="a run in a process of its own")
def test_memory_that_runs_out_is_one_line_with_what_to_lower(tiny_folder, tmp_path):
    (tmp_path / "checkpoints" / "step-4").mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-c", SHORT_OF_MEMORY, str(tiny_folder), str(tmp_path)],
        env=torchrun.ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line for line in done.stderr.splitlines() if "memory" in line]
    for line, (phase, named) in zip(lines, TO_LOWER.items(), strict=True):
        assert line.startswith(f"error: out of memory in {phase}")
        assert line.endswith("--resume continues from step-4")
        assert all(flag in line for flag in named)
    assert "Traceback" not in done.stderr


def types(module, base):
    """The types that a module defines, without their base."""
    members = [c for _, c in inspect.getmembers(module, inspect.isclass)]
    return [c for c in members if issubclass(c, base) and c is not base]


AGENTS, REASONENV = types(agents.errors, AgentsError), types(reasonenv.errors, ReasonEnvError)


def last_line(error, **options):
    """What a command says of an error before it ends with status 1."""
    with pytest.raises(SystemExit) as ended, errors_in_one_line(**options):
        raise error
    assert isinstance(ended.value.code, str), "a status other than 1"
    return ended.value.code


@pytest.mark.parametrize("kind", [*AGENTS, *REASONENV, UnknownEnvironmentError])
def test_each_type_of_the_packages_is_one_line_and_of_a_built_in_type(kind):
    told = "error: it does not fit: take another"
    assert last_line(kind("it does not fit:\n  take another")) == told
    assert issubclass(kind, (ValueError, OSError, RuntimeError, MemoryError))
    assert kind is UnknownEnvironmentError or re.fullmatch("Raised when .*", kind.__doc__)
    assert issubclass(UnknownEnvironmentError, gymnasium.error.NameNotFound)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad"),
        RuntimeError("mat1 and mat2 shapes cannot be multiplied"),
        TypeError("bad"),
        ImportError("bad"),
        AttributeError("bad"),
        OSError("without a number"),
        OSError(errno.EBADF, "Bad file descriptor"),
        gymnasium.error.ResetNeeded("call reset"),
    ],
    ids=repr,
)
def test_every_other_error_is_a_fault_of_the_program_and_keeps_its_traceback(error):
    with pytest.raises(type(error)) as raised, errors_in_one_line(), typed_errors("training"):
        raise error
    assert raised.value is error


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.ENOENT, errno.EROFS])
def test_files_and_disks_of_the_user_are_one_line(number):
    line = last_line(OSError(number, os.strerror(number), "runs/x"), advice=lambda: "go on")
    assert line == f"error: [Errno {number}] {os.strerror(number)}: 'runs/x'; go on"


def test_the_traceback_of_an_explained_error_can_be_had(monkeypatch, capsys):
    assert last_line(AgentsError("no model \x1b[2J\u202e")) == r"error: no model \x1b[2J\u202e"
    with pytest.raises(SystemExit, match="130"), errors_in_one_line():
        raise KeyboardInterrupt
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setenv("REASONENV_TRACEBACK", "1")
    with pytest.raises(AgentsError, match="bad"), errors_in_one_line():
        raise agents.errors.UsageError("bad")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MemoryError(), OutOfMemoryError),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB."), OutOfMemoryError),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), OutOfMemoryError),
        (RuntimeError("[pair.cc:534] Connection closed by peer [127.0.0.1]:42"), LostRankError),
        (RuntimeError("writev: Broken pipe"), LostRankError),
    ],
    ids=repr,
)
def test_torchs_errors_of_memory_and_ranks_have_types(error, kind):
    with pytest.raises(kind) as raised, typed_errors("training"):
        raise error
    assert raised.value.__cause__ is error


@pytest.mark.parametrize(
    ("phases", "words"),
    [
        (("training", "sampling"), "out of memory in sampling: lower --sampler-batch-size or "),
        (("training",), "out of memory in training: lower --tokens-per-microbatch or "),
    ],
)
def test_the_innermost_phase_says_what_to_lower(phases, words):
    contexts = ExitStack()
    for phase in phases:
        contexts.enter_context(typed_errors(phase))
    with pytest.raises(OutOfMemoryError) as raised, contexts:
        raise MemoryError
    assert str(raised.value).startswith(words)


@pytest.mark.parametrize(
    ("command", "name", "words"),
    [
        (sft, "fine_tune", ["--output-dir", "out"]),
        (generate, "generate", ["--question", "1 + 1?"]),
    ],
)
def test_the_flags_to_lower_are_those_of_the_command(
    command, name, words, tmp_path, monkeypatch, capsys
):
    def fail(*_):
        raise MemoryError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, name, fail)
    with pytest.raises(SystemExit) as ended:
        command.main(words)
    assert "error: out of memory in " in ended.value.code
    named = set(re.findall(r"--[a-z-]+", ended.value.code))
    with pytest.raises(SystemExit):
        command.main(["--help"])
    assert named
    assert named <= set(re.findall(r"--[a-z-]+", capsys.readouterr().out))


def test_a_rank_that_ends_while_a_checkpoint_is_saved_is_the_error(tmp_path):
    def write(folder):
        raise RuntimeError("[pair.cc:534] Connection closed by peer [127.0.0.1]:4242")

    with pytest.raises(LostRankError, match=r"^another rank has ended"):
        checkpoints.save(tmp_path, 1, write)
    assert not list((tmp_path / "checkpoints").iterdir())
    assert checkpoints.resume_hint(tmp_path).endswith("the beginning: nothing was saved yet")


@pytest.mark.parametrize("package", [agents, reasonenv])
def test_no_module_looks_at_the_frames_of_a_traceback(package):
    files = list(Path(package.__path__[0]).rglob("*.py"))
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    assert files
    assert [f for f, text in texts.items() if re.search(r"walk_tb|tb_frame|f_globals", text)] == []


class Buggy(CPGD):
    """A learner of a user, with a fault."""

    def loss(self, log_prob, batch):
        raise ValueError("a fault of the learner")


def test_a_fault_of_a_users_learner_keeps_its_traceback(tiny_folder, tmp_path):
    with pytest.raises(ValueError, match="a fault of the learner"):
        run.main(Buggy, flags(**SMALL | {"model": tiny_folder, "output_dir": tmp_path}))


two_starts = pytest.mark.slow(reason="two runs on two ranks, one after another")


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


@two_starts
def test_the_others_end_when_a_rank_is_killed_and_one_line_says_so(killed):
    (line,) = [line for line in killed[1].splitlines() if line.startswith("error: another rank")]
    assert "--resume continues from step-" in line


@two_starts
def test_a_run_with_a_killed_rank_lost_nothing_and_goes_on(killed, tiny_folder):
    folder, _ = killed
    last = checkpoints.latest(folder)
    assert last is not None
    step = checkpoints.read_state(last, {"num_ranks": 2})["step"]
    torchrun.run("ranks_killed.py", tiny_folder, folder, step + 1, "--resume")
    steps = [row["step"] for row in read_json_lines(folder / "metrics.jsonl")]
    assert steps == list(range(1, step + 2))
    said = torchrun.run("ranks_killed.py", tiny_folder, folder, step + 2, "--resume", num_ranks=1)
    assert "ranks: 1, not 2 as before: responses have other seeds\n" in said
    assert len(read_json_lines(folder / "metrics.jsonl")) == step + 2


@two_starts
def test_what_zero_has_sharded_goes_on_with_as_many_ranks_alone(tiny_folder, tmp_path):
    (tmp_path / "zero.json").write_text('{"zero_optimization": {"stage": 1}}')
    words = ["ranks_killed.py", tiny_folder, tmp_path / "run", 1]
    zero = ["--deepspeed", str(tmp_path / "zero.json")]
    torchrun.run(*words, *zero)
    said = torchrun.run(*words, *zero, "--num-steps", 2, "--resume", num_ranks=1, status=1)
    (line,) = [line for line in said.splitlines() if line.startswith("error: ")]
    assert "DP world size of 2 but the current world size is 1" in line
    assert line.endswith("Resume on as many ranks as before.")
