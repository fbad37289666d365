"""Learners for reinforcement learning with verifiable rewards.

Each algorithm is a module that runs: `python -m agents.cpgd --help`. Nothing is imported here, so
that running a module never imports it twice.
"""

import os
import sys

# Threads that wait for each other shall soon sleep, not spin: where another process needs their
# core, spinning makes a step many times as slow. Read once, when torch is loaded. It would override
# OMP_WAIT_POLICY, by which a user says the same.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
# Tensors of 2 MiB or more start at a page. At a multiple of 64 bytes, glibc cuts a few bytes off
# each and gives them to others, so that the gap of a freed tensor is too small for the next of its
# size: a training step's memory was up to twice that of its tensors.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

if sys.argv[:1] == ["-m"]:  # `python -m agents.NAME` is about to import its module
    from agents.cli.missing_packages import explain_missing_packages

    explain_missing_packages()


def __getattr__(name: str) -> str:
    """The lazy attribute `__version__`, from the metadata of the installed distribution."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    return version("reasonenv")
