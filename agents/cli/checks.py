"""Validity of the settings of a training run, one by one and together."""

import math
from collections.abc import Callable

from agents.cli.exit import short
from agents.cli.json_flags import json_object, lora_rank, stop_strings
from agents.cli.settings import Run
from agents.errors import UsageError
from agents.monitoring.trackers import check_installed

MINIMA = dict.fromkeys(
    (
        *("evaluate_every", "num_test_problems", "seed", "top_k", "overlong_buffer"),
        *("warmup_steps", "show_responses"),
    ),
    0,
) | dict.fromkeys(
    (
        *("num_steps", "num_prompts", "group_size", "minibatch_size", "microbatch_size"),
        *("epochs", "max_response_length", "save_every", "keep_checkpoints", "max_pixels"),
        "max_prompt_length",
        *("sampler_batch_size", "max_generations", "tokens_per_microbatch", "max_skipped"),
    ),
    1,
)
"""Minimum of each integer setting."""
MAXIMA = dict.fromkeys(MINIMA, 2**31 - 1) | {
    "seed": 2**63 - 1,
    "max_response_length": 2**20,
    "epochs": 1000,
}
"""Maximum of each integer setting; no model has a context of more than 2^20 tokens."""
NUMBERS: dict[str, tuple[Callable[[float], bool], str]] = {
    **dict.fromkeys(
        ("learning_rate", "weight_decay", "adam_epsilon", "save_minutes"),
        (lambda x: 0 <= x < math.inf, "at least 0"),
    ),
    **dict.fromkeys(("adam_beta1", "adam_beta2"), (lambda x: 0 <= x < 1, "one in [0, 1)")),
    "min_learning_rate_ratio": (lambda x: 0 <= x <= 1, "one in [0, 1]"),
    "max_grad_norm": (lambda x: 0 < x < math.inf, "more than 0, or None for no clipping"),
    "parity_tolerance": (lambda x: x >= 0, "at least 0"),
}
"""Valid values of other numbers, as a function and in words."""
MOST_RESPONSES = 2**20
"""Responses of a training step at most: a thousand times the papers' rollouts. Each takes memory in
the environment and in the rollout, whatever the batches of sampler and trainer are."""
LEAST_TOP_P = 1e-6
"""Smallest top-p: below float32's resolution no token would be kept."""
TEMPERATURES = 1e-3, 1e3
"""Temperatures between which logits of models, divided by them, are float32 numbers."""


def check_run(run: Run) -> None:
    """Validates each setting and how they fit together.

    Raises:
        UsageError: In one line, with the flag, its value and the values that are valid.
    """
    for name, minimum in MINIMA.items():
        value = getattr(run, name)
        if value is not None:
            check_integer(name.replace("_", "-"), value, minimum, MAXIMA[name])
    _check_numbers(run)
    _check_json(run)
    check_installed(run.track)
    if run.overlong_buffer > run.max_response_length:
        raise UsageError(
            f"--overlong-buffer {run.overlong_buffer} is longer than --max-response-length "
            f"{run.max_response_length}"
        )
    if run.vllm_server is not None and (run.sampler == "transformers" or run.vllm != "{}"):
        raise UsageError(
            f"--vllm-server {run.vllm_server} is not for --sampler transformers, and gets its "
            "options when it is started, not from --vllm: drop one"
        )
    responses = run.num_prompts * run.group_size
    if responses * run.max_generations > MOST_RESPONSES:
        raise UsageError(
            f"--num-prompts {run.num_prompts} x --group-size {run.group_size} x --max-generations "
            f"{run.max_generations} are {responses * run.max_generations:,} responses a step: give "
            f"at most {MOST_RESPONSES:,}"
        )
    if run.minibatch_size % run.group_size or responses % run.minibatch_size:
        raise UsageError(
            f"--minibatch-size {run.minibatch_size} must be a multiple of --group-size "
            f"{run.group_size} and divide the {responses} responses of a rollout"
        )


def _check_numbers(run: Run) -> None:
    """Validates the settings that are no integers, and the steps of the warm-up."""
    for name, (is_valid, words) in NUMBERS.items():
        value = getattr(run, name)
        if value is not None and not is_valid(value):
            raise UsageError(f"--{name.replace('_', '-')} is {value}: give {words}")
    if run.warmup_steps > (steps := run.optimizer_steps()):
        raise UsageError(
            f"--warmup-steps {run.warmup_steps} is more than the {steps} optimizer steps of the run"
        )
    if not run.temperature > 0:
        raise UsageError(f"--temperature is {run.temperature}: training needs one above 0")
    check_temperature(run.temperature)
    check_top_p(run.top_p)


def _check_json(run: Run) -> None:
    """Validates the settings that are JSON."""
    json_object("env-options", run.env_options)
    json_object("vllm", run.vllm)
    lora_rank(run.lora)
    stop_strings(run.stop)


def check_integer(flag: str, value: int, minimum: int, maximum: int) -> None:
    """Raises UsageError for an integer out of range."""
    if not value >= minimum:
        raise UsageError(f"--{flag} is {value}: give at least {minimum}")
    if value > maximum:
        raise UsageError(f"--{flag} is {short(str(value))}: give at most {maximum}")


def check_temperature(temperature: float) -> None:
    """Raises UsageError for a temperature, other than 0, at which logits overflow."""
    lowest, highest = TEMPERATURES
    if temperature and not lowest <= temperature <= highest:
        raise UsageError(f"--temperature is {temperature}: give one in [{lowest:g}, {highest:g}]")


def check_top_p(top_p: float) -> None:
    """Raises UsageError for a share that is none, or that float32 rounds to 0."""
    if not 0 < top_p <= 1:
        raise UsageError(f"--top-p is {top_p}: give one in (0, 1]")
    if top_p < LEAST_TOP_P:
        raise UsageError(f"--top-p is {top_p}: give at least {LEAST_TOP_P:g}")
