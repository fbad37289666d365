"""What `python -m agents.evaluate` is told, and the defaults that follow from the model."""

import argparse
import inspect
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from agents.cli.settings import Run, defaults, json_object
from agents.evaluation.exam import BATCH, Exam
from agents.evaluation.responses import weights_of
from agents.monitoring.logs import plain
from reasonenv.registration import find

FREE = ("env", "compare", "output_dir")
"""Settings that decide no response: a second run may give them anew."""


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """How many problems of some environments a model solves.

    Responses, results and a picture go into a folder. A second run with the same settings goes on
    where the first was stopped, and a finished one only shows its tables again.
    """

    env: tuple[str, ...] = ("Figures-v0",)
    """Environments, such as MathVista-v0 MMK12-v0."""
    split: str | None = None
    """Part of their data; by default each environment's first that is not for training."""
    env_options: str = "{}"
    """Further arguments of each environment as JSON, such as '{"prompt": "plain"}'."""
    data: str | None = None
    """Folder with local files of the data sets; by default REASONENV_DATA, then the hub."""
    model: str = "tiny"
    """Hub name, folder in Hugging Face format such as a checkpoint, or 'tiny'."""
    num_problems: int | None = None
    """The first ones of each split; by default all, and 500 of one that is drawn by program."""
    num_samples: Annotated[int, arg(aliases=["--samples"])] = 1
    """Responses to each problem."""
    temperature: float = 1.0
    """0 takes the most likely token."""
    top_p: float = 1.0
    """Draw from the likeliest tokens, as few as have this probability."""
    top_k: int = 0
    """Draw from this many tokens, the likeliest; 0 for all."""
    max_response_length: int = Run.max_response_length
    """Tokens after which a response is cut."""
    max_pixels: int = Run.max_pixels
    """Larger images are shrunk to this area."""
    sampler: Literal["auto", "transformers", "vllm"] = "auto"
    """What samples: auto is vLLM where there are a GPU and vLLM, else transformers."""
    vllm: str = "{}"
    """Further arguments of vllm.LLM as JSON, such as '{"tensor_parallel_size": 2}'."""
    sampler_batch_size: int = BATCH
    """Responses sampled at a time, as many as the memory holds; a crash loses those at most."""
    seed: int = 0
    """Of the responses, and of the tiny model."""
    compare: Literal["cpgd", "rpg"] | None = None
    """Paper whose tables are put beside."""
    output_dir: str = "evaluations/{model}"
    """Where responses, results and picture go."""

    def folder(self) -> Path:
        """The output directory, its placeholder filled in."""
        name = re.sub(r"[^\w.-]+", "-", self.model).strip("-.")
        return Path(self.output_dir.replace("{model}", name))

    def exams(self) -> list[Exam]:
        """One for each environment."""
        return [
            Exam(
                env=find(env).id,
                split=self.split,
                env_options=self.env_options,
                data=self.data if len(self.env) == 1 or _reads_data(env) else None,
                num_problems=self.num_problems,
                num_samples=self.num_samples,
                batch_size=self.sampler_batch_size,
                seed=self.seed,
            )
            for env in self.env
        ]

    def deciding(self) -> dict[str, Any]:
        """What decides the responses, by the name of the flag."""
        settings = {name: value for name, value in asdict(self).items() if name not in FREE}
        return plain(settings | {"weights": weights_of(self.model)})


def default_evaluation(envs: Sequence[str] = (), model: str | None = None) -> Evaluate:
    """The evaluation that looks at a model as its training run does.

    Raises:
        ValueError: No model is given, and the environments have different ones of their own.
    """
    models = {find(env).model for env in envs}
    if model is None and len(models) > 1:
        raise ValueError(
            f"these environments have models of their own ({', '.join(sorted(models))}): "
            "give one by --model"
        )
    run = defaults(envs[0] if envs else None, model)
    return Evaluate(
        env=tuple(envs) or (run.env,),
        model=run.model,
        max_response_length=run.max_response_length,
        max_pixels=run.max_pixels,
        sampler_batch_size=min(run.sampler_batch_size, BATCH),
    )


def envs_and_model(arguments: Sequence[str] | None) -> tuple[list[str], str | None]:
    """What is given of the two flags that the defaults of others follow from."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--env", nargs="*", default=[])
    first.add_argument("--model")
    given, _ = first.parse_known_args(arguments)
    return given.env, given.model


def _reads_data(env: str) -> bool:
    """Whether an environment's problems come from files."""
    return "data" in inspect.signature(import_module(find(env).module).problems).parameters


def check(settings: Evaluate) -> None:
    """Refuses numbers that do not fit, before anything is loaded."""
    if len({find(env).id for env in settings.env}) != len(settings.env) or not settings.env:
        raise ValueError(f"--env is {' '.join(settings.env)}: give each environment once")
    least = {"max_response_length": 1, "max_pixels": 1, "sampler_batch_size": 1}
    for name, smallest in (least | dict.fromkeys(("temperature", "top_k"), 0)).items():
        value = getattr(settings, name)
        if not value >= smallest:
            raise ValueError(f"--{name.replace('_', '-')} is {value}: give at least {smallest}")
    json_object("vllm", settings.vllm)
    if not 0 < settings.top_p <= 1:
        raise ValueError(f"--top-p is {settings.top_p}: give one in (0, 1]")
