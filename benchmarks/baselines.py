"""What others grade with, each in a process of its own that can be killed.

math_verify is math-verify called as well as we know how: on the answer alone, boxes first, the
reference in a box, its own time limits on. TRL's and verl's graders are their published code, as
installed in a folder by `pip install --no-deps --target DIR trl verl`; they are given whole
responses and boxed references, as their users give them.
"""

import json
import logging
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import usage

Verdict = Callable[[str, str], bool]


def math_verify(folder: str) -> Verdict:
    """Bare math-verify on the answer alone, boxes first."""
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

    extraction = [LatexExtractionConfig(boxed_match_priority=0), ExprExtractionConfig()]

    def judge(response: str, reference: str) -> bool:
        return verify(parse(boxed(reference)), parse(section(response), extraction))

    return judge


def trl(folder: str) -> Verdict:
    """TRL's accuracy_reward."""
    sys.path.insert(0, folder)
    from trl.rewards import accuracy_reward

    def judge(response: str, reference: str) -> bool:
        # None where the reference cannot be parsed, which skips the example.
        return accuracy_reward([[{"content": response}]], [boxed(reference)])[0] == 1

    return judge


def verl(folder: str) -> Verdict:
    """The math_verify.compute_score of verl, which has a pool of four processes.

    The file needs nothing of verl, whose own import needs ray and vLLM: a copy under a name that
    does not hide math_verify, and that its processes find as well.
    """
    source = Path(folder) / "verl" / "utils" / "reward_score" / "math_verify.py"
    scratch = tempfile.mkdtemp()
    shutil.copy(source, Path(scratch) / "verl_math_verify.py")
    sys.path.insert(0, scratch)
    from verl_math_verify import compute_score  # pyright: ignore[reportMissingImports]

    return lambda response, reference: compute_score(response, reference) == 1


BASELINES = {"math_verify": math_verify, "trl": trl, "verl": verl}


def boxed(reference: str) -> str:
    return reference if "\\boxed" in reference else f"\\boxed{{{reference}}}"


def section(response: str) -> str:
    """The last <answer>, else what follows the reasoning."""
    start = response.rfind("<answer>")
    if start < 0:
        return response.rpartition("</think>")[2]
    return response[start + len("<answer>") :].partition("</answer>")[0]


class Baseline:
    """One of `BASELINES` in a process that is killed when an answer takes too long.

    Args:
        name: Which.
        folder: Where TRL and verl are installed.
        deadline: Seconds of the wall clock for one answer.
    """

    def __init__(self, name: str, folder: str = "", deadline: float = 20.0) -> None:
        self._command = [sys.executable, __file__, name, folder]
        self._deadline = deadline
        self._process: subprocess.Popen[str] | None = None

    def judge(self, response: str, reference: str) -> tuple[bool, float, bool]:
        """The verdict, its CPU seconds, and whether the process had to be killed."""
        process = self._process or self._start()
        before = usage.clock(process.pid)
        process.stdin.write(json.dumps([response, reference]) + "\n")
        process.stdin.flush()
        if select.select([process.stdout], [], [], self._deadline)[0]:
            line = process.stdout.readline()
            if line:
                correct, seconds = json.loads(line)
                return correct, seconds, False
        spent = usage.clock(process.pid) - before
        self.close()
        return False, spent, True

    def peak_mib(self) -> float:
        """The memory of the process and its children, each at its largest."""
        return usage.peak_mib(usage.descendants())

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            # With the processes of its own pool, which are of the same session.
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()
        self._process = None

    def _start(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            self._command, stdin=pipe, stdout=pipe, text=True, start_new_session=True
        )
        if not process.stdout.readline():
            sys.exit(f"{' '.join(self._command)} did not start")
        self._process = process
        return process

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def serve(name: str, folder: str) -> None:
    """Judges each line of standard input until it ends, and tells what it cost."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a grader prints is no verdict
    logging.disable(logging.CRITICAL)  # each of its time-outs is a page long
    judge = BASELINES[name](folder)
    # Tables of the parser fill over the first formulas, and a pool starts with the first answer.
    for number in range(20):
        judge(f"<answer>\\boxed{{\\frac{{x+{number}}}{{2}}}}</answer>", f"{number}/2 + x/2")
    processes = usage.descendants()
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        response, reference = json.loads(line)
        before = usage.cpu_seconds(processes)
        correct = judge(response, reference)
        print(json.dumps([bool(correct), usage.cpu_seconds(processes) - before]), file=answers)
        answers.flush()


if __name__ == "__main__":
    serve(*sys.argv[1:])
