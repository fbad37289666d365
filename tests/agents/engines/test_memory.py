"""Freed memory stays with the process, in a process of its own."""

import platform
import subprocess
import sys

import pytest

SCRIPT = """
import resource
from agents.engines.memory import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    bytearray(2**25)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

default = [faults(), faults()]
keep_freed_memory()
print(*default, faults(), faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_a_second_tensor_takes_the_memory_of_the_first():
    output = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, check=True, text=True
    ).stdout
    *default, first, second = map(int, output.split())
    assert min(*default, first) > 1000
    assert second < 100
