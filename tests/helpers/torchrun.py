"""Starts scripts of this folder on ranks, two unless said otherwise, as `torchrun` does."""

import os
import subprocess
import sys
from pathlib import Path

HELPERS = Path(__file__).parent
_PATH = [str(HELPERS.parents[1]), str(HELPERS.parent), os.environ.get("PYTHONPATH", "")]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, _PATH))}


def command(script: str, *words: object, num_ranks: int = 2) -> list[str]:
    """That starts the script with these words on ranks of this machine; 0: it forks its own."""
    if not num_ranks:
        return [sys.executable, str(HELPERS / script), *map(str, words)]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return [*torchrun, "--nproc-per-node", str(num_ranks), str(HELPERS / script), *map(str, words)]


def run(script: str, *words: object, num_ranks: int = 2, status: int = 0) -> str:
    """To its end, which is a good one unless a status is given, and what it says on the way."""
    process = subprocess.run(
        command(script, *words, num_ranks=num_ranks),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert process.returncode == status, process.stderr[-3000:]
    return process.stderr
