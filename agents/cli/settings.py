"""Settings of a training run; their defaults follow from the environment and the model."""

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from agents.cli.exit import short
from agents.engines.precision import Choice
from agents.errors import RecordError, UsageError
from agents.storage.json_files import parse_json
from reasonenv.registration import find


@dataclass(frozen=True, kw_only=True)
class Run:
    """Settings of a training run: environment, model, batch sizes, engines, checkpoints.

    The defaults are those of the tiny model, which trains in minutes on two CPU cores. `defaults`
    returns those of other models.
    """

    env: str = "Figures-v1"
    """Environment, such as Figures-v1 or MMK12-v0, or your own as module:Mine-v0."""
    env_options: str = "{}"
    """Further arguments of the environment as JSON, such as '{"level": 1}'."""
    data: str | None = None
    """Folder with local files of the data set; by default REASONENV_DATA, then the hub."""
    model: str = "tiny"
    """Hub name, folder in Hugging Face format, or 'tiny' or 'small' (0.7 and 28 million
    parameters, generated); by default the environment's."""
    fresh: bool = False
    """Train the warm start of the tiny model anew, for this seed, instead of beginning with the one
    that is part of this package; on two quiet CPU cores it takes 25 minutes."""
    trust_remote_code: bool = False
    """Run the Python code that a model brings (auto_map in its configuration). It can do anything
    that you can do: read it first."""
    chat_template: Path | None = None
    """File with a chat template in Jinja, instead of the model's; a model without one gets prompts
    of plain text, 'Question: ... Answer:'. Saved in every checkpoint."""
    stop: str | None = None
    """Strings that end a response, besides end tokens, as JSON: '["\\nQuestion:", "</answer>"]'. A
    closing tag stays in the text. By default the model's own, or "\\nQuestion:" where it has no
    chat template. Saved in every checkpoint."""
    num_steps: int = 250
    """Training steps: a rollout and its update each."""
    num_prompts: int = 32
    """Prompts per rollout, over all ranks."""
    group_size: int = 8
    """Responses per prompt."""
    minibatch_size: int = 128
    """Responses per optimizer step, over all ranks; whole groups."""
    microbatch_size: int = 128
    """Responses per forward pass on one rank; changes memory and speed, not the result."""
    tokens_per_microbatch: int | None = None
    """Prompt and response tokens per forward pass on one rank, instead of --microbatch-size; a
    prompt shared by several responses counts once."""
    epochs: int = 1
    """Passes over each rollout."""
    max_generations: int = 1
    """Dynamic sampling (DAPO): rollouts sampled at most until an update has enough prompts with
    both correct and incorrect responses; others fill the remaining places. 1 trains on all."""
    overlong_buffer: int = 0
    """Tokens before the length limit over which the reward falls by up to 1; 0 for none (DAPO)."""
    max_response_length: int = 64
    """Maximum number of tokens of a response."""
    max_pixels: int = 64 * 28 * 28
    """Maximum number of pixels of an image; larger ones are scaled down."""
    sampler_batch_size: int = 512
    """Responses sampled at a time on one rank; limited by its memory."""
    temperature: float = 1.0
    """Sampling temperature; every log-probability is computed at it as well."""
    top_p: float = 1.0
    """Nucleus sampling: the smallest set of tokens with this probability; see
    --sampler-correction."""
    top_k: int = 0
    """Samples from this many of the most likely tokens; 0 for all. See --sampler-correction."""
    learning_rate: float = 3e-4
    """Peak learning rate of AdamW, with cosine decay to a tenth."""
    weight_decay: float = 0.01
    """Weight decay of AdamW, times the learning rate, as in the released CPGD scripts."""
    adam_epsilon: float = 1e-8
    """Added by AdamW to the root mean square of a weight's gradient before that divides, as in the
    released scripts; 1e-6 slows the tiny model down."""
    step_without_signal: bool = False
    """Take optimizer steps whose gradient is exactly zero too, by weight decay and momentum, as in
    0.2.0."""
    seed: int = 0
    """Seed of the problem order, the sampler and a warm start that is trained."""
    freeze_vision: bool = False
    """Freeze the vision tower, as the released CPGD scripts do."""
    gradient_checkpointing: bool = False
    """Recompute activations in the backward pass to save memory."""
    lora: str | None = None
    """Train LoRA adapters: arguments of peft's LoraConfig as JSON, such as
    '{"r": 16, "target_modules": "all-linear"}'."""
    dtype: Choice = "auto"
    """Number format of matrix products: auto is bfloat16 on GPUs with DeepSpeed, and for a model of
    50 million weights or more on a processor with instructions for it, else float32. Weights and
    moments of the optimizer are kept in float32 in any case."""
    engine: Literal["auto", "torch", "deepspeed"] = "auto"
    """Training engine: auto is DeepSpeed on GPUs or several ranks, else plain PyTorch."""
    deepspeed: Path | None = None
    """JSON file with a DeepSpeed configuration."""
    sampler: Literal["auto", "transformers", "vllm"] = "auto"
    """Sampling engine: auto is vLLM on GPUs if it is installed, else transformers."""
    vllm: str = "{}"
    """Arguments of vllm.LLM as JSON."""
    vllm_server: str | None = None
    """URL of a vLLM server on other GPUs or another machine, instead of vLLM in this process."""
    sampler_log_probs: bool = True
    """Have vLLM return the log-probabilities of its tokens. Without them sampling is faster, but
    the difference of sampler and trainer is not monitored."""
    parity_tolerance: float | None = None
    """Mean absolute difference in nats of the log-probabilities of sampler and trainer above which
    the run does not start; None for a value that suits their dtypes."""
    on_collapse: Literal["warn", "stop", "rollback"] = "warn"
    """Action on a collapse: warn and continue; save and stop; or roll back to the last checkpoint
    before it and continue with other problems, three times at most."""
    max_skipped: int = 10
    """Consecutive optimizer steps without a finite gradient after which the run saves and stops."""
    output_dir: str = "runs/{algorithm}-{env}-seed{seed}"
    """Directory of metrics, rollouts and checkpoints."""
    resume: bool = False
    """Continue from the last checkpoint in the output directory."""
    save_every: int = 50
    """Steps between checkpoints; the last step is always saved."""
    keep_checkpoints: int = 2
    """Number of checkpoints to keep; older ones are deleted."""
    evaluate_every: int = 0
    """Steps between evaluations; 0 evaluates before the first step and after the last only."""
    num_test_problems: int = 500
    """Problems per evaluation split; 0 turns evaluation off."""
    tensorboard: bool = False
    """Also write TensorBoard files."""

    def folder(self, algorithm: str) -> Path:
        """The output directory, with its placeholders replaced."""
        env = self.env.rpartition(":")[2]
        values = {"{algorithm}": algorithm, "{env}": env, "{seed}": str(self.seed)}
        name = self.output_dir
        for placeholder, value in values.items():
            name = name.replace(placeholder, value.lower())
        return Path(name)

    def optimizer_steps(self) -> int:
        """Optimizer steps of the whole run."""
        minibatches = self.num_prompts * self.group_size // self.minibatch_size
        return self.num_steps * self.epochs * minibatches


