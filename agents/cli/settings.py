"""What a run trains on and for how long; the defaults follow from the model."""

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from agents.errors import UsageError
from reasonenv.registration import find


@dataclass(frozen=True, kw_only=True)
class Run:
    """What to train on, for how long, with which engines, and what to keep of it.

    The defaults are those of the tiny model: minutes on two CPU cores. `defaults` gives those of
    other models.
    """

    env: str = "Figures-v0"
    """Environment, such as Figures-v0 or MMK12-v0, or your own as module:Mine-v0."""
    env_options: str = "{}"
    """Further arguments of the environment as JSON, such as '{"level": 2}'."""
    data: str | None = None
    """Folder with local files of the data set; by default REASONENV_DATA, then the hub."""
    model: str = "tiny"
    """Hub name, folder in Hugging Face format, or 'tiny'; the default is the environment's."""
    num_steps: int = 150
    """Updates, each after a rollout."""
    num_prompts: int = 32
    """Prompts of a rollout, over all ranks."""
    group_size: int = 8
    """Responses to each prompt."""
    minibatch_size: int = 128
    """Responses per optimizer step, over all ranks; whole groups."""
    microbatch_size: int = 128
    """Responses per forward pass on one rank; changes memory and speed, never the result."""
    tokens_per_microbatch: int | None = None
    """Prompt and response tokens per forward pass on one rank, in place of --microbatch-size; a
    prompt that responses share counts once."""
    epochs: int = 1
    """Passes over one rollout."""
    max_generations: int = 1
    """Rollouts sampled at most for an update to hold only prompts with right and wrong responses,
    others fill what is missing then; 1 trains on all prompts (dynamic sampling, DAPO)."""
    overlong_buffer: int = 0
    """Tokens before the length limit over which the reward falls by up to 1; 0 for none (DAPO)."""
    max_response_length: int = 48
    """Tokens after which a response is cut."""
    max_pixels: int = 64 * 28 * 28
    """Larger images are shrunk to this area."""
    sampler_batch_size: int = 512
    """Responses sampled at a time on one rank, as many as the memory holds."""
    temperature: float = 1.0
    """Of the sampler and of every log-probability."""
    top_p: float = 1.0
    """Draw from the likeliest tokens, as few as have this probability; see --sampler-correction."""
    top_k: int = 0
    """Draw from this many tokens, the likeliest; 0 for all. See --sampler-correction."""
    learning_rate: float = 3e-4
    """Highest learning rate of AdamW; it decays along a cosine to a tenth."""
    seed: int = 0
    """Of the order of problems, of the sampler and of the tiny model."""
    freeze_vision: bool = False
    """Train the language model alone, as the released CPGD scripts do."""
    gradient_checkpointing: bool = False
    """Compute activations twice to hold fewer of them."""
    lora: str | None = None
    """Train adapters in the model's stead: arguments of peft's LoraConfig as JSON, such as
    '{"r": 16, "target_modules": "all-linear"}'."""
    engine: Literal["auto", "torch", "deepspeed"] = "auto"
    """Training: auto is plain PyTorch for one CPU process, DeepSpeed on GPUs and several ranks."""
    deepspeed: Path | None = None
    """DeepSpeed configuration in JSON, passed on as it is."""
    sampler: Literal["auto", "transformers", "vllm"] = "auto"
    """Sampling: auto is vLLM on GPUs where it is installed, else transformers."""
    vllm: str = "{}"
    """Arguments of vllm.LLM as JSON, passed on as they are."""
    vllm_server: str | None = None
    """URL of a vLLM server on other GPUs or another machine, in place of one in this process."""
    sampler_log_probs: bool = True
    """Have vLLM tell the log-probabilities of what it samples; without them it is faster, and
    nobody sees whether sampler and trainer drift apart."""
    agreement: float | None = None
    """Nats by which log-probabilities of sampler and trainer may differ in the mean before the run
    refuses to start; None for what their dtypes allow."""
    on_collapse: Literal["warn", "stop", "rollback"] = "warn"
    """What a run does that collapses: go on with a warning, save and stop, or go back to the last
    checkpoint before it and go on with other problems, three times at most."""
    max_skipped: int = 10
    """Optimizer steps in a row without a finite gradient after which the run saves and stops."""
    output_dir: str = "runs/{algorithm}-{env}-seed{seed}"
    """Where metrics, rollouts and checkpoints go."""
    resume: bool = False
    """Go on from the last checkpoint of the output directory."""
    save_every: int = 50
    """Steps between checkpoints; the last step always saves."""
    keep_checkpoints: int = 2
    """Older checkpoints are deleted."""
    evaluate_every: int = 0
    """Steps between evaluations; 0 for only before the first step and after the last."""
    num_test_problems: int = 500
    """Problems of each evaluation split; 0 turns evaluation off."""
    tensorboard: bool = False
    """Also write TensorBoard files."""

    def folder(self, algorithm: str) -> Path:
        """The output directory, its placeholders filled in."""
        env = self.env.rpartition(":")[2]
        marks = {"{algorithm}": algorithm, "{env}": env, "{seed}": str(self.seed)}
        name = self.output_dir
        for mark, value in marks.items():
            name = name.replace(mark, value.lower())
        return Path(name)

    def optimizer_steps(self) -> int:
        """Optimizer steps of the whole run."""
        minibatches = self.num_prompts * self.group_size // self.minibatch_size
        return self.num_steps * self.epochs * minibatches


