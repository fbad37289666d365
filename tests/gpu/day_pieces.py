"""The pieces of `day.py`: what each measures, on a GPU or, rehearsed, with tiny sizes on a CPU.

Modules that load torch are imported where they are used: a piece that only waits for a process must
not hold memory of a GPU.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
Measure = Callable[[Path, bool], Any]


@dataclass(frozen=True)
class Piece:
    """A measurement of at most nine minutes, in a process of its own."""

    purpose: str
    seconds: int
    """Expected on one H200."""
    measure: Measure
    """Gives figures for JSON, from a folder to write to, and True for a rehearsal."""
    needs: tuple[str, ...] = ()
    """Packages without which it is not rehearsed."""
    left_out: str = ""
    """Reason why no rehearsal has it."""

    def not_rehearsed(self) -> str:
        """Reason why it cannot be rehearsed here; "" if it can."""
        missing = [name for name in self.needs if not find_spec(name)]
        return self.left_out or (f"{', '.join(missing)} is not installed" if missing else "")


def command(*words: object, **variables: str) -> None:
    """Runs Python with these words; its output is the piece's."""
    subprocess.run(
        [sys.executable, *map(str, words)], check=True, cwd=ROOT, env=os.environ | variables
    )


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def kept(row: dict[str, Any], *beginnings: str) -> dict[str, Any]:
    """The entries of a row of metrics whose names begin so."""
    return {name: value for name, value in row.items() if name.startswith(beginnings)}


def env(folder: Path, _: bool) -> Any:
    """Findings of the doctor; a problem is a result, and later pieces tell what it breaks."""
    from agents import doctor

    return [asdict(one) for one in doctor.run_checks(folder) if one.level != "ok"]


def tests(files: tuple[str, ...], folder: Path, _: bool) -> Any:
    """Seconds of each test for GPUs; all must pass, and one at least must run."""
    report = folder / "report.xml"
    paths = [f"tests/gpu/{file}" for file in files]
    command("-m", "pytest", "-m", "gpu", "-p", "no:cacheprovider", f"--junitxml={report}", *paths)
    cases = list(ElementTree.parse(report).iter("testcase"))
    ran = {case.attrib["name"]: float(case.attrib["time"]) for case in cases if not len(case)}
    skipped = [case.attrib["name"] for case in cases if case.find("skipped") is not None]
    if not ran:
        raise SystemExit(f"no test ran, and {len(skipped)} were skipped")
    return {"seconds": ran, "skipped": skipped}


def smoke(folder: Path, rehearse: bool) -> Any:
    """Trainings with DeepSpeed on one rank: each stage, offloading, adapters."""
    from helpers import tiny_engines

    model = tiny_engines.write(folder / "model")
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 1)
    cases = ("stage 2",) if rehearse else ()
    command(*torchrun, "tests/gpu/smoke.py", model, folder, *cases)
    return json.loads((folder / "found.json").read_text())


def vllm(shape: str, folder: Path, rehearse: bool) -> Any:
    """Images through vLLM: handovers, agreement, sleep, memory that is given back."""
    from helpers import vllm_gpu

    return vllm_gpu.main(folder / "model", vllm_gpu.SHAPES["tiny" if rehearse else shape])


TINY_RUN = ("--num-prompts", 2, "--group-size", 2, "--minibatch-size", 4)


def mmk12(shape: str, folder: Path, rehearse: bool, *words: object) -> list[dict[str, Any]]:
    """Steps of CPGD on rows of MMK12, by what the machine has by default."""
    if rehearse:
        shape, words = "tiny", (*words, *TINY_RUN, "--num-steps", 1)
    command("tests/gpu/mmk12.py", folder, shape, *words)
    metrics = rows(folder / "run" / "metrics.jsonl")
    return [kept(row, "time/", "memory/", "sampler/", "train/", "throughput/") for row in metrics]


def repeated(folder: Path, rehearse: bool) -> Any:
    """Two deterministic runs, which must be equal number for number, and one that need not."""
    names = {"one": True, "other": True, "fast": False}
    found = {
        name: mmk12("small", folder / name, rehearse, *["--deterministic"] * exact)
        for name, exact in names.items()
        if exact or not rehearse
    }
    numbers = [[kept(row, "train/", "sampler/") for row in found[one]] for one in ("one", "other")]
    if numbers[0] != numbers[1]:
        raise SystemExit(f"two deterministic runs differ: {numbers}")
    return {name: [row["time/step_s"] for row in steps] for name, steps in found.items()}


def throughput(part: str, folder: Path, rehearse: bool) -> Any:
    """A part of the comparison with TRL; "" joins those that there are, or rehearses all."""
    parts = folder.parents[1] / "throughput"  # beside the results: a later stretch needs them
    size, regimes = ("rehearsal", ["fixed"]) if rehearse else ("1.5b", ["fixed", "long-tailed"])
    words = ["--size", size, "--turns", 1, "--steps", 1 if rehearse else 3, "--regimes", *regimes]
    if part:
        words += ["--part", part]
    else:
        ends = [f"{regime}-0.json" for regime in regimes]
        sides = ("ours", "trl", "trl-liger")
        there = [s for s in sides if all((parts / f"{s}-{end}").exists() for end in ends)]
        words += [] if rehearse else ["--sides", *there]
    command("benchmarks/throughput.py", *words, "--folder", parts)
    return json.loads((parts / f"{part or size}.json").read_text())


LEVEL = ("--env-options", '{"level": 1}')
LIKE_SMALL = (
    *("--max-response-length", 64, "--max-pixels", 64 * 28**2, "--learning-rate", 1e-4),
    *("--sampler-batch-size", 512, "--microbatch-size", 256),
)
"""Settings of a small model on a GPU; the defaults of its size are for a processor."""


