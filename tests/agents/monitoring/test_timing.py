import math
import subprocess
import sys

import pytest
import torch

from agents.monitoring.timing import Clock, Interval

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


# Without the seconds that importing PyTorch takes; there is no GPU.
WITHOUT_TORCH = (
    "import sys; from types import SimpleNamespace as N; "
    "sys.modules['torch'] = N(cuda=N(is_available=lambda: False)); "
    "from agents.monitoring.timing import peak_memory"
)


def printed(code: str) -> list[float]:
    """The numbers that a new process prints, where nothing else has taken memory before."""
    code = f"{WITHOUT_TORCH}\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()]


def test_the_peak_is_of_what_this_process_held_even_when_it_is_given_back():
    child = f"{WITHOUT_TORCH}; print(peak_memory())"
    before, after, of_child = printed(
        "import subprocess, sys; print(peak_memory())\n"
        "ones = b'1' * 2**29; del ones; print(peak_memory(), flush=True)\n"
        f"subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    )
    assert before + 0.4 < after < before + 0.6  # 0.5 GiB
    # What a process held that started another is not the other's.
    assert of_child < after - 0.4


def test_an_interval_is_due_after_its_time_and_after_what_the_action_costs(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    interval = Interval(10)
    assert not interval.is_due()
    now[0] += 10
    assert interval.is_due()
    with interval.action():
        now[0] += 3  # of which a run may spend a twentieth, so it waits a minute
    now[0] += 59
    assert not interval.is_due()
    now[0] += 1
    assert interval.is_due()


def test_an_interval_of_zero_is_never_due():
    assert not Interval(0, last=-math.inf).is_due()
    assert Interval(1, last=-math.inf).is_due()
