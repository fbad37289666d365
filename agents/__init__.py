"""Learners for reinforcement learning with verifiable rewards.

Each algorithm is a module that runs: `python -m agents.cpgd --help`. Nothing is imported here, so
that running a module never imports it twice.
"""

import os
import sys

# Threads that wait for each other shall soon sleep, not spin: where another process needs their
# core, spinning makes a step many times as slow. Read once, when torch is loaded.
os.environ.setdefault("GOMP_SPINCOUNT", "3000")

if sys.argv[:1] == ["-m"]:  # `python -m agents.NAME` is about to import its module
    from agents.cli.missing_packages import explain_missing_packages

    explain_missing_packages()


def __getattr__(name: str) -> str:
    """The lazy attribute `__version__`, from the metadata of the installed distribution."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    return version("reasonenv")
