"""Images through vLLM, trained on by DeepSpeed: pytest -m gpu tests/gpu/test_mmk12.py."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.gpu, pytest.mark.vllm]


def test_a_qwen_of_3b_shape_takes_three_steps_of_mmk12_and_its_two_sides_agree(tmp_path):
    script = Path(__file__).with_name("mmk12.py")
    command = [sys.executable, str(script), str(tmp_path), "3b"]
    environment = os.environ | {"PYTHONPATH": str(script.parents[2])}
    process = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=1800, check=False
    )
    assert process.returncode == 0, process.stderr[-3000:]
    assert "vLLM samples" in process.stderr
    rows = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
    differences = [row["sampler/log_prob_diff_mean"] for row in rows if "time/step_s" not in row]
    assert len(differences) == 3
    assert max(differences) < 0.05
