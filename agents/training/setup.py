"""Setup of a run: environment, engines, and the state of its last checkpoint."""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

import reasonenv
from agents.cli.checks import check_run
from agents.cli.exit import short
from agents.cli.model_choice import check_suits
from agents.cli.settings import Run, environment_options
from agents.engines import error_on_all_ranks, ranks
from agents.engines.chat import Chat, without_image_marks
from agents.engines.pretrained import EMBEDDED, model_folder
from agents.engines.process import (
    keep_freed_memory,
    set_threads,
    share_threads,
    use_deterministic_kernels,
)
from agents.engines.sampling import check_prompt_lengths
from agents.engines.vllm import uses_vllm
from agents.errors import ParityError, PromptLengthError, UsageError
from agents.learner import Learner
from agents.monitoring.logs import EVALUATION_METRICS
from agents.plan.runs import local_plan
from agents.plan.shapes import UnplannableError
from agents.plan.text import short_text
from agents.storage import checkpoints
from agents.storage.digests import data_digest
from agents.storage.json_files import json_value
from agents.storage.provenance import describe_changes, grader_change, last_num_threads
from agents.training import parity
from agents.training.build import Engines, build, describe_engines, uses_deepspeed
from agents.training.parity import Parity
from agents.training.rollouts import EXCEEDS, encode
from agents.training.state import RunState
from reasonenv import rewards
from reasonenv.console import printable
from reasonenv.datasets import Subset, listed, without_images
from reasonenv.environment import HELD_OUT, LONGEST_SPLIT
from reasonenv.errors import DataError, ReasonEnvError
from reasonenv.grading import VERSION
from reasonenv.registration import find

CAP = 2.0
"""Of the importance weights where the sampler is another policy than the trainer's."""


def prepare(run: Run, learner: Learner) -> RunState:
    """State of a new run, or of a resumed one at its last checkpoint.

    Raises:
        AgentsError: A setting, the model or the checkpoint does not fit; no file has been written.
        ReasonEnvError: The environment or its data do not fit.
    """
    run = check_run(run)
    folder = run.folder(type(learner).__name__)
    learner, line = with_correction(run, learner)
    check_learner(run, learner)
    settings = json_value(run_settings(run, learner), str)
    checkpoint = checkpoints.start(folder, settings, run.resume, rank=ranks()[0])
    if checkpoint and checkpoints.step_of(checkpoint) > run.num_steps:
        raise UsageError(
            f"{checkpoint} is beyond the last step, --num-steps {run.num_steps}: give at least "
            f"{checkpoints.step_of(checkpoint)}, or remove it if it is not of this run"
        )
    print_once(summary(run, learner, checkpoint))
    print_once(line)
    print_once(describe_changes(folder, settings) if checkpoint else "")
    num_threads = last_num_threads(folder) if checkpoint else None
    if run.staleness and run.vllm_server is None:
        share_threads(2)
    if run.deterministic:
        use_deterministic_kernels(vllm=run.vllm_server is None and uses_vllm(run.sampler))
        num_threads = num_threads or torch.get_num_threads()
    keep_freed_memory()
    print_once(set_threads(num_threads))
    print_once(grader_change(folder, VERSION) if checkpoint else "")
    with ExitStack() as stack:  # closes everything after an error
        envs, splits = make_envs(run)
        stack.enter_context(closing(envs))
        check_best(run.keep_best, splits)
        print_once(check_suits(run, run.env, envs.problems))
        options = run if run.model in EMBEDDED else planned(run, learner)
        parts = learner.reference_schedule, learner.second_context
        engines = build(options, model_folder(run.model), *parts)
        if engines.reference is not None and not learner.uses_reference:
            engines.reference.is_policy = False  # no update counts the steps of a mere teacher
        stack.enter_context(closing(engines.sampler))
        check_turns(run, learner, envs.tools, engines.chat)
        lines = _keep_short_problems(envs, engines.chat, run.max_prompt_length)
        print_once("\n".join((*_model_lines(engines), *lines)))
        state = RunState(run, learner, folder, envs, engines, splits)
        state.resume(checkpoint)
        print_once(str(check_parity(state)))
        stack.pop_all()
    return state