GENERATED = ("tiny", "tiny-v0", "small")
"""Names of the models that are generated instead of loaded; see `agents.tiny_model`."""

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

# A model of 28 million parameters on one GPU.
SMALL = {
    "num_prompts": 64,
    "minibatch_size": 256,
    "microbatch_size": 256,
    "learning_rate": 1e-4,
}

OLD_DEFAULTS = {"Figures-v0": {"num_steps": 150, "max_response_length": 48}}
"""Defaults of deprecated environments, where those of the tiny model are others now."""

MINIMA = dict.fromkeys(
    ("evaluate_every", "num_test_problems", "seed", "top_k", "overlong_buffer"), 0
) | dict.fromkeys(
    (
        *("num_steps", "num_prompts", "group_size", "minibatch_size", "microbatch_size"),
        *("epochs", "max_response_length", "save_every", "keep_checkpoints", "max_pixels"),
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
MOST_STOP_STRINGS, LONGEST_STOP_STRING = 16, 999
"""Bounds of --stop, in strings and characters: they are searched at every token of a response."""
MOST_RESPONSES = 2**20
"""Responses of a training step at most: a thousand times the papers' rollouts. Each takes memory in
the environment and in the rollout, whatever the batches of sampler and trainer are."""
LEAST_TOP_P = 1e-6
"""Smallest top-p: below float32's resolution no token would be kept."""
MOST_RANKS = 2**14
"""Rank of LoRA adapters at most; that of the widest layers of today's models."""
TEMPERATURES = 1e-3, 1e3
"""Temperatures between which logits of models, divided by them, are float32 numbers."""

RENAMED = {"agreement": "parity_tolerance"}
"""Current name of each setting that had another name before; the old one is still accepted."""


def defaults(env: str | None = None, model: str | None = None) -> Run:
    """Default settings for an environment and a model.

    Args:
        env: None for Figures-v1.
        model: None for the default model of the environment.

    Raises:
        UnknownEnvironmentError: No environment has this name.
    """
    registration = find(env or Run.env)
    run = Run(env=registration.id, model=model or registration.model)
    if run.model not in GENERATED and not _is_tiny(Path(run.model)):
        return replace(run, **PAPER)
    return replace(run, **(SMALL if run.model == "small" else OLD_DEFAULTS.get(run.env, {})))


def _is_tiny(folder: Path) -> bool:
    """True for a folder with a model as small as the tiny one, such as one of its checkpoints."""
    path = folder / "config.json"
    if not path.is_file():
        return False
    try:
        config = json.loads(path.read_bytes())
        return config.get("text_config", config)["hidden_size"] <= 256
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False  # loading the model reports a folder that is damaged


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
    """Validates the optimizer, the temperature and top-p."""
    for name in ("learning_rate", "weight_decay", "adam_epsilon"):
        if not 0 <= getattr(run, name) < math.inf:
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} is {getattr(run, name)}: give at least 0")
    if not run.temperature > 0:
        raise UsageError(f"--temperature is {run.temperature}: training needs one above 0")
    check_temperature(run.temperature)
    if run.parity_tolerance is not None and not run.parity_tolerance >= 0:
        raise UsageError(f"--parity-tolerance is {run.parity_tolerance}: give at least 0")
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


def lora_rank(lora: str | None) -> int:
    """The rank of the adapters of `--lora`; 0 without.

    Raises:
        UsageError: The rank is no integer of the size of a rank.
    """
    if lora is None:
        return 0
    rank = json_object("lora", lora).get("r", 8)
    if not isinstance(rank, int) or isinstance(rank, bool) or not 1 <= rank <= MOST_RANKS:
        raise UsageError(
            f"--lora {short(lora)} is invalid: give a positive integer r up to {MOST_RANKS}"
        )
    return rank


def stop_strings(text: str | None) -> tuple[str, ...] | None:
    """The strings of `--stop`, without repetitions; None without the flag.

    Raises:
        UsageError: It is no JSON, or anything but a few strings.
    """
    if text is None:
        return None
    value = _json("stop", text)
    strings = [value] if isinstance(value, str) else value
    if not isinstance(strings, list) or not all(isinstance(s, str) and s for s in strings):
        raise UsageError(
            f"--stop {short(text)!r} is no JSON list of strings, such as {EXAMPLES['stop']!r}"
        )
    longest = max(map(len, strings), default=0)
    if len(strings) > MOST_STOP_STRINGS or longest > LONGEST_STOP_STRING:
        raise UsageError(
            f"--stop {short(text)!r} is too long: give at most {MOST_STOP_STRINGS} strings of "
            f"{LONGEST_STOP_STRING} characters"
        )
    return tuple(dict.fromkeys(strings))


def environment_options(text: str, data: str | None) -> dict[str, Any]:
    """Keyword arguments of `reasonenv.make` from `--env-options` and `--data`.

    Raises:
        UsageError: The text is no JSON object, or sets what other flags decide.
    """
    options = json_object("env-options", text)
    reserved = sorted(options.keys() & {"num_envs", "group_size", "rank", "num_ranks"})
    if reserved:
        raise UsageError(
            f"--env-options cannot set {reserved[0]}: another flag or the number of ranks does"
        )
    return options | ({"data": data} if data else {})


EXAMPLES = {
    "env-options": '{"level": 1}',
    "vllm": '{"max_model_len": 8192}',
    "lora": '{"r": 16, "target_modules": "all-linear"}',
    "stop": '["\\nQuestion:", "</answer>"]',
}
"""Example of each flag that takes JSON."""


def json_object(flag: str, text: str) -> dict[str, Any]:
    """The JSON object in the value of a flag.

    Raises:
        UsageError: The value is no JSON object.
    """
    options = _json(flag, text)
    if not isinstance(options, dict):
        raise UsageError(
            f"--{flag} {short(text)!r} is not a JSON object, such as {EXAMPLES[flag]!r}"
        )
    return options


def _json(flag: str, text: str) -> Any:
    try:
        return parse_json(text)
    except RecordError as error:
        raise UsageError(f"--{flag} {short(text)!r} is not valid JSON: {error}") from error
