"""Starts scripts of this folder on two ranks, as `torchrun` does."""

import os
import subprocess
import sys
from pathlib import Path

HELPERS = Path(__file__).parent
_PATH = [str(HELPERS.parents[1]), str(HELPERS.parent), os.environ.get("PYTHONPATH", "")]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, _PATH))}


def command(script: str, *words: object) -> list[str]:
    """That starts the script with these words on two ranks of this machine."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return [*torchrun, "--nproc-per-node", "2", str(HELPERS / script), *map(str, words)]


def run(script: str, *words: object) -> None:
    """To its end, which is a good one."""
    process = subprocess.run(
        command(script, *words),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-3000:]
