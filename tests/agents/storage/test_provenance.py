import json
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from agents.advantages import clip_filter, standardized
from agents.storage.provenance import GRADER, commands, grader_change, origin, write_run


@dataclass(frozen=True)
class Settings:
    folder: Path = Path("runs") / "one"
    functions: tuple = (standardized, clip_filter(2.0))
    limit: float = float("inf")


def test_run_json_holds_settings_command_versions_and_machine(tmp_path):
    write_run(tmp_path / "run", {"run": Settings()})
    written = json.loads((tmp_path / "run" / "run.json").read_text())
    assert written["settings"]["run"] == {
        "folder": "runs/one",
        "functions": ["standardized", "clip_filter(cap=2.0, divide_by_std=False)"],
        "limit": "inf",
    }
    assert written["command"] == shlex.join(sys.orig_argv)
    assert {"python", "torch", "numpy"} <= written["versions"].keys()
    assert written["machine"]["num_cores"] >= 1
    assert "resumed" not in written


def test_a_resumed_run_keeps_its_first_record_and_adds_to_it(tmp_path):
    write_run(tmp_path, {"num_steps": 5})
    first = json.loads((tmp_path / "run.json").read_text())
    write_run(tmp_path, {"num_steps": 9}, step=5)
    write_run(tmp_path, {"num_steps": 12}, step=9)
    last = json.loads((tmp_path / "run.json").read_text())
    assert last["settings"] == {"num_steps": 12}
    assert [entry["step"] for entry in last["resumed"]] == [5, 9]
    assert last["started"] == first["started"]


def test_a_command_and_its_variables_are_words_of_a_shell(monkeypatch):
    words = ["python", "-m", "agents.cpgd", "two words"]
    monkeypatch.setattr(sys, "orig_argv", words)
    environment = {"CUDA_VISIBLE_DEVICES": "0,1", "WANDB_NAME": "the first; run"}
    (line,) = commands(origin() | {"environment": environment})
    variables = ["CUDA_VISIBLE_DEVICES=0,1", "WANDB_NAME=the first; run"]
    assert shlex.split(line) == [*variables, *words]


def test_the_revision_is_that_of_the_source():
    source = Path(__file__).parents[3]
    if not (source / ".git").exists():
        assert origin()["git"] is None
        return
    command = ["git", "-C", str(source), "rev-parse", "HEAD"]
    head = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert origin()["git"]["revision"] == head


def test_a_resumption_under_another_version_of_the_grader_has_a_line(tmp_path):
    assert grader_change(tmp_path, 2) == ""
    write_run(tmp_path, {})  # by an earlier release
    assert "not an earlier one as before" in grader_change(tmp_path, 2)
    write_run(tmp_path, {}, step=3, grader=2)
    assert grader_change(tmp_path, 2) == ""
    assert "grader: version 3, not 2 as before" in grader_change(tmp_path, 3)
    write_run(tmp_path, {}, step=5, grader=3)
    assert grader_change(tmp_path, 3) == ""
    record = json.loads((tmp_path / "run.json").read_text())
    assert [start["versions"].get(GRADER) for start in record["resumed"]] == ["2", "3"]
