"""Supervised fine-tuning on worked solutions: python -m agents.sft --help.

It works for every environment whose problems have a `solution`. In an environment with tools the
solution is an episode: its calls get the replies, which have no loss.
"""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from annotated_types import Interval

import reasonenv
from agents.cli.checks import MOST_RESPONSES
from agents.cli.defaults import defaults
from agents.cli.exit import errors_in_one_line, standard_streams
from agents.cli.flags import parse
from agents.cli.lasting_output import lasting_output
from agents.cli.model_choice import check_suits, checkpoint_of
from agents.cli.settings import environment_options
from agents.cli.types import (
    Amount,
    Count,
    EnvOptions,
    JSONObject,
    Seed,
    StopStrings,
    validated,
)
from agents.engines.chat import Chat
from agents.engines.chat_template import ChatOptions
from agents.engines.load import check_size, load_model, local_device, save_model
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.pretrained import model_folder
from agents.engines.process import computation_dtype, keep_freed_memory, set_threads
from agents.engines.sampling import Row, Sampling, collate
from agents.engines.torch import TorchEngine
from agents.episodes import Episodes
from agents.errors import SaveError, UsageError, typed_errors
from agents.monitoring.progress_bar import ProgressBar
from agents.reductions import token_mean
from agents.rollout import Prompt, Responses
from agents.storage.atomic_files import sync_all
from agents.storage.checkpoints import WRITE_ERRORS, failed_write
from agents.storage.digests import write_digests
from agents.storage.lock import LOCK, locked
from agents.training.dynamic_sampling import concatenate
from reasonenv.console import print_line
from reasonenv.errors import DataError

STAGE = ".saving"
"""Folder within the folder of the model, for files that are not all written yet."""
DISPLAYED = {"loss": ("loss", ".3f"), "solved": ("solved", ".2f")}
"""Metrics of the progress bar."""
FEW, MANY = 10, 100
"""Problems without a solution that have a line; as many, and none with one, end the training."""


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
    """Hub name, folder in Hugging Face format, directory of a run, or 'tiny'."""
    trust_remote_code: bool = False
    """Run the Python code that a model brings (auto_map in its configuration). It can do anything
    that you can do: read it first."""
    chat_template: Path | None = None
    """File with a chat template in Jinja, instead of the model's; a model without one gets prompts
    of plain text, 'Question: ... Answer:'. Saved with the model."""
    chat_template_kwargs: JSONObject = field(default_factory=dict)
    """Variables of the chat template as JSON, such as '{"enable_thinking": false}'. Saved with the
    model."""
    stop: StopStrings = None
    """Strings that end a response of the model when it samples, besides end tokens, as JSON:
    '["\\nQuestion:", "</answer>"]'. Training does not read them. By default the model's own, or
    "\\nQuestion:" where it has no chat template. Saved with the model."""
    num_steps: Count = 200
    """Optimizer steps."""
    batch_size: Annotated[int, Interval(ge=1, le=MOST_RESPONSES)] = 16
    """Solutions per step."""
    num_problems: Count = 1_000_000
    """The first problems of the split that are used, each once in a pass over them."""
    learning_rate: Amount = 1e-5
    """Peak learning rate of AdamW, after 50 steps of warm-up; cosine decay."""
    seed: Seed = 0
    """Seed of the order of the problems."""
    output_dir: Path = Path("sft")
    """Folder for the model, in Hugging Face format."""


def fine_tune(settings: FineTuning) -> Path:
    """Trains a model and writes it to the output directory.

    Raises:
        UsageError: The problems have no solutions, or the output directory is not empty.
        ModelError: The model cannot be loaded.
        SaveError: It cannot be written.
    """
    settings = validated(settings)
    folder = settings.output_dir
    if folder.exists() and any(path.name not in (LOCK, STAGE) for path in folder.iterdir()):
        raise UsageError(f"{folder} is not empty: give another --output-dir")
    options = environment_options(settings.env_options, settings.data)
    with closing(reasonenv.make(settings.env, num_envs=1, **options)) as envs:
        if line := check_suits(settings, settings.env, envs.problems):
            print_line(line, sys.stderr)
        engine = _engine(settings)
        stream = examples(envs, engine.chat, settings)
        bar = ProgressBar(settings.num_steps, of="fine-tuning", displayed=DISPLAYED)
        with closing(bar):
            for step in range(1, settings.num_steps + 1):
                batch = list(islice(stream, settings.batch_size))
                loss, probabilities = train_step(engine, concatenate(batch))
                bar.show(step, {"loss": loss, "solved": float(np.mean(probabilities))})
    save(folder, engine.policy.model, engine.chat)
    return folder