# The released CPGD scripts: five passes over the 15,616 problems of MMK12, 128 at a time.
PAPER = {
    "num_steps": 610,
    "num_prompts": 128,
    "microbatch_size": 1,
    "tokens_per_microbatch": 16384,
    "sampler_batch_size": 32,
    "max_response_length": 4096,
    "max_pixels": 640 * 28 * 28,
    "learning_rate": 1e-6,
    "freeze_vision": True,
    "gradient_checkpointing": True,
}

LEAST = dict.fromkeys(
    ("evaluate_every", "num_test_problems", "seed", "top_k", "overlong_buffer"), 0
) | dict.fromkeys(
    (
        *("num_steps", "num_prompts", "group_size", "minibatch_size", "microbatch_size"),
        *("epochs", "max_response_length", "save_every", "keep_checkpoints", "max_pixels"),
        *("sampler_batch_size", "max_generations", "tokens_per_microbatch", "max_skipped"),
    ),
    1,
)
"""Smallest values of the settings that count."""


def defaults(env: str | None = None, model: str | None = None) -> Run:
    """The run that an environment and a model call for when nothing else is said.

    Args:
        env: None for Figures-v0.
        model: None for the environment's own.
    """
    known = find(env or Run.env)
    run = Run(env=known.id, model=model or known.model)
    return run if run.model == "tiny" or _is_tiny(Path(run.model)) else replace(run, **PAPER)


def _is_tiny(folder: Path) -> bool:
    """Whether a folder holds a model of the tiny one's kind, such as one of its checkpoints."""
    try:
        config = json.loads((folder / "config.json").read_bytes())
        return config.get("text_config", config)["hidden_size"] <= 256
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False  # what is wrong with it is said where it is loaded


def check(run: Run) -> None:
    """Refuses numbers that do not fit each other.

    Raises:
        UsageError: In one line, with the flag, its value and what to do.
    """
    for name, least in LEAST.items():
        if getattr(run, name) is not None and getattr(run, name) < least:
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} is {getattr(run, name)}: give at least {least}")
    _check_numbers(run)
    if run.overlong_buffer > run.max_response_length:
        raise UsageError(
            f"--overlong-buffer {run.overlong_buffer} is longer than --max-response-length "
            f"{run.max_response_length}"
        )
    if run.vllm_server is not None and (run.sampler == "transformers" or run.vllm != "{}"):
        raise UsageError(
            f"--vllm-server {run.vllm_server} is not for --sampler transformers, and takes its "
            "options at its own start, not by --vllm: drop one"
        )
    responses = run.num_prompts * run.group_size
    if run.minibatch_size % run.group_size or responses % run.minibatch_size:
        raise UsageError(
            f"--minibatch-size {run.minibatch_size} must be a multiple of --group-size "
            f"{run.group_size} and divide the {responses} responses of a rollout"
        )


def _check_numbers(run: Run) -> None:
    """Refuses rates and probabilities that are none."""
    if not 0 <= run.learning_rate < math.inf:
        raise UsageError(f"--learning-rate is {run.learning_rate}: give at least 0")
    if not run.temperature > 0:
        raise UsageError(f"--temperature is {run.temperature}: training needs one above 0")
    if not 0 < run.top_p <= 1:
        raise UsageError(f"--top-p is {run.top_p}: give one in (0, 1]")


def environment_options(text: str, data: str | None) -> dict[str, Any]:
    """Arguments of an environment from `--env-options` and `--data`."""
    options = json_object("env-options", text)
    counted = sorted(options.keys() & {"num_envs", "group_size", "rank", "num_ranks"})
    if counted:
        raise UsageError(
            f"--env-options cannot give {counted[0]}: a flag or the number of ranks does"
        )
    return options | ({"data": data} if data else {})


EXAMPLES = {
    "env-options": '{"level": 2}',
    "vllm": '{"max_model_len": 8192}',
    "lora": '{"r": 16, "target_modules": "all-linear"}',
}
"""Of each flag that takes JSON."""


def json_object(flag: str, text: str) -> dict[str, Any]:
    """What a flag gives as JSON.

    Raises:
        UsageError: In one line, when it is no JSON object.
    """
    try:
        options = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"--{flag} {text!r} is no JSON: {error}") from error
    if not isinstance(options, dict):
        raise UsageError(f"--{flag} {text!r} is no JSON object, such as {EXAMPLES[flag]!r}")
    return options
