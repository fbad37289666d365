import subprocess
import sys

import pytest
import torch

from agents.monitoring.timing import Clock

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


def printed(code: str) -> list[float]:
    """The numbers that a new process prints, where nothing else has taken memory before."""
    code = f"import torch; from agents.monitoring.timing import peak_memory\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()]


def test_the_peak_is_of_what_was_held_even_when_it_is_given_back():
    before, after = printed(
        "print(peak_memory()); ones = torch.ones(2**27); del ones; print(peak_memory())"
    )
    assert before + 0.4 < after < before + 0.6  # 0.5 GiB


def test_the_peak_is_not_that_of_the_process_that_started_this_one():
    child = "from agents.monitoring.timing import peak_memory; print(peak_memory())"
    own, of_child = printed(
        "import subprocess, sys; ones = torch.ones(2**28); print(peak_memory(), flush=True)\n"
        f"subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    )
    assert of_child < own - 0.9  # GiB, of which the process above holds one
