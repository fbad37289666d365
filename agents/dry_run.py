"""Dry run of a training command, without weights and files: --dry-run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import yaml
from huggingface_hub import try_to_load_from_cache
from huggingface_hub.errors import HFValidationError

import reasonenv
from agents.cli.checks import check_run
from agents.cli.defaults import LAPTOP_WIDTH
from agents.cli.flags import SIZES, default_run
from agents.cli.model_choice import check_suits
from agents.cli.settings import Run, environment_options
from agents.engines import ranks
from agents.engines.chat import Chat
from agents.engines.chat_template import ChatOptions
from agents.engines.load import fit_images
from agents.engines.pretrained import hub_offline, load_parts, model_folder
from agents.learner import Learner
from agents.plan.runs import local_plan, plan_run
from agents.plan.shapes import KNOWN, UnplannableError, read_shape
from agents.plan.text import machine_text, short_text
from agents.storage import checkpoints
from agents.storage.json_files import json_value
from agents.storage.lock import check_writable
from agents.training import setup
from reasonenv.console import print_line, short
from reasonenv.errors import DownloadError

GPU_MEMORY = 80.0
"""GiB of a GPU for the memory plan of a model that needs one, on a machine without."""


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """Dry run before training."""

    dry_run: bool = False
    """Print settings, batches, memory, first prompts and rewards, and end: no weights are loaded,
    nothing is downloaded, nothing is written. WORLD_SIZE=8 in front stands for 8 ranks."""
    dry_run_response: str | None = None
    """Print the reward of this response to the first problem too; implies --dry-run."""


@hub_offline()
def dry_run(run: Run, learner: Learner, response: str | None = None) -> None:
    """Prints what a run would be, on rank 0.

    Args:
        run: Its settings.
        learner: The algorithm.
        response: A response to the first problem, to be graded.

    Raises:
        AgentsError: As the run would, before it loads weights.
        ReasonEnvError: The environment or its data do not fit.
    """
    run = check_run(run)
    learner, line = setup.with_correction(run, learner)
    setup.check_learner(run, learner)
    folder = run.folder(type(learner).__name__)
    check_writable(folder)
    settings = json_value(setup.run_settings(run, learner), str)
    # A rank other than 0 checks the folder and leaves it as it is.
    checkpoints.start(folder, settings, run.resume, rank=1)
    steps = checkpoints.steps(folder)
    last = checkpoints.path_of(folder, max(steps)) if steps else None
    env, missing = _environment(run)
    if env is not None and env.tools is not None and _is_here(run.model):
        setup.check_turns(run, learner, env.tools, _chat(run))
    line = check_suits(run, run.env, env.problems) if env and _is_here(run.model) else ""
    sections = {
        setup.summary(run, learner, last).splitlines()[0]: line,
        "settings that are not the defaults, as --config reads them:": _settings(run, learner),
        "batches:": _batches(run, len(env.problems) if env else None),
        "memory:": _memory(run, learner),
        "first prompts:": missing or _prompts(run, env, response),
    }
    for title, text in sections.items() if ranks()[0] == 0 else ():
        print_line(title)
        for line in text.splitlines():
            print_line(f"  {line}".rstrip())


def _environment(run: Run) -> tuple[Any, str]:
    """The environment; None, and a line, where its data set would be downloaded."""
    options = environment_options(run.env_options, run.data, run.reward)
    try:
        env = reasonenv.make(run.env, **options).unwrapped
    except DownloadError as error:
        return None, _absent("data set", str(error).split()[0])
    splits = tuple(setup.evaluation_splits(run, options)) if run.num_test_problems else ()
    setup.check_best(run.keep_best, splits)
    env.left_out = {}
    return env, ""


def _absent(kind: str, name: str) -> str:
    return f"the {kind} {name} is not on this machine: the run would download it"


def _settings(run: Run, learner: Learner) -> str:
    """Environment, model and all settings that differ from their defaults, in YAML."""
    kind: Any = type(learner)
    usual = json_value(vars(default_run(kind, vars(run))) | vars(kind()), str)
    sizes = default_run(kind, {"env": run.env, "model": run.model})
    usual |= {name: getattr(sizes, name) for name in SIZES} | {"env": None, "model": None}
    values = json_value(vars(run) | vars(learner), str)
    own = {n.replace("_", "-"): value for n, value in values.items() if value != usual[n]}
    return yaml.safe_dump(own, sort_keys=False, allow_unicode=True, width=99)


def _batches(run: Run, num_problems: int | None) -> str:
    """The arithmetic of rollouts, minibatches and passes over the data."""
    num_ranks, responses = ranks()[1], run.num_prompts * run.group_size
    prompts = run.num_steps * run.num_prompts
    lines = [
        f"rollout: {run.num_prompts} prompts x {run.group_size} responses = {responses:,} "
        f"responses of up to {run.max_response_length:,} tokens",
        f"each rank, of {num_ranks}: {run.num_prompts // num_ranks} prompts, "
        f"{responses // num_ranks} responses, {run.minibatch_size // num_ranks} in a minibatch",
        f"minibatches of {run.minibatch_size} responses, epochs: {run.epochs}; optimizer steps: "
        f"{run.optimizer_steps() // run.num_steps} a rollout, {run.optimizer_steps():,} in all",
        f"data: {run.num_steps} steps x {run.num_prompts} prompts = {prompts:,} prompts",
    ]
    if num_problems:
        lines[-1] += f", {prompts / num_problems:.3g} passes over {num_problems:,} problems"
    if run.max_generations > 1:
        lines.append(f"up to {run.max_generations} rollouts a step, from which prompts are chosen")
    return "\n".join(lines)


def _memory(run: Run, learner: Learner) -> str:
    """The memory plan; of a model that needs GPUs, on a machine without, for one GPU a rank."""
    num_ranks, has_gpu = ranks()[1], torch.cuda.is_available()
    if run.model not in KNOWN and not _is_here(run.model):
        return f"no plan: {_absent('model', run.model)}"
    try:
        shape = read_shape(run.model, trust_remote_code=run.trust_remote_code)
    except UnplannableError as error:
        return f"no plan: {error}"
    if not has_gpu and shape.hidden > LAPTOP_WIDTH:
        plan = plan_run(run, learner, num_gpus=num_ranks, memory=GPU_MEMORY)
        return f"no GPU here: planned for {machine_text(plan)}\n{short_text(plan)}"
    if not has_gpu and num_ranks > 1:
        return "no plan: several processes train on the CPU"
    return short_text(local_plan(run, learner, num_ranks))


def _is_here(model: str) -> bool:
    """True if a model is a folder, or its tokenizer is in the cache of the hub."""
    try:
        cached = try_to_load_from_cache(model, "tokenizer_config.json")
    except HFValidationError:  # no name on the hub: loading it says what is wrong
        return True
    return isinstance(cached, str) or Path(model_folder(model)).is_dir()


def _chat(run: Run) -> Chat:
    name = model_folder(run.model)
    config, tokenizer, images = load_parts(name, trust_remote_code=run.trust_remote_code)
    fit_images(name, images, config, run.max_pixels)
    return Chat(
        tokenizer,
        images,
        config,
        options=ChatOptions(run.chat_template, run.stop, run.chat_template_kwargs),
    )


def _prompts(run: Run, env: Any, response: str | None) -> str:
    """Two prompts as the model reads them, or their texts without its tokenizer; and rewards."""
    chat = _chat(run) if _is_here(run.model) else None
    lines = chat.remarks() if chat else [_absent("model", run.model)]
    texts = [] if response is None else [response]
    for number in range(2):
        observation, posed = env.reset(seed=None if number else run.seed)
        reference = env.step("")[-1]["reference"]
        facts = [f"image of {x.shape[1]} x {x.shape[0]}" for x in observation["images"]]
        text = "\n\n".join(filter(None, (observation["system"], observation["question"])))
        if number == 0:
            texts.insert(0, _boxed(reference, text))
        if chat is not None:
            (prompt,) = chat.encode({name: [value] for name, value in observation.items()})
            text = chat.tokenizer.decode(chat.collapsed(prompt))
            facts.append(f"{len(prompt.token_ids)} tokens")
        facts.append(f"reference {reference!r}")
        lines += [f"--- {posed['problem_id']}: {', '.join(facts)}", text.rstrip()]
    rewards = [_reward(run, env, text) for text in texts]
    return "\n".join([*lines, "--- rewards of the first", *rewards])


def _boxed(reference: str, prompt: str) -> str:
    """A right response in the format that a prompt asks for."""
    box = f"\\boxed{{{reference}}}"
    if "</answer>" in prompt:
        return "<think>It is known.</think>" * ("</think>" in prompt) + f"<answer>{box}</answer>"
    return f"Answer: {reference}" if 'after "Answer:"' in prompt else box


def _reward(run: Run, env: Any, response: str) -> str:
    env.reset(seed=run.seed)
    reply, reward, _, _, infos = env.step(response)
    if "answer" not in infos:
        return f"a call, and its reply: {short(reply['question'])}"
    parts = [f"{weight:g} x {name} {infos[name]:g}" for name, (weight, _) in env.rewards.items()]
    verdict = f"answer {infos['answer']!r} ({infos['status']})"
    return f"{reward:g} = {' + '.join(parts)}, {verdict}: {short(' '.join(response.split()))}"
