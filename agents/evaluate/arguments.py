"""Arguments of `python -m agents.evaluate`, and their defaults by environment and model."""

import argparse
import hashlib
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from agents.cli.defaults import defaults
from agents.cli.settings import Run
from agents.cli.types import (
    COLDEST,
    HOTTEST,
    Amount,
    Count,
    CountOrNone,
    JSONObject,
    Length,
    Seed,
    StopStrings,
    TopP,
    validated,
)
from agents.engines.chat_template import read_template
from agents.engines.process import Precision
from agents.errors import UsageError
from agents.evaluate.evaluator import BATCH, EvaluationTask
from agents.storage.digests import data_digest
from agents.storage.json_files import json_value
from reasonenv.entry_points import takes_option
from reasonenv.registration import find

FREE = ("env", "format", "output_dir")
"""Arguments that do not affect the responses: they may change when a folder is resumed."""


@dataclass(frozen=True, kw_only=True)
class EvaluationArguments:
    """Accuracy of a model on the problems of one or several environments.

    Responses and results are written to a folder. The same command resumes an
    interrupted evaluation, and prints the tables of a finished one.
    """

    env: tuple[str, ...] = ("Figures-v2",)
    """Environments, such as MathVista-v0 MMK12-v0."""
    split: str | None = None
    """Split of the data; by default the first of each environment that is not for training."""
    env_options: JSONObject = field(default_factory=dict)
    """Further arguments as JSON, such as '{"prompt": "plain"}'; each goes to the environments that
    take it."""
    data: str | None = None
    """Folder with local files of the data sets; by default REASONENV_DATA, then the hub. With
    --env file, your questions."""
    model: str = "tiny"
    """Hub name, folder in Hugging Face format, directory of a run, or 'tiny'."""
    trust_remote_code: bool = False
    """Run the Python code that a model brings (auto_map in its configuration). It can do anything
    that you can do: read it first."""
    chat_template: Path | None = None
    """File with a chat template in Jinja, instead of the model's; a model without one gets prompts
    of plain text, 'Question: ... Answer:'."""
    chat_template_kwargs: JSONObject = field(default_factory=dict)
    """Variables of the chat template as JSON, such as '{"enable_thinking": false}'."""
    stop: StopStrings = None
    """Strings that end a response, besides end tokens, as JSON: '["\\nQuestion:", "</answer>"]'. A
    closing tag stays in the text. By default the model's own, or "\\nQuestion:" where it has no
    chat template."""
    num_problems: Count | None = None
    """Problems from the start of each split; by default all, or 500 of a generated split."""
    num_samples: Annotated[Count, arg(aliases=["--samples"])] = 1
    """Responses to each problem."""
    temperature: Amount = 1.0
    """Sampling temperature; 0 is greedy decoding."""
    top_p: TopP = 1.0
    """Nucleus sampling: the smallest set of tokens with this total probability."""
    top_k: CountOrNone = 0
    """Sample from the k most likely tokens; 0 for all."""
    max_response_length: Length = Run.max_response_length
    """Tokens after which a response is truncated."""
    max_pixels: Count | None = Run.max_pixels
    """Larger images are downscaled to this area; None for the model's own limit."""
    dtype: Precision = "auto"
    """Number format of matrix products: auto is bfloat16 on GPUs, and with transformers for a model
    of 50 million weights or more on a CPU with instructions for it, else float32."""
    sampler: Literal["auto", "transformers", "vllm"] = "auto"
    """Sampling engine: auto is vLLM where a GPU and vLLM are available, else transformers."""
    vllm: JSONObject = field(default_factory=dict)
    """Further arguments of vllm.LLM as JSON, such as '{"tensor_parallel_size": 2}'."""
    sampler_batch_size: Count = BATCH
    """Responses sampled at a time, limited by memory; a crash loses at most one batch."""
    seed: Seed = 0
    """Seed of the responses."""
    format: Literal["text", "markdown", "latex", "json"] = "text"
    """Format of the results on standard output; all but text are for pasting. The column official
    is the accuracy by the rules of the benchmark's own evaluation code, as of python -m
    reasonenv.score; accuracy is by the grader that rewards training."""
    output_dir: str = "evaluations/{model}"
    """Folder for responses and results."""

    def folder(self) -> Path:
        """The output directory, with its placeholder replaced."""
        name = re.sub(r"[^\w.-]+", "-", self.model).strip("-.")
        return Path(self.output_dir.replace("{model}", name))

    def tasks(self) -> list[EvaluationTask]:
        """One for each environment."""
        return [
            EvaluationTask(
                env=find(env).id,
                split=self.split,
                env_options=self._options_of(env),
                data=self.data if len(self.env) == 1 or takes_option(env, "data") else None,
                num_problems=self.num_problems,
                num_samples=self.num_samples,
                batch_size=self.sampler_batch_size,
                seed=self.seed,
            )
            for env in self.env
        ]

    def _options_of(self, env: str) -> dict[str, Any]:
        """The options that one of several environments takes."""
        options = self.env_options
        if len(self.env) == 1 or all(takes_option(env, name) for name in options):
            return options
        return {k: v for k, v in options.items() if takes_option(env, k)}

    def response_settings(self) -> dict[str, Any]:
        """Settings that determine the responses, by the name of the flag."""
        settings = {name: value for name, value in asdict(self).items() if name not in FREE}
        template = self.chat_template and read_template(self.chat_template)
        settings["chat_template"] = template and hashlib.sha256(template.encode()).hexdigest()[:12]
        if sha256 := data_digest(self.data):
            settings["data_sha256"] = sha256
        return json_value(settings | {"weights": weights_digest(self.model)})


