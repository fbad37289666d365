"""Log of a run: metrics, evaluations and sampled rollouts in its directory.

A run directory has `metrics.jsonl`, `evaluations.jsonl`, `rollouts/step-N.jsonl` with images in the
same folder, and `run.json`. Each is valid JSON at any moment, except for the last line of a
`.jsonl` after a kill; `read_steps` skips an incomplete line, and a resumed run removes it.

A line of `rollouts/step-N.jsonl` is one response of the rollout of step N. There are two groups,
the first and, of the others, the one with the most contrast (`traces.contrast`), so means over
these lines are not those of the run:

- `index`: position in this rank's rollout; `group`: position of its group.
- `system`, `question`: text of the problem; `images`: names of files, shared by the group.
- `response`, `reward`, and infos of the environment: `problem_id`, `accuracy`, `format`,
  `answer`, `reference`, `status`.
- `finished`: false if the length limit cut it; `tokens`: their texts, special tokens included.
- `advantage`: mean over its tokens; `log_ratio`: ln(π/π_old) of each token before the optimizer
  step of its minibatch; `clipped`: the indices of tokens whose gradient the clip changed.
  Responses that were not trained on lack these three.
- `replies`: of an episode of several turns, `start` and `stop`, the tokens that are a reply of the
  environment, and its `images`.
"""

import math
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from agents.monitoring.progress_bar import ProgressBar
from agents.monitoring.timing import Interval
from agents.monitoring.trackers import COLUMNS, Name, Tracker, start_tracker
from agents.storage.atomic_files import append, write_atomically
from agents.storage.json_files import json_line, json_value, read_steps
from reasonenv.console import printable

_INFO_NAMES = ("problem_id", "accuracy", "format", "answer", "reference", "status")
"""Infos of the environment in the row of a response."""
EVALUATION_METRICS = ("accuracy", "standard_error", "length_mean", "truncated")
"""Numbers of an evaluation that are metrics."""
_SHOWN_SECONDS = 60.0
"""Least time between two responses on the terminal."""


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
        options = json_value(settings or {})
        self._trackers = {n: start_tracker(n, folder, options, start) for n in trackers}
        rows, name = read_steps(folder / "metrics.jsonl"), "reward/accuracy"
        accuracies = {row["step"]: row[name] for row in rows if row.get(name) is not None}
        self._progress = ProgressBar(num_steps, start, curve=accuracies)
        self._num_shown, self._shown = num_shown, Interval(_SHOWN_SECONDS, last=-math.inf)

    def __enter__(self) -> "RunLog":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(failed=kind is not None and issubclass(kind, Exception))

    def write(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Appends the metrics of a training step, from 1 on; on disk on return."""
        if self.writes:
            row = json_value(metrics)
            append(self.folder / "metrics.jsonl", json_line({"step": step, **row}))
            self._track(step, row)
            self._progress.show(step, row)

    def write_evaluation(self, step: int, result: Mapping[str, Any]) -> None:
        """Appends the result of an evaluation after `step` steps."""
        if self.writes:
            row = {"step": step, **json_value(result)}
            append(self.folder / "evaluations.jsonl", json_line(row))
            self._track(step, evaluation_metrics(row))

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
                    **{name: infos[name][i] for name in _INFO_NAMES if name in infos},
                    "images": images,
                    **details(i),
                }
                for k, reply in enumerate(row.get("replies", ())):
                    reply["images"] = self._write_images(f"step-{step}-{i}-{k}", reply["images"])
                rows.append(json_value(row))
        path = self.folder / "rollouts" / f"step-{step}.jsonl"
        write_atomically(path, b"".join(map(json_line, rows)))
        # A response may contain half of a surrogate pair, which UTF-8 cannot encode.
        table = [
            [v.encode(errors="replace").decode() if isinstance(v, str) else v for v in values]
            for values in ([row.get(name) for name in COLUMNS] for row in rows)
        ]
        self._each_tracker(lambda tracker: tracker.log_table(step, table))

    def show_responses(self, step: int, rollout: Any, group_size: int) -> None:
        """Shows the first problems of a `Rollout` with a response each, if it is time."""
        if self.writes and self._num_shown and self._shown.is_due():
            firsts = range(0, len(rollout.responses.texts), group_size)[: self._num_shown]
            width = shutil.get_terminal_size().columns - 1
            for line in response_lines(step, rollout, firsts, width):
                self.say(line)
            self._shown.restart()

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

    def close(self, failed: bool = False) -> None:
        """Closes the progress bar and the trackers; may be called twice.

        Args:
            failed: An error has ended the run.
        """
        if self.writes:
            self._progress.close()
            self._each_tracker(lambda tracker: tracker.close(failed))
            self._trackers = {}

    def _track(self, step: int, values: Mapping[str, Any]) -> None:
        """Logs the numbers among some values; others, such as None, are left out."""
        numbers = {n: v for n, v in values.items() if isinstance(v, int | float)}
        self._each_tracker(lambda tracker: tracker.log(step, numbers))

    def _each_tracker(self, action: Callable[[Tracker], object]) -> None:
        """Acts on all trackers; one that fails is left out from then on, and a line says so."""
        for name, tracker in list(self._trackers.items()):
            try:
                action(tracker)
            except Exception as error:  # each library has types of its own
                del self._trackers[name]
                reason = " ".join(str(error).split())[:200] or type(error).__name__
                self.say(f"warning: {name} fails ({reason}): the run goes on without it")

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


def evaluation_metrics(row: Mapping[str, Any]) -> dict[str, Any]:
    """Metrics of a line of `evaluations.jsonl`, such as `evaluation/test/accuracy`."""
    names = [name for name in EVALUATION_METRICS if name in row]
    return {f"evaluation/{row['split']}/{name}": row[name] for name in names}


def best_step(folder: Path, metric: str, steps: Collection[int]) -> int | None:
    """Earliest of some steps at which a metric is greatest; None without evaluations.

    Args:
        folder: Run directory.
        metric: A name of `evaluation_metrics`.
        steps: Those with a model that can be kept.
    """
    rows = [row for row in read_steps(folder / "evaluations.jsonl") if row["step"] in steps]
    values = [(evaluation_metrics(row).get(metric), -row["step"]) for row in rows]
    return -max(pairs)[1] if (pairs := [pair for pair in values if pair[0] is not None]) else None


def response_lines(step: int, rollout: Any, indices: Sequence[int], width: int) -> Iterator[str]:
    """Some responses of a `Rollout` with problem and grade, cut to the columns of a terminal."""
    for i in indices:
        info = {name: values[i] for name, values in rollout.infos.items() if name in _INFO_NAMES}
        count = len(rollout.observations["images"][i])
        images = f" [{count} image{'s' * (count > 1)}]" if count else ""
        question = " ".join(rollout.observations["question"][i].split())
        response = " ".join(rollout.responses.texts[i].split())
        grade = "answer {answer}, reference {reference} ({status})".format(**info)
        yield cut(f"step {step}, problem {info['problem_id']}", width)
        yield cut(f"  question: {question}{images}", 2 * width)
        yield cut(f"  response: {response}", 2 * width)
        yield cut(f"  reward {rollout.rewards[i]:.3g}, {grade}", width)


def cut(text: str, width: int) -> str:
    """A text without control characters in so many; "…" stands for what is left out.

    A third of what is kept is the end of the text, where the answer is.
    """
    text, end = printable(text), max(1, width // 3)
    return text if len(text) <= width else f"{text[: max(0, width - end - 1)]}…{text[-end:]}"
