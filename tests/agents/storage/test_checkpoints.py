import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from helpers.full_disk import full_disk

from agents.errors import RecordError, UsageError
from agents.storage import digests
from agents.storage.checkpoints import (
    Rollback,
    fingerprint,
    last_rollback,
    latest,
    outdated,
    read_state,
    save,
    start,
)
from agents.storage.provenance import describe_changes, recorded_settings

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
    (folder / "metrics.jsonl").write_text('{"step": 1}\n')


def test_a_checkpoint_holds_what_was_written_first_and_its_state(tmp_path):
    path = save(tmp_path, 3, write(b"abc"), {"walk": 17})
    assert save(tmp_path, 3, write(b"second")) == path == latest(tmp_path)
    assert path == tmp_path / "checkpoints" / "step-3"
    assert (path / "optimizer" / "state").read_bytes() == b"abcabc"
    state = read_state(path)
    assert (state["step"], state["walk"]) == (3, 17)
    assert steps(tmp_path) == {"step-3"}


def test_only_the_newest_checkpoints_are_kept_by_step_not_by_name(tmp_path):
    assert latest(tmp_path) is None
    for step in range(8, 13):
        save(tmp_path, step, write(b"x"), keep=3)
    assert steps(tmp_path) == {"step-10", "step-11", "step-12"}
    save(tmp_path, 9, write(b"x"))
    assert latest(tmp_path) == tmp_path / "checkpoints" / "step-12"