def default_arguments(
    envs: Sequence[str] = (), model: str | None = None, data: str | None = None
) -> EvaluationArguments:
    """Arguments with the model, lengths and image size of a training run.

    Raises:
        UsageError: No model is given, and the environments have different default models.
    """
    options = {"data": data}
    models = {find(env).default_model(options) for env in envs}
    if model is None and len(models) > 1:
        raise UsageError(
            f"these environments have different default models ({', '.join(sorted(models))}): "
            "choose one with --model"
        )
    run = defaults(envs[0] if envs else None, model, options)
    return EvaluationArguments(
        env=tuple(envs) or (run.env,),
        model=run.model,
        max_response_length=run.max_response_length,
        max_pixels=run.max_pixels,
        sampler_batch_size=min(run.sampler_batch_size, BATCH),
    )


def leading_flags(arguments: Sequence[str] | None) -> tuple[list[str], str | None, str | None]:
    """Environments, model and data, on which other defaults depend."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--env", nargs="*", default=[])
    parser.add_argument("--model")
    parser.add_argument("--data")
    options, _ = parser.parse_known_args(arguments)
    return options.env, options.model, options.data


def weights_digest(model: str) -> str | None:
    """Digest that changes when the weights in a folder are written anew; None for a hub name.

    Of names, sizes and times of the files: hashing the weights of a large model takes minutes.
    """
    folder = Path(model)
    if not folder.is_dir():
        return None
    files = sorted(path for path in folder.iterdir() if path.suffix in (".safetensors", ".bin"))
    stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return hashlib.sha256(repr(stats).encode()).hexdigest()[:12]


def check_arguments(arguments: EvaluationArguments) -> EvaluationArguments:
    """The arguments, which are valid, before anything is loaded.

    Raises:
        UsageError: In one line, for a value out of range.
    """
    if len({find(env).id for env in arguments.env}) != len(arguments.env) or not arguments.env:
        raise UsageError(f"--env is {' '.join(arguments.env)}: give each environment once")
    arguments = validated(arguments)
    if 0 < arguments.temperature < COLDEST or arguments.temperature > HOTTEST:
        raise UsageError(
            f"--temperature is {arguments.temperature}: give 0, or one from {COLDEST:g} to "
            f"{HOTTEST:g}"
        )
    for name in arguments.env_options:
        if len(arguments.env) > 1 and not any(takes_option(env, name) for env in arguments.env):
            raise UsageError(f"--env-options: none of {' '.join(arguments.env)} takes {name!r}")
    return arguments
