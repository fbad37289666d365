"""What a run leaves behind: metrics, sampled rollouts, evaluations, and a record to repeat it by.

A run directory holds `metrics.jsonl`, `evaluations.jsonl`, `rollouts/step-N.jsonl` with images
beside it, and `run.json`. Each is valid JSON at any moment, but for a last line of a `.jsonl` that
a kill may cut; `read_json_lines` skips it, and a resumed run removes it.

A line of `rollouts/step-N.jsonl` is one response of the rollout of step N; groups are whole:

- `index`: its place in this rank's rollout; `group`: that of its group.
- `system`, `question`: the words of the problem; `images`: files beside it, shared by the group.
- `response`, `reward`, and what the environment told of it: `problem_id`, `accuracy`, `format`,
  `answer`, `reference`, `status`.
- `finished`: false where the length limit cut it; `tokens`: their texts, special ones too.
- `advantage`: mean over its tokens; `log_ratio`: ln(π/π_old) of each token before the optimizer
  step that it was a part of; `clipped`: the places of tokens whose gradient the clip changed.
  These three are absent from a response that was not trained on.

Runs of 0.1.0 lack `group` and all from `finished` on, and have some responses of each group only.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from agents.errors import MissingPackageError
from agents.monitoring.progress_bar import ProgressBar
from agents.storage.atomic_files import append, write_atomically
from agents.storage.json_files import json_line, json_value, read_json_lines

EXPLAINED = ("problem_id", "accuracy", "format", "answer", "reference", "status")
"""What of an environment's infos stands beside a sampled response."""


class RunLog:
    """Writes the records of one run; of several ranks only rank 0 does anything.

    What was written after step `start`, by a run that was stopped, is removed first.
    """

    def __init__(
        self,
        folder: Path,
        num_steps: int,
        *,
        start: int = 0,
        rank: int = 0,
        tensorboard: bool = False,
    ) -> None:
        """Args: the run's directory, its length, the steps it has done, and who writes what."""
        self.folder = folder
        self.writes = rank == 0
        self._tensorboard = None
        if not self.writes:
            return
        (folder / "rollouts").mkdir(parents=True, exist_ok=True)
        _remove_after(folder, start)
        if tensorboard:
            self._tensorboard = _tensorboard(folder / "tensorboard", start + 1)
        self._progress = ProgressBar(num_steps, start)

    def __enter__(self) -> "RunLog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Records the metrics of a training step, the first is 1; on the disk on return."""
        if not self.writes:
            return
        row = json_value(metrics)
        append(self.folder / "metrics.jsonl", json_line({"step": step, **row}))
        if self._tensorboard:
            for name, value in row.items():
                if isinstance(value, int | float):
                    self._tensorboard.add_scalar(name, value, step)
        self._progress.show(step, row)

    def write_evaluation(self, step: int, result: Mapping[str, Any]) -> None:
        """Records what an evaluation after `step` steps found."""
        if self.writes:
            append(
                self.folder / "evaluations.jsonl", json_line({"step": step, **json_value(result)})
            )

    def write_rollout(  # noqa: PLR0913 - what, then by name how: no caller gives all
        self,
        step: int,
        observations: Mapping[str, Sequence[Any]],
        responses: Sequence[str],
        rewards: Sequence[float] | np.ndarray,
        infos: Mapping[str, Any],
        *,
        group_size: int = 1,
        count: int = 8,
        details: Callable[[int], Mapping[str, Any]] = lambda index: {},
    ) -> None:
        """Records whole groups, evenly spaced over the rollout, with what they answered.

        Args:
            step: The training step that the rollout is for.
            observations: Of the vector environment: what was posed, not what comes next.
            responses: One to each.
            rewards: One of each.
            infos: As the vector environment's step gave them with the rewards.
            group_size: Consecutive responses to one problem.
            count: Responses to keep, in whole groups: one group at least.
            details: Gives what else stands beside a response, such as `Trace.details`.
        """
        if not self.writes:
            return
        groups = len(responses) // group_size
        stride = math.ceil(groups / max(1, count // group_size))
        rows = []
        for first in range(0, len(responses), stride * group_size):
            images = self._write_images(f"step-{step}-{first}", observations["images"][first])
            for i in range(first, first + group_size):
                row = {
                    "index": i,
                    "group": first // group_size,
                    "system": observations["system"][i],
                }
                row |= {"question": observations["question"][i], "response": responses[i]}
                row |= {"reward": float(rewards[i])}
                row |= {name: infos[name][i] for name in EXPLAINED if name in infos}
                rows.append(json_line({**row, "images": images, **details(i)}))
        write_atomically(self.folder / "rollouts" / f"step-{step}.jsonl", b"".join(rows))

    def say(self, text: str) -> None:
        """Shows a line without breaking the progress display."""
        if self.writes:
            self._progress.say(text)

    def remove_after(self, step: int) -> None:
        """Removes what later steps recorded, from which the run has gone back."""
        if self.writes:
            _remove_after(self.folder, step)
        if self._tensorboard:
            self._tensorboard.close()
            self._tensorboard = _tensorboard(self.folder / "tensorboard", step + 1)

    def close(self) -> None:
        """Ends the progress display and TensorBoard's file; can be called twice."""
        if self.writes:
            self._progress.close()
        if self._tensorboard:
            self._tensorboard.close()

    def _write_images(self, name: str, images: Sequence[np.ndarray]) -> list[str]:
        names = [f"{name}-{j}.png" for j in range(len(images))]
        for path, image in zip(names, images, strict=True):
            Image.fromarray(image).save(self.folder / "rollouts" / path)
        return names


def _remove_after(folder: Path, step: int) -> None:
    """Removes what steps after `step` recorded, and lines that were cut."""
    for path in (folder / "metrics.jsonl", folder / "evaluations.jsonl"):
        if path.exists():
            # A run that begins anew evaluates at step 0 again.
            kept = [json_line(row) for row in read_json_lines(path) if step and row["step"] <= step]
            write_atomically(path, b"".join(kept))
    for path in (folder / "rollouts").glob("step-*"):
        number = path.stem.split("-")[1]
        if number.isdecimal() and int(number) > step:
            path.unlink()


def _tensorboard(folder: Path, purge_step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingPackageError(
            "TensorBoard is not here: pip install tensorboard, or leave --tensorboard out"
        ) from error
    return SummaryWriter(str(folder), purge_step=purge_step)
