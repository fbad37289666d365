"""Reports of damaged runs: what can be read, and a line of what is left out, with no traceback."""

import json
import os
import random
import shutil

import pytest
from helpers.written_runs import write_run

from agents import report
from agents.errors import RecordError

DEEP = b"[" * 10**5
CONTENTS = {
    "empty": b"",
    "binary": bytes(range(256)) * 20,
    "null": b"null\n",
    "number": b"5\n",
    "text": b'"x"\n',
    "list": b"[1, 2]\n",
    "empty object": b"{}\n",
    "deep lists": DEEP + b"\n",
    "deep objects": b'{"a":' * 10**5 + b"\n",
    "nested a little too deeply": b'{"settings": ' + b"[" * 150 + b"]" * 150 + b"}\n",
    "a number of 5,000 digits": b'{"step": ' + b"9" * 5000 + b"}\n",
    "other encodings": "{}\n".encode("utf-16"),
    "half a surrogate pair": b'{"step": 1, "response": "\\ud800", "settings": {"\\ud800": 1}}\n',
}
HARMLESS = {"empty", "empty object", "other encodings", "half a surrogate pair"}
"""Contents that are valid in some of the files."""
FILES = (
    "run.json",
    "metrics.jsonl",
    "evaluations.jsonl",
    "rollouts/step-1.jsonl",
    "rollouts/step-1-0-0.png",
)
VALUES = ("NaN", "-Infinity", "1e400", "1e308", "-1e308", "9" * 400, "-1", "1.5", "7", "true")
VALUES += ('"x"', '""', '"\\u001b]0;x\\u0007\\u202e\\u0000"', "null", "[1]", "[]", '{"a": 1}', "{}")
"""Values of every type, as JSON."""
ROWS = {
    "metrics.jsonl": ("step", "reward/accuracy", "time/step_s", "memory/peak_gib", "train/skipped"),
    "evaluations.jsonl": ("step", "split", "accuracy", "interval", "num_problems"),
    "rollouts/step-1.jsonl": (
        *("group", "system", "question", "response", "reward", "problem_id", "accuracy"),
        *("answer", "reference", "status", "images", "finished", "tokens", "log_ratio", "clipped"),
    ),
}
RECORD = (
    *("settings", "settings.run", "settings.run.seed", "settings.run.num_steps"),
    *("settings.algorithm", "settings.learner", "command", "started", "resumed", "versions"),
    *("machine", "machine.gpus", "machine.num_cores", "git", "git.revision", "environment"),
)
EXTRA = {
    "machine": {"gpus": ["G"], "platform": "p", "num_cores": 2},
    "git": {"revision": "a", "changed": True},
    "versions": {"torch": "2"},
    "environment": {"A": "1"},
    "resumed": [{"step": 1}],
    "started": "now",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("runs") / "whole", steps=6, texts=("1 + 1", "2"))


