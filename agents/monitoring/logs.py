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
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from agents.monitoring.evaluations import evaluation_metrics
from agents.monitoring.progress_bar import ProgressBar
from agents.monitoring.shown_responses import ResponseDisplay
from agents.monitoring.trackers import Name, Trackers
from agents.storage.atomic_files import append, write_atomically
from agents.storage.json_files import json_line, json_value, read_steps

INFO_NAMES = ("problem_id", "accuracy", "format", "answer", "reference", "status")
"""Infos of the environment in the row of a response."""


class RunLog:
    """Writes the log of one run, on rank 0 only.

    Removes records after step `start` of an earlier, interrupted run first.
    """

    def __init__(  # noqa: PLR0913 - optional ones are keywords, and no caller needs all
        self,
        folder: Path,
        num_steps: int,
        *,
        start: int = 0,
        rank: int = 0,
        trackers: Sequence[Name] = (),
        settings: Mapping[str, Any] | None = None,
        num_shown: int = 0,
    ) -> None:
        """Opens the log.

        Args:
            folder: Run directory.
            num_steps: Total of the run.
            start: Completed steps.
            rank: Of this process.
            trackers: That get metrics, evaluations and sampled rollouts too.
            settings: Of the run, for the trackers.
            num_shown: Problems that the terminal shows with a response, now and then.
        """
        self.folder, self.start = folder, start
        self.writes = rank == 0
        if not self.writes:
            return
        (folder / "rollouts").mkdir(parents=True, exist_ok=True)
        _remove_after(folder, start)
        self._trackers = Trackers(trackers, folder, json_value(settings or {}), start, self.say)
        self._progress = ProgressBar(num_steps, start, curve=_accuracies(folder))
        self._display = ResponseDisplay(num_shown, self.say)

    def __enter__(self) -> "RunLog":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(failed=kind is not None and issubclass(kind, Exception))

    def write(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Appends the metrics of a training step, from 1 on; on disk on return."""
        if not self.writes:
            return
        row = json_value(metrics)
        append(self.folder / "metrics.jsonl", json_line({"step": step, **row}))
        self._trackers.log(step, row)
        self._progress.show(step, row)

    def write_evaluation(self, step: int, result: Mapping[str, Any]) -> None:
        """Appends the result of an evaluation after `step` steps."""
        if self.writes:
            row = {"step": step, **json_value(result)}
            append(self.folder / "evaluations.jsonl", json_line(row))
            self._trackers.log(step, evaluation_metrics(row))

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
                rows.append(json_value(row))
        path = self.folder / "rollouts" / f"step-{step}.jsonl"
        write_atomically(path, b"".join(map(json_line, rows)))
        self._trackers.log_responses(step, rows)

    def show_responses(self, step: int, rollout: Any, group_size: int) -> None:
        """Shows some problems of a `Rollout` with a response each, if it is time."""
        if self.writes:
            texts, rewards = rollout.responses.texts, rollout.rewards
            parts = rollout.observations, texts, rewards, rollout.infos
            self._display.show(step, *parts, group_size)

    def activity(self, name: str, done: int = 0, total: int = 0) -> None:
        """Shows an activity within a step, such as sampling, on the progress bar."""
        if self.writes:
            self._progress.activity(name, done, total)

    def pause(self, name: str) -> AbstractContextManager[Callable[[int, int], None]]:
        """Context of an activity between steps; see `ProgressBar.pause`."""
        return self._progress.pause(name) if self.writes else nullcontext(lambda done, total: None)

    def say(self, text: str) -> None:
        """Prints a line without breaking the progress bar."""
        if self.writes:
            self._progress.say(text)

    def remove_after(self, step: int) -> None:
        """Removes the records of later steps, before a rollback continues."""
        if self.writes:
            _remove_after(self.folder, step)
            self._trackers.rewind(step)

    def close(self, failed: bool = False) -> None:
        """Closes the progress bar and the trackers; may be called twice.

        Args:
            failed: An error has ended the run.
        """
        if self.writes:
            self._progress.close()
            self._trackers.close(failed)

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
