"""A side as the benchmark sees it: a process that is asked for turns."""

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

HERE = Path(__file__).resolve()
BENCHMARKS, PROJECT = HERE.parents[1], HERE.parents[2]
MODULES = {"ours": "throughput.ours", "trl": "throughput.peer", "trl-liger": "throughput.peer"}


class Side:
    """One of `MODULES`, from its start to its end."""

    def __init__(self, config: dict[str, Any], python: str, threads: int) -> None:
        """Args: what the process is told, its interpreter, and its threads."""
        self.name = config["side"]
        module = MODULES[self.name]
        paths = [str(BENCHMARKS), str(PROJECT), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "OMP_NUM_THREADS": str(threads),
            "HF_HUB_OFFLINE": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "TOKENIZERS_PARALLELISM": "false",
        }
        told = Path(config["scratch"]).with_suffix(".json")
        told.write_text(json.dumps(config))
        self._log = told.with_suffix(".log")
        self._errors = self._log.open("wb")
        self._process = subprocess.Popen(
            [python, "-m", module, str(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
        )
        self.started = self._answer(1800.0) or {}

    def ask(self, command: dict[str, Any], deadline: float = 3600.0) -> dict[str, Any] | None:
        """What the process makes of a command; None when it took longer, which ends the process."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        self._process.stdin.flush()
        return self._answer(deadline)

    def close(self) -> None:
        """Ends the process."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()
        self._errors.close()

    def _answer(self, deadline: float) -> dict[str, Any] | None:
        out = self._process.stdout
        assert out
        if not select.select([out], [], [], deadline)[0]:
            self.close()
            return None
        line = out.readline()
        if not line:
            self.close()
            tail = self._log.read_text(errors="replace")[-3000:]
            sys.exit(f"{self.name} ended:\n{tail}")
        return json.loads(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