def with_correction(run: Run, learner: Learner) -> tuple[Learner, str]:
    """The learner, with a correction where the sampler is another policy and it has none.

    Returns:
        The learner; and a line that says so, or "".
    """
    reason = ""
    if run.top_p < 1 or run.top_k > 0:
        reason = "top_p and top_k cut the sampler off"
    elif run.staleness > 0:
        reason = f"rollouts are sampled ahead, --staleness {run.staleness}"
    if learner.sampler_correction is not None or not reason or not run.sampler_log_probs:
        return learner, ""
    return replace(learner, sampler_correction=CAP), (
        f"sampler correction: {CAP:g}, since {reason}; --sampler-correction uncorrected for none"
    )


def check_staleness(run: Run, learner: Learner) -> None:
    """Raises UsageError for a run that cannot sample ahead of its updates."""
    reason, number = "", run.max_generations
    if number > 1:
        reason = f"--max-generations {number} chooses from rollouts of all ranks: give 1"
    elif type(learner).curriculum is not Learner.curriculum:
        reason = f"the curriculum of {type(learner).__name__} reads the steps before"
    elif run.vllm_server is None and (uses_vllm(run.sampler) or uses_deepspeed(run)):
        reason = (
            "a vLLM server samples beside it, or a copy of the model beside one process of "
            "PyTorch: give --vllm-server, or --engine torch --sampler transformers"
        )
    if run.staleness and reason:
        raise UsageError(f"--staleness {run.staleness} with what takes turns: {reason}")


def check_teacher(run: Run, learner: Learner) -> None:
    """Raises UsageError for a teacher that is missing, or that the learner would not ask."""
    context, name = learner.second_context, type(learner).__name__
    if run.teacher is None and context is not None and context.weights == "teacher":
        raise UsageError(f"{name} learns from another model: name it by --teacher")
    if run.teacher is not None and context is None:
        raise UsageError(f"--teacher {run.teacher}: {name} does not distil; opd does, for example")


def check_turns(run: Run, learner: Learner, tools: Any, chat: Chat) -> None:
    """Checks that a run can have episodes of several turns, if its environment has tools.

    Raises:
        UsageError: A setting or the learner is for episodes of one response.
        ModelError: The chat template is not one of conversations; see `Chat.check_turns`.
    """
    if tools is None:
        return
    reason = f"--staleness {run.staleness}" if run.staleness else ""
    if learner.second_context is not None:
        reason = f"{type(learner).__name__}, whose teacher reads another prompt"
    if reason:
        raise UsageError(
            f"{run.env} has episodes of several turns, which do not go with {reason}; "
            "--env-options '{\"max_calls\": 0}' poses it without tools"
        )
    if tools.max_images and chat.image_processor is None:
        raise UsageError(f"tools of {run.env} reply with images: take a vision-language model")
    chat.check_turns()


def check_learner(run: Run, learner: Learner) -> None:
    """Checks that settings of a run fit its learner.

    Raises:
        UsageError: It corrects by log-probabilities that the sampler is not to give, or the
            advantages of groups of one response would all be zero.
    """
    is_vllm = run.vllm_server is not None or uses_vllm(run.sampler)
    if learner.uses_sampler and is_vllm and not run.sampler_log_probs:
        what, correction = type(learner).__name__, learner.sampler_correction
        what = what if correction is None else f"--sampler-correction {correction}"
        raise UsageError(
            f"{what} needs the log-probabilities of the sampler: drop it, or --no-sampler-log-probs"
        )
    check_teacher(run, learner)
    check_staleness(run, learner)
    # The components of the reward are not known before there is an environment.
    if run.group_size > 1 or "reward_parts" in learner.reads:
        return
    with warnings.catch_warnings():  # of torch: one value has no standard deviation
        warnings.simplefilter("ignore")
        advantages = [learner.advantage(torch.arange(4.0 * n).view(4, n)) for n in (1, 2)]
    has_signal = [bool(advantage.nan_to_num().any()) for advantage in advantages]
    if has_signal == [False, True]:
        raise UsageError(
            f"--group-size 1: {type(learner).__name__} compares the responses to a prompt, and the "
            "advantage of a single one is zero: give at least 2, or train by agents.reinforce"
        )


