"""Things that are tried in a process of their own, so that a crash or a hang is only told."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.diagnosis.finding import Finding

TORCH = """
import json, torch
seen = {"version": torch.__version__, "cuda": torch.version.cuda, "gpus": [], "error": ""}
try:
    if torch.version.cuda:
        torch.cuda.init()
    names = range(torch.cuda.device_count())
    seen["gpus"] = [
        (torch.cuda.get_device_name(i), torch.cuda.get_device_properties(i).total_memory / 2**30)
        for i in names
    ]
except RuntimeError as error:
    seen["error"] = " ".join(str(error).split())
seen["available"] = bool(seen["gpus"])
print(json.dumps(seen))
"""

TRANSFORMERS = """
import importlib.util, json
if importlib.util.find_spec("torchvision"):
    import torchvision
from transformers import Qwen2_5_VLForConditionalGeneration
print(json.dumps({"torchvision": bool(importlib.util.find_spec("torchvision"))}))
"""

DEEPSPEED = """
import json, os, torch
if not torch.cuda.is_available():
    os.environ["DS_ACCELERATOR"] = "cpu"
from pathlib import Path
from agents.engines.deepspeed import DeepSpeedEngine
from agents.engines.load import local_device
from agents.engines.model import Policy
from agents.engines.sampling import Sampling
from agents.engines.optimizer import Optimization
from transformers import AutoModelForCausalLM, Qwen2Config
config = Qwen2Config(hidden_size=32, intermediate_size=32, num_hidden_layers=1,
    num_attention_heads=2, num_key_value_heads=1, vocab_size=64)
dtype = torch.bfloat16 if torch.cuda.is_available() else torch.float32
policy = Policy(AutoModelForCausalLM.from_config(config).to(local_device(), dtype))
engine = DeepSpeedEngine(policy, None, Sampling(), Optimization(1e-3, 10))
hidden = policy.model(torch.arange(8, device=policy.device)[None]).logits
engine.backward(hidden.float().square().mean())
print(json.dumps({"norm": engine.step()["train/grad_norm"]}))
"""

VLLM = """
import json, os
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
import vllm
from vllm.platforms import current_platform
print(json.dumps({"version": vllm.__version__, "platform": str(current_platform.device_name)}))
"""

GRADER = r"""
import json
from reasonenv.workers import Grader
with Grader(num_workers=1) as grader:
    answers = [r"\boxed{x^2 + 2 x + 1}", r"\boxed{\forall x}"]
    grades = grader.grade(answers, ["(x + 1)^2", r"\exists x"])  # only a worker settles this
print(json.dumps([[grade.correct, grade.status] for grade in grades]))
"""

AGREEMENT = """
import json, tempfile, numpy as np, torch
from pathlib import Path
from agents import tiny_model
from agents.engines.load import load_model, local_device
from agents.engines.model import Policy
from agents.engines.sampling import Sampling
from agents.engines.transformers import TransformersSampler
with tempfile.TemporaryDirectory() as folder:
    tiny_model.save_untrained(Path(folder), ["What is the sum? How many?"], seed=0)
    model, chat = load_model(folder, local_device(), torch.float32)
policy, sampling = Policy(model).ready(), Sampling(1.0, chat.banned)
image = np.random.default_rng(0).integers(0, 256, (56, 84, 3), dtype=np.uint8)
observation = {"system": ("",) * 8, "question": ("How many?",) * 8,
    "images": ((),) * 4 + ((image,),) * 4}
sampler = TransformersSampler(policy, chat, sampling, 16)
responses = sampler.generate(sampler.encode(observation), (0,))
with torch.no_grad():
    log_prob = policy(responses, sampling)[0].cpu()
