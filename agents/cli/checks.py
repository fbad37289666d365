"""How the settings of a training run fit together."""

from agents.cli.settings import Run
from agents.cli.types import validated
from agents.engines import ranks
from agents.errors import UsageError
from agents.monitoring.trackers import check_installed

MOST_RESPONSES = 2**20
"""Responses of a training step at most: a thousand times the papers' rollouts. Each takes memory in
the environment and in the rollout, whatever the batches of sampler and trainer are."""


def check_run(run: Run) -> Run:
    """The settings, of which each is valid, and all fit together and to the number of ranks.

    Raises:
        UsageError: In one line, with the flag, its value and the values that are valid.
    """
    run = validated(run)
    check_installed(run.track)
    if run.warmup_steps > (steps := run.optimizer_steps()):
        raise UsageError(
            f"--warmup-steps {run.warmup_steps} is more than the {steps} optimizer steps of the run"
        )
    if run.overlong_buffer > run.max_response_length:
        raise UsageError(
            f"--overlong-buffer {run.overlong_buffer} is longer than --max-response-length "
            f"{run.max_response_length}"
        )
    if run.vllm_server is not None and (run.sampler == "transformers" or run.vllm):
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
    num_ranks = ranks()[1]
    if run.num_prompts % num_ranks:
        raise UsageError(f"--num-prompts {run.num_prompts} does not divide among {num_ranks} ranks")
    if run.minibatch_size % (num_ranks * run.group_size):
        raise UsageError(
            f"--minibatch-size {run.minibatch_size} must hold whole groups of {run.group_size} on "
            f"each of {num_ranks} ranks"
        )
    return run