def check_best(metric: str | None, splits: Sequence[str]) -> None:
    """Validates --keep-best; raises UsageError for a metric that no evaluation has."""
    metrics = [f"evaluation/{split}/{name}" for split in splits for name in EVALUATION_METRICS]
    if metric is not None and metric not in metrics:
        there = f"there are {', '.join(metrics)}" if metrics else "the run has no evaluation"
        raise UsageError(f"--keep-best {short(metric)} is no metric of an evaluation: {there}")


def _model_lines(engines: Engines) -> Iterator[str]:
    """Lines on a model that is not like most: its number format, attention or chat template."""
    policy = engines.policy
    if policy.dtype != policy.model.dtype:
        yield (
            "matrix products are computed in bfloat16, from weights in float32; --dtype float32 is "
            "more exact, and slower"
        )
    if not policy.packs:
        yield (
            "the responses of this model are padded, not packed, because some layers are not "
            "attention: in a batch, a short response costs as much as the longest"
        )
    yield from engines.chat.remarks()


def planned(run: Run, learner: Learner) -> Run:
    """Settings with the share of a GPU that the memory plan leaves to vLLM; prints the plan.

    Raises:
        ModelError: The run needs more memory than there is, or the model does not exist.
    """
    num_ranks = ranks()[1]
    if num_ranks > 1 and not torch.cuda.is_available():
        print_once("no memory plan: several processes train on the CPU")
        return run
    try:
        plan = local_plan(run, learner, num_ranks)
    except UnplannableError as error:
        print_once(f"no memory plan: {error}")
        return run
    print_once(short_text(plan))
    if not plan.num_gpus or plan.sampler != "vllm":
        return run
    share = {"gpu_memory_utilization": plan.vllm_share}
    return replace(run, vllm=share | run.vllm)


def summary(run: Run, learner: Learner, checkpoint: Path | None) -> str:
    """The run in two lines.

    Args:
        run: Resolved settings.
        learner: The algorithm.
        checkpoint: Checkpoint to resume, if any.
    """
    name = type(learner).__name__
    step = f"{run.num_prompts} prompts x {run.group_size} responses"
    start = f", from {checkpoint.name}" if checkpoint else ""
    if run.resume and not checkpoint:
        start = ", which has no checkpoint to resume: from the beginning"
    data = f" with data {run.data}" if run.data else ""
    return (
        f"{name} on {run.env}{data}, model {run.model}: {run.num_steps} steps of {step}, "
        f"into {run.folder(name)}{start}\n{describe_engines(run)}"
    )


def length_penalty(run: Run) -> Callable[[int], float] | None:
    """Overlong penalty by the length of a response in tokens; None for a buffer of 0.

    Source: Yu et al., DAPO (arXiv:2503.14476), eq. 13.
    """
    limits = {"max_length": run.max_response_length, "buffer": run.overlong_buffer}
    return partial(rewards.overlong_penalty, **limits) if run.overlong_buffer else None


