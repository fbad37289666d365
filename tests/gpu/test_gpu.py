"""DeepSpeed on the GPUs of this machine: pytest -m gpu tests/gpu."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from helpers import tiny_engines

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("num_ranks", [1, 2])
def test_stages_offload_and_adapters_train_sample_and_resume_in_bf16(tmp_path, num_ranks):
    if num_ranks > torch.cuda.device_count():
        pytest.skip(f"needs {num_ranks} GPUs")
    script = Path(__file__).with_name("smoke.py")
    model = tiny_engines.write(tmp_path / "model")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(num_ranks), str(script), str(model), str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(script.parents[2])}
    process = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=1800, check=False
    )
    assert process.returncode == 0, process.stderr[-3000:]
    results = json.loads((tmp_path / "found.json").read_text())
    for case, metrics in results.items():
        assert metrics["train/grad_norm"] > 0, case
        assert metrics["difference"] < 0.1, case  # what bf16 rounds, in nats
