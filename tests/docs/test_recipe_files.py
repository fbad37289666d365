"""The files under recipes/: each is looked at by `--dry-run`, and its page shows its arithmetic."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra train")

import huggingface_hub.constants

from agents import run
from agents.cpgd import CPGD

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "laptop-to-cluster.md").read_text(encoding="utf-8")
TABLE = (ROOT / "recipes" / "README.md").read_text(encoding="utf-8")
RECIPES = sorted(path.stem for path in (ROOT / "recipes").glob("*.yaml"))
LOOK = re.compile(
    r"^#   (?:WORLD_SIZE=(\d+) )?python -m agents\.cpgd (--config .*--dry-run)$", re.M
)
# Ranks, responses of a rollout, optimizer steps of a rollout.
SIZES = {
    "laptop": (1, 64, 1),
    "own_questions": (1, 32, 1),
    "one_gpu": (1, 256, 2),
    "eight_gpus": (8, 1024, 8),
    "vllm_server": (6, 1152, 8),
    "nodes": (32, 1024, 4),
}


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.delenv("REASONENV_DATA", raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.chdir(ROOT)


def test_every_recipe_is_known_here_and_in_the_table():
    assert sorted(SIZES) == RECIPES
    assert sorted(re.findall(r"^\| \[(\w+)\.yaml\]", TABLE, re.M)) == RECIPES


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_a_run(monkeypatch, capsys, name):
    ((size, words),) = LOOK.findall((ROOT / "recipes" / f"{name}.yaml").read_text())
    num_ranks, responses, steps = SIZES[name]
    assert int(size or 1) == num_ranks
    monkeypatch.setenv("WORLD_SIZE", str(num_ranks))
    run.main(CPGD, shlex.split(words))
    shown = capsys.readouterr().out
    assert f"= {responses:,} responses of up to" in shown
    assert f"each rank, of {num_ranks}:" in shown
    assert f"optimizer steps: {steps} a rollout" in shown
    assert shown.partition("batches:\n")[2].partition("memory:\n")[0] in PAGE
    plan = shown.partition("memory:\n")[2].partition("first prompts:")[0]
    assert plan.rstrip().endswith("agents.plan with the same flags shows what takes it") or (
        ": fits" in plan
    )
    assert num_ranks == 1 or plan in PAGE


def test_the_quickstart_shows_a_dry_run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # where there is no run of its settings
    page = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^\$ python -m agents\.cpgd --dry-run\n(.*?)^```$", page, re.M | re.S)
    run.main(CPGD, ["--dry-run"])
    lines, printed = (text.splitlines() for text in (shown, capsys.readouterr().out))
    plan = lines.index("memory:") + 1  # of this machine
    assert printed[:plan] + printed[plan + 2 :] == lines[:plan] + lines[plan + 2 :]


@pytest.mark.parametrize("stops", [False, True])
def test_a_job_of_slurm_resumes_and_goes_back_to_the_queue_when_it_is_stopped(tmp_path, stops):
    stubs = {
        "scontrol": 'echo "scontrol $*" >> log; echo node1',
        "scancel": 'echo "scancel $*" >> log; touch stopped',
        # The batch shell is the parent: it gets the signal as from Slurm.
        "srun": 'echo "srun $*" >> log; [ -z "$STOP" ] && exit 0; kill -TERM $PPID; '
        "until [ -e stopped ]; do sleep .02; done; sleep .1; echo saved >> log; exit 1",
    }
    for name, code in stubs.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{code}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "runs/nodes").mkdir(parents=True)
    job = {"SLURM_JOB_ID": "7", "SLURM_NNODES": "4", "SLURM_JOB_NODELIST": "node[1-4]"}
    environment = os.environ | job | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    environment |= {"STOP": "1"} if stops else {}
    command = ["bash", str(ROOT / "recipes" / "nodes.sbatch")]
    for is_resumed in (False, True):
        (tmp_path / "stopped").unlink(missing_ok=True)
        subprocess.run(command, cwd=tmp_path, env=environment, check=not stops, timeout=20)
        lines = (tmp_path / "log").read_text().splitlines()
        assert lines[0] == "scontrol show hostnames node[1-4]"
        assert lines[1].startswith("srun torchrun --nnodes 4 --nproc-per-node 8 ")
        assert lines[1].endswith("--config recipes/nodes.yaml" + " --resume" * is_resumed)
        end = ["scancel --signal=TERM 7.0", "saved", "scontrol requeue 7"] if stops else []
        assert lines[2:] == end
        (tmp_path / "log").unlink()
        (tmp_path / "runs/nodes/run.json").touch()
