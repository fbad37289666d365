"""State of an interrupted fine-tuning in a file, from which the same command continues."""

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from agents.cli.interrupt import Interrupt
from agents.engines.checkpoint_files import read_tensors
from agents.engines.torch import TorchEngine
from agents.errors import CheckpointError, SaveError
from agents.monitoring.timing import Interval
from agents.storage.checkpoints import WRITE_ERRORS, failed_write
from agents.storage.json_files import json_value
from agents.training.problem_choice import ProblemChoice
from reasonenv.console import print_line

PARTIAL, PARTIAL_TEMPORARY = ".training.partial", ".training.partial.tmp"
"""Names of the file in the folder of the model, and of one that is not complete."""
SECONDS = 120.0
"""Time between two writes of the file."""


class PartialTraining:
    """A fine-tuning that writes its state now and then, and when a signal ends it.

    The continued one gives the numbers of one that was never interrupted.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], interrupt: Interrupt) -> None:
        """Args: file of the state; settings that determine the numbers; signals to this process."""
        self.path, self._interrupt = path, interrupt
        self._settings = json.dumps(json_value(settings), sort_keys=True)
        self._interval = Interval(SECONDS)

    def load(self, engine: TorchEngine, choice: ProblemChoice) -> int:
        """Restores weights, optimizer, schedule, and the choice of problems.

        Returns:
            Completed steps; 0 for a new training, as after a file that is damaged or of other
            settings.
        """
        if not self.path.exists():
            return 0
        try:
            state = read_tensors(self.path)
            if state["settings"] != self._settings:
                return 0
        except (CheckpointError, TypeError, LookupError) as error:
            print_line(f"{self.path} is damaged, from the beginning: {error}", sys.stderr)
            return 0
        engine.policy.model.load_state_dict(state["model"])
        engine.optimizer.load_state_dict(state["optimizer"])
        engine.schedule.load_state_dict(state["schedule"])
        print_line(f"fine-tuning continues after step {state['step']}", sys.stderr)
        choice.restore(json.loads(state["choice"]))
        return state["step"]

    def save_if_due(self, step: int, engine: TorchEngine, choice: ProblemChoice) -> None:
        """Writes the state after a step if it is time, or if a signal has come.

        Raises:
            KeyboardInterrupt: A signal has come.
        """
        if self._interrupt or self._interval.is_due():
            with self._interval.action():
                self._write(step, engine, choice)
        if self._interrupt:
            print_line(f"saved step {step}: the same command continues after it", sys.stderr)
            raise KeyboardInterrupt

    def remove(self) -> None:
        """Removes the file, after the last step."""
        self.path.unlink(missing_ok=True)

    def _write(self, step: int, engine: TorchEngine, choice: ProblemChoice) -> None:
        state = {
            "settings": self._settings,
            "step": step,
            "choice": json.dumps(choice.state()),
            "model": engine.policy.model.state_dict(),
            "optimizer": engine.optimizer.state_dict(),
            "schedule": engine.schedule.state_dict(),
        }
        temporary = self.path.with_name(PARTIAL_TEMPORARY)
        try:
            temporary.parent.mkdir(parents=True, exist_ok=True)
            torch.save(state, temporary)
            temporary.replace(self.path)
        except WRITE_ERRORS as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            reason = failed_write(error, self.path.parent)
            raise SaveError(f"cannot save the state of step {step}: {reason}") from error
