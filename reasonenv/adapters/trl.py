"""Reward functions and data sets for TRL's trainers.

    from reasonenv.adapters.trl import AccuracyReward, dataset, format_reward

    GRPOTrainer(
        train_dataset=dataset("MMK12-v0"),
        reward_funcs=[AccuracyReward(reference="answer", options="options"), format_reward],
        ...
    )

What GRPOTrainer and RLOOTrainer expect of one (TRL 1.16, docs/source/grpo_trainer.md, "Using a
custom reward function", and GRPOTrainer._calculate_rewards): it is called with the keywords
`prompts`, `completions`, `completion_ids`, every other column of the data set, `trainer_state`,
`log_extra` and `log_metric`; completions are texts, or lists of messages when the prompts are
conversations; it gives a number for each, or None where it has nothing to say; and it has a
`__name__`, under which its mean is logged.

These take no signals and no event loop, so any thread and any coroutine may call them, and they
can be pickled for a process that TRL starts.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reasonenv.adapters import shared_grader
from reasonenv.adapters.asked import Asked, Said
from reasonenv.env import STATUSES
from reasonenv.errors import UsageError
from reasonenv.grading import Grade
from reasonenv.rewards import in_think_answer_format, judged
from reasonenv.workers import Grader

if TYPE_CHECKING:
    from datasets import Dataset

Completion = str | Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class AccuracyReward:
    """1.0 when the final answer of a completion is right, 0.0 when it is wrong or absent.

    None when it could not be judged: the answer does not parse or ran out of time or memory, or
    the row has no reference. TRL then leaves this function out of the row's reward.

    Answers, statuses and the part of each status are logged where the trainer lets a reward log.

    Args:
        reference: The column that holds the right answers.
        options: The column that holds the texts of each multiple choice; None without one.
        grader: Yours to close; None for one that the whole process shares.
    """

    reference: str = "solution"
    options: str | None = None
    grader: Grader | None = None

    __name__ = "accuracy_reward"

    def __call__(
        self, prompts: Any = None, completions: Sequence[Completion] = (), **columns: Any
    ) -> list[float | None]:
        """A reward for each completion, in order."""
        references = _column(columns, self.reference, len(completions))
        choices = _column(columns, self.options, len(completions)) if self.options else ()
        asked = [index for index, reference in enumerate(references) if reference is not None]
        grader = self.grader or shared_grader()
        grades = grader.grade(
            [text(completions[index]) for index in asked],
            [str(references[index]) for index in asked],
            [choices[index] or () for index in asked] if choices else None,
        )
        _log(columns, len(completions), dict(zip(asked, grades, strict=True)))
        rewards: list[float | None] = [None] * len(completions)
        for index, grade in zip(asked, grades, strict=True):
            rewards[index] = float(grade.correct) if judged(grade) else None
        return rewards


def format_reward(
    prompts: Any = None, completions: Sequence[Completion] = (), **columns: Any
) -> list[float]:
    """1.0 for one think block and then one answer block, else 0.0; for each completion.

    See `reasonenv.rewards.think_answer_format`.
    """
    return [float(in_think_answer_format(text(completion))) for completion in completions]


def dataset(
    id: str,
    split: str | None = None,
    data: str | os.PathLike[str] | None = None,
    **options: Any,
) -> "Dataset":
    """The problems of an environment as a data set for GRPOTrainer and RLOOTrainer.

    A row is made when it is asked for, its images read or drawn then: `prompt`, a conversation;
    `images`, PIL images in the order of their places in it; `answer`; `options`, the texts of a
    multiple choice; and `problem_id`. `select`, `shuffle` and `train_test_split` work as always.

    Args:
        id: A registered name, such as "MMK12-v0".
        split: Part of the data; None for the environment's own default.
        data: Folder with local files; None for `REASONENV_DATA`, then the hub.
        **options: Further arguments of `reasonenv.make`, such as `prompt` and `filter`.

    Raises:
        UsageError: When an argument does not fit; the line says which.
    """
    from datasets import Dataset

    asked = Asked(id, split, data, options)
    rows = Dataset.from_dict({"index": range(len(asked))})
    return rows.with_transform(_Rows(asked))


@dataclass(frozen=True)
class _Rows:
    """What a data set calls to make rows."""

    asked: Asked

    def __call__(self, batch: Mapping[str, Sequence[int]]) -> dict[str, list[Any]]:
        said = [self.asked[index] for index in batch["index"]]
        return {
            "prompt": [_conversation(one) for one in said],
            "images": [one.images for one in said],
            "answer": [one.problem.answer for one in said],
            "options": [list(one.problem.options) for one in said],
            "problem_id": [one.problem.id for one in said],
        }


def _conversation(said: Said) -> list[dict[str, Any]]:
    """Words alone stay a text: not every template of a model of words knows parts."""
    content: Any = said.texts[-1]
    if said.images:
        content = []
        for number, words in enumerate(said.texts):
            content += [{"type": "text", "text": words}] if words else []
            content += [{"type": "image"}] if number < len(said.images) else []
    user = {"role": "user", "content": content}
    return [{"role": "system", "content": said.system}, user] if said.system else [user]


def text(completion: Completion) -> str:
    """The words of a completion: of its last message by the assistant, if it is made of messages.

    Tool calls have no words, nor have images.
    """
    if isinstance(completion, str):
        return completion
    said = [message for message in completion if message.get("role", "assistant") == "assistant"]
    content = said[-1].get("content") if said else None
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.get("text") or "" for part in content)


def _column(columns: Mapping[str, Any], name: str, length: int) -> Sequence[Any]:
    if name not in columns:
        there = ", ".join(sorted(columns)) or "none"
        raise UsageError(f"no column {name!r} came with the completions: there are {there}")
    if len(columns[name]) != length:
        raise UsageError(f"{length} completions, but {len(columns[name])} values of {name!r}")
    return columns[name]


def _log(columns: Mapping[str, Any], length: int, grades: Mapping[int, Grade]) -> None:
    told = [grades.get(index) for index in range(length)]
    if log_extra := columns.get("log_extra"):
        log_extra("answer", [(grade and grade.answer) or "" for grade in told])
        log_extra("status", [grade.status if grade else "" for grade in told])
    if log_metric := columns.get("log_metric"):
        statuses = [grade.status for grade in grades.values()]
        # Every status, so that all ranks, whose values TRL gathers by name, have the same names.
        for status in STATUSES:
            log_metric(f"grade/{status}", statuses.count(status) / max(1, length))