def check_parity(state: RunState) -> Parity:
    """Compares sampler and trainer on a few problems of the environment.

    Raises:
        ParityError: They differ too much.
    """
    engines, run = state.engines, state.run
    with error_on_all_ranks(engines.train, parity.COMPARISON, ParityError):
        observations, _ = state.envs.reset(seed=run.seed)
        observations, _ = encode(state.envs, engines.sampler, observations, run.max_prompt_length)
    parts = engines.train, engines.sampler, engines.chat, observations
    result = parity.compare(*parts, has_turns=state.envs.tools is not None)
    dtypes = engines.policy.dtype, getattr(engines.sampler, "dtype", torch.float32)
    given = run.parity_tolerance
    result.check(parity.tolerance(*dtypes) if given is None else given)
    return result


def print_once(text: str) -> None:
    """Prints lines on standard error, on rank 0 only."""
    if ranks()[0] == 0:
        lines = "".join(f"{printable(line)}\n" for line in text.splitlines())
        sys.stderr.write(lines)  # in one call, as Ctrl-C may interrupt between two


def run_settings(run: Run, learner: Learner) -> dict[str, Any]:
    """All settings that determine the numbers of a run, for `run.json`."""
    settings = {"run": run, "algorithm": type(learner).__name__, "learner": learner}
    if sha256 := data_digest(run.data):
        settings["data_sha256"] = sha256
    return settings


def make_envs(run: Run) -> tuple[Any, tuple[str, ...]]:
    """Training environment of this rank, and the names of the evaluation splits."""
    rank, num_ranks = ranks()
    options = environment_options(run.env_options, run.data, run.reward)
    envs = reasonenv.make(
        run.env,
        num_envs=run.num_prompts // num_ranks * run.group_size,
        group_size=run.group_size,
        rank=rank,
        num_ranks=num_ranks,
        **options,
    )
    envs.left_out = {}
    return envs, tuple(evaluation_splits(run, options)) if run.num_test_problems else ()


def _keep_short_problems(envs: Any, chat: Chat, max_length: int | None) -> list[str]:
    """Takes problems whose words alone exceed `max_length` tokens from `envs`; lines on them."""
    problems, lines = envs.problems, {}
    if max_length is None or len(problems) > LONGEST_SPLIT:
        return []
    for index in range(len(problems)):
        try:
            problem = without_images(problems, index)
        except DataError as error:
            lines[index] = str(error)
            continue
        system, question = envs.instruction.ask(problem)
        words = without_image_marks(question)
        prompts = chat.encode({"system": [system], "question": [words], "images": [()]})
        try:
            check_prompt_lengths(prompts, max_length, EXCEEDS.format(max_length))
        except PromptLengthError as error:
            lines[index] = f"problem {problem.id!r}: {error}"
    if not lines:
        return []
    if len(lines) == len(problems):
        raise UsageError(f"no problem is left; one of them: {lines[0]}")
    envs.problems = Subset(problems, [i for i in range(len(problems)) if i not in lines])
    title = f"left out: {len(lines)} of {len(problems)} problems"
    return [title, *listed(list(lines.values()))]


def evaluation_splits(run: Run, options: dict[str, Any]) -> Iterator[str]:
    """All splits except the training split and, with a message, those missing in local data."""
    environment = find(run.env)
    training_split = options.get("split") or environment.resolve_split(None, options)
    splits = environment.split_names(options)
    # Without a training split, the splits of a benchmark overlap the problems trained on.
    others = splits if "train" in splits else ()
    holds_out = "holdout" not in environment.parameters or HELD_OUT in splits
    own = (HELD_OUT,) if options.get("holdout") is not None and holds_out else ()
    names = [split for split in dict.fromkeys((*others, *own)) if split != training_split]
    if splits and not names:
        lack = f"no split but {training_split!r}" if others else "no training split"
        print_once(
            f"no evaluation: {run.env} has {lack}; hold out a part by --env-options "
            "'{\"holdout\": 0.1}'"
        )
    for split in names:
        try:
            reasonenv.make(run.env, num_envs=1, **{**options, "split": split}).close()
            yield split
        except ReasonEnvError as error:
            print_once(f"no evaluation on {split}: {error}")
