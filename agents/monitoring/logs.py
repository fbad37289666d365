"""Log of a run: metrics, evaluations and sampled rollouts in its directory.

A run directory has `metrics.jsonl`, `evaluations.jsonl`, `rollouts/step-N.jsonl` with images in the
same folder, and `run.json`. Each is valid JSON at any moment, except for the last line of a
`.jsonl` after a kill; `read_steps` skips an incomplete line, and a resumed run removes it.

A line of `rollouts/step-N.jsonl` is one response of the rollout of step N. There are two groups,
the first and, of the others, the one with the most contrast (`contrast`), so means over these lines
are not those of the run:

- `index`: position in this rank's rollout; `group`: position of its group.
- `system`, `question`: text of the problem; `images`: names of files, shared by the group.
- `response`, `reward`, and infos of the environment: `problem_id`, `accuracy`, `format`,
  `answer`, `reference`, `status`.
- `finished`: false if the length limit cut it; `tokens`: their texts, special tokens included.
- `advantage`: mean over its tokens; `log_ratio`: ln(π/π_old) of each token before the optimizer
  step of its minibatch; `clipped`: the indices of tokens whose gradient the clip changed.
  Responses that were not trained on lack these three.

Runs of 0.1.0 lack `group` and all from `finished` on, and have some responses of each group only.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from agents.errors import MissingPackageError
from agents.monitoring.progress_bar import ProgressBar
from agents.storage.atomic_files import append, write_atomically
from agents.storage.json_files import json_line, json_value, read_steps

INFO_NAMES = ("problem_id", "accuracy", "format", "answer", "reference", "status")
"""Infos of the environment in the row of a response."""


class RunLog:
    """Writes the log of one run, on rank 0 only.

    Removes records after step `start` of an earlier, interrupted run first.
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
        """Args: run directory, number of steps, completed steps, rank, and an optional format."""
        self.folder, self.start = folder, start
        self.writes = rank == 0
        self._tensorboard = None
        if not self.writes:
            return
        (folder / "rollouts").mkdir(parents=True, exist_ok=True)
        _remove_after(folder, start)
        if tensorboard:
            self._tensorboard = _tensorboard(folder / "tensorboard", start + 1)
        self._progress = ProgressBar(num_steps, start, curve=_accuracies(folder))

    def __enter__(self) -> "RunLog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Appends the metrics of a training step, from 1 on; on disk on return."""
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
        """Appends the result of an evaluation after `step` steps."""
        if self.writes:
            append(
                self.folder / "evaluations.jsonl", json_line({"step": step, **json_value(result)})
            )

    def write_rollout(  # noqa: PLR0913 - optional ones are keywords, and no caller needs all
        self,
        step: int,
        observations: Mapping[str, Sequence[Any]],
        responses: Sequence[str],
        rewards: Sequence[float] | np.ndarray,
        infos: Mapping[str, Any],
        *,
        group_size: int = 1,
        groups: Sequence[int] = (0,),
        details: Callable[[int], Mapping[str, Any]] = lambda index: {},
    ) -> None:
        """Writes some groups of a rollout with all their responses.

        Args:
            step: The training step that the rollout is for.
            observations: Of the vector environment, before its step.
            responses: One for each observation.
            rewards: One for each response.
            infos: Of the vector environment's step.
            group_size: Consecutive responses to one problem.
            groups: Positions of the groups to write.
            details: Further values of a response by its index, such as `Trace.details`.
        """
        if not self.writes:
            return
        rows = []
        for first in (group * group_size for group in groups):
            images = self._write_images(f"step-{step}-{first}", observations["images"][first])
            for i in range(first, first + group_size):
                row = {
                    "index": i,
                    "group": first // group_size,
                    "system": observations["system"][i],
                    "question": observations["question"][i],
                    "response": responses[i],
                    "reward": float(rewards[i]),
                    **{name: infos[name][i] for name in INFO_NAMES if name in infos},
                    "images": images,
                    **details(i),
                }
                rows.append(json_line(row))
        write_atomically(self.folder / "rollouts" / f"step-{step}.jsonl", b"".join(rows))

    def say(self, text: str) -> None:
        """Prints a line without breaking the progress bar."""
        if self.writes:
            self._progress.say(text)

    def remove_after(self, step: int) -> None:
        """Removes the records of later steps, before a rollback continues."""
        if self.writes:
            _remove_after(self.folder, step)
        if self._tensorboard:
            self._tensorboard.close()
            self._tensorboard = _tensorboard(self.folder / "tensorboard", step + 1)

    def close(self) -> None:
        """Closes the progress bar and TensorBoard's file; may be called twice."""
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
    """Removes the records of steps after `step`, and incomplete lines."""
    for path in (folder / "metrics.jsonl", folder / "evaluations.jsonl"):
        if path.exists():
            # A run that starts again evaluates at step 0 again.
            rows = read_steps(path)
            lines = (json_line(row) for row in rows if step and row["step"] <= step)
            write_atomically(path, b"".join(lines))
    for path in (folder / "rollouts").glob("step-*"):
        number = path.stem.split("-")[1]
        if number.isdecimal() and int(number) > step:
            path.unlink()


def _accuracies(folder: Path) -> list[tuple[int, float]]:
    """Steps of a run so far and the accuracies of their responses."""
    rows = read_steps(folder / "metrics.jsonl")
    values = ((row["step"], row.get("reward/accuracy")) for row in rows)
    return [(step, v) for step, v in values if isinstance(v, int | float) and 0 <= v <= 1]


def _tensorboard(folder: Path, purge_step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingPackageError(
            "--tensorboard needs TensorBoard: pip install tensorboard"
        ) from error
    return SummaryWriter(str(folder), purge_step=purge_step)
