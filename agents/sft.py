"""Supervised fine-tuning on worked solutions, such as a warm start: python -m agents.sft --help.

It works for every environment whose problems have a `solution`. The warm start of the tiny model
runs once per recipe and seed, and is cached.
"""

import hashlib
import json
import math
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout
from torch.nn.utils.rnn import pad_sequence
from tqdm import tqdm

import reasonenv
from agents import tiny_model
from agents.cli.exit import errors_in_one_line, standard_streams
from agents.cli.flags import parse
from agents.cli.settings import (
    MAXIMA,
    MINIMA,
    MOST_RESPONSES,
    check_integer,
    environment_options,
)
from agents.engines import TrainEngine
from agents.engines.chat import Chat
from agents.engines.load import check_size, load_model, local_device, save_model
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.sampling import Sampling
from agents.engines.threads import set_threads
from agents.engines.torch import TorchEngine
from agents.errors import ModelError, UsageError, typed_errors
from agents.reductions import token_mean
from agents.rollout import Prompt, Responses
from agents.storage.digests import DIGESTS, damage, write_digests
from agents.storage.lock import LOCK, locked
from reasonenv.problem import Problem
from reasonenv.prompts import PROMPTS
from reasonenv.terminal import print_line

IMAGE_CACHE = 3 * 2**29
"""Bytes of encoded images that a dataset caches."""


@dataclass(frozen=True, kw_only=True)
class WarmStart:
    """Supervised fine-tuning on the worked solutions of an environment's training problems."""

    env: str = "Figures-v0"
    """Environment whose problems have worked solutions."""
    env_options: str = '{"slip": 0.4}'
    """Further arguments of the environment as JSON; slip is the error rate of Figures' steps."""
    data: str | None = None
    """Folder with local files of the data set; by default REASONENV_DATA, then the hub."""
    model: str = "tiny"
    """Hub name, folder in Hugging Face format, or 'tiny' for the untrained tiny model."""
    trust_remote_code: bool = False
    """Run the Python code that a model brings (auto_map in its configuration). It can do anything
    that you can do: read it first."""
    num_steps: int = 1200
    """Optimizer steps."""
    batch_size: int = 48
    """Solutions per step."""
    num_problems: int = 8000
    """Number of problems, each used num_steps * batch_size / num_problems times."""
    learning_rate: float = 1e-3
    """Peak learning rate of AdamW, after 50 steps of warm-up; cosine decay."""
    seed: int = 0
    """Seed of the tiny model's weights and of the order of the problems."""
    output_dir: Path = Path("warm")
    """Folder for the model, in Hugging Face format."""


@dataclass
class SupervisedDataset:
    """Tokenized prompts and worked solutions, encoded on first use."""

    envs: Any
    chat: Chat
    cache: dict[int, tuple[Prompt, torch.Tensor]] = field(default_factory=dict)
    cache_size: int = 0
    """Bytes of the images in `cache`."""

    def batch(self, indices: Sequence[int]) -> Responses:
        """Collates the worked solutions of some problems as responses."""
        prompts, solutions = zip(*(self._example(index) for index in indices), strict=True)
        tokens = pad_sequence(list(solutions), batch_first=True)
        lengths = torch.tensor([len(solution) for solution in solutions])
        mask = torch.arange(tokens.shape[1]) < lengths[:, None]
        texts, finished = ("",) * len(prompts), torch.ones(len(prompts), dtype=torch.bool)
        return Responses(prompts, tokens, mask, texts, torch.zeros(mask.shape), finished)

    def _example(self, index: int) -> tuple[Prompt, torch.Tensor]:
        if index in self.cache:
            return self.cache[index]
        example = self._encode(index)
        pixels = example[0].pixel_values
        self.cache_size += 0 if pixels is None else pixels.nbytes
        if self.cache_size <= IMAGE_CACHE:
            self.cache[index] = example
        return example

    def _encode(self, index: int) -> tuple[Prompt, torch.Tensor]:
        solution = _solution(self.envs.problems[index])
        observations, _ = self.envs.reset(options={"indices": [index]})
        tokens = [*self.chat.tokenize(solution), self.chat.tokenizer.eos_token_id]
        return self.chat.encode(observations)[0], torch.tensor(tokens)


def finetune(
    engine: TrainEngine, dataset: SupervisedDataset, settings: WarmStart
) -> Iterator[float]:
    """Maximises the likelihood of the solutions; yields the mean token loss of each step."""
    rng = np.random.default_rng(settings.seed)
    count = min(settings.num_problems, len(dataset.envs.problems))
    for _ in range(settings.num_steps):
        indices = rng.choice(count, min(settings.batch_size, count), replace=False)
        responses = dataset.batch(indices.tolist())
        log_prob, _ = engine.forward(responses)
        loss = -(token_mean(responses.lengths, 1).to(log_prob) * log_prob.sum(-1)).sum()
        engine.backward(loss)
        engine.step()
        yield loss.item()