# A save is killed before each thing that it does to the file system, one after the other: Python
# announces them as audit events. Every process is a fork, so that torch is imported only once.
KILLED_SAVES = """
import json, os, shutil, signal, sys
from pathlib import Path
from agents.errors import RecordError
from agents.storage.checkpoints import latest, save, start

def write_of(step):
    def write(folder):
        for i in range(2):
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
    (folder / "run.json").write_text('{"settings": {}}')
    child = os.fork()
    if child == 0:
        sys.addaudithook(killed_at(count))
        save(folder, 2, write_of(2), keep=1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    last = start(folder, {}, resume=True)
    shards = {p.name: p.read_bytes() for p in last.glob("shard-*")}
    step = int(last.name.split("-")[1])
    whole = shards == {f"shard-{i}": bytes([step]) * 1000 for i in range(2)}
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
    path = tmp_path / "checkpoints" / "step-2"
    assert [(path / name).stat().st_size for name in ("shard-0", "shard-1")] == [1, 2]


@pytest.mark.parametrize(
    ("write_files", "reason"),
    [
        (write(b"x" * 2000), ".*too large"),
        (
            lambda folder: torch.save(torch.zeros(10_000), folder / "weights.pt"),
            r"a write failed, [0-9.]+ GiB are free",
        ),
    ],
)
def test_a_full_disk_leaves_the_checkpoint_of_before_and_says_so(tmp_path, write_files, reason):
    before = save(tmp_path, 1, write(b"x"))
    expected = rf"cannot save the checkpoint of step 2: {reason}, in {tmp_path}$"
    with full_disk(1000), pytest.raises(OSError, match=expected):
        save(tmp_path, 2, write_files)
    assert latest(tmp_path) == before
    assert steps(tmp_path) == {"step-1"}


def flip(path: Path, position: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 4
    path.write_bytes(content)


def replace(name: str, make):
    def harm(checkpoint: Path) -> None:
        (checkpoint / name).unlink()
        make(checkpoint / name)

    return harm


DAMAGES = {
    "truncated": (lambda c: (c / "model").write_bytes(b"ab"), "model differs from its digest"),
    "missing": (lambda c: (c / "optimizer" / "state").unlink(), "optimizer/state is missing"),
    "flipped": (lambda c: flip(c / "optimizer" / "state"), "optimizer/state differs from"),
    "of another step": (
        lambda c: shutil.copytree(c.with_name("step-1"), c, dirs_exist_ok=True),
        "trainer_state.json is of step 1",
    ),
    "additional": (lambda c: (c / "new").touch(), "new is no file of it"),
    "folder": (replace("model", Path.mkdir), "model is missing"),
    "state missing": (
        lambda c: (c / "trainer_state.json").unlink(),
        "trainer_state.json is missing",
    ),
    "state edited": (
        lambda c: (c / "trainer_state.json").write_text('{"step": 2}'),
        "trainer_state.json differs from its digest in SHA256SUMS",
    ),
    "digests missing": (lambda c: (c / "SHA256SUMS").unlink(), "SHA256SUMS is missing"),
    "digests empty": (lambda c: (c / "SHA256SUMS").write_bytes(b""), "model is no file of it"),
    "digests no text": (lambda c: flip(c / "SHA256SUMS", 70), "is missing"),
}


@pytest.mark.parametrize(("harm", "message"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_checkpoint_is_named_and_the_one_before_it_is_used(
    tmp_path, capsys, harm, message
):
    begin(tmp_path)
    first = save(tmp_path, 1, write(b"xyz"))
    damaged = save(tmp_path, 2, write(b"abc"), {"position": 2})
    assert latest(tmp_path) == damaged
    harm(damaged)
    assert latest(tmp_path) == first
    assert start(tmp_path, SETTINGS, resume=True) == first
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert line.startswith(f"{damaged} is damaged (")
    assert line.endswith("): renamed damaged-step-2; step-1 is used")
    assert steps(tmp_path) == {"step-1", "damaged-step-2"}
    assert save(tmp_path, 2, write(b"again")) == damaged == latest(tmp_path)
    # Of two damaged ones of one step the last is left.
    (damaged / "model").write_bytes(b"second")
    start(tmp_path, SETTINGS, resume=True)
    assert steps(tmp_path) == {"step-1", "damaged-step-2"}
    assert (tmp_path / "checkpoints/damaged-step-2/model").read_bytes() == b"second"


def test_a_run_whose_checkpoints_are_all_damaged_is_refused_and_none_is_read_twice(
    tmp_path, monkeypatch
):
    begin(tmp_path)
    seen, damage = [], digests.damage
    monkeypatch.setattr(digests, "damage", lambda path: seen.append(path.name) or damage(path))
    for step in (1, 2):
        flip(save(tmp_path, step, write(b"abc")) / "model")
    reason = r"step-2: model differs .*step-1: model differs .*remove .*checkpoints, and --resume"
    with pytest.raises(ValueError, match=reason):
        start(tmp_path, SETTINGS, resume=True)
    assert seen == ["step-2", "step-1"]
    assert steps(tmp_path) == {"step-1", "step-2"}


def test_only_rank_0_looks_for_a_checkpoint(tmp_path, capsys):
    begin(tmp_path)
    flip(save(tmp_path, 1, write(b"abc")) / "model")
    assert start(tmp_path, SETTINGS, resume=True, rank=1) is None
    assert steps(tmp_path) == {"step-1"}


def test_digests_are_in_the_format_of_sha256sum_and_of_no_hidden_file(tmp_path):
    path = save(tmp_path, 1, write(b"abc"))
    (path / ".nfs0001").touch()
    assert latest(tmp_path) == path
    done = subprocess.run(
        ["sha256sum", "--check", "SHA256SUMS"], cwd=path, capture_output=True, text=True, check=True
    )
    names = {line.removesuffix(": OK") for line in done.stdout.splitlines()}
    assert names == {"model", "optimizer/state", "trainer_state.json"}


@pytest.mark.parametrize("text", [None, "", "[]", "[" * 10**5, "{}", '{"settings": [1]}'])
def test_a_missing_or_damaged_record_is_named(tmp_path, text):
    (tmp_path / "checkpoints").mkdir()
    if text is not None:
        (tmp_path / "run.json").write_text(text)
    reason = "is missing, so the settings .* are unknown" if text is None else ""
    with pytest.raises(RecordError, match=rf"run\.json.*{reason}") as refused:
        start(tmp_path, SETTINGS, resume=True)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 500


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


def test_a_folder_without_a_run_is_not_resumed_and_the_runs_beside_it_are_named(tmp_path):
    with pytest.raises(UsageError, match="new has no run to resume, and beside it none: "):
        start(tmp_path / "new", SETTINGS, resume=True)
    runs = tmp_path / "runs"
    for name, file in (("one", "run.json"), ("two", "metrics.jsonl")):
        (runs / name).mkdir(parents=True)
        begin(runs / name)
        (runs / "figures").mkdir(exist_ok=True)
        (runs / "figures" / file).touch()
        with pytest.raises(UsageError, match="has another run: continue it with --resume, or "):
            start(runs / "figures", SETTINGS, resume=False)
        (runs / "figures" / file).unlink()
    words = f"there are {runs}/one, {runs}/two: give the folder of one by"
    for folder in (runs / "new", runs):
        with pytest.raises(UsageError, match=words):
            start(folder, SETTINGS, resume=True)
    assert not (runs / "new").exists()


def test_a_resumed_run_may_be_longer_and_lie_elsewhere(tmp_path):
    begin(tmp_path)
    changed = {"run": {"seed": 0, "num_steps": 20, "output_dir": "b"}, "learner": {"clip_low": 0.2}}
    assert start(tmp_path, changed, resume=True) is None  # from the beginning
    path = save(tmp_path, 4, write(b"x"))
    assert start(tmp_path, changed, resume=True) == path


def test_a_run_of_a_release_with_other_settings_names_the_one_that_resumes_it(tmp_path):
    begin(tmp_path)
    old = SETTINGS | {"run": SETTINGS["run"] | {"fresh": False}}
    record = {"settings": old, "versions": {"reasonenv": "0.2.0"}}
    (tmp_path / "run.json").write_text(json.dumps(record))
    new = SETTINGS | {"learner": SETTINGS["learner"] | {"beta": 0.1}}
    expected = r"is of release 0\.2\.0, with other settings \(beta, fresh\): continue it with"
    with pytest.raises(RecordError, match=expected) as refused:
        start(tmp_path, new, resume=True)
    assert "\n" not in str(refused.value)
    (tmp_path / "metrics.jsonl").write_text("")  # a run without results
    assert start(tmp_path, new, resume=True) is None


def test_a_folder_of_an_evaluation_is_no_run_to_resume(tmp_path):
    (tmp_path / "run.json").write_text(json.dumps({"settings": {"env": "AIME24-v0"}}))
    with pytest.raises(RecordError, match="is no training run"):
        recorded_settings(tmp_path)


def test_changed_settings_are_refused_by_name(tmp_path):
    begin(tmp_path)
    changed = {"run": {"seed": 1, "num_steps": 9, "output_dir": "a"}, "learner": {"clip_low": None}}
    with pytest.raises(ValueError, match="cannot resume with other settings") as refused:
        start(tmp_path, changed, resume=True)
    message = str(refused.value)
    assert "run.seed was 0 and is 1" in message
    assert "learner.clip_low was 0.2 and is None" in message
    assert "num_steps" not in message
    assert "\n" not in message


def test_the_buffer_of_overlong_responses_may_change_with_their_length_alone(tmp_path):
    begin(tmp_path)
    save(tmp_path, 1, write(b"x"))
    sizes = {"max_response_length": 48, "overlong_buffer": 12, "max_pixels": 1000}
    run = SETTINGS["run"] | sizes
    (tmp_path / "run.json").write_text(json.dumps({"settings": SETTINGS | {"run": run}}))
    smaller = {"max_response_length": 10, "overlong_buffer": 2, "max_pixels": 784}
    shorter = SETTINGS | {"run": run | smaller}
    start(tmp_path, shorter, resume=True)
    assert "overlong_buffer is 2, was 12" in describe_changes(tmp_path, shorter)
    with pytest.raises(ValueError, match="overlong_buffer was 12 and is 2"):
        start(tmp_path, SETTINGS | {"run": run | {"overlong_buffer": 2}}, resume=True)


@pytest.mark.parametrize("result", ["metrics.jsonl", "step-1", "damaged-step-1"])
def test_settings_of_a_run_without_results_bind_nobody(tmp_path, result):
    (tmp_path / "run.json").write_text(json.dumps({"settings": SETTINGS}))
    (tmp_path / "metrics.jsonl").touch()
    (tmp_path / "checkpoints" / ".step-1.tmp").mkdir(parents=True)
    changed = SETTINGS | {"run": SETTINGS["run"] | {"seed": 1}}
    assert start(tmp_path, changed, resume=True) is None
    if result == "metrics.jsonl":
        (tmp_path / result).write_text('{"step": 1}\n')
    else:
        (tmp_path / "checkpoints" / result).mkdir()
    with pytest.raises(ValueError, match=r"run\.seed was 0 and is 1"):
        start(tmp_path, changed, resume=True)


@pytest.mark.parametrize(
    ("steps", "options", "kept"),
    [
        ([10, 20, 30], {"keep": 2}, [20, 30]),
        ([10, 20, 30], {"keep": 2, "best": 10}, [10, 20, 30]),
        ([10, 20, 23, 27], {"keep": 2, "every": 10}, [10, 20, 27]),
        ([10, 20, 27, 30], {"keep": 2, "every": 10}, [20, 30]),
        ([3, 7], {"keep": 1, "every": 10}, [7]),
        ([3, 7, 9], {"keep": 2, "every": 10}, [7, 9]),
        ([3, 7], {"keep": 2, "every": 10}, [3, 7]),
        # The interval was 50 before the run was resumed.
        ([50, 100, 120], {"keep": 2, "every": 60}, [100, 120]),
        ([50, 100, 120, 180], {"keep": 2, "every": 60}, [120, 180]),
        ([3, 7], {"keep": 1, "every": 10, "best": 3}, [3, 7]),
        ([50, 100, 107], {"keep": 1, "every": 50, "best": 60}, [100, 107]),
    ],
)
def test_the_newest_the_regular_and_the_best_checkpoints_are_kept(steps, options, kept):
    removed = outdated(steps, **options)
    assert [step for step in steps if step not in removed] == kept


def test_a_new_run_begins_without_the_last_rollback_of_an_earlier_one(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    Rollback(4, 80, 1).write(tmp_path)
    Rollback(6, 160, 2).write(tmp_path)
    assert last_rollback(tmp_path) == Rollback(6, 160, 2)
    (tmp_path / "run.json").write_text(json.dumps({"settings": {}}))
    assert start(tmp_path, {}, resume=True) is None
    assert last_rollback(tmp_path).count == 0
