"""Settings of a training run; `defaults` has those of other models, `checks` what is valid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Interval
from pydantic import AllowInfNan, ConfigDict, with_config
from typing_extensions import TypedDict

from agents.cli.types import (
    JSON,
    Adapters,
    Amount,
    Count,
    CountOrNone,
    Decay,
    EnvOptions,
    Fraction,
    JSONObject,
    Length,
    Seed,
    StopStrings,
    Temperature,
    TopP,
)
from agents.engines.optimizer import Schedule
from agents.engines.process import Precision
from agents.errors import UsageError
from agents.monitoring.trackers import Name

COMMON = (
    *("env", "env_options", "data", "model", "num_steps", "num_prompts", "group_size"),
    *("minibatch_size", "microbatch_size", "epochs", "max_response_length", "temperature"),
    *("learning_rate", "seed", "lora", "gradient_checkpointing", "deepspeed", "vllm"),
    *("output_dir", "resume", "save_every", "evaluate_every", "num_test_problems", "track"),
)
"""Settings that the help of a command shows without `--help-all`."""


@with_config(ConfigDict(extra="forbid"))
class OptimizerOptions(TypedDict, total=False):
    """Settings of AdamW and its schedule that few change, by their names in `Optimization`."""

    betas: tuple[Decay, Decay]
    epsilon: Amount
    weight_decay: Amount
    min_ratio: Fraction


@dataclass(frozen=True, kw_only=True)
class Run:
    """Settings of a training run: environment, model, batch sizes, engines, checkpoints.

    The defaults are those of the tiny model, which trains in minutes on two CPU cores;
    `agents.cli.defaults` has those of other models.
    """

    env: str = "Figures-v2"
    """Environment, such as Figures-v2 or MMK12-v0, or your own as module:Mine-v0."""
    env_options: EnvOptions = field(default_factory=dict)
    """Further arguments of the environment as JSON, such as '{"level": 1}'."""
    data: str | None = None
    """Folder with local files of the data set; by default REASONENV_DATA, then the hub. With --env
    file, your questions: .jsonl, .json, .csv, .parquet, or a folder."""
    reward: tuple[str, ...] = ()
    """Rewards in place of the environment's own, by name or as module:function of yours, also in
    the form of TRL's, each with a weight or 1: --reward accuracy mine:brief=0.2. Rewards with
    arguments: --env-options."""
    model: str = "tiny"
    """Hub name, folder in Hugging Face format, directory of a run (its best or else last
    checkpoint), or one of 0.7 million parameters in the package: 'tiny', which reads Figures-v2 at
    levels 1 and 2, or 'tiny-tools' for Sum-v0 and Zoom-v0; by default the environment's."""
    teacher: str | None = None
    """The model that teaches, named as by --model and with the same tokenizer: for the algorithm
    opd, and for sdft, sdpo and others in place of the policy itself."""
    trust_remote_code: bool = False
    """Run the Python code that a model brings (auto_map in its configuration). It can do anything
    that you can do: read it first."""
    chat_template: Path | None = None
    """File with a chat template in Jinja, instead of the model's; a model without one gets prompts
    of plain text, 'Question: ... Answer:'. Saved in every checkpoint."""
    chat_template_kwargs: JSONObject = field(default_factory=dict)
    """Variables of the chat template as JSON, such as '{"enable_thinking": false}'. Saved in every
    checkpoint."""
    stop: StopStrings = None
    """Strings that end a response, besides end tokens, as JSON: '["\\nQuestion:", "</answer>"]'. A
    closing tag stays in the text. By default the model's own, or "\\nQuestion:" where it has no
    chat template. Saved in every checkpoint."""
    num_steps: Count = 250
    """Training steps: a rollout and its update each."""
    num_prompts: Count = 32
    """Prompts per rollout, over all ranks."""
    group_size: Count = 8
    """Responses per prompt."""
    minibatch_size: Count = 128
    """Responses per optimizer step, over all ranks; whole groups. By default all responses of a
    rollout, if 128 do not divide them."""
    microbatch_size: Count = 128
    """Responses per forward pass on one rank; changes memory and speed, not the result."""
    tokens_per_microbatch: Count | None = None
    """Prompt and response tokens per forward pass on one rank, instead of --microbatch-size; a
    prompt shared by several responses counts once."""
    epochs: Annotated[int, Interval(ge=1, le=1000)] = 1
    """Passes over each rollout."""
    max_generations: Count = 1
    """Dynamic sampling (DAPO): rollouts sampled at most until an update has enough prompts with
    both correct and incorrect responses; others fill the remaining places. 1 trains on all."""
    staleness: CountOrNone = 0
    """Steps by which sampling may be ahead of training: above 0 a process, or the server of
    --vllm-server, samples beside the updates, each rollout with the weights of this many updates
    before, and --sampler-correction is 2 unless given. 0 takes turns."""
    overlong_buffer: CountOrNone = 0
    """Tokens before the length limit over which the reward falls by up to 1; 0 for none (DAPO)."""
    truncated: Literal["keep", "mask"] = "keep"
    """Responses that the length limit cut: train on them, or mask them, so that they have no loss
    and their rewards count in their groups alone (overlong filtering, DAPO)."""
    max_prompt_length: Count | None = None
    """Tokens of a prompt, beyond which a problem is left out; before training where its words alone
    are too long, else when it is met. None for the context of the model alone."""
    max_response_length: Length = 64
    """Maximum number of tokens of a response."""
    max_pixels: Count = 64 * 28 * 28
    """Maximum number of pixels of an image; larger ones are scaled down."""
    sampler_batch_size: Count = 512
    """Responses sampled at a time on one rank; limited by its memory."""
    temperature: Temperature = 1.0
    """Sampling temperature; every log-probability is computed at it as well."""
    top_p: TopP = 1.0
    """Nucleus sampling: the smallest set of tokens with this probability; see
    --sampler-correction."""
    top_k: CountOrNone = 0
    """Samples from this many of the most likely tokens; 0 for all. See --sampler-correction."""
    learning_rate: Amount = 3e-4
    """Peak learning rate of AdamW."""
    learning_rate_schedule: Schedule = "cosine"
    """Decay of the learning rate over the run; constant for none."""
    warmup_steps: CountOrNone = 0
    """Optimizer steps over which the learning rate first rises in a line to its peak."""
    optimizer_options: Annotated[OptimizerOptions, JSON] = field(default_factory=OptimizerOptions)
    """Further settings of AdamW and its schedule as JSON, such as '{"weight_decay": 0.1}': betas
    ([0.9, 0.95]), epsilon (1e-8; 1e-6 slows the tiny model down), weight_decay (0.01, times the
    learning rate), and min_ratio (0.1), the fraction of the learning rate to which the schedule
    leads. By default those of the released CPGD scripts."""
    max_grad_norm: Annotated[float, Gt(0), AllowInfNan(False)] | None = 1.0
    """Norm to which the gradient of an optimizer step is clipped; None for no clipping."""
    seed: Seed = 0
    """Seed of the problem order and the sampler."""
    freeze_vision: bool = False
    """Freeze the vision tower, as the released CPGD scripts do."""
    gradient_checkpointing: bool = False
    """Recompute activations in the backward pass to save memory."""
    lora: Adapters = None
    """Train LoRA adapters: arguments of peft's LoraConfig as JSON, such as
    '{"r": 16, "target_modules": "all-linear"}'."""
    dtype: Precision = "auto"
    """Number format of matrix products: auto is bfloat16 on GPUs, and for a model of 50 million
    weights or more on a CPU with instructions for it, else float32. What the optimizer updates is
    in float32 in any case."""
    float32_head: bool = False
    """Compute logits in float32 where other matrix products are in bfloat16, in the trainer and in
    vLLM: their log-probabilities differ less. A server gets --hf-overrides
    '{"head_dtype": "float32"}' when it is started."""
    deterministic: bool = False
    """Compute with kernels that give the same numbers in each run, in the trainer and in vLLM;
    slower. A server gets VLLM_BATCH_INVARIANT=1 in its own environment."""
    engine: Literal["auto", "torch", "deepspeed"] = "auto"
    """Training engine: auto is DeepSpeed on GPUs or several ranks, else plain PyTorch."""
    deepspeed: Path | None = None
    """JSON file with a DeepSpeed configuration."""
    sampler: Literal["auto", "transformers", "vllm"] = "auto"
    """Sampling engine: auto is vLLM on GPUs if it is installed, else transformers."""
    vllm: JSONObject = field(default_factory=dict)
    """Arguments of vllm.LLM as JSON. By default gpu_memory_utilization is what the memory plan
    leaves, and max_model_len what fits in it."""
    vllm_server: str | None = None
    """URL of a vLLM server on other GPUs or another machine, instead of vLLM in this process."""
    sampler_log_probs: bool = True
    """Have vLLM return the log-probabilities of its tokens. Without them sampling is faster, but
    the difference of sampler and trainer is not monitored."""
    parity_tolerance: Annotated[float, Ge(0)] | None = None
    """Mean absolute difference in nats of the log-probabilities of sampler and trainer above which
    the run does not start; None for a value that suits their dtypes."""
    on_collapse: Literal["warn", "stop", "rollback"] = "warn"
    """Action on a collapse: warn and continue; save and stop; or roll back to the last checkpoint
    before it and continue with other problems, three times at most."""
    output_dir: str = "runs/{algorithm}-{env}-seed{seed}"
    """Directory of metrics, rollouts and checkpoints."""
    resume: bool = False
    """Continue from the last checkpoint in the output directory, which must have a run, with its
    settings unless flags say otherwise."""
    save_every: Count = 50
    """Steps between checkpoints; the last step is always saved."""
    save_minutes: Amount = 10.0
    """Minutes between checkpoints besides, of which the newest is kept; 0 for none. Saving takes at
    most a twentieth of the time: where it takes long, they are further apart."""
    keep_checkpoints: Count = 2
    """Number of checkpoints to keep; older ones are deleted."""
    keep_best: str | None = None
    """Keep the checkpoint with the greatest value of an evaluation besides, such as
    evaluation/test/accuracy; every best one is saved. See --evaluate-every."""
    push_to_hub: str | None = None
    """Repository on the Hugging Face hub, such as you/model, to which the last checkpoint of a
    complete run is uploaded; python -m agents.push uploads any other."""
    evaluate_every: CountOrNone = 0
    """Steps between evaluations; 0 evaluates before the first step and after the last only."""
    num_test_problems: CountOrNone = 500
    """Problems per evaluation split; 0 turns evaluation off."""
    track: tuple[Name, ...] = ()
    """Trackers that get metrics, evaluations and sampled rollouts, each through its own library,
    whose environment variables say where they go. Several: --track wandb tensorboard."""
    show_responses: CountOrNone = 1
    """Problems that the terminal shows with a response of the model, before the first step and then
    at most once a minute; 0 for none."""

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


def environment_options(
    options: Mapping[str, Any], data: str | None, reward: Sequence[str] = ()
) -> dict[str, Any]:
    """Keyword arguments of `reasonenv.make` from `--env-options`, `--data` and `--reward`.

    Raises:
        UsageError: A reward's weight is no number, or --env-options has rewards besides.
    """
    own = {"data": data} if data else {}
    if not reward:
        return {**options, **own}
    if "rewards" in options:
        raise UsageError(f"--reward {' '.join(reward)} and rewards in --env-options: give one")
    return {**options, **own, "rewards": dict(map(_weighted, reward))}


def _weighted(reward: str) -> tuple[str, float]:
    """Name and weight of a reward, "mine:brief=0.2"."""
    name, _, weight = reward.partition("=")
    try:
        return name, float(weight or 1)
    except ValueError:
        raise UsageError(
            f"--reward {reward}: {weight!r} is no weight: give a number, as in {name}=0.2"
        ) from None
