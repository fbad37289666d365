"""Freed memory stays with the process, in a process of its own, and fits the next tensor."""

import platform
import subprocess
import sys

import pytest

SCRIPT = """
import resource
from agents.engines.process import keep_freed_memory
import torch

def faults(size=2**25):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    bytearray(size)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

default = [faults(), faults()]
keep_freed_memory()
print(*default, faults(), faults())
print(faults(2**27), faults(2**27))
print(*(torch.empty(2**19 + n).data_ptr() % 4096 for n in range(4)))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_a_second_tensor_takes_the_memory_of_the_first_unless_it_is_large():
    output = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, check=True, text=True
    ).stdout
    small, large, offsets = (list(map(int, line.split())) for line in output.splitlines())
    *default, first, second = small
    assert min(*default, first, *large) > 1000
    assert second < 100
    assert offsets == [0, 0, 0, 0]  # of tensors, from the start of a page