def examples(envs: Any, chat: Chat, settings: FineTuning) -> Iterator[Responses]:
    """Problems and solutions without end, in passes of random order.

    A problem that cannot be read, or has no solution, is left out, with a line.

    Raises:
        UsageError: None of many problems can be learnt from.
    """
    count = min(settings.num_problems, len(envs.problems))
    random, faulty, has_any = np.random.default_rng(settings.seed), set(), False
    while True:
        for index in random.permutation(count).tolist():
            if index in faulty:
                continue
            try:
                yield example(envs, chat, index)
                has_any = True
            except DataError as error:
                faulty.add(index)
                if not has_any and len(faulty) == min(count, MANY):
                    raise UsageError(str(error)) from error
                if has_any and len(faulty) <= FEW:
                    print_line(f"left out: {error}", sys.stderr)


def example(envs: Any, chat: Chat, index: int) -> Responses:
    """The solution of a problem as a response to it; raises DataError where it has none."""
    problem = envs.problems[index]
    if problem.solution is None:
        raise DataError(
            f"problem {problem.id} has no worked solution: choose an environment with solutions, "
            "such as Figures-v2, or add a column 'solution' to your own questions"
        )
    observations, _ = envs.reset(options={"indices": [index]})
    prompts, tools = chat.encode(observations), envs.tools
    if tools is None:
        return Solution(chat, [problem.solution]).generate(prompts)
    solution: Any = Solution(chat, tools.responses(problem.solution))
    episodes = Episodes(envs, solution, prompts, ())
    while episodes.goes_on:
        episodes.step(episodes.respond())
    return episodes.responses()


class Solution:
    """A `RolloutEngine` that gives the responses of a worked solution, in their order."""

    max_response_length = sys.maxsize

    def __init__(self, chat: Chat, texts: Sequence[str]) -> None:
        self.chat, self._texts = chat, iter(texts)

    def generate(self, prompts: tuple[Prompt, ...], *_: Any) -> Responses:
        """The next response."""
        text = next(self._texts)
        row = Row(self.chat.encode_response(text), text=text)
        return collate(prompts, [row], self.chat.ended, log_probs=False)


def train_step(engine: TorchEngine, responses: Responses) -> tuple[float, list[float]]:
    """A step up the likelihood; the loss of a token, and the probability of each solution."""
    log_prob, _ = engine.forward(responses)
    loss = -(token_mean(responses.lengths, 1).to(log_prob) * log_prob.sum(-1)).sum()
    engine.backward(loss)
    engine.step()
    return loss.item(), log_prob.detach().sum(-1).exp().tolist()


def save(folder: Path, model: Any, chat: Chat) -> None:
    """Writes a model into a folder that may be there already.

    Its configuration comes last: a folder without one is not loaded.

    Raises:
        SaveError: For example, the disk is full; the folder is as it was before.
    """
    stage = folder / STAGE
    try:
        save_model(stage, model, chat)
        write_digests(stage)
        sync_all(stage)
        for path in sorted(stage.iterdir(), key=lambda path: path.name == "config.json"):
            path.rename(folder / path.name)
        stage.rmdir()
    except WRITE_ERRORS as error:
        shutil.rmtree(stage, ignore_errors=True)
        raise SaveError(
            f"cannot save the model to {folder}: {failed_write(error, folder.parent)}; try again"
        ) from error


def _engine(settings: FineTuning) -> TorchEngine:
    device, folder = local_device(), model_folder(settings.model)
    trust: Any = {"trust_remote_code": settings.trust_remote_code}
    check_size(folder, device, trains=True, **trust)
    options = ChatOptions(settings.chat_template, settings.stop, settings.chat_template_kwargs)
    model, chat = load_model(folder, device, torch.float32, chat_options=options, **trust)
    for line in chat.remarks():
        print_line(line, sys.stderr)
    rate, steps = settings.learning_rate, settings.num_steps
    optimization = Optimization(rate, steps, warmup_steps=50, betas=(0.9, 0.98))
    return TorchEngine(_policy(settings, model), chat, Sampling(1.0, chat.banned), optimization)


def _policy(settings: FineTuning, model: Any) -> Policy:
    """The model with the number format and the gradient checkpointing of its runs."""
    policy = Policy(model, computation_dtype("auto", model.device, model.num_parameters()))
    if defaults(settings.env, settings.model).gradient_checkpointing:
        policy.checkpoint_activations()
    return policy


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; `arguments` are those of this process unless given."""
    settings = parse(FineTuning, "agents.sft", arguments)
    with errors_in_one_line():
        settings = replace(settings, model=checkpoint_of(settings.model))
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
