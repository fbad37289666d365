import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from agents.storage.checkpoints import fingerprint, latest, read_state, save, start

SETTINGS = {"run": {"seed": 0, "num_steps": 10, "output_dir": "a"}, "learner": {"clip_low": 0.2}}


def write(content: bytes):
    def write_files(folder: Path) -> None:
        (folder / "model").write_bytes(content)
        (folder / "optimizer").mkdir(exist_ok=True)
        (folder / "optimizer" / "state").write_bytes(content * 2)

    return write_files


def steps(folder: Path) -> set[str]:
    return {path.name for path in (folder / "checkpoints").iterdir()}


def begin(folder: Path) -> None:
    (folder / "run.json").write_text(json.dumps({"settings": SETTINGS}))


@contextmanager
def full_disk(num_bytes: int) -> Iterator[None]:
    """No longer than needed: what pytest writes is held to the limit too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_checkpoint_holds_what_was_written_and_its_state(tmp_path):
    path = save(tmp_path, 3, write(b"abc"), {"walk": 17})
    assert path == tmp_path / "checkpoints" / "step-3" == latest(tmp_path)
    assert (path / "optimizer" / "state").read_bytes() == b"abcabc"
    state = read_state(path)
    assert (state["step"], state["walk"]) == (3, 17)
    assert steps(tmp_path) == {"step-3"}


def test_the_latest_is_the_largest_step_not_the_last_name(tmp_path):
    for step in (9, 100, 20):
        save(tmp_path, step, write(b"x"))
    assert latest(tmp_path) == tmp_path / "checkpoints" / "step-100"


def test_there_is_no_latest_before_the_first_save(tmp_path):
    assert latest(tmp_path) is None


def test_only_the_newest_checkpoints_are_kept(tmp_path):
    for step in range(1, 13):
        save(tmp_path, step, write(b"x"), keep=3)
    assert steps(tmp_path) == {"step-10", "step-11", "step-12"}


def test_a_step_that_is_saved_already_is_not_written_again(tmp_path):
    save(tmp_path, 1, write(b"first"))
    path = save(tmp_path, 1, write(b"second"))
    assert (path / "model").read_bytes() == b"first"


# A save is killed before each thing that it does to the file system, one after the other: Python
# announces them as audit events. Every process is a fork, so that torch is imported only once.
KILLED_SAVES = """
import json, os, shutil, signal, sys
from pathlib import Path
from agents.storage.checkpoints import latest, save, start

def write_of(step):
    def write(folder):
        for i in range(3):
            (folder / f"shard-{i}").write_bytes(bytes([step]) * 1000)
    return write

def killed_at(count):
    left = count
    def hook(event, arguments):
        nonlocal left
        if event in ("open", "os.mkdir", "os.rename", "os.rmdir", "os.remove"):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
    return hook

