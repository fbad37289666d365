"""Supervised fine-tuning on worked solutions: python -m agents.sft --help.

It works for every environment whose problems have a `solution`. `agents.warm_start` is made of it.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import torch
from annotated_types import Interval
from torch.nn.utils.rnn import pad_sequence

import reasonenv
from agents import tiny_model
from agents.cli.checks import MOST_RESPONSES
from agents.cli.defaults import defaults
from agents.cli.exit import errors_in_one_line, standard_streams
from agents.cli.flags import parse
from agents.cli.interrupt import Interrupt
from agents.cli.lasting_output import lasting_output
from agents.cli.settings import environment_options
from agents.cli.types import Amount, Count, EnvOptions, Seed, StopStrings, validated
from agents.engines.chat import Chat
from agents.engines.chat_template import ChatOptions
from agents.engines.load import check_size, load_model, local_device, save_model
from agents.engines.memory import keep_freed_memory
from agents.engines.model import Policy
from agents.engines.muon import use_muon
from agents.engines.optimizer import Optimization
from agents.engines.precision import computation_dtype
from agents.engines.sampling import Sampling
from agents.engines.threads import set_threads
from agents.engines.torch import TorchEngine
from agents.errors import UsageError, typed_errors
from agents.monitoring.progress_bar import ProgressBar
from agents.reductions import token_mean
from agents.rollout import Prompt, Responses
from agents.storage import staged_save
from agents.storage.digests import data_digest
from agents.storage.lock import locked
from agents.training.partial import PARTIAL, PARTIAL_TEMPORARY, PartialTraining
from agents.training.problem_choice import ProblemChoice
from reasonenv.console import print_line
from reasonenv.problem import Problem
from reasonenv.prompts import PROMPTS

CACHE = 3 * 2**29
"""Bytes of encoded problems and solutions that a dataset caches."""

TOKEN = 8
"""Bytes of a token of a prompt: its place in a tuple."""


@dataclass(frozen=True, kw_only=True)
class FineTuning:
    """Supervised fine-tuning on the worked solutions of an environment's training problems."""

    env: str = "Figures-v2"
    """Environment whose problems have worked solutions."""
    env_options: EnvOptions = field(default_factory=dict)
    """Further arguments of the environment as JSON, such as '{"slip": 0.5}' for solutions of
    Figures half of which have a slip."""
    data: str | None = None
    """Folder with local files of the data set; by default REASONENV_DATA, then the hub. With --env
    file, your questions: .jsonl, .json, .csv, .parquet, or a folder."""
    model: str = "tiny"
    """Hub name, folder in Hugging Face format, or untrained: 'tiny', 'small'."""
    trust_remote_code: bool = False
    """Run the Python code that a model brings (auto_map in its configuration). It can do anything
    that you can do: read it first."""
    chat_template: Path | None = None
    """File with a chat template in Jinja, instead of the model's; a model without one gets prompts
    of plain text, 'Question: ... Answer:'. Saved with the model."""
    stop: StopStrings = None
    """Strings that end a response of the model when it samples, besides end tokens, as JSON:
    '["\\nQuestion:", "</answer>"]'. Training does not read them. By default the model's own, or
    "\\nQuestion:" where it has no chat template. Saved with the model."""
    num_steps: Count = 4000
    """Optimizer steps."""
    batch_size: Annotated[int, Interval(ge=1, le=MOST_RESPONSES)] = 48
    """Solutions per step."""
    num_problems: Count = 1_000_000
    """Number of problems, each used num_steps * batch_size / num_problems times."""
    balance: bool = True
    """Draw problems of a family (in their metadata) more often where the model's probability of
    their solutions is lower; no effect on problems without a family."""
    optimizer: Literal["muon", "adamw"] = "muon"
    """Muon for the matrices of linear layers and AdamW for other weights, or AdamW for all."""
    learning_rate: Amount = 1e-3
    """Peak learning rate of AdamW, half of Muon's, after 50 steps of warm-up; cosine decay."""
    seed: Seed = 0
    """Seed of the untrained model's weights and of the order of the problems."""
    output_dir: Path = Path("sft")
    """Folder for the model, in Hugging Face format."""


@dataclass
class SupervisedDataset:
    """Tokenized prompts and worked solutions, encoded on first use."""

    envs: Any
    chat: Chat
    cache_limit: int = CACHE
    """Bytes to cache; 0 for nothing."""
    cache: dict[int, tuple[Prompt, torch.Tensor]] = field(default_factory=dict)
    cache_size: int = 0
    """Bytes of the images and tokens in `cache`."""

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
        prompt, solution = example = self._encode(index)
        size = solution.nbytes + TOKEN * len(prompt.token_ids)
        size += 0 if prompt.pixel_values is None else prompt.pixel_values.nbytes
        if self.cache_size + size <= self.cache_limit:
            self.cache[index] = example
            self.cache_size += size
        return example

    def _encode(self, index: int) -> tuple[Prompt, torch.Tensor]:
        solution = _solution(self.envs.problems[index])
        observations, _ = self.envs.reset(options={"indices": [index]})
        response = self.chat.encode_response(solution)
        return self.chat.encode(observations)[0], torch.tensor(response)


