"""The directory of a run as a model: one of its checkpoints."""

import sys
from pathlib import Path

from agents.engines import ranks
from agents.errors import UsageError
from agents.monitoring.logs import best_step
from agents.storage import checkpoints
from agents.storage.provenance import recorded_settings
from reasonenv.console import print_line


def checkpoint_of(model: str) -> str:
    """The best kept or else the last checkpoint of a run's directory; other models as they are.

    Prints a line that says which, on rank 0.

    Raises:
        UsageError: The run has no checkpoint yet.
        CheckpointError: Each of its checkpoints is damaged.
    """
    folder = Path(model)
    if not (folder / "run.json").is_file():
        return model
    metric = recorded_settings(folder).get("keep_best")
    best = best_step(folder, metric, checkpoints.steps(folder)) if metric else None
    checkpoint = checkpoints.path_of(folder, best) if best else checkpoints.latest(folder)
    if checkpoint is None:
        raise UsageError(f"--model {model}: this run has no checkpoint yet")
    which = f"the best by {metric}" if best else "the last"
    if ranks()[0] == 0:
        print_line(f"model: {checkpoint}, {which} checkpoint of the run", sys.stderr)
    return str(checkpoint)