def warm_start(settings: WarmStart) -> Path:
    """Trains a model and writes it to the output directory.

    Raises:
        UsageError: The problems have no solutions.
        ModelError: The model cannot be loaded.
    """
    _check(settings)
    options = environment_options(settings.env_options, settings.data)
    envs = reasonenv.make(settings.env, num_envs=1, **options)
    _solution(envs.problems[0])
    model, chat = _base(settings, envs)
    optimization = Optimization(
        settings.learning_rate, settings.num_steps, warmup_steps=50, betas=(0.9, 0.98)
    )
    engine = TorchEngine(Policy(model), chat, Sampling(1.0, chat.banned), optimization)
    steps = finetune(engine, SupervisedDataset(envs, chat), settings)
    with tqdm(steps, total=settings.num_steps, desc="warm start", unit="step") as bar:
        for step, loss in enumerate(bar):
            if step % 20 == 0:
                bar.set_postfix(loss=f"{loss:.3f}")
    envs.close()
    save_model(settings.output_dir, model, chat)
    write_digests(settings.output_dir)
    return settings.output_dir


def _base(settings: WarmStart, envs: Any) -> tuple[Any, Chat]:
    """The base model; an untrained tiny model is never written to the output directory."""
    device = local_device()
    if settings.model != "tiny":
        trust: Any = {"trust_remote_code": settings.trust_remote_code}
        check_size(settings.model, device, trains=True, **trust)
        return load_model(settings.model, device, torch.float32, **trust)
    with TemporaryDirectory() as untrained:
        tiny_model.save_untrained(Path(untrained), tokenizer_corpus(envs), settings.seed)
        return load_model(untrained, device, torch.float32)


def _check(settings: WarmStart) -> None:
    for name in ("num_steps", "batch_size", "num_problems"):
        check_integer(name.replace("_", "-"), getattr(settings, name), 1, 2**31 - 1)
    if settings.batch_size > MOST_RESPONSES:
        raise UsageError(f"--batch-size is {settings.batch_size}: give at most {MOST_RESPONSES}")
    if not 0 <= settings.learning_rate < math.inf:
        raise UsageError(f"--learning-rate is {settings.learning_rate}: give at least 0")
    check_integer("seed", settings.seed, MINIMA["seed"], MAXIMA["seed"])
    folder = settings.output_dir
    if folder.exists() and any(path.name != LOCK for path in folder.iterdir()):
        raise UsageError(f"{settings.output_dir} is not empty: give another --output-dir")


def _solution(problem: Problem) -> str:
    if problem.solution is None:
        raise UsageError(
            f"problem {problem.id} has no worked solution: choose an environment with solutions, "
            "such as Figures-v0"
        )
    return problem.solution


def tokenizer_corpus(envs: Any, count: int = 2000) -> list[str]:
    """Training texts of the tiny tokenizer: instructions, questions, solutions."""
    prompts = [f"{p.system} {p.template}" for p in PROMPTS.values()]
    problems = (envs.problems[index] for index in range(min(count, len(envs.problems))))
    return ["system user assistant", *prompts] * 20 + [
        f"{p.question} {p.solution}" for p in problems
    ]


def recipe(env: str, env_options: str, seed: int) -> WarmStart:
    """Warm start of the tiny model for a run: on the run's variant of Figures, else the default.

    Args:
        env: Environment of the run.
        env_options: Arguments of the environment as JSON, such as '{"level": 2}'.
        seed: Of the run.
    """
    defaults = json.loads(WarmStart.env_options)
    options = environment_options(env_options, None) if env == WarmStart.env else {}
    variant = {name: options[name] for name in ("level", "families", "scale") if name in options}
    return WarmStart(seed=seed, env_options=json.dumps({**variant, **defaults}))


def cached_tiny_model(settings: WarmStart) -> Path:
    """Folder of the tiny model after a warm start, which is trained once and cached.

    The cache is `$REASONENV_CACHE`, by default `~/.cache/reasonenv`. One of several concurrent
    processes trains the model while the others wait; a killed one leaves no partial model.
    """
    cache = os.environ.get("REASONENV_CACHE") or Path.home() / ".cache" / "reasonenv"
    key = {**asdict(settings), "output_dir": "", "data": "", "format": tiny_model.FORMAT}
    del key["trust_remote_code"]  # the tiny model brings none
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:12]
    folder = Path(cache) / f"tiny-{digest}-seed{settings.seed}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _exclusive(folder.with_suffix(".lock")):
        temporary = folder.with_name(f".{folder.name}.tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        if folder.exists() and (reason := _cache_damage(folder)):
            print_line(f"{folder} is damaged ({reason}): making it anew", sys.stderr)
            folder.rename(temporary)
            shutil.rmtree(temporary)
        if not folder.exists():
            warm_start(replace(settings, output_dir=temporary)).rename(folder)
    return folder


def _cache_damage(folder: Path) -> str:
    """Damage of a cached model in a few words; one without digests gets them if it loads."""
    if (folder / DIGESTS).exists():
        return damage(folder)
    try:
        load_model(str(folder), torch.device("cpu"), torch.float32)
    except ModelError as error:
        return str(error)
    write_digests(folder)
    return ""


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """File lock that prints a line if it has to wait."""
    lock = FileLock(path)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        print("another process trains the tiny model: waiting for it", file=sys.stderr, flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; `arguments` are those of this process unless given."""
    settings = parse(WarmStart, "agents.sft", arguments)
    if message := set_threads():
        print(message, file=sys.stderr)
    with errors_in_one_line(), typed_errors("training"), locked(settings.output_dir):
        print_line(f"wrote {warm_start(settings)}")


if __name__ == "__main__":
    main()