def finetune(
    engine: TorchEngine,
    dataset: SupervisedDataset,
    settings: FineTuning,
    partial: PartialTraining | None = None,
) -> Iterator[tuple[int, float, float]]:
    """Maximises the likelihood of the solutions.

    Args:
        engine: Of the model.
        dataset: Problems with solutions.
        settings: Numbers of steps and problems, batch size, seed, balance.
        partial: Steps of an earlier process, which are not repeated, and a place for later ones.

    Yields:
        Number of each step, its mean loss of a token and mean probability of a solution.
    """
    choice = ProblemChoice(
        dataset.envs.problems,
        settings.num_problems,
        settings.batch_size,
        settings.seed,
        balance=settings.balance,
    )
    first = partial.load(engine, choice) if partial else 0
    for step in range(first + 1, settings.num_steps + 1):
        indices = choice.draw()
        responses = dataset.batch(indices)
        log_prob, _ = engine.forward(responses)
        loss = -(token_mean(responses.lengths, 1).to(log_prob) * log_prob.sum(-1)).sum()
        engine.backward(loss)
        engine.step()
        probabilities = log_prob.detach().sum(-1).exp()
        choice.update(indices, probabilities.tolist())
        yield step, loss.item(), probabilities.mean().item()
        if partial:
            partial.save_if_due(step, engine, choice)


def fine_tune(settings: FineTuning) -> Path:
    """Trains a model and writes it to the output directory.

    Raises:
        UsageError: The problems have no solutions, or the output directory is not empty.
        ModelError: The model cannot be loaded.
    """
    settings = validated(settings)
    target = settings.output_dir
    identity = {**asdict(settings), "output_dir": "", "data": data_digest(settings.data)}
    if staged_save.complete(target, identity):
        (target / PARTIAL).unlink(missing_ok=True)
        return target
    staged_save.check_empty(target, (PARTIAL, PARTIAL_TEMPORARY))
    options = environment_options(settings.env_options, settings.data)
    envs = reasonenv.make(settings.env, num_envs=1, **options)
    _solution(envs.problems[0])
    model, chat = _base(settings, envs)
    for line in chat.remarks():
        print_line(line, sys.stderr)
    optimization = Optimization(
        settings.learning_rate, settings.num_steps, warmup_steps=50, betas=(0.9, 0.98)
    )
    policy = _policy(settings, model)
    engine = TorchEngine(policy, chat, Sampling(1.0, chat.banned), optimization)
    if settings.optimizer == "muon":
        use_muon(engine)
    repeats = settings.num_steps * settings.batch_size > settings.num_problems
    dataset = SupervisedDataset(envs, chat, CACHE if repeats else 0)
    with Interrupt() as interrupt:
        partial = PartialTraining(target / PARTIAL, identity, interrupt)
        _show_progress(finetune(engine, dataset, settings, partial), settings.num_steps)
        staged_save.save(target, lambda stage: save_model(stage, model, chat), identity)
        partial.remove()
    envs.close()
    return target


def _show_progress(steps: Iterator[tuple[int, float, float]], num_steps: int) -> None:
    displayed = {"loss": ("loss", ".3f"), "solved": ("solved", ".2f")}
    bar: ProgressBar | None = None
    for step, loss, probability in steps:
        # Made after the steps of an earlier process, which its ETA does not count.
        bar = bar or ProgressBar(num_steps, step - 1, of="fine-tuning", displayed=displayed)
        bar.show(step, {"loss": loss, "solved": probability})
    if bar:
        bar.close()


def _base(settings: FineTuning, envs: Any) -> tuple[Any, Chat]:
    """The base model; an untrained tiny model is never written to the output directory."""
    device = local_device()
    chat_options = ChatOptions(settings.chat_template, settings.stop)
    size = tiny_model.GENERATED.get(settings.model)
    if size is None:
        trust: Any = {"trust_remote_code": settings.trust_remote_code}
        check_size(settings.model, device, trains=True, **trust)
        return load_model(settings.model, device, torch.float32, chat_options=chat_options, **trust)
    with TemporaryDirectory() as untrained:
        tiny_model.save_untrained(Path(untrained), tokenizer_corpus(envs), settings.seed, size)
        return load_model(untrained, device, torch.float32, chat_options=chat_options)


def _policy(settings: FineTuning, model: Any) -> Policy:
    """Policy with the number format and the gradient checkpointing of runs of this model."""
    policy = Policy(model, computation_dtype("auto", model.device, model.num_parameters()))
    if defaults(settings.env, settings.model).gradient_checkpointing:
        policy.checkpoint_activations()
    return policy


def _solution(problem: Problem) -> str:
    if problem.solution is None:
        raise UsageError(
            f"problem {problem.id} has no worked solution: choose an environment with solutions, "
            "such as Figures-v2, or add a column 'solution' to your own questions"
        )
    return problem.solution


def tokenizer_corpus(envs: Any, count: int = 2000) -> list[str]:
    """Training texts of the tiny tokenizer: instructions, questions, solutions."""
    prompts = [f"{p.system} {p.template}" for p in PROMPTS.values()]
    problems = (envs.problems[index] for index in range(min(count, len(envs.problems))))
    return ["system user assistant", *prompts] * 20 + [
        f"{p.question} {p.solution}" for p in problems
    ]


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; `arguments` are those of this process unless given."""
    settings = parse(FineTuning, "agents.sft", arguments)
    with (
        lasting_output(),
        errors_in_one_line(),
        typed_errors("fine-tuning"),
        locked(settings.output_dir),
    ):
        keep_freed_memory()
        if message := set_threads():
            print(message, file=sys.stderr)
        print_line(f"wrote {fine_tune(settings)}")


if __name__ == "__main__":
    main()