outcomes, count, status = [], 0, -signal.SIGKILL
while status == -signal.SIGKILL:
    count += 1
    folder = Path(sys.argv[1]) / str(count)
    save(folder, 1, write_of(1))
    child = os.fork()
    if child == 0:
        sys.addaudithook(killed_at(count))
        save(folder, 2, write_of(2), keep=1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    last = start(folder, {}, resume=True)
    shards = {p.name: p.read_bytes() for p in last.glob("shard-*")}
    step = int(last.name.split("-")[1])
    whole = shards == {f"shard-{i}": bytes([step]) * 1000 for i in range(3)}
    hidden = [p.name for p in last.parent.iterdir() if p.name.startswith(".")]
    outcomes.append((step, whole, hidden))
print(json.dumps([status, outcomes]))
"""


def test_a_save_killed_at_any_moment_leaves_the_last_checkpoint_whole(tmp_path):
    command = [sys.executable, "-c", KILLED_SAVES, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    status, outcomes = json.loads(done.stdout)
    assert status == 0
    assert len(outcomes) > 12
    assert all(whole and not hidden for _, whole, hidden in outcomes)
    found = [step for step, _, _ in outcomes]
    assert found == sorted(found)
    assert set(found) == {1, 2}


def test_all_ranks_write_and_one_renames(tmp_path):
    barrier = threading.Barrier(2)

    def of_rank(rank: int) -> None:
        def write_shard(folder: Path) -> None:
            (folder / f"shard-{rank}").write_bytes(bytes(rank + 1))

        for step in (1, 2, 2):
            path = save(
                tmp_path, step, write_shard, keep=1, rank=rank, barrier=lambda: barrier.wait(10)
            )
            assert path.is_dir()

    ranks = [threading.Thread(target=of_rank, args=(rank,)) for rank in range(2)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(20)
    assert latest(tmp_path) == tmp_path / "checkpoints" / "step-2"
    assert read_state(tmp_path / "checkpoints" / "step-2")["files"] == {"shard-0": 1, "shard-1": 2}


def test_a_full_disk_leaves_the_checkpoint_of_before_and_says_so(tmp_path):
    before = save(tmp_path, 1, write(b"x"))
    refused = pytest.raises(OSError, match=r"cannot save the checkpoint of step 2: .*too large")
    with full_disk(1000), refused:
        save(tmp_path, 2, write(b"x" * 2000))
    assert latest(tmp_path) == before
    assert steps(tmp_path) == {"step-1"}


def test_a_full_disk_met_by_torch_says_the_same(tmp_path):
    weights = torch.zeros(10_000)
    refused = pytest.raises(OSError, match="cannot save the checkpoint of step 2")
    with full_disk(1000), refused:
        save(tmp_path, 2, lambda folder: torch.save(weights, folder / "weights.pt"))
    assert steps(tmp_path) == set()


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda path: (path / "model").write_bytes(b"ab"), "model has 2 of 3 bytes"),
        (lambda path: (path / "optimizer" / "state").unlink(), "optimizer/state is missing"),
        (lambda path: (path / "trainer_state.json").unlink(), "trainer_state.json is missing"),
        (lambda path: (path / "trainer_state.json").write_text("{"), "or unreadable"),
    ],
)
def test_a_damaged_checkpoint_is_refused_with_what_to_do(tmp_path, harm, message):
    save(tmp_path, 1, write(b"abc"))
    harm(save(tmp_path, 2, write(b"abc")))
    with pytest.raises(ValueError, match=rf"{message}.*remove it, and --resume .* from step-1"):
        latest(tmp_path)


def test_a_checkpoint_of_another_learner_and_model_names_both(tmp_path):
    path = save(tmp_path, 1, write(b"x"), {"learner": "GRPO", "num_ranks": 2, "model": "a"})
    assert read_state(path, {"learner": "GRPO", "model": "a"})["num_ranks"] == 2
    with pytest.raises(
        ValueError, match="learner is GRPO in the checkpoint and CPGD in the run; model is a"
    ):
        read_state(path, {"learner": "CPGD", "num_ranks": 2, "model": "b"})


def test_a_fingerprint_tells_shapes_apart_and_not_values():
    first = torch.nn.Linear(3, 4)
    second = torch.nn.Linear(3, 4)
    wider = torch.nn.Linear(4, 3, bias=True)
    weights = list(first.state_dict().items())
    assert fingerprint(weights) == fingerprint(reversed(weights))
    assert fingerprint(weights) == fingerprint(second.state_dict().items())
    assert fingerprint(weights) != fingerprint(wider.state_dict().items())
    assert fingerprint(weights).startswith("2 tensors of 16 values")


def test_a_new_run_begins_without_a_checkpoint(tmp_path):
    assert start(tmp_path / "new", SETTINGS, resume=False) is None
    assert start(tmp_path / "new", SETTINGS, resume=True) is None


@pytest.mark.parametrize("name", ["run.json", "metrics.jsonl"])
def test_a_folder_with_another_run_is_refused(tmp_path, name):
    (tmp_path / name).write_text("{}")
    with pytest.raises(ValueError, match="has another run: continue it with --resume, or give"):
        start(tmp_path, SETTINGS, resume=False)


def test_a_file_is_no_output_directory(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="file is a file: give another --output-dir"):
        start(tmp_path / "file", SETTINGS, resume=False)


def test_a_folder_in_a_file_is_no_output_directory(tmp_path):
    (tmp_path / "file").touch(0o777)
    with pytest.raises(ValueError, match=r"cannot write .* in .*file: give another"):
        start(tmp_path / "file" / "run", SETTINGS, resume=False)


def test_a_folder_that_may_not_be_written_is_no_output_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda place, mode: place != tmp_path)  # root may write all
    with pytest.raises(ValueError, match=f"cannot write .* in {tmp_path}: give another"):
        start(tmp_path / "new" / "run", SETTINGS, resume=False)
    assert not (tmp_path / "new").exists()


def test_a_run_without_a_checkpoint_resumes_from_the_beginning(tmp_path):
    begin(tmp_path)
    assert start(tmp_path, SETTINGS, resume=True) is None


def test_a_resumed_run_may_be_longer_and_lie_elsewhere(tmp_path):
    begin(tmp_path)
    path = save(tmp_path, 4, write(b"x"))
    changed = {"run": {"seed": 0, "num_steps": 20, "output_dir": "b"}, "learner": {"clip_low": 0.2}}
    assert start(tmp_path, changed, resume=True) == path


def test_a_record_from_before_the_optimizer_was_a_setting_means_that_of_its_time(tmp_path):
    (tmp_path / "run.json").write_text(json.dumps({"settings": SETTINGS}))
    new = {"weight_decay": 0.01, "adam_epsilon": 1e-8, "step_without_signal": True}
    assert start(tmp_path, SETTINGS | {"run": SETTINGS["run"] | new}, resume=True) is None
    new |= {"adam_epsilon": 1e-6}
    with pytest.raises(ValueError, match=r"^[^\n]* run.adam_epsilon was 1e-08 and is 1e-06; use"):
        start(tmp_path, SETTINGS | {"run": SETTINGS["run"] | new}, resume=True)


def test_changed_settings_are_refused_by_name(tmp_path):
    begin(tmp_path)
    changed = {"run": {"seed": 1, "num_steps": 10, "output_dir": "a"}, "learner": {"beta": 0.1}}
    with pytest.raises(ValueError, match="cannot resume with other settings") as refused:
        start(tmp_path, changed, resume=True)
    message = str(refused.value)
    assert "run.seed was 0 and is 1" in message
    assert "learner.clip_low was 0.2 and is None" in message
    assert "learner.beta was None and is 0.1" in message
    assert "num_steps" not in message
    assert "\n" not in message


def test_a_run_json_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "run.json").write_text("[")
    with pytest.raises(ValueError, match=r"cannot read .*run\.json"):
        start(tmp_path, SETTINGS, resume=True)
