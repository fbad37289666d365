"""Trials of components that can only be tested by use, each in a process of its own.

A trial returns the text of its result, or exits with the reason of its failure; `attempt` runs it
with a time limit, so that a crash or a hang of a library is no crash of the doctor.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from agents.diagnosis.result import CheckResult, check_result


class TrialOutcome(NamedTuple):
    """Result of a program, or the reason of its failure in one line."""

    value: Any = None
    reason: str = ""


def attempt(program: str, timeout: float) -> TrialOutcome:
    """Runs source code, or a trial below by name, in a process of its own with a limit in seconds.

    The value is the JSON of the last line of its output.
    """
    if program.isidentifier():
        program = f"import json, agents.diagnosis.trials as t; print(json.dumps(t.{program}()))"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # a process group, so that children are killed with it
    ) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return TrialOutcome(reason=f"timeout after {timeout:.0f} s")
    status = process.returncode
    if status < 0:
        return TrialOutcome(reason=f"killed by {signal.Signals(-status).name}")
    if status > 0:
        lines = errors.strip().splitlines() or [f"exit status {status}"]
        return TrialOutcome(reason=lines[-1].strip())
    try:
        return TrialOutcome(json.loads(output.splitlines()[-1]))
    except (IndexError, ValueError):
        return TrialOutcome(reason="no result")


def check_trial(
    name: str, outcome: TrialOutcome, fix: str, *, is_required: bool = True
) -> CheckResult:
    """Result of a trial; a failure is only a note where runs on this machine do without it."""
    if not outcome.reason:
        return check_result(name, outcome.value)
    text = f"unusable: {outcome.reason}"
    if name == "transformers" and "torchvision" in outcome.reason:
        text = f"torchvision does not match torch and breaks transformers: {outcome.reason}"
        fix = "pip uninstall torchvision, which is optional, or install the version for torch"
    if name == "vllm" and "No module named 'vllm'" in outcome.reason:
        is_required, text = False, "not installed: transformers samples, slowly"
    return check_result(name, text, fix, problem=is_required, note=True)


def devices() -> dict[str, Any]:
    """GPUs of torch, as `machine.check_devices` expects them."""
    import torch

    gpus, reason = [], ""
    try:
        if torch.version.cuda:
            torch.cuda.init()
        properties = map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))
        gpus = [(gpu.name, gpu.total_memory / 2**30) for gpu in properties]
    except RuntimeError as error:
        reason = " ".join(str(error).split())
    build = {"version": torch.__version__, "cuda": torch.version.cuda}
    return {**build, "gpus": gpus, "error": reason}


def transformers() -> str:
    """Import of a vision model, which fails if torchvision does not match torch."""
    vision = find_spec("torchvision") is not None
    if vision:
        import_module("torchvision")
    assert import_module("transformers").Qwen2_5_VLForConditionalGeneration
    return f"imports, {'with' if vision else 'without'} torchvision"


def vllm() -> str:
    """Import, and detection of a device."""
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    vllm = import_module("vllm")
    device = import_module("vllm.platforms").current_platform.device_name
    if not device:
        sys.exit("finds no device that it was built for")
    return f"{vllm.__version__} imports, for {device}"


def grader() -> str:
    """Grades of two answers, of which only a worker process can settle the second."""
    from reasonenv.workers import Grader

    with Grader(num_workers=1) as workers:
        responses = [r"\boxed{x^2 + 2 x + 1}", r"\boxed{\complement_U A}"]
        grades = workers.grade(responses, ["(x + 1)^2", r"\complement_U B"])
    pairs, expected = [(g.correct, g.status) for g in grades], [(True, "ok"), (False, "ok")]
    if pairs != expected:
        sys.exit(f"grades {pairs} instead of {expected}")
    return "its workers start and grade"


def deepspeed() -> str:
    """A step of the tiny model with DeepSpeed, in bf16 on a GPU."""
    import torch

    if not torch.cuda.is_available():
        os.environ["DS_ACCELERATOR"] = "cpu"
    from agents.engines.deepspeed import DeepSpeedEngine

    _train(DeepSpeedEngine, torch.bfloat16 if torch.cuda.is_available() else torch.float32)
    return "takes an optimizer step"


def tiny_model() -> str:
    """A step of the tiny model on images and text, after a comparison of sampler and trainer."""
    import torch

    from agents.engines.torch import TorchEngine

    return _train(TorchEngine, torch.float32)


def _train(make_engine: Callable[..., Any], dtype: Any) -> str:
    import numpy as np

    from agents.engines.load import load_model, local_device
    from agents.engines.model import Policy
    from agents.engines.optimizer import Optimization
    from agents.engines.pretrained import TINY
    from agents.engines.sampling import Sampling
    from agents.engines.transformers import TransformersSampler
    from agents.training import parity

    model, chat = load_model(str(TINY), local_device(), dtype)
    policy, sampling = Policy(model), Sampling(1.0, chat.banned)
    engine = make_engine(policy, chat, sampling, Optimization(1e-3, 10))
    sampler = TransformersSampler(policy, chat, sampling, 16)
    image = np.random.default_rng(0).integers(0, 256, (56, 84, 3), dtype=np.uint8)
    questions, images = ("What is the sum?", "How many?"), ((), (image,))
    observations = {"system": ("", ""), "question": questions, "images": images}
    agreement = parity.compare(engine, sampler, chat, observations)
    agreement.check(parity.tolerance(dtype))
    responses = sampler.generate(sampler.encode(observations), (0,))
    engine.backward(engine.forward(responses)[0].mean())
    engine.step()
    return str(agreement)
