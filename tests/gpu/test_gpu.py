"""Scripts on the GPUs of this machine, with DeepSpeed and with vLLM: pytest -m gpu tests/gpu."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from helpers import tiny_engines

pytestmark = pytest.mark.gpu
FOLDER = Path(__file__).parent


def run(*words: object) -> subprocess.CompletedProcess[str]:
    process = subprocess.run(
        [sys.executable, *map(str, words)],
        env=os.environ | {"PYTHONPATH": str(FOLDER.parents[1])},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-3000:]
    return process


@pytest.mark.parametrize("num_ranks", [1, 2])
def test_stages_offload_and_adapters_train_sample_and_resume_in_bf16(tmp_path, num_ranks):
    if num_ranks > torch.cuda.device_count():
        pytest.skip(f"needs {num_ranks} GPUs")
    model = tiny_engines.write(tmp_path / "model")
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", num_ranks)
    run(*torchrun, FOLDER / "smoke.py", model, tmp_path)
    for case, metrics in json.loads((tmp_path / "found.json").read_text()).items():
        assert metrics["train/grad_norm"] > 0, case
        assert metrics["difference"] < 0.1, case  # what bf16 rounds, in nats


@pytest.mark.vllm
def test_a_qwen_of_3b_shape_takes_three_steps_of_mmk12_and_its_two_sides_agree(tmp_path):
    process = run(FOLDER / "mmk12.py", tmp_path, "3b")
    assert "vLLM samples" in process.stderr
    rows = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
    differences = [row["sampler/log_prob_diff_mean"] for row in rows if "time/step_s" not in row]
    assert len(differences) == 3
    assert max(differences) < 0.05