def warm_start(folder: Path, rehearse: bool) -> Any:
    """A model of 28 million weights, trained from scratch on worked solutions of figures."""
    model = folder.parent / "figures-model"
    shutil.rmtree(model, ignore_errors=True)
    size, steps, batch = ("tiny", 2, 4) if rehearse else ("small", 600, 256)
    words = ["--model", size, "--num-steps", steps, "--batch-size", batch, "--output-dir", model]
    command("-m", "benchmarks.tiny.stage", *words, "--learning-rate", 5e-4, *LEVEL)
    return {"files": sorted(path.name for path in model.iterdir())}


def figures(folder: Path, rehearse: bool) -> Any:
    """CPGD on Figures from that model: accuracy before and after, seconds a step."""
    model = folder.parent / "figures-model"
    if not model.exists():
        warm_start(folder, rehearse)
    sizes = TINY_RUN if rehearse else ("--num-prompts", 64, "--minibatch-size", 256)
    steps, problems = (1, 4) if rehearse else (60, 200)
    words = [*sizes, "--num-steps", steps, "--num-test-problems", problems, *LIKE_SMALL, *LEVEL]
    command("-m", "agents.cpgd", "--model", model, "--output-dir", folder / "run", *words)
    metrics = rows(folder / "run" / "metrics.jsonl")
    return {
        "evaluations": rows(folder / "run" / "evaluations.jsonl"),
        "accuracy": [row["reward/accuracy"] for row in metrics],
        "step_s": [row["time/step_s"] for row in metrics],
    }


def server(folder: Path, rehearse: bool) -> Any:
    """vLLM's server on the GPU, and a trainer on the CPU: weights over gloo, images as pixels."""
    from helpers import vllm_gpu, vllm_served

    shape = "tiny" if rehearse else "small"
    vllm_gpu.write(folder / "model", vllm_gpu.SHAPES[shape])
    words = [*TINY_RUN, "--num-steps", 2, "--engine", "torch"]
    with vllm_served.served(folder / "model", folder / "server.log", 4096) as (url, _):
        run = ("tests/gpu/mmk12.py", folder, shape, *words, "--vllm-server", url)
        command(*run, CUDA_VISIBLE_DEVICES="")
    metrics = rows(folder / "run" / "metrics.jsonl")
    return [kept(row, "time/", "sampler/") for row in metrics]


def sampling(banned: bool, folder: Path, rehearse: bool) -> Any:
    """Tokens a second of vLLM alone."""
    import sampling_speed

    return sampling_speed.main(folder, banned=banned, rehearse=rehearse)


def profile(kind: str, folder: Path, rehearse: bool) -> Any:
    """The largest items of an update."""
    import step_profile

    return step_profile.main(kind, folder, rehearse=rehearse)


KERNELS = "kernels for GPUs have no version for CPUs"
PART = "as a part of throughput"
SAME = "as the one before, with other sizes"
TRL, VLLM, SIGHT = ("trl",), ("vllm",), ("vllm", "torchvision")
KERNEL_TESTS = partial(tests, ("test_gpu_packing.py",))


def times(part: str) -> Measure:
    """Measurement of a part of the comparison with TRL."""
    return partial(throughput, part)


PIECES = {
    "env": Piece("packages, devices, memory and disks", 75, env),
    "kernels": Piece("attention and Liger's kernels", 60, KERNEL_TESTS, left_out=KERNELS),
    "smoke": Piece("DeepSpeed: stages, offloading, adapters, resuming", 200, smoke),
    "vllm-small": Piece("images through vLLM, small", 110, partial(vllm, "small"), SIGHT),
    "vllm-3b": Piece("the same, 3 billion weights", 180, partial(vllm, "3b"), left_out=SAME),
    "mmk12-small": Piece("three steps, small", 115, partial(mmk12, "small"), left_out=SAME),
    "mmk12-3b": Piece("the same, 3 billion weights", 230, partial(mmk12, "3b"), left_out=SAME),
    "throughput-proof": Piece("loss and gradient beside TRL's", 110, times("proof"), left_out=PART),
    "throughput-ours": Piece("our steps, all of one length", 130, times("ours-fixed-0")),
    "throughput-ours-tail": Piece("a long tail", 140, times("ours-long-tailed-0"), left_out=SAME),
    "throughput-trl": Piece("TRL's, of one length", 260, times("trl-fixed-0"), left_out=PART),
    "throughput-trl-tail": Piece("a long tail", 320, times("trl-long-tailed-0"), left_out=SAME),
    "throughput-liger": Piece("with Liger", 260, times("trl-liger-fixed-0"), left_out=KERNELS),
    "throughput-liger-tail": Piece(
        "a long tail", 320, times("trl-liger-long-tailed-0"), left_out=KERNELS
    ),
    "throughput": Piece("figures and picture of these parts", 30, times(""), TRL),
    "sampling": Piece("vLLM alone, seeds of two kinds", 150, partial(sampling, False), VLLM),
    "sampling-banned": Piece("with banned tokens", 150, partial(sampling, True), left_out=SAME),
    "repeated": Piece("two runs with --deterministic, and their cost", 330, repeated),
    "profile-zero1": Piece("an update of 1.5 billion weights", 80, partial(profile, "zero1")),
    "profile-zero2": Piece("the same, ZeRO 2", 80, partial(profile, "zero2"), left_out=SAME),
    "profile-images": Piece("images, 3 billion", 90, partial(profile, "images"), left_out=SAME),
    "figures-warm-start": Piece("a model from scratch on figures", 400, warm_start),
    "figures": Piece("reinforcement learning on figures from it", 350, figures),
    "server": Piece("vLLM's server on the GPU, trainer on the CPU", 120, server, SIGHT),
}
"""In the order in which they are measured."""