apart = (log_prob - responses.sampler_log_prob).abs()[responses.mask].max().item()
print(json.dumps({"apart": apart, "tokens": int(responses.mask.sum())}))
"""

APART = 1e-3
"""Nats between sampler and trainer, in fp32, beyond which something is wrong."""


@dataclass(frozen=True)
class Trial:
    """What became of a program that was tried."""

    said: Any = None
    """The JSON of its last line; None where it failed."""
    reason: str = ""
    """Why it failed, in one line."""

    @property
    def failed(self) -> bool:
        """Whether it did not come to its end."""
        return bool(self.reason)


def attempt(program: str, timeout: float) -> Trial:
    """Runs a Python program in a process of its own and reads the JSON of its last line.

    Args:
        program: Source.
        timeout: Seconds after which it is killed with all that it has started.
    """
    command = [sys.executable, "-c", program]
    # A group of its own, so that what it has started ends with it.
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return Trial(reason=f"no end after {timeout:.0f} s")
    if process.returncode < 0:
        return Trial(reason=f"killed by {signal.Signals(-process.returncode).name}")
    if process.returncode > 0:
        told = [line for line in errors.splitlines() if line.strip()]
        return Trial(reason=told[-1].strip() if told else f"status {process.returncode}")
    try:
        return Trial(said=json.loads(output.splitlines()[-1]))
    except (IndexError, ValueError):
        return Trial(reason="it ended without a result")


def check_transformers(trial: Trial) -> Finding:
    """Whether vision models can be had, which a torchvision that does not match breaks."""
    if not trial.failed:
        beside = "with" if trial.said["torchvision"] else "without"
        return Finding("transformers", "ok", f"imports, {beside} torchvision")
    text, mend = f"cannot be used: {trial.reason}", 'pip install "reasonenv[train]"'
    if "torchvision" in trial.reason:
        text = f"torchvision does not match torch and breaks transformers: {trial.reason}"
        mend = "pip uninstall torchvision (nothing here needs it), or install the one for torch"
    return Finding("transformers", "problem", text, mend)


def check_deepspeed(trial: Trial, *, needed: bool) -> Finding:
    """Whether DeepSpeed takes a step; needed on GPUs and with several ranks."""
    if not trial.failed:
        return Finding("deepspeed", "ok", "takes a step")
    level = "problem" if needed else "note"
    mend = "pip install deepspeed" if "No module" in trial.reason else "--engine torch, meanwhile"
    return Finding("deepspeed", level, f"takes no step: {trial.reason}", mend)


def check_vllm(trial: Trial, *, needed: bool) -> Finding:
    """Whether vLLM can be imported and finds its device."""
    if not trial.failed and trial.said["platform"] not in ("None", ""):
        said = trial.said
        return Finding("vllm", "ok", f"{said['version']} imports, for {said['platform']}")
    reason = trial.reason or "it finds no device that it was built for"
    missing = "No module named 'vllm'" in reason
    level = "note" if missing or not needed else "problem"
    text = "not installed: transformers samples, slowly" if missing else f"unusable: {reason}"
    return Finding(
        "vllm", level, text, 'pip install "reasonenv[vllm]"' if missing or needed else ""
    )


def check_grader(trial: Trial) -> Finding:
    """Whether the workers of the grader start and give the grades that they should."""
    expected = [[True, "ok"], [False, "ok"]]
    if trial.said == expected:
        return Finding("grader", "ok", "its workers start and grade")
    text = trial.reason or f"grades {trial.said} where {expected} is right"
    return Finding("grader", "problem", text, 'pip install --force-reinstall "reasonenv"')


def check_agreement(trial: Trial) -> Finding:
    """Whether sampler and trainer say the same of a tiny model with and without images."""
    if trial.failed:
        mend = 'pip install --force-reinstall "reasonenv[train]"'
        return Finding("tiny model", "problem", trial.reason, mend)
    text = f"sampler and trainer are {trial.said['apart']:.1e} nats apart"
    text += f" on {trial.said['tokens']} tokens"
    # A comparison that is also false for what is no number.
    if not trial.said["apart"] <= APART:
        mend = "torch and transformers as in pyproject.toml; then report it"
        return Finding("tiny model", "problem", text, mend)
    return Finding("tiny model", "ok", text)


def check_hub(endpoint: str, environment: Mapping[str, str], timeout: float = 5) -> Finding:
    """Whether the hub of models and data sets can be reached."""
    if environment.get("HF_HUB_OFFLINE", "").upper() in ("1", "TRUE", "YES", "ON"):
        text = "HF_HUB_OFFLINE is set: only what is in the cache can be had"
        return Finding("hub", "note", text, "unset HF_HUB_OFFLINE, or --data DIR and --model DIR")
    request = urllib.request.Request(endpoint, method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=timeout):
            return Finding("hub", "ok", f"{endpoint} answers")
    except urllib.error.HTTPError:
        return Finding("hub", "ok", f"{endpoint} answers")
    except (OSError, ValueError) as error:
        text = f"{endpoint} cannot be reached: {error}"
        return Finding("hub", "note", text, "--data DIR and --model DIR with local files")
