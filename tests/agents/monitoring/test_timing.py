import subprocess
import sys

import pytest
import torch

from agents.monitoring.timing import Clock, peak_memory

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="is about memory without a GPU")


def test_the_parts_of_a_step_add_up_and_lie_within_it():
    clock = Clock()
    with clock("train"):
        pass
    with clock("train"), clock("sync"):
        pass
    found = clock.metrics(responses=2, tokens=6)
    assert found["time/step_s"] >= found["time/train_s"] >= found["time/sync_s"] > 0
    rate = found["throughput/responses_per_s"]
    assert found["throughput/tokens_per_s"] == pytest.approx(3 * rate)


def test_the_peak_is_of_what_was_held_even_when_it_is_given_back():
    before = peak_memory()
    held = torch.ones(int(before * 2**30 / 4) + 2**26)
    del held
    assert peak_memory() > before + 0.2


def test_the_peak_is_not_that_of_the_process_that_started_this_one():
    held = torch.ones(2**29)  # 2 GiB
    code = "from agents.monitoring.timing import peak_memory; print(peak_memory())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < held.numel() * 4 / 2**30