@pytest.fixture
def run(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    return tmp_path / "run"


def check(run, whole=False):
    """Writes the report of a run, which has a line for damage of any extent."""
    path, faults = report.write_report([run])
    assert path.read_text().endswith("</html>\n")
    assert whole or faults or "cannot be read" in path.read_text()
    assert len(faults) <= 21
    assert all("\n" not in fault for fault in faults)
    return faults


@pytest.mark.parametrize("name", FILES)
def test_a_file_with_any_content_is_left_out_with_a_line(run, name):
    for kind, content in CONTENTS.items():
        (run / name).write_bytes(content)
        check(run, whole=kind in HARMLESS)


@pytest.mark.parametrize("name", FILES)
def test_a_folder_a_pipe_a_device_or_a_loop_in_place_of_a_file_is_left_out(run, name):
    for place in (
        lambda path: path.mkdir(),
        os.mkfifo,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to(path.name),
    ):
        path = run / name
        path.rmdir() if path.is_dir() else path.unlink()
        place(path)
        check(run)


@pytest.mark.parametrize(("name", "key"), [(n, key) for n, keys in ROWS.items() for key in keys])
def test_a_value_of_any_type_in_a_row_is_shown_or_left_out(run, name, key):
    rows = [json.loads(line) for line in (run / name).read_text().splitlines()]
    for value in VALUES:
        for count in (1, len(rows)):  # in one row, or in all of them
            texts = [json.dumps(row | {key: "HERE"}) for row in rows[:count]]
            texts = [text.replace('"HERE"', value) for text in texts]
            texts += map(json.dumps, rows[count:])
            (run / name).write_text("".join(f"{text}\n" for text in texts))
            check(run, whole=True)


@pytest.mark.parametrize("place", RECORD)
def test_a_value_of_any_type_in_the_record_is_shown_or_left_out(run, place):
    for value in VALUES:
        record = json.loads((run / "run.json").read_text()) | EXTRA
        *path, key = place.split(".")
        parent = record
        for name in path:
            parent = parent[name]
        parent[key] = "HERE"
        (run / "broken.json").write_text(json.dumps(record).replace('"HERE"', value))
        shutil.copy(run / "run.json", run / "whole.json")
        (run / "broken.json").replace(run / "run.json")
        check(run, whole=True)
        (run / "whole.json").replace(run / "run.json")


@pytest.mark.parametrize("name", FILES)
def test_a_file_with_bytes_changed_at_random_is_shown_as_far_as_it_goes(run, name):
    content = (run / name).read_bytes()
    for seed in range(20):
        rng = random.Random(seed)
        changed = bytearray(content[: rng.randrange(1, len(content) + 1)])
        for _ in range(rng.randrange(1, 8)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        (run / name).write_bytes(changed)
        check(run, whole=True)


def test_what_is_left_out_of_many_lines_is_said_in_one(run):
    lines = (run / "metrics.jsonl").read_text().splitlines()
    (run / "metrics.jsonl").write_text("".join(f"{line}\nx\n" for line in lines))
    (run / "evaluations.jsonl").write_text('{"step": 1, "accuracy": "x"}\n' * 3)
    assert check(run) == [
        f"{run}: metrics.jsonl: line 2 is left out (Expecting value: line 1 column 1 (char 0)), "
        "and 5 more",
        f"{run}: evaluations.jsonl: the value of accuracy is left out ('x'), and 2 more",
        f"{run}: evaluations.jsonl: 2 of 3 lines have no step or repeat one",
    ]


def test_of_two_lines_of_a_step_the_later_one_is_shown(run):
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"step": 3, "reward/mean": 0.125}\n')
    check(run)
    page = (run / "report.html").read_text()
    assert '"steps":[1,2,3,4,5,6]' in page
    assert ",0.125," in page


def test_many_damaged_files_are_twenty_lines_and_a_count(run):
    for step in range(100, 140):
        (run / "rollouts" / f"step-{step}.jsonl").write_text("x\n")
    assert check(run)[-1].endswith("and 20 more")


def test_many_missing_images_are_twenty_lines_and_a_count(run):
    row = json.loads((run / "rollouts" / "step-1.jsonl").read_text().splitlines()[0])
    row["images"] = [f"{k}.png" for k in range(10**4)]
    (run / "rollouts" / "step-1.jsonl").write_text(json.dumps(row) + "\n")
    check(run, whole=True)
    assert "and 9980 more" in (run / "report.html").read_text()


@pytest.mark.parametrize(
    "name", ["step-.jsonl", "step-²³.jsonl", "step--1.jsonl", "step-1.5.jsonl"]
)
def test_a_file_of_rollouts_without_a_number_is_passed_over(run, name):
    shutil.copy(run / "rollouts" / "step-1.jsonl", run / "rollouts" / name)
    assert check(run, whole=True) == []


def test_a_file_in_place_of_the_folder_of_rollouts_is_no_rollouts(run):
    shutil.rmtree(run / "rollouts")
    (run / "rollouts").write_text("x")
    assert check(run, whole=True) == []


def test_a_folder_of_no_run_is_one_line(tmp_path):
    with pytest.raises(RecordError, match="holds no run"):
        report.write_report([tmp_path])
